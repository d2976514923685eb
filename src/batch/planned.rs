//! The order of a run: which inputs it works on, and the names of their outputs.

use super::account::{Account, Earlier};
use super::action::Action;
use super::inputs::Job;
use super::names::{Kind, Name, Namer};
use super::output_place::OutputPlace;
use super::task::Task;
use std::path::{Path, PathBuf};

/// An input, its state after an earlier run, and the name of its output below the output folder.
#[derive(Debug)]
pub struct Planned<'j> {
    /// The input.
    pub job: &'j Job,
    /// The name of its output.
    pub output: Name,
    /// The state of the input after an earlier run.
    pub earlier: Earlier,
}

impl Planned<'_> {
    /// Whether there is work to do; otherwise the input is only counted.
    pub fn is_work(&self) -> bool {
        self.job.passed_over.is_none() && !matches!(self.earlier, Earlier::Done(_))
    }
}

/// Determines what earlier runs did with each input, and assigns a name to each output. An existing
/// output keeps its name and its place, even if new inputs come before it. The other outputs get
/// their names when their inputs are begun.
pub fn planned<'a>(
    task: &'a Task,
    jobs: &'a [Job],
    account: Option<&'a Account>,
) -> impl ExactSizeIterator<Item = Planned<'a>> + Send + use<'a> {
    let mut namer = Namer::of(jobs.len());
    let to = match &task.action {
        Action::Convert(to) | Action::Migrate(Some(to)) => Kind::Format(to.format),
        Action::View(request) => {
            namer.keep(&task.index_name().unwrap_or_default());
            Kind::View(request.form)
        }
        // Without a target, the input keeps its format and its ending.
        _ => Kind::Same,
    };
    let most = jobs.len() as u64 * 2;
    let folder = account.and_then(|_| task.folder());
    // The quarantine of an input that was changed may be the only copy of the quarantined data.
    let in_place = matches!(task.place, OutputPlace::InPlace(_));
    let mut look = |account: &Account, job: &Job| {
        let (earlier, made) = account.earlier(job, task.read_options());
        if matches!(earlier, Earlier::Done(_)) {
            let owner = task.claims.owner();
            made.iter().for_each(|made| _ = task.claims.take(made, owner));
        } else if !in_place {
            account.untouched(job).iter().for_each(|made| task.claims.own(made));
        }
        let below = |folder: &PathBuf| -> Vec<&Path> {
            made.iter().filter_map(|made| made.strip_prefix(folder).ok()).collect()
        };
        let below = folder.as_ref().map(below).unwrap_or_default();
        (earlier, namer.again(job, to, &below, most))
    };
    let looked =
        account.map(|account| jobs.iter().map(|job| look(account, job)).collect::<Vec<_>>());
    let mut looked = looked.into_iter().flatten();
    jobs.iter().enumerate().map(move |(place, job)| {
        let (earlier, name) = looked.next().unwrap_or((Earlier::Nothing, None));
        let name = name.unwrap_or_else(|| namer.name(job, to));
        Planned { job, output: Name { place, ..name }, earlier }
    })
}
