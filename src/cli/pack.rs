//! The command `copyist pack`.

use super::args::Masking;
use super::config;
use super::go_on::stopped;
use super::selecting::Selecting;
use super::text::{aside, printable};
use super::{Stop, print};
use crate::diagnostic::{Severity, plural};
use crate::error::Error;
use crate::format::{OnError, Options, Sink};
use crate::formats::Spec;
use crate::home::{Listed, Manifest, Pack, PackedSession};
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
            let message = match self.sessions.as_slice() {
                [] => "no session meets the conditions".to_owned(),
                named => {
                    let paths: Vec<_> = named.iter().map(|path| path.to_string_lossy()).collect();
                    let paths = paths.join(", ");
                    printable(&format!(
                        "{paths}: no session; the file of a sub-agent belongs to its session"
                    ))
                }
            };
            return Err(Stop { code: 3, message });
        }
        let options =
            Options { on_error: OnError::Keep, force_version: true, ..Options::default() };
        let options = self.masking.options(options, false)?;
        let failed = |error: Error| {
            let path = self.output.display();
            Stop { code: 3, message: printable(&format!("{path}: {}", error.message())) }
        };
        let mut output = self.prepared(&sessions).map_err(failed)?;
        let to = output.create("").map_err(failed)?;
        let home = config::own_folder().and_then(|home| home.into_os_string().into_string().ok());
        let mut pack = Pack::begin(to, home).map_err(failed)?;
        let masked = options.redact.is_some().then_some(0);
        let mut added = Added { failed: 0, masked };
        for session in &sessions {
            added.session(&mut pack, session, &options)?;
        }
        let manifest = pack.manifest().clone();
        let is_empty = manifest.sessions.is_empty();
        if !is_empty {
            pack.finish().map_err(failed)?;
            output.commit().map_err(failed)?;
        }
        let place = match is_empty || self.dry_run {
            true => "nothing written".to_owned(),
            false => format!("written: {}", self.output.display()),
        };
        print(added.text(&manifest, &place).as_bytes())?;
        Ok(if added.failed > 0 { 3 } else { 0 })
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

/// Counts of sessions while they are added.
struct Added {
    failed: u64,
    /// Number of secrets that were masked, if that was requested.
    masked: Option<u64>,
}

impl Added {
    /// Adds a session, and names it if that fails.
    fn session(
        &mut self,
        pack: &mut Pack,
        session: &Listed,
        options: &Options,
    ) -> Result<(), Stop> {
        let format = Spec::parse(&session.summary.agent).ok();
        let home = format.map(|spec| config::home(spec.format)).transpose()?.flatten();
        match pack.add(session, home.as_deref(), options.clone()) {
            Ok(report) => {
                let masked: u64 = report.findings.masked.iter().flat_map(|all| all.values()).sum();
                self.masked.iter_mut().for_each(|all| *all += masked);
                let found = report.findings.diagnostics.iter();
                for found in found.filter(|found| found.severity() > Severity::Note) {
                    let path = session.path.display();
                    aside(&printable(&format!("{path}: {}", found.message)));
                }
            }
            Err(error) => {
                self.failed += 1;
                aside(&stopped(&session.path, &error).message);
            }
        }
        Ok(())
    }

    /// Describes the sessions of a pack.
    fn text(&self, manifest: &Manifest, place: &str) -> String {
        let line = |session: &PackedSession| {
            let title = session.title.as_deref().unwrap_or_default();
            let (agent, id) = (&session.agent, &session.id);
            format!("{}\n", printable(&format!("{agent:<18}  {id}  {title}")))
        };
        let mut text: String = manifest.sessions.iter().map(line).collect();
        let files = manifest.sessions.iter().flat_map(|session| &session.files);
        let bytes = files.map(|file| file.digest.length).sum();
        let sessions = plural(manifest.sessions.len() as u64, "session");
        text += &format!("{sessions}, {}", plural(bytes, "byte"));
        if let Some(masked) = self.masked {
            text += &format!(", {} masked", plural(masked, "secret"));
        }
        if self.failed > 0 {
            text += &format!("; {} failed", self.failed);
        }
        text + &format!("; {}\n", printable(place))
    }
}
