//! `--journal` and `--resume`.

use super::Stop;
use super::args::Ids;
use super::inputs::Inputs;
use super::show::{plural, printable};
use crate::batch::{Account, Action, Place, Task, root};
use crate::store::{Backup, Header, Name};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a run writes down, to go on later.
#[derive(Debug, Args)]
pub struct Journaling {
    /// Write down what becomes of each input; `--resume` goes on from there, `undo` takes it back
    ///
    /// The file is JSON Lines. What is in it is on the disk before an output gets its place, so it
    /// tells of everything that a run did which was killed, or which a power cut ended.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub journal: Option<PathBuf>,
    /// Leave out what the journal says is done, and still is; begin if there is no journal yet
    #[arg(long, requires = "journal")]
    pub resume: bool,
}

impl Journaling {
    /// Opens the journal of a run, if the person wants one.
    pub fn open(
        &self,
        command: &str,
        task: &Task,
        inputs: &Inputs,
        ids: Ids,
    ) -> Result<Option<Account>, Stop> {
        let Some(path) = &self.journal else { return Ok(None) };
        let shown = printable(&path.to_string_lossy());
        let refused = |why: &str| Stop::usage(format!("`--journal {shown}`: {why}"));
        if inputs.stdin() {
            return Err(refused("standard input cannot be taken up again"));
        }
        if matches!(&task.place, Place::None) || stdout(&task.place) {
            return Err(refused("it tells of outputs that are files"));
        }
        let Some(root) = root(&inputs.paths).filter(|root| root.is_absolute()) else {
            return Err(refused(
                "the inputs have no folder in common, or one of them is not there",
            ));
        };
        let mut header = Header {
            copyist: Header::MARK.to_owned(),
            version: Header::VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            settings: settings(task, ids),
            in_place: matches!(task.place, Place::InPlace(_)),
            root: Name::from(root.as_path()),
        };
        let failed = |error| Stop::usage(format!("`--journal {shown}`: {error}"));
        let (mut journal, before, entries, unread) = Account::open(path).map_err(failed)?;
        let mut root = root;
        match before {
            Some(_) if !self.resume => {
                return Err(refused("it tells of an earlier run; `--resume` goes on with that"));
            }
            Some(before) => {
                let same = |a: &Header, b: &Header| {
                    (&a.command, &a.settings, a.in_place) == (&b.command, &b.settings, b.in_place)
                };
                if !same(&before, &header) {
                    let (was, is) = (told(&before), told(&header));
                    return Err(refused(&format!("it is of `{was}`, and this is `{is}`")));
                }
                let old = before.root.path();
                if !root.starts_with(&old) {
                    let old = printable(&old.to_string_lossy());
                    return Err(refused(&format!("it is of inputs below {old}")));
                }
                root = old;
                header = before;
            }
            None => {
                let begun = journal.begin(&header);
                begun.map_err(|error| Stop::broken(format!("{shown}: {error}")))?;
            }
        }
        if unread > 0 {
            let lines = plural(unread, "line");
            // With a closed stderr there is no one left to tell.
            let _ = writeln!(
                std::io::stderr(),
                "copyist: {shown}: {lines} cannot be read and count for nothing"
            );
        }
        drop(header);
        Ok(Some(Account::new(journal, root, entries)))
    }
}

fn stdout(place: &Place) -> bool {
    matches!(place, Place::One(path) if path.as_os_str() == "-")
}

/// A run in the words of the command line.
fn told(header: &Header) -> String {
    printable(&format!("{} {}", header.command, header.settings))
}

/// What decides on the outputs besides the inputs. Two runs that differ in it make other outputs,
/// and one cannot go on where the other ended.
fn settings(task: &Task, ids: Ids) -> String {
    let mut words: Vec<String> = Vec::new();
    match &task.action {
        Action::Migrate(Some(to)) => {
            words.push(format!("--to {}", to.format.at(to.version().number)))
        }
        Action::Convert(to) => words.push(format!("-t {}", to.format.at(to.version().number))),
        _ => {}
    }
    if let (Action::Repair(mending), _) | (_, Some(mending)) = (&task.action, &task.mending) {
        let wish = &mending.wish;
        words.extend(task.mending.is_some().then(|| "--repair".to_owned()));
        words.extend(wish.resumable.then(|| "--resumable".to_owned()));
        words.extend(wish.salvage.then(|| "--salvage".to_owned()));
        words.extend(wish.relink.iter().map(|(id, parent)| format!("--relink {id}={parent}")));
    }
    words.extend((!task.options.residue).then(|| "--no-residue".to_owned()));
    words.extend(task.options.ignore_residue.then(|| "--ignore-residue".to_owned()));
    let full = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    words.push(match &task.place {
        Place::InPlace(Backup::Suffix(suffix)) => format!("--in-place --backup={suffix}"),
        Place::InPlace(Backup::None) => "--in-place --no-backup".to_owned(),
        Place::Folder(folder) => format!("--out-dir {}", full(folder).display()),
        Place::Native(folder) => format!("--layout native --out-dir {}", full(folder).display()),
        Place::One(file) => format!("-o {}", full(file).display()),
        Place::None => String::new(),
    });
    words.push(format!("--on-error {:?}", task.options.on_error).to_lowercase());
    words.push(format!("--ids {ids:?}").to_lowercase());
    words.join(" ")
}
