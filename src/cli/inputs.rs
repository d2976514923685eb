//! The inputs of a command: the paths that the user named, listed and filtered.

use super::Stop;
use super::config;
use super::machine;
use super::text::printable;
use crate::batch::{self, Filter, Gather, Joining, Listed, Pattern, ReadOptions, Written};
use crate::format::Format;
use crate::formats::FORMATS;
use clap::Args;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Options for the inputs of a command that takes several.
#[derive(Debug, Args)]
pub struct Batch {
    /// Files, folders or sessions; `-` is standard input
    ///
    /// Links in folders are not followed. Where no file has this path, it can be a session's
    /// identifier, six or more characters of one, or `latest`.
    #[arg(value_name = "PATH", required_unless_present_any = ["files_from", "session"])]
    paths: Vec<PathBuf>,
    /// Take only files of a folder that match GLOB
    ///
    /// The option may be given several times. A GLOB without `/` matches names at any depth. One with `/` matches paths from the named
    /// folder. One that ends in `/` matches everything in such folders. `*` and `?` stop at a `/`,
    /// `**` does not. Files that you name are always taken. Files that are left out are
    /// not counted as skipped.
    #[arg(long, value_name = "GLOB")]
    include: Vec<Pattern>,
    /// Leave out files and folders that match GLOB
    ///
    /// They are left out even if `--include` selects them.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<Pattern>,
    /// Read further paths from FILE, one per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// Split the paths of `--files-from` at NUL, as `find -print0` writes them, not at line ends
    #[arg(short = '0', long, requires = "files_from")]
    null: bool,
    /// Number of inputs at a time; 0 is one for each processor
    #[arg(short, long, value_name = "N", default_value_t = 0, env = "COPYIST_JOBS")]
    jobs: usize,
    #[command(flatten)]
    sessions: Sessions,
}

/// Options for sessions that are kept in several files of a folder.
#[derive(Debug, Args)]
pub struct Sessions {
    /// Process the whole session to which a named file belongs
    ///
    /// This is for agents that keep a session in several files of one folder. Files that are found
    /// in a named folder are always combined into whole sessions.
    #[arg(long)]
    whole: bool,
    /// Take the session with this identifier
    ///
    /// It is searched in a folder, or in the folder of a file. The identifier is in the session's header, or is the name of its file or the end of that
    /// name. If no path is named, copyist searches the default folders of the agents that keep all
    /// sessions in one place.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

impl Sessions {
    /// Returns the selection of whole sessions for the library.
    pub fn gather(&self) -> Gather {
        Gather { whole: self.whole, session: self.session.clone() }
    }

    /// Whether the user named a session by `--session`.
    pub fn is_named(&self) -> bool {
        self.session.is_some()
    }

    /// Selects this session, if there is one.
    pub fn or(&self, session: Option<String>) -> Self {
        Self { session: self.session.clone().or(session), ..*self }
    }

    /// Returns the session at `path` as the input of a command that takes one. A name is searched
    /// among the sessions of the agent `only`, if there is one.
    pub fn one(
        &self,
        path: Option<PathBuf>,
        command: &str,
        only: Option<&'static Format>,
    ) -> Result<Inputs, Stop> {
        if let Some(path) = &path
            && self.session.is_none()
        {
            if let Some(found) = machine::named(path, only)? {
                let gather = Gather { session: found.id, ..self.gather() };
                return Ok(Inputs { paths: vec![found.path], gather, ..self.only() });
            }
            machine::check_word(path)?;
        }
        let paths = path.map_or_else(homes, |path| Ok(vec![path]))?;
        if paths.iter().any(|path| path.is_dir()) && self.session.is_none() {
            let message = format!("`{command}` takes one session, not a folder");
            return Err(Stop::usage(format!("{message}; `--session ID` names one of a folder")));
        }
        Ok(Inputs { paths, ..self.only() })
    }

    /// Returns the inputs of a command that takes one session, without its path.
    fn only(&self) -> Inputs {
        let (paths, filter) = (Vec::new(), Filter::default());
        Inputs { paths, filter, jobs: 1, gather: self.gather(), one: true, join: None }
    }
}

/// The inputs of a run, and how many of them are processed at a time.
#[derive(Debug)]
pub struct Inputs {
    /// The files and folders, and `-` for standard input.
    pub paths: Vec<PathBuf>,
    /// The selection of files in folders.
    pub filter: Filter,
    /// The number of inputs at a time; 0 is one for each processor.
    pub jobs: usize,
    /// The selection of whole sessions.
    pub gather: Gather,
    /// Whether exactly one session is allowed.
    pub one: bool,
    /// Sessions that are joined into one.
    pub join: Option<Joining>,
}

impl Inputs {
    /// Replaces names of sessions by their paths.
    fn name_sessions(&mut self) -> Result<(), Stop> {
        let alone = self.paths.len() == 1;
        for path in &mut self.paths {
            let Some(found) = machine::named(path, None)? else { continue };
            if found.id.is_some() && !alone {
                let message = "is in a folder with others; name it alone";
                let name = printable(&path.to_string_lossy());
                return Err(Stop::usage(format!("the session {name} {message}")));
            }
            self.gather.session = found.id;
            *path = found.path;
        }
        Ok(())
    }

