//! Views of sessions: outputs that are only read.

use super::action::Action;
use super::found::Found;
use super::names::Name;
use super::output_place::OutputPlace;
use super::report::{FileReport, Outcome};
use super::task::Task;
use crate::error::Result;
use crate::format::{Cx, Sink};
use crate::show;
use crate::store::{Input, Sealed, below};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Task {
    /// Returns the name of the list of all views, if the outputs are files in a folder and their
    /// form has lists.
    pub fn index_name(&self) -> Option<String> {
        let (Action::View(request), OutputPlace::Folder(_)) = (&self.action, &self.place) else {
            return None;
        };
        show::index(request.form, &[])?;
        Some(format!("index{}", request.form.ending()))
    }

    /// Returns the path of the view that an earlier run wrote under this name.
    pub fn earlier_view(&self, name: &Name) -> Option<PathBuf> {
        let OutputPlace::Folder(folder) = &self.place else { return None };
        matches!(self.action, Action::View(_)).then(|| below(folder, &name.main))
    }

    /// Writes a view of one session.
    pub(super) fn view(
        &self,
        name: &Name,
        (input, files): (&mut Input, &[Arc<Path>]),
        found: &Found,
        request: &show::Request,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<(Outcome, Sealed)> {
        report.view = Some(request.form.name());
        if matches!(&self.place, OutputPlace::One(path) if path.as_os_str() == "-") {
            let mut screen = (self.screen)();
            report.records = show::run(found.format, input, request, cx, &mut screen)?;
            return Ok((Outcome::Shown, Sealed::default()));
        }
        let destination = self.destination(name, files, input.home());
        let output = self.output(destination, files, input.sources(), None, report)?;
        let mut output = output.dated_now();
        let mut part = output.create("")?;
        report.records = show::run(found.format, input, request, cx, &mut part)?;
        drop(part);
        report.wrote(&output);
        Ok((Outcome::Converted, output.seal(input.stood_still())?))
    }
}
