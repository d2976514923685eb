//! The sessions of this machine: the folders of all agents, the cache, and sessions by name.

use super::Stop;
use super::config;
use super::pick;
use super::text::{aside, printable};
use crate::batch::JobSource;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::home::{
    Cache, Listed, Search, SessionPlace, Writes, beginning_at, could_name, find, places, since,
    survey, survey_projects,
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
    if path.symlink_metadata().is_ok() {
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

/// Refuses a word that names neither a file nor a session.
///
/// # Errors
/// If it has no character that only paths have, and no file has this path.
pub fn check_word(path: &Path) -> Result<(), Stop> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let word = path.to_str().filter(|word| *word != "-" && word.chars().all(fits));
    match word {
        Some(word) if path.symlink_metadata().is_err() => Err(Stop { code: 3, ..nothing(word) }),
        _ => Ok(()),
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

/// Sessions among which a command looks for its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Among {
    /// The agent whose sessions count; without it, those of all agents do.
    pub only: Option<&'static Format>,
    /// The agent whose sessions do not count where another agent's session has the name, too: a
    /// continued session keeps its identifier.
    pub target: Option<&'static Format>,
    /// Whether the user chooses at a terminal if no session is named.
    pub interactive: bool,
}

/// Returns the session that a command is about: a file, a session by its name, or without an
/// argument the session that the user chooses, else the session of the current folder with the
/// newest message.
pub fn one(name: Option<&Path>, among: Among) -> Result<Listed, Stop> {
    let Among { only, target, interactive } = among;
    let mut cache = cache();
    let shown = || printable(&name.unwrap_or(Path::new("")).to_string_lossy());
    let found = match name {
        Some(path) if path.symlink_metadata().is_ok() => within(path, &mut cache)?,
        Some(path) => match path.to_str().filter(|name| could_name(name)) {
            Some(name) => find(name, &folders(only)?, &mut cache),
            None => Search::Nothing,
        },
        None => Search::One(Box::new(of_folder(only, interactive, &mut cache)?)),
    };
    // Without the cache the next search takes longer.
    let _ = cache.save();
    match found {
        Search::One(one) => Ok(*one),
        Search::Several(mut all) => {
            let is_target = |one: &Listed| target.is_some_and(|own| one.summary.agent == own.name);
            if !all.iter().all(is_target) {
                all.retain(|one| !is_target(one));
            }
            match all.pop() {
                Some(one) if all.is_empty() => Ok(one),
                last => {
                    all.extend(last);
                    Err(Stop::usage(several(&shown(), &all)))
                }
            }
        }
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

/// Returns the session that the user chooses at the terminal, else the session of the current folder
/// with the newest message.
fn of_folder(
    only: Option<&'static Format>,
    interactive: bool,
    cache: &mut Cache,
) -> Result<Listed, Stop> {
    let here = std::env::current_dir().unwrap_or_default();
    let heres = [here.canonicalize().unwrap_or_else(|_| here.clone()), here];
    let all = survey(&folders(only)?, &|_| true, cache).0;
    let chosen = match interactive && pick::has_terminal() {
        true => {
            let _ = cache.save();
            pick::session(all, &heres)?
        }
        false => {
            let own = all.into_iter().filter(|one| one.is_in(&heres));
            own.max_by_key(|one| one.updated)
        }
    };
    chosen.ok_or_else(|| {
        Stop::usage(
            "there is no session of the current folder; name one, such as `latest`, or look with \
             `copyist list`",
        )
    })
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

/// Options of commands that change the agents' own files.
#[derive(Debug, clap::Args)]
pub struct Changing {
    /// Print what would change
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Record what is changed in this file, for `undo`; the default is a new file below
    /// `~/.local/state/copyist`
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    journal: Option<PathBuf>,
}

impl Changing {
    /// Carries out the writes of a command, which are `done` in the journal. Returns the path of the
    /// journal; `None` if nothing is to be written.
    pub fn carry_out(
        &self,
        writes: &Writes,
        (command, done): (&str, &str),
    ) -> Result<Option<PathBuf>, Stop> {
        if writes.is_empty() || self.dry_run {
            return Ok(None);
        }
        let journal = self.journal.clone().map_or_else(|| new_journal(command), Ok)?;
        let written = writes.carry_out((command, done), &journal);
        written.map_err(|error| Stop { code: 3, message: printable(error.message()) })?;
        Ok(Some(journal))
    }
}

/// Returns the path of a new journal of a command.
fn new_journal(command: &str) -> Result<PathBuf, Stop> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let own = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".local/state"));
    let state = set("XDG_STATE_HOME").filter(|path| path.is_absolute()).or_else(own);
    let folder = state.ok_or_else(|| Stop::usage("name a journal: `--journal FILE`"))?;
    let folder = folder.join("copyist");
    let failed = |error| Stop::broken(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let time = times::with_millis(Timestamp::now()).replace([':', '.'], "-");
    Ok(folder.join(format!("{command}-{time}.jsonl")))
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
