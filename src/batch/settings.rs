//! The settings of a run, as its journal names them.

use super::action::Action;
use super::join::Joining;
use super::output_place::OutputPlace;
use super::task::Task;
use crate::format::Options;
use crate::store::{Backup, real, real_folder};

impl Task {
    /// Lists the settings that determine the outputs besides the inputs, in the words of the
    /// command line. Two runs with different settings make different outputs, so neither can resume
    /// the other. `join` is what the run joins, and `ids` how it makes identifiers.
    pub fn settings(&self, join: Option<Joining>, ids: &str) -> String {
        let task = self;
        let mut words: Vec<String> = Vec::new();
        match &task.action {
            Action::Migrate(Some(to)) => {
                words.push(format!("--to {}", to.format.at(to.version().number)))
            }
            Action::View(request) => words.push(format!("-t {}", request.form.name())),
            Action::Convert(to) => words.push(format!("-t {}", to.format.at(to.version().number))),
            _ => {}
        }
        if let (Action::Repair(mending), _) | (_, Some(mending)) =
            (&task.action, &task.repair_first)
        {
            let wanted = &mending.wanted;
            words.extend(task.repair_first.is_some().then(|| "--repair".to_owned()));
            words.extend(wanted.resumable.then(|| "--resumable".to_owned()));
            words.extend(wanted.salvage.then(|| "--salvage".to_owned()));
            words
                .extend(wanted.relink.iter().map(|(id, parent)| format!("--relink {id}={parent}")));
        }
        words.extend(join.map(|join| format!("--join {}", join.name())));
        words.extend(reading(task));
        words.extend((!task.options.origin).then(|| "--no-origin".to_owned()));
        words.extend(task.options.ignore_origin.then(|| "--ignore-origin".to_owned()));
        words.extend(task.options.redact.is_some().then(|| "--redact".to_owned()));
        let maps = task.options.map_paths.iter();
        words.extend(maps.map(|map| format!("--map-path {}={}", map.old, map.new)));
        words.extend(task.options.folder.iter().map(|folder| format!("--cwd {folder}")));
        words.push(match &task.place {
            OutputPlace::InPlace(Backup::Suffix(suffix)) => format!("--in-place --backup={suffix}"),
            OutputPlace::InPlace(Backup::None) => "--in-place --no-backup".to_owned(),
            OutputPlace::Folder(folder) => format!("--out-dir {}", real_folder(folder).display()),
            OutputPlace::Native(folder) => {
                format!("--layout native --out-dir {}", real_folder(folder).display())
            }
            OutputPlace::One(file) => format!("-o {}", real(file).display()),
            OutputPlace::None => String::new(),
        });
        words.push(format!("--on-error {:?}", task.options.on_error).to_lowercase());
        words.push(format!("--ids {ids}"));
        words.join(" ")
    }
}

/// Lists the reading options that the user gave.
fn reading(task: &Task) -> Vec<String> {
    let Options { encoding, max_line, .. } = task.options;
    let from = task.from.map(|from| match from.version {
        Some(version) => format!("-f {}", from.format.at(version.number)),
        None => format!("-f {}", from.format.name),
    });
    let encoding = encoding.map(|encoding| format!("--encoding {}", encoding.name()));
    let usual = Options::default().max_line;
    let max_line = (max_line != usual).then(|| format!("--max-line {max_line}"));
    [from, encoding, max_line].into_iter().flatten().collect()
}
