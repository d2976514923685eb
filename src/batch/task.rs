//! One operation on one input, from opening the input to completing the output.

use super::action::{Action, RepairSettings};
use super::commit::Done;
use super::found::{Found, Opened, ReadOptions, backed_up, missed, ruin};
use super::identity::Looked;
use super::inputs::{Job, JobSource, Passed};
use super::names::Name;
use super::output_place::{OutputPlace, report_hard_links};
use super::passed;
use super::refused::{no_step, not_in_place, other_format, with_origin_beside};
use super::repaired::{MAIN, bring_back, options_of, repaired, with_tear};
use super::report::{FailOn, FileReport, Outcome, Skip, Verdict};
use super::reported_path::ReportedPath;
use super::richer;
use crate::context;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::format::{At, Cx, Options, Parts, Repaired, Sink, Target};
use crate::formats::{Spec, lacks};
use crate::store::{
    Backup, Claims, Destination, Input, Meter, Output, Policy, Sealed, Swept, Tally, check_no_pipe,
    is_alone, mend, origin_of,
};
use crate::validate::Schema;
use crate::{convert, join, migrate, parts};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// An operation, ready to be applied to inputs.
#[derive(Debug)]
pub struct Task {
    /// The operation.
    pub action: Action,
    /// The inputs' format, if the user named it.
    pub from: Option<Spec>,
    /// The options for reading and writing.
    pub options: Options,
    /// The place of the outputs.
    pub place: OutputPlace,
    /// The user's permissions.
    pub policy: Policy,
    /// The origin of the only input, if it is not beside the input.
    pub origin: Option<PathBuf>,
    /// The options for repairing inputs before the operation, if the user wants that.
    pub repair_first: Option<RepairSettings>,
    /// The folders from which the temporary files of killed runs were removed.
    pub swept: Swept,
    /// The files that no output may replace.
    pub claims: Arc<Claims>,
    /// The additional condition for exit code 1.
    pub fail_on: Option<FailOn>,
    /// The schemas, compiled at their first use.
    pub schemas: Mutex<HashMap<(&'static str, u32), Schema>>,
    /// The progress of the work.
    pub meter: Meter,
    /// Opens standard output for a view.
    pub screen: fn() -> Box<dyn Write>,
}

impl Task {
    /// Creates a task that writes nothing.
    pub fn looking(action: Action, options: Options, from: &Option<Spec>) -> Self {
        Self {
            action,
            from: *from,
            options,
            place: OutputPlace::None,
            policy: Policy::default(),
            origin: None,
            repair_first: None,
            swept: Swept::default(),
            claims: Arc::default(),
            fail_on: None,
            schemas: Mutex::default(),
            meter: Meter::default(),
            screen: || Box::new(std::io::stdout()),
        }
    }

    /// Sets an additional condition for exit code 1.
    pub fn failing(self, fail_on: Option<FailOn>) -> Self {
        Self { fail_on, ..self }
    }

    /// Returns the user's options for how inputs are read.
    pub fn read_options(&self) -> ReadOptions {
        let mends = matches!(self.action, Action::Repair(_)) || self.repair_first.is_some();
        ReadOptions { mends, ..ReadOptions::new(self.from, &self.options) }
    }

    /// Applies the operation to one input. `output` is the name of its output below the output
    /// folder. The returned output is complete and waits for its place.
    pub fn run(&self, job: &Job, output: &Name) -> Done {
        let _busy = self.options.thread_budget.work();
        let mut report = FileReport::new(job.name());
        let log = Log::default();
        let cx = Cx { options: &self.options, log: &log };
        let tally = Tally::new(&self.meter);
        let done = self.session(job, output, &tally, &cx, &mut report);
        let sealed = match done {
            Ok((outcome, sealed)) => {
                report.outcome = outcome;
                sealed
            }
            Err(error) => {
                let beyond = self.policy.dry && error.code() == Code::NothingBack;
                log.report(with_origin_beside(report.fail(error), job));
                if beyond {
                    report.outcome = Outcome::Beyond;
                }
                Sealed::default()
            }
        };
        tally.settle(|| job.size().unwrap_or(0));
        report.bytes = tally.bytes();
        report.findings = log.into_findings();
        if report.outcome != Outcome::Failed {
            passed::add_outcomes(&mut report, &self.action, &self.options);
        }
        let verdict = Verdict::of(&report.findings);
        report.outcome = verdict.outcome(report.outcome);
        report.inspection.iter_mut().for_each(|inspection| inspection.state = verdict.name());
        report.mark_decisive();
        if let Some(rules) = &self.options.redact {
            report.mask(rules);
        }
        Done { report, sealed }
    }