    /// Lists the files and sessions, and the paths that could not be read. Files that runs have
    /// `written` into folders are not processed.
    pub fn list(&self, written: &Written, reading: ReadOptions) -> Result<Listed, Stop> {
        let Listed { jobs, errors, skipped } = batch::expand(&self.paths, &self.filter, written);
        // Files of which many make up a session are not looked at one by one.
        let is_in_file = self.paths.iter().all(|path| path.is_file());
        let jobs = match self.gather.session {
            Some(_) if is_in_file => batch::group(batch::apart(jobs, reading), &self.gather),
            _ => batch::apart(batch::group(jobs, &self.gather), reading),
        };
        match &self.gather.session {
            Some(id) if jobs.is_empty() => {
                Err(Stop::usage(format!("no session {} was found", printable(id))))
            }
            Some(id) if self.one && jobs.len() > 1 => {
                let places: Vec<_> = jobs.iter().map(|job| printable(&job.name())).collect();
                let places = places.join(" and ");
                let id = printable(id);
                Err(Stop::usage(format!("several sessions are called {id}: {places}; name one")))
            }
            None if self.one && jobs.len() > 1 => {
                Err(Stop::usage("there are several sessions; `--session ID` names one"))
            }
            _ => Ok(Listed { jobs, errors, skipped }),
        }
    }

    /// Returns how many of `threads` may have work, as far as that is known before inputs are
    /// listed.
    pub fn workers(&self, threads: usize) -> usize {
        let named = self.paths.len().clamp(1, threads);
        let folders = || self.paths.iter().any(|path| path.is_dir());
        if named < threads && folders() { threads.min(batch::threads(0)).max(named) } else { named }
    }

    /// Whether there may be more than one input.
    pub fn several(&self) -> bool {
        let several = self.paths.len() > 1 || self.paths.iter().any(|path| path.is_dir());
        several && self.gather.session.is_none()
    }

    /// Whether standard input is one of the inputs.
    pub fn stdin(&self) -> bool {
        self.paths.iter().any(|path| is_stdin(path))
    }
}

impl Batch {
    /// Whether the user selects files by their names.
    pub fn selects(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }

    /// Collects the named paths, then those of the list.
    pub fn inputs(&self) -> Result<Inputs, Stop> {
        let filter = Filter::new(&self.include, &self.exclude);
        let filter = filter.map_err(|error| Stop::usage(format!("too many globs: {error}")))?;
        let mut inputs = Inputs {
            paths: self.paths.clone(),
            filter,
            jobs: self.jobs,
            gather: self.sessions.gather(),
            one: false,
            join: None,
        };
        if self.paths.is_empty() && self.files_from.is_none() {
            inputs.paths = homes()?;
        }
        if self.sessions.session.is_none() {
            inputs.name_sessions()?;
        }
        if let Some(list) = &self.files_from {
            inputs.paths.extend(names(&contents(list)?, self.null)?);
            if is_stdin(list) && inputs.stdin() {
                return Err(Stop::usage("standard input cannot be both a list and an input"));
            }
        }
        Ok(inputs)
    }
}

/// Returns the existing folders in which agents keep their sessions.
fn homes() -> Result<Vec<PathBuf>, Stop> {
    let homes = FORMATS.iter().filter_map(|format| config::home(format).transpose());
    let homes = homes.collect::<Result<Vec<_>, _>>()?;
    let there: Vec<_> = homes.iter().filter(|home| home.is_dir()).cloned().collect();
    if there.is_empty() {
        let looked: Vec<_> = homes.iter().map(|home| printable(&home.to_string_lossy())).collect();
        let looked = match looked.is_empty() {
            true => "no variable such as HOME names the folder of sessions".to_owned(),
            false => format!("there is no folder {}", looked.join(" or ")),
        };
        return Err(Stop::usage(format!("no PATH is named, and {looked}")));
    }
    Ok(there)
}

/// Whether a path means standard input.
fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn contents(list: &Path) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    let read = if is_stdin(list) {
        std::io::stdin().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(list).map(|read| bytes = read)
    };
    let failed = |error| {
        Stop::usage(format!("`--files-from {}`: {error}", printable(&list.to_string_lossy())))
    };
    read.map(|()| bytes).map_err(failed)
}

/// Splits a list into its names.
fn names(list: &[u8], null: bool) -> Result<Vec<PathBuf>, Stop> {
    if null {
        return list.split(|b| *b == 0).filter(|name| !name.is_empty()).map(name).collect();
    }
    if list.contains(&0) {
        return Err(Stop::usage("the list of `--files-from` holds NUL bytes; `-0` reads it"));
    }
    let lines = list.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.trim_ascii().is_empty()).map(name).collect()
}

#[cfg(unix)]
fn name(bytes: &[u8]) -> Result<PathBuf, Stop> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
fn name(bytes: &[u8]) -> Result<PathBuf, Stop> {
    let text = std::str::from_utf8(bytes);
    text.map(PathBuf::from).map_err(|_| Stop::usage("a name in the list is not UTF-8"))
}
