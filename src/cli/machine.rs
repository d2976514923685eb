//! The sessions of this machine: the folders of all agents, the cache, and sessions by name.

use super::Stop;
use super::config;
use super::pick;
use super::text::{aside, printable};
use crate::batch::JobSource;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::home::{
    Cache, Listed, Search, SessionName, SessionPlace, beginning_at, family_of, find, meant, places,
    since, survey, survey_projects,
};
use crate::times;
use jiff::Timestamp;
use std::path::{Path, PathBuf};

/// Returns the folders in which agents keep sessions.
pub fn folders(only: Option<&'static Format>) -> Result<Vec<SessionPlace>, Stop> {
    let homes = FORMATS.iter().map(|format| Ok((*format, config::home(format)?)));
    let homes = homes.collect::<Result<Vec<_>, Stop>>()?;
    let home = |format: &'static Format| {
        homes.iter().find(|(own, _)| *own == format).and_then(|(_, home)| home.clone())
    };
    Ok(places(&home, std::env::current_dir().ok().as_deref(), only))
}

/// Opens the cache of summaries in the user's cache folder.
pub fn cache() -> Cache {
    let folder = config::folder_in("XDG_CACHE_HOME", ".cache");
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
pub fn named(path: &Path, only: Option<&'static Format>) -> Result<Option<Session>, Stop> {
    if path.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let mut cache = cache();
    let found = called(path, Among { only, ..Among::default() }, &mut cache)?;
    // Without the cache the next search takes longer.
    let _ = cache.save();
    match found {
        Search::Nothing => Ok(None),
        Search::One(one) => Ok(Some(Session::of(&one))),
        Search::Several(all) => Err(Stop::usage(several(&path.to_string_lossy(), &all))),
    }
}

/// Finds the session with a name in the agents' folders.
fn called(name: &Path, among: Among, cache: &mut Cache) -> Result<Search, Stop> {
    let Some(name) = name.to_str().and_then(SessionName::of) else { return Ok(Search::Nothing) };
    let only = name.agent.or(among.only);
    Ok(find(name, &folders(only)?, among.target, cache))
}

/// Refuses a word that names neither a file nor a session.
///
/// # Errors
/// If it has no character that only paths have, and no file has this path.
pub fn check_word(path: &Path) -> Result<(), Stop> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    let word = path.to_str().filter(|word| *word != "-" && word.chars().all(fits));
    match word {
        Some(word) if path.symlink_metadata().is_err() => Err(Stop { code: 3, ..nothing(word) }),
        _ => Ok(()),
    }
}

impl Session {
    /// Returns how a session of the list is named.
    pub fn of(one: &Listed) -> Self {
        match &one.job.source {
            JobSource::Whole(whole) => {
                Self { path: whole.among.home.clone(), id: Some(whole.among.session.clone()) }
            }
            _ => Self { path: one.path.to_path_buf(), id: None },
        }
    }
}

/// Sessions among which a command looks for its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Among {
    /// The agent whose sessions count; without it, those of all agents do.
    pub only: Option<&'static Format>,
    /// The agent that is to continue the session. Its own sessions are meant only where no other
    /// agent's session has the name: a continued session keeps its identifier.
    pub target: Option<&'static Format>,
    /// Whether the user chooses at a terminal if no session is named.
    pub interactive: bool,
}

/// Returns the session that a command is about: a file, a session by its name, or without an
/// argument the session that the user chooses, else the session of the current folder with the
/// newest message.
pub fn one(name: Option<&Path>, among: Among) -> Result<Listed, Stop> {
    let mut cache = cache();
    let shown = || printable(&name.unwrap_or(Path::new("")).to_string_lossy());
    let found = match name {
        Some(path) if path.symlink_metadata().is_ok() => within(path, &mut cache)?,
        Some(path) => called(path, among, &mut cache)?,
        None => of_folder(among, &mut cache)?,
    };
    // Without the cache the next search takes longer.
    let _ = cache.save();
    match found {
        Search::One(one) => Ok(*one),
        Search::Several(all) => Err(Stop::usage(several(&shown(), &all))),
        Search::Nothing => Err(nothing(&shown())),
    }
}

