//! The outputs of a task: where they are, and how they are opened.

use super::action::Action;
use super::inputs::{Job, stem};
use super::names::Name;
use super::output_place::OutputPlace;
use super::report::FileReport;
use super::reported_path::ReportedPath;
use super::task::Task;
use crate::error::Result;
use crate::format::At;
use crate::formats::Spec;
use crate::store::{Destination, Output, below, plain_name};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Task {
    /// Opens the output of an input that consists of `files`.
    pub(super) fn output(
        &self,
        destination: Destination,
        files: &[Arc<Path>],
        sources: Vec<(Arc<Path>, Metadata)>,
        to: Option<Spec>,
        report: &mut FileReport,
    ) -> Result<Output> {
        report.to = to.map(|to| At { format: to.format, number: to.version().number });
        let target = destination.target(files.first().map(|path| &**path));
        report.output = match &destination {
            Destination::Stdout => Some("-".to_owned().into()),
            Destination::Native { folder, .. } => Some(folder.as_path().into()),
            _ => target.map(ReportedPath::from),
        };
        self.sweep(&destination, target);
        let quarantine = match (&self.action, &self.repair_first) {
            (Action::Repair(mending), _) | (_, Some(mending)) => mending.quarantine.clone(),
            _ => None,
        };
        let claims = Arc::clone(&self.claims);
        let output = Output::prepare(destination, sources, self.policy, claims)?;
        output
            .completing(to.is_some_and(|to| to.format.files.shared.is_some()))
            .quarantined(quarantine)
    }

    /// Returns the real path of the output folder, if the folder exists.
    pub fn folder(&self) -> Option<PathBuf> {
        let OutputPlace::Folder(folder) = &self.place else { return None };
        folder.canonicalize().ok()
    }

    /// Removes the temporary files that killed runs left in the place of this input's output.
    pub fn sweep_for(&self, job: &Job, output: &Name) {
        let files: Vec<_> = job.files().cloned().collect();
        let destination = self.destination(output, &files, None);
        self.sweep(&destination, destination.target(files.first().map(|path| &**path)));
    }

    fn sweep(&self, destination: &Destination, target: Option<&Path>) {
        match destination {
            Destination::Native { folder, .. } => self.sweep_beside(&folder.join("in")),
            _ => target.into_iter().for_each(|target| self.sweep_beside(target)),
        }
    }

    /// Removes the temporary files that killed runs left in the folder of a file that will be
    /// written.
    pub fn sweep_beside(&self, target: &Path) {
        if !self.policy.dry {
            self.swept.beside(target);
        }
    }

    /// Returns the destination of the output of `files`. `home` is the folder of all sessions, if
    /// the files are in one.
    pub(super) fn destination(
        &self,
        name: &Name,
        files: &[Arc<Path>],
        home: Option<&Path>,
    ) -> Destination {
        match &self.place {
            OutputPlace::None => Destination::Nowhere,
            OutputPlace::One(path) => Destination::from(path.as_path()),
            // The repaired sessions of a home stay in one home.
            OutputPlace::Folder(folder)
                if home.is_some() && matches!(self.action, Action::Repair(_)) =>
            {
                Destination::Native {
                    folder: below(folder, name.stem.parent().unwrap_or(Path::new(""))),
                    stem: name.stem.file_name().unwrap_or_default().to_string_lossy().into(),
                    place: name.place,
                }
            }
            OutputPlace::Folder(folder) => Destination::Files {
                main: below(folder, &name.main),
                stem: below(folder, &name.stem),
            },
            OutputPlace::Native(folder) => Destination::Native {
                folder: folder.clone(),
                stem: name.stem.file_name().unwrap_or_default().to_string_lossy().into(),
                place: name.place,
            },
            OutputPlace::InPlace(backup) => {
                let own = files.first().map(|path| &**path).unwrap_or(Path::new(""));
                let file = own.file_name().unwrap_or_default().to_string_lossy();
                let beside = own.with_file_name(stem(plain_name(&file)));
                let session = name.stem.file_name().unwrap_or_default();
                Destination::InPlace {
                    backup: backup.clone(),
                    aside: home.map_or_else(|| beside.clone(), |home| home.join(session)),
                    stem: home.map_or(beside, Path::to_owned),
                }
            }
        }
    }
}