    fn session(
        &self,
        job: &Job,
        output: &Name,
        tally: &Tally,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<(Outcome, Sealed)> {
        // A pipe is refused before it is opened, because opening it waits for a writer.
        if job.named && matches!(self.place, OutputPlace::InPlace(_)) {
            job.path().map_or(Ok(()), |path| check_no_pipe(path))?;
        }
        if let Some(passed) = job.passed_over {
            self.pass_over(job, passed, cx, report);
            return looked(Outcome::Skipped);
        }
        if let JobSource::Joined { files, .. } = &job.source {
            return self.join(files, output, tally, cx, report);
        }
        let Some(opened) = Opened::new(&job.source, self.read_options(), job.named)? else {
            let Some(why) =
                job.path().map(|path| ruin(path, self.read_options())).transpose()?.flatten()
            else {
                return looked(Outcome::Skipped);
            };
            let lost = job.path().is_some_and(|path| origin_of(path).is_file());
            if job.size() == Some(0) && !lost {
                return looked(Outcome::Empty);
            }
            let message = format!("{}: {why}", Code::Unreadable.title());
            cx.report(Diagnostic::new(Code::Unreadable, message));
            return looked(Outcome::Unreadable);
        };
        if opened
            .part_of
            .as_ref()
            .is_some_and(|main| !job.named || self.claims.check(main).is_err())
        {
            return looked(Outcome::Part);
        }
        if self.is_backup(job, cx, report) {
            return looked(Outcome::Skipped);
        }
        let Opened { found, input, files, links, .. } = opened;
        for link in links {
            let message = format!("{} is a link, and is not followed", link.display());
            cx.report(Diagnostic::new(Code::LinkBeside, message));
        }
        let mut input = input.counted(tally.clone()).with_origin(found.format, self.origin.clone());
        if files.len() > 1 {
            report.parts = files.iter().map(ReportedPath::from).collect();
        }
        report.format = Some(found.name());
        report.confidence = Some(found.sniffed.confidence.name());
        let done = self.apply(job, output, (&mut input, &files), &found, cx, report);
        let is_file = job.path().is_some();
        if is_file && matches!(self.action, Action::Validate(_) | Action::Repair(_)) {
            // By now the facts that a reader needs first are known.
            report.looked = Looked::at(&found, &mut input);
        }
        done
    }

    fn apply(
        &self,
        job: &Job,
        output: &Name,
        (input, files): (&mut Input, &[Arc<Path>]),
        found: &Found,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<(Outcome, Sealed)> {
        match &self.action {
            Action::Detect => looked(Outcome::Detected),
            Action::Context(request) => {
                let mut out = std::io::stdout();
                report.records = context::run(found.format, input, request, cx, &mut out)?;
                looked(Outcome::Shown)
            }
            Action::Inspect(request) => {
                let inspection = self.inspected((input, files), found, *request, cx)?;
                report.records = inspection.kinds.values().sum();
                report.inspection = Some(Box::new(inspection));
                looked(Outcome::Shown)
            }
            Action::View(request) => self.view(output, (input, files), found, request, cx, report),
            Action::Validate(max_errors) => {
                report.records = self.validated((input, files), found, *max_errors, cx)?;
                looked(Outcome::Valid)
            }
            Action::Migrate(Some(to)) if to.format.name != found.format.name => {
                if job.named {
                    return Err(other_format(found, *to));
                }
                report.skip = Skip::OtherFormat;
                looked(Outcome::Skipped)
            }
            Action::Migrate(to) => {
                let newest = found.format.reached_from(found.sniffed.version);
                let newest = Spec { format: found.format, version: found.format.version(newest) };
                self.write(output, (input, files), found, to.unwrap_or(newest), cx, report)
            }
            Action::Convert(to) => {
                let (outcome, sealed) =
                    self.write(output, (input, files), found, *to, cx, report)?;
                let merged = matches!(job.source, JobSource::Copies(_));
                Ok((if merged { Outcome::Converted } else { outcome }, sealed))
            }
            Action::Repair(_) => {
                let version = found.format.version(found.sniffed.version);
                let same = Spec { format: found.format, version };
                self.write(output, (input, files), found, same, cx, report)
            }
        }
    }

    /// Reports why an input is only counted. A link is reported if a session may be missed because
    /// of it.
    fn pass_over(&self, job: &Job, passed: Passed, cx: &Cx<'_>, report: &mut FileReport) {
        report.skip = Skip::Passed(passed);
        let alone = job.path().filter(|_| passed == Passed::Ours).filter(|path| is_alone(path));
        if let Some(path) = alone {
            let message = format!("{}: {}", Code::OriginAlone.title(), path.display());
            cx.report(Diagnostic::new(Code::OriginAlone, message));
        }
        let link = job.path().filter(|_| passed == Passed::Link);
        if let Some(what) = link.and_then(|link| missed(link, self.read_options())) {
            cx.report(Diagnostic::new(Code::LinkFound, format!("{what}, and is not followed")));
        }
    }

    /// Whether a file that was found in a folder is a backup that a run kept. If so, that is
    /// reported.
    fn is_backup(&self, job: &Job, cx: &Cx<'_>, report: &mut FileReport) -> bool {
        let found = job.path().filter(|_| !job.named);
        let Some(original) = found.and_then(|path| backed_up(path, self.read_options())) else {
            return false;
        };
        let message = format!(
            "{} is beside it, so it seems to be an original that was kept; name it to read it",
            original.display()
        );
        cx.report(Diagnostic::new(Code::KeptOriginal, message));
        report.skip = Skip::Passed(Passed::Ours);
        true
    }

    pub(super) fn schema(&self, found: &Found) -> Result<Schema> {
        let number = found.sniffed.version;
        let Some(version) = found.format.version(number) else {
            return Err(Error::request(Code::WrongVersion, lacks(found.format, number)));
        };
        let mut schemas = self.schemas.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = (found.format.name, number);
        if let Some(schema) = schemas.get(&key) {
            return Ok(schema.clone());
        }
        let schema = Schema::of(version)?;
        schemas.insert(key, schema.clone());
        Ok(schema)
    }

    fn write(
        &self,
        name: &Name,
        (input, files): (&mut Input, &[Arc<Path>]),
        found: &Found,
        to: Spec,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<(Outcome, Sealed)> {
        let version = found.sniffed.version;
        let stays = to.version().number == version;
        let migrates = matches!(self.action, Action::Migrate(_));
        if migrates && !stays && found.format.plane.is_none() && found.format.steps.is_empty() {
            return Err(no_step(found, to));
        }
        let mut destination = self.destination(name, files, input.home());
        let in_place = matches!(destination, Destination::InPlace { .. });
        let stays_whole = in_place && migrates && found.format.plane.is_none();
        if stays_whole && !stays && !found.format.migrates_in_place {
            return Err(not_in_place(found, to));
        }
        // Then nothing changes, and the input is only checked.
        let only_checked = stays_whole && stays && self.repair_first.is_none();
        if only_checked {
            destination = Destination::Nowhere;
        }
        let mut output = self.output(destination, files, input.sources(), Some(to), report)?;
        let done = self.perform((input, files), &mut output, found, to, cx, report);
        let done = match done {
            // An apparent damage may be a line that another program is writing at this moment.
            Err(error) if error.is_recoverable() => output.unchanged().and(Err(error)),
            done => done,
        }?;
        let converts = matches!(self.action, Action::Convert(_)) && !done.restored;
        // An older version has no place for some messages.
        let copies = migrates && !in_place && to.version().number >= version;
        if converts || copies {
            richer::check(&output, to.format)?;
        }
        report.records = done.records;
        report.to = done.to.map(|number| At { format: to.format, number }).or(report.to);
        if in_place && (only_checked || !done.changed) {
            report.output = None;
            return Ok((self.outcome(false), output.discard()));
        }
        report.wrote(&output);
        output
            .paths()
            .iter()
            .filter(|_| in_place)
            .for_each(|path| report_hard_links(path, &self.place, cx));
        Ok((self.outcome(done.changed), output.seal(input.stood_still())?))
    }

    /// Returns the outcome for an input that was `changed` or not.
    fn outcome(&self, changed: bool) -> Outcome {
        match &self.action {
            Action::Repair(_) if !changed => Outcome::Healthy,
            Action::Repair(_) if self.policy.dry => Outcome::Repairable,
            Action::Repair(_) => Outcome::Repaired,
            _ if !changed => Outcome::Unchanged,
            Action::Migrate(_) => Outcome::Migrated,
            _ => Outcome::Converted,
        }
    }

    /// Performs the operation, after repairs that the user wants.
    fn perform(
        &self,
        (input, files): (&mut Input, &[Arc<Path>]),
        output: &mut Output,
        found: &Found,
        to: Spec,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<migrate::Outcome> {
        let version = found.sniffed.version;
        let mut mended = false;
        let is_last_copy =
            matches!(self.place, OutputPlace::InPlace(Backup::None)) && !self.policy.dry;
        let repairs = match &self.action {
            Action::Repair(mending) => Some(mending),
            // After the repair the session already has the target version.
            Action::Migrate(_)
                if found.format.plane.is_none() && to.version().number == version =>
            {
                self.repair_first.as_ref()
            }
            _ => None,
        };
        if let Some(mending) = repairs {
            let wanted = options_of(&mending.wanted, files);
            let restored = bring_back(found, input, output, cx)?;
            let back = !restored.is_empty();
            let healed = self.repaired_and_judged((input, output), found, &wanted, cx)?;
            let done = with_tear(healed, input, is_last_copy, cx)?;
            let done = Repaired { changed: done.changed || back, ..done };
            if done.changed && !healed.changed && output.is_in_place() {
                // Repair changed nothing and therefore wrote nothing, so the file is copied.
                parts::copy(input, output, if back { &restored } else { MAIN })?;
            }
            report.repair = Some(done);
            convert::take_along(found.format, input, output, cx)?;
            let (records, changed) = (done.records, done.changed);
            return Ok(migrate::Outcome { from: version, records, changed, ..Default::default() });
        }
        if let Some(mending) = &self.repair_first {
            let wanted = options_of(&mending.wanted, files);
            mended = !bring_back(found, input, output, cx)?.is_empty();
            let (done, _) = mend(input, output, |parts, sink| {
                repaired(found.format, (parts, sink), &wanted, None, cx)
            })?;
            let done = with_tear(done, input, is_last_copy, cx)?;
            mended |= done.changed;
            report.repair = Some(Repaired { changed: mended, ..done });
        }
        let done = match &self.action {
            Action::Migrate(_) if found.format.plane.is_some() => {
                let target = Target::Version(to.version().number);
                let done = input.main().and_then(|from| {
                    migrate::run_to(found.format, from, output.create_for_any("")?, target, cx)
                });
                done.and_then(|done| {
                    convert::take_along(found.format, input, output, cx).map(|()| done)
                })
            }
            _ => convert::run(found.format, version, to, input, output, cx),
        }?;
        // A whole session is converted through its records, because it shares its files with
        // others. Its contents stay the same.
        let options = cx.options;
        let plain = options.map_paths.is_empty();
        let stays = matches!(self.action, Action::Migrate(_)) && to.version().number == version;
        let copied = plain && stays && found.format.plane.is_none();
        Ok(migrate::Outcome { changed: (done.changed && !copied) || mended, ..done })
    }

    /// Joins several sessions into one output.
    fn join(
        &self,
        files: &[Arc<Path>],
        name: &Name,
        tally: &Tally,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<(Outcome, Sealed)> {
        let Action::Convert(to) = self.action else { return looked(Outcome::Skipped) };
        report.parts = files.iter().map(ReportedPath::from).collect();
        let (mut inputs, mut formats) = (Vec::new(), Vec::new());
        for (place, file) in (0..).zip(files) {
            cx.log.turn_to(place);
            if let Some(opened) =
                Opened::new(&JobSource::File(file.clone()), self.read_options(), true)?
            {
                report.format = Some(opened.found.name());
                formats.push(opened.found.format);
                inputs.push(opened.input.closed().counted(tally.clone()));
            }
        }
        let sources = inputs.iter().flat_map(Input::sources).collect();
        let destination = self.destination(name, files, None);
        let mut output = self.output(destination, files, sources, Some(to), report)?;
        let pieces = formats.into_iter().zip(&mut inputs);
        let mut pieces: Vec<_> =
            pieces.map(|(format, parts)| join::Piece { format, parts }).collect();
        report.records = join::run(&mut pieces, to, &mut output, cx)?.records;
        report.wrote(&output);
        Ok((Outcome::Converted, output.seal(false)?))
    }
}

/// Returns the result for an input that is only read.
fn looked(outcome: Outcome) -> Result<(Outcome, Sealed)> {
    Ok((outcome, Sealed::default()))
}
