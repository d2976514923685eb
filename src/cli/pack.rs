//! The command `copyist pack`.

use super::args::Masking;
use super::config;
use super::go_on::stopped;
use super::selecting::Selecting;
use super::text::{aside, printable};
use super::{Stop, print};
use crate::batch::FileReport;
use crate::diagnostic::{Severity, plural};
use crate::error::Error;
use crate::format::Sink;
use crate::format::{OnError, Options};
use crate::home::{Listed, Pack};
use crate::store::{Claims, Destination, Output, Policy, narrowest};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Put sessions into one file for another machine
///
/// The file contains the sessions with all that belongs to them: sub-agents, long outputs, origins.
/// `copyist unpack` puts each of them where its agent looks. Keys and settings of the agents are
/// never packed. The file is a tar archive: `tar --zstd -tf FILE` lists what is in it.
///
/// A session that cannot be read is named and not packed, and the exit code is 3.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, folders, identifiers or `latest`
    #[arg(value_name = "SESSION")]
    sessions: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    selecting: Selecting,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// Do everything except writing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    masking: Masking,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        if self.sessions.is_empty() && !self.selecting.has_conditions() {
            return Err(Stop::usage(
                "name the sessions, such as `latest`, or select them, as with `--project DIR`",
            ));
        }
        let sessions = self.selecting.sessions(&self.sessions)?;
        if sessions.is_empty() {
            return Err(Stop { code: 3, message: "there is no such session".to_owned() });
        }
        let options =
            Options { on_error: OnError::Keep, force_version: true, ..Options::default() };
        let options = self.masking.options(options, false)?;
        let path = printable(&self.output.to_string_lossy());
        let failed = |error: Error| {
            let why = error.message();
            Stop { code: 3, message: format!("{path}: {why}") }
        };
        let mut output = self.prepared(&sessions).map_err(failed)?;
        let to = output.create("").map_err(failed)?;
        let mut pack = Pack::begin(to, own_folder()).map_err(failed)?;
        let (mut missing, mut masked) = (0, 0);
        for session in &sessions {
            let format = crate::formats::Spec::parse(&session.summary.agent).ok();
            let home = format.map(|spec| config::home(spec.format)).transpose()?.flatten();
            match pack.add(session, home.as_deref(), options.clone()) {
                Ok(report) => {
                    masked +=
                        report.findings.masked.iter().flat_map(|all| all.values()).sum::<u64>();
                    warn(&session.path, &report);
                }
                Err(error) => {
                    missing += 1;
                    aside(&stopped(&session.path, &error).message);
                }
            }
        }
        let manifest = pack.manifest().clone();
        let packed = manifest.sessions.len() as u64;
        if packed > 0 {
            pack.finish().map_err(failed)?;
            output.commit().map_err(failed)?;
        }
        let mut text = String::new();
        for session in &manifest.sessions {
            let title = session.title.as_deref().unwrap_or_default();
            let (agent, id) = (&session.agent, &session.id);
            text += &printable(&format!("{agent:<18}  {id}  {title}"));
            text.push('\n');
        }
        let bytes: u64 = manifest
            .sessions
            .iter()
            .flat_map(|session| &session.files)
            .map(|file| file.digest.length)
            .sum();
        let place = match (packed, self.dry_run) {
            (0, _) | (_, true) => "nothing written".to_owned(),
            _ => format!("written: {path}"),
        };
        let mut total = format!("{}, {}", plural(packed, "session"), plural(bytes, "byte"));
        if options.redact.is_some() {
            total += &format!(", {} masked", plural(masked, "secret"));
        }
        if missing > 0 {
            total += &format!("; {missing} failed");
        }
        text += &format!("{total}; {place}\n");
        print(text.as_bytes())?;
        Ok(if missing > 0 { 3 } else { 0 })
    }

    /// Prepares the file, which no more users may read than all of the sessions.
    fn prepared(&self, sessions: &[Listed]) -> Result<Output, Error> {
        let files = sessions.iter().flat_map(|session| {
            let read = session.files.iter().map(|file| Arc::from(file.as_path()));
            read.chain([Arc::clone(&session.path)])
        });
        let files: Vec<Arc<Path>> = files.collect();
        let permissions = narrowest(files.iter().map(|path| &**path));
        let policy = Policy { force: self.force, dry: self.dry_run, ..Policy::default() };
        let destination = match self.dry_run {
            true => Destination::Nowhere,
            false => Destination::File(self.output.clone()),
        };
        let claims = Arc::new(Claims::of(files, None));
        let output = Output::prepare(destination, vec![], policy, claims)?;
        Ok(output.permitted(permissions))
    }
}

/// Prints what is lost of a session in the pack.
fn warn(path: &Path, report: &FileReport) {
    for found in &report.findings.diagnostics {
        if found.severity() > Severity::Note {
            aside(&printable(&format!("{}: {}", path.display(), found.message)));
        }
    }
}

/// Returns the user's own folder.
pub fn own_folder() -> Option<String> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    set("HOME").or_else(|| set("USERPROFILE"))
}
