//! The command `copyist unpack`.

use super::changing::{Changing, name_journal};
use super::config::own_folder;
use super::go_on::places;
use super::machine::{resume, words};
use super::pick::has_terminal;
use super::text::{aside, printable};
use super::{Stop, convert, print};
use crate::diagnostic::plural;
use crate::error::Error;
use crate::format::Map;
use crate::home::{Arrival, Manifest, Packed, PackedSession, Ready};
use crate::store::{Undertaking, Writes};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// Put the sessions of a pack where their agents look for them
///
/// The user's own folder of the other machine becomes the one of this machine; `--map-path` names
/// other folders that have another path here, above all those of projects. At a terminal, you are
/// asked for the folder of a project that is not found.
///
/// A session that the agent has already is named and stays as it is, and the exit code is 3; the
/// others are installed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file that `copyist pack` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder OLD of the other machine that is NEW on this one
    #[arg(long, value_name = "OLD=NEW", value_parser = convert::paths)]
    map_path: Vec<Map>,
    #[command(flatten)]
    changing: Changing,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let failed = |error: Error| Stop { code: 3, message: printable(error.message()) };
        let packed = Packed::open(&self.file).map_err(failed)?;
        let maps = self.maps(&packed.manifest)?;
        let mut ready = Vec::new();
        for (number, session) in packed.manifest.sessions.iter().enumerate() {
            let one = session.format().and_then(|format| {
                let places = places(format).unwrap_or_default();
                packed.ready(number, &Arrival { places: &places, maps: &maps })
            });
            match one {
                Ok(one) => ready.push(one),
                Err(error) => aside(&printable(&format!("{}: {}", session.id, error.message()))),
            }
        }
        let settings = self.file.to_string_lossy();
        let what = Undertaking { command: "unpack", settings: &settings, outcome: "unpacked" };
        let plan = || Ok(Writes::all(ready.iter().map(Ready::writes)));
        let begin = |journal: &Path| name_journal("undo     ", journal, false);
        self.changing.carry_out(&what, plan, |writes| writes, begin)?;
        let refused = packed.manifest.sessions.len() - ready.len();
        let mut text: String = ready.iter().map(lines).collect();
        let would = if self.changing.dry_run { "would be " } else { "" };
        text += &format!("{} {would}installed", plural(ready.len() as u64, "session"));
        if refused > 0 {
            text += &format!("; {refused} refused");
        }
        print(format!("{text}\n").as_bytes())?;
        Ok(if refused > 0 { 3 } else { 0 })
    }

    /// Returns how the folders of the other machine are called here: as the user says, and the
    /// user's own folder last.
    fn maps(&self, manifest: &Manifest) -> Result<Vec<Map>, Stop> {
        let own = own_folder().and_then(|home| home.into_os_string().into_string().ok());
        let homes = manifest.home.clone().zip(own);
        let homes = homes.filter(|(old, new)| old != new && old.len() > 1);
        let homes = homes.map(|(old, new)| Map::new(old, new));
        let mut maps = self.map_path.clone();
        for session in &manifest.sessions {
            let all: Vec<_> = maps.iter().chain(&homes).cloned().collect();
            maps.extend(missing_project(session, &all)?);
        }
        Ok(maps.into_iter().chain(homes).flat_map(Map::with_twin).collect())
    }
}

/// Describes a session that is installed.
fn lines(one: &Ready) -> String {
    let name = one.format.name;
    let mut lines = vec![format!("in        {}  ({name})", one.path.display())];
    lines.extend(one.unchanged.iter().map(|why| format!("stays     {why}")));
    let words = words(one.format, &one.summary.id, &one.path);
    if !words.is_empty() {
        lines.push(format!("resume    {}", resume(one.summary.project.as_deref(), &words)));
    }
    lines.iter().map(|line| format!("{}\n", printable(line))).collect()
}

/// Returns the folder of a session's project here, if it is not known: the user names it.
fn missing_project(session: &PackedSession, maps: &[Map]) -> Result<Option<Map>, Stop> {
    let project = session.project.as_ref().zip(session.project_here(maps));
    let Some((old, here)) = project.filter(|(_, here)| !Path::new(here).is_dir()) else {
        return Ok(None);
    };
    if !has_terminal() {
        return Err(Stop::usage(printable(&format!(
            "there is no folder {here}; name the project's folder here: `--map-path {old}=DIR`"
        ))));
    }
    let failed = |error| Stop::broken(format!("cannot read from the terminal: {error}"));
    loop {
        let _ = write!(std::io::stderr(), "{}", printable(&format!("folder of {old} here: ")));
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).map_err(failed)? == 0 {
            return Err(Stop::usage("no folder was named"));
        }
        match Path::new(line.trim()).canonicalize() {
            Ok(new) if new.is_dir() => return Ok(Some(Map::new(old, new.to_string_lossy()))),
            _ => aside(&printable(&format!("{}: there is no such folder", line.trim()))),
        }
    }
}
