//! Views of sessions: outputs that are only read.

use super::found::Found;
use super::names::Name;
use super::place::Place;
use super::report::{FileReport, Outcome};
use super::task::Task;
use crate::error::Result;
use crate::format::{Cx, Sink};
use crate::show;
use crate::store::{Input, Sealed};
use std::path::Path;
use std::sync::Arc;

impl Task {
    /// Writes a view of one session.
    pub(super) fn view(
        &self,
        name: &Name,
        (mut input, files): (Input, &[Arc<Path>]),
        found: &Found,
        request: &show::Request,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<(Outcome, Sealed)> {
        report.view = Some(request.form.name());
        if matches!(&self.place, Place::One(path) if path.as_os_str() == "-") {
            let mut screen = (self.screen)();
            report.records = show::run(found.format, &mut input, request, None, cx, &mut screen)?;
            return Ok((Outcome::Shown, Sealed::default()));
        }
        let destination = self.destination(name, files, input.home());
        let mut output = self.output(destination, files, input.sources(), None, report)?;
        let mut part = output.create("")?;
        report.records = show::run(found.format, &mut input, request, None, cx, &mut part)?;
        drop(part);
        report.wrote(&output);
        Ok((Outcome::Converted, output.seal(input.stood_still())?))
    }
}
