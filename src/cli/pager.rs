//! Long tables at a terminal, page by page.

use super::{Stop, print};
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

/// Prints a text. At a terminal that has fewer lines, it is printed by the program that
/// `COPYIST_PAGER` or `PAGER` names, else by `less`; an empty name prints it at once.
pub fn page(text: &str) -> Result<u8, Stop> {
    let height = terminal_size::terminal_size().map(|(_, terminal_size::Height(height))| height);
    let fits = height.is_none_or(|height| text.lines().count() < usize::from(height));
    if fits || !std::io::stdout().is_terminal() {
        return print(text.as_bytes());
    }
    let named = std::env::var("COPYIST_PAGER").or_else(|_| std::env::var("PAGER"));
    let command = named.unwrap_or_else(|_| "less".to_owned());
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return print(text.as_bytes()) };
    let mut pager = Command::new(program);
    pager.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Colours, and no change of a screen that the text fits into.
        pager.env("LESS", "FRX");
    }
    let Ok(mut pager) = pager.spawn() else { return print(text.as_bytes()) };
    // The user may end the pager before the text is at its end.
    let _ = pager.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    let _ = pager.wait();
    Ok(0)
}