/// Finds the sessions in a file or folder.
fn within(path: &Path, cache: &mut Cache) -> Result<Search, Stop> {
    let (mut found, errors) = survey(&[SessionPlace::named(path.to_owned())], &|_| true, cache);
    found.sort_by_key(|one| std::cmp::Reverse(one.updated));
    let none = |why: &str| {
        let path = printable(&path.to_string_lossy());
        Err(Stop::usage(format!("{path}: {why}")))
    };
    match (found.len(), errors.first()) {
        (0, Some((_, error))) => none(error.message()),
        (0, None) => none("no session"),
        (1, _) => Ok(found.pop().map_or(Search::Nothing, |one| Search::One(Box::new(one)))),
        _ => Ok(Search::Several(found)),
    }
}

/// Finds the session that the user chooses at the terminal, else the session of the current folder
/// with the newest message.
fn of_folder(among: Among, cache: &mut Cache) -> Result<Search, Stop> {
    let here = std::env::current_dir().unwrap_or_default();
    let heres = [here.canonicalize().unwrap_or_else(|_| here.clone()), here];
    let mut all = survey(&folders(among.only)?, &|_| true, cache).0;
    let none = || {
        Stop::usage(
            "there is no session of the current folder; name one, such as `latest`, or look with \
             `copyist list`",
        )
    };
    if among.interactive && pick::has_terminal() {
        let _ = cache.save();
        all.retain(|one| among.target.is_none_or(|own| one.summary.agent != own.name));
        let chosen = pick::session(all, &heres)?.ok_or_else(none)?;
        return Ok(Search::One(Box::new(chosen)));
    }
    let own = all.iter().filter(|one| one.is_in(&heres));
    let newest = own.max_by_key(|one| one.spoken()).cloned().ok_or_else(none)?;
    Ok(meant(family_of(&newest, all), among.target))
}

/// Returns the error for an argument that is neither a file nor a session.
fn nothing(name: &str) -> Stop {
    Stop::usage(format!(
        "{name}: no file has this path, and no session this identifier, of which six characters are \
         enough; `copyist list` prints those that are there"
    ))
}

/// Returns the words of the command that resumes a session.
pub fn words(format: &Format, id: &str, path: &Path) -> Vec<String> {
    format.agent.command.map(|command| command(id, &path.to_string_lossy())).unwrap_or_default()
}

/// Returns the command line that resumes a session.
pub fn resume(folder: Option<&str>, words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    let words = words.join(" ");
    folder.map_or_else(|| words.clone(), |folder| format!("cd {} && {words}", quoted(folder)))
}

/// Returns the command line that resumes the session in a new file, if its agent finds it there.
pub fn resume_at(path: &Path, format: &'static Format) -> Result<Option<String>, Stop> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let by_path = words(format, "", &path).iter().any(|word| Path::new(word) == path);
    let home = config::home(format)?;
    if format.agent.command.is_none()
        || !(by_path || home.is_some_and(|home| path.starts_with(home)))
    {
        return Ok(None);
    }
    let summary = beginning_at(&path, format);
    // The session of another machine is resumed only after its folder was moved.
    if summary.project.as_ref().is_some_and(|folder| !Path::new(folder).is_dir()) {
        return Ok(None);
    }
    let words = words(format, &summary.id, &path);
    Ok(Some(resume(summary.project.as_deref(), &words)))
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
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+,=".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns the sessions in these places; where they are the agents' own folders, those of the
/// sessions' projects, too. Reports what cannot be read.
pub fn surveyed(
    places: &[SessionPlace],
    of_agents: bool,
    only: Option<&'static Format>,
) -> Vec<Listed> {
    let mut cache = cache();
    let (sessions, errors) = match of_agents {
        true => survey_projects(places, only, &mut cache),
        false => survey(places, &|_| true, &mut cache),
    };
    for (path, error) in errors {
        aside(&format!("{}: {}", path.display(), error.message()));
    }
    // Without the cache the next run takes longer.
    let _ = cache.save();
    sessions
}

/// Parses a value of `--since`.
pub fn at(text: &str) -> Result<Timestamp, String> {
    since(text, &times::local(Timestamp::now()))
}
