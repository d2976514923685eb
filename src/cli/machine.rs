//! The sessions of this machine: the folders of all agents, the cache, and sessions by name.

use super::Stop;
use super::config;
use super::inputs::is_stdin;
use super::show::printable;
use crate::batch::JobSource;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::home::{Cache, Listed, Place, Search, could_name, find, places};
use std::path::{Path, PathBuf};

/// Returns the folders in which agents keep sessions.
pub fn folders(only: Option<&'static Format>) -> Result<Vec<Place>, Stop> {
    let homes = FORMATS.iter().map(|format| Ok((*format, config::home(format)?)));
    let homes = homes.collect::<Result<Vec<_>, Stop>>()?;
    let home = |format: &'static Format| {
        homes.iter().find(|(own, _)| *own == format).and_then(|(_, home)| home.clone())
    };
    Ok(places(&home, std::env::current_dir().ok().as_deref(), only))
}

/// Opens the cache of summaries in the user's cache folder.
pub fn cache() -> Cache {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".cache"));
    // The specification has relative paths ignored.
    let folder = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(own);
    Cache::open(folder.map(|folder| folder.join("copyist").join("sessions")))
}

/// Session that a name means: its path, and its identifier if the path is a folder of sessions.
pub struct Session {
    /// The path.
    pub path: PathBuf,
    /// The identifier.
    pub id: Option<String>,
}

/// Returns the session that an argument names where no file has this path; `None` for an argument
/// that is a path.
pub fn named(path: &Path) -> Result<Option<Session>, Stop> {
    let Some(name) = path.to_str().filter(|name| could_name(name)) else { return Ok(None) };
    if is_stdin(path) || path.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let mut cache = cache();
    let found = find(name, &folders(None)?, &mut cache);
    // Without the cache the next search takes longer.
    let _ = cache.save();
    match found {
        Search::Nothing => Ok(None),
        Search::One(one) => Ok(Some(Session::of(&one))),
        Search::Several(all) => Err(Stop::usage(several(name, &all))),
    }
}

impl Session {
    fn of(one: &Listed) -> Self {
        match &one.job.source {
            JobSource::Whole(whole) => {
                Self { path: whole.among.home.clone(), id: Some(whole.among.session.clone()) }
            }
            _ => Self { path: one.path.to_path_buf(), id: None },
        }
    }
}

/// Maximum number of sessions in a message.
const SHOWN: usize = 10;

fn several(name: &str, all: &[Listed]) -> String {
    let line = |one: &Listed| {
        let Session { path, id } = Session::of(one);
        let id = id.map(|id| format!("--session {} ", quoted(&id))).unwrap_or_default();
        let title = one.summary.title.as_deref().unwrap_or_default();
        let line =
            format!("{id}{}  # {}, {title}", quoted(&path.to_string_lossy()), one.summary.agent);
        format!("\n  {}", printable(&line))
    };
    let lines: String = all.iter().take(SHOWN).map(line).collect();
    let more = all.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    format!("several sessions are called {}; name one:{lines}{more}", printable(name))
}

/// Quotes a word for a shell, where it needs that.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+,=".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
