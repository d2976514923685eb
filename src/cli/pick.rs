//! The choice of a session at the terminal.

use super::Stop;
use super::list_table::lines;
use super::text::width;
use crate::home::Listed;
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{Error, FuzzySelect};
use jiff::Timestamp;
use std::io::{ErrorKind, IsTerminal, stderr, stdin};
use std::path::PathBuf;

/// Exit code of a command whose choice the user ended.
const ENDED: u8 = 130;

/// Columns that the mark of the chosen line takes, and the last one, where lines would wrap.
const MARGIN: usize = 3;

/// Whether the user can choose at the terminal.
pub fn has_terminal() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Lets the user choose a session: those of the current folder are first, and the newest of them.
pub fn session(mut all: Vec<Listed>, here: &[PathBuf]) -> Result<Option<Listed>, Stop> {
    all.sort_by_key(|one| std::cmp::Reverse((one.is_in(here), one.updated)));
    if all.is_empty() {
        return Ok(None);
    }
    let width = width(None).saturating_sub(MARGIN);
    let items = lines(&all, Timestamp::now(), width);
    let colorful = ColorfulTheme::default();
    let theme: &dyn Theme = if console::colors_enabled_stderr() { &colorful } else { &SimpleTheme };
    let choice = FuzzySelect::with_theme(theme)
        .with_prompt("session (type to filter)")
        .items(&items)
        .default(0)
        .report(false)
        .interact_opt();
    let ended = || Stop { code: ENDED, message: "no session was chosen".to_owned() };
    match choice {
        Ok(Some(place)) => Ok((place < all.len()).then(|| all.swap_remove(place))),
        Ok(None) => Err(ended()),
        Err(Error::IO(error)) if error.kind() == ErrorKind::Interrupted => Err(ended()),
        Err(error) => Err(Stop::broken(format!("cannot read from the terminal: {error}"))),
    }
}
