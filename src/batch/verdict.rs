//! The verdict on a session, the same for `validate`, `inspect` and `repair`: a session is valid,
//! or healthy, if it follows its schema, repair changes nothing in it, and the interface of its
//! model takes what is sent of it.

use super::found::Found;
use super::repaired::{options_of, repaired};
use super::task::Task;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::Result;
use crate::format::{Cx, Head, Options, Parts, RepairOptions, Repaired, Sniffed};
use crate::inspect::{self, Inspecting, Inspection, Request};
use crate::parts::watched::Watched;
use crate::repair;
use crate::session::Visitor;
use crate::store::{Claims, Destination, Input, Output, Policy};
use crate::validate::{Schema, SchemaLines};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

impl Task {
    /// Judges an input in three readings, and shows its records to the visitor: its lines are seen
    /// by repair and the schema, then the tree and the messages are built. What keeps the input from
    /// being opened is reported in the log of `cx`; returns the number of records, and the other
    /// findings.
    fn judge(
        &self,
        (input, files): (&mut Input, &[Arc<Path>]),
        found: &Found,
        (schema, max_errors): (&Schema, usize),
        visitor: Option<&mut dyn Visitor>,
        cx: &Cx<'_>,
    ) -> Result<(u64, Log)> {
        let lines = SchemaLines::new(found.format, schema, max_errors);
        let mut parts = lines.watching(input, cx.options);
        let wanted = options_of(&RepairOptions::default(), files);
        let need = repair_need(&mut parts, found, &wanted, cx.options);
        let (judged, log) = lines.judge(&mut parts, visitor, cx)?;
        if !cx.log.has(Code::is_invalid) && !log.has(Code::is_invalid) {
            need?.into_iter().for_each(|need| log.report(need));
        }
        Ok((judged.records, log))
    }

    /// Reports all defects of an input, also those because of which its agent cannot open it.
    /// Returns the number of records.
    pub(super) fn validated(
        &self,
        session: (&mut Input, &[Arc<Path>]),
        found: &Found,
        max_errors: usize,
        cx: &Cx<'_>,
    ) -> Result<u64> {
        let options = cx.options.tolerant();
        let tolerant = Cx { options: &options, log: cx.log };
        let judged = self
            .schema(found)
            .and_then(|schema| self.judge(session, found, (&schema, max_errors), None, &tolerant));
        match judged {
            Err(error) if error.code() != Code::Io => {
                cx.report(error.into_diagnostic());
                Ok(0)
            }
            judged => judged.map(|(records, log)| {
                cx.log.take_over(log);
                records
            }),
        }
    }

    /// Inspects an input, with the verdict on it, and reports the defects of which the log has none.
    pub(super) fn inspected(
        &self,
        session: (&mut Input, &[Arc<Path>]),
        found: &Found,
        request: Request,
        cx: &Cx<'_>,
    ) -> Result<Inspection> {
        let (input, files) = session;
        let (inspection, log) = match self.schema(found) {
            Ok(schema) => {
                let mut inspecting = Inspecting::new(found.format, input, request)?;
                let schema = (&schema, REPORTED);
                let judged =
                    self.judge((input, files), found, schema, Some(&mut inspecting), cx)?;
                (inspecting.finish(), judged.1)
            }
            Err(error) => {
                let (inspection, log) =
                    (inspect::run(found.format, input, request, cx)?, Log::default());
                log.report(error.into_diagnostic());
                (inspection, log)
            }
        };
        cx.log.add_new(log.into_findings(), |code| code.is_invalid() || code == Code::Refused);
        Ok(inspection)
    }

    /// Repairs an input, and reports what is left in it. The schema checks the lines while repair
    /// looks at them.
    pub(super) fn repaired_and_judged(
        &self,
        (input, output): (&mut Input, &mut Output),
        found: &Found,
        wanted: &RepairOptions,
        cx: &Cx<'_>,
    ) -> Result<Repaired> {
        let schema = self.schema(found).ok();
        let lines = schema.map(|schema| SchemaLines::new(found.format, &schema, REPORTED));
        let judge = |parts: &mut dyn Parts, changed: bool, cx: &Cx<'_>| {
            self.judge_repaired(parts, found, lines.as_ref().filter(|_| !changed), cx)
        };
        let mut parts = match &lines {
            Some(lines) => lines.watching(input, cx.options),
            None => Watched::over(input),
        };
        repaired(found.format, (&mut parts, output), wanted, Some(&judge), cx)
    }

    /// Reports what is left in a session that was repaired, or that repair left as it was, so that
    /// its lines may have been checked already. Returns how many messages its context has, where
    /// that is known.
    fn judge_repaired(
        &self,
        parts: &mut dyn Parts,
        found: &Found,
        checked: Option<&SchemaLines>,
        cx: &Cx<'_>,
    ) -> Option<u64> {
        let version = version_of(parts, found, cx.options);
        let same = version == found.sniffed.version;
        let found = Found { sniffed: Sniffed { version, ..found.sniffed }, ..*found };
        let options = cx.options.tolerant();
        let tolerant = Cx { options: &options, log: cx.log };
        let judged = match checked.filter(|_| same) {
            Some(lines) => lines.judge(parts, None, &tolerant),
            None => self.schema(&found).and_then(|schema| {
                let lines = SchemaLines::new(found.format, &schema, REPORTED);
                lines.judge(&mut lines.watching(parts, &options), None, &tolerant)
            }),
        };
        match judged {
            Ok((judged, log)) => {
                cx.log.take_over(log);
                judged.messages
            }
            Err(error) => {
                cx.report(error.into_diagnostic());
                None
            }
        }
    }
}

/// Returns the finding that repair would change a session, if it would.
fn repair_need(
    parts: &mut dyn Parts,
    found: &Found,
    wanted: &RepairOptions,
    options: &Options,
) -> Result<Option<Diagnostic>> {
    let log = Log::default();
    let options = Options { origin: false, ..options.clone() };
    let cx = Cx { options: &options, log: &log };
    let dry = Policy { dry: true, ..Policy::default() };
    let claims: Arc<Claims> = Arc::default();
    let mut nowhere = Output::prepare(Destination::Nowhere, Vec::new(), dry, claims)?;
    let changed = match repair::is_needed(found.format, parts, &mut nowhere, wanted, &cx) {
        Err(error) if error.code() != Code::Io => return Ok(Some(error.into_diagnostic())),
        done => done?,
    };
    drop(nowhere.discard());
    let findings = log.into_findings();
    let first = findings.diagnostics.into_iter().find(|found| found.code.is_fix());
    Ok(match first {
        Some(Diagnostic { code, at, .. }) => {
            let message = format!("{}: {}", Code::RepairNeeded.title(), code.title());
            Some(Diagnostic { at, ..Diagnostic::new(Code::RepairNeeded, message) })
        }
        None => changed.then(|| Diagnostic::of(Code::RepairNeeded)),
    })
}

/// Number of errors of the schema that are reported in words behind a repair.
const REPORTED: usize = 100;

/// Returns the version of a session, which repair may have put into its header.
fn version_of(parts: &mut dyn Parts, found: &Found, options: &Options) -> u32 {
    // The version of several files does not depend on one of them.
    if parts.names().len() > 1 {
        return found.sniffed.version;
    }
    if let Some(settle) = found.format.settle {
        return settle(parts, options.max_line).unwrap_or(found.sniffed.version);
    }
    let mut bytes = Vec::new();
    let main = parts.main().ok().map(|main| main.take(Head::SIZE as u64));
    // What cannot be read is reported by the reader that judges it.
    main.and_then(|mut main| main.read_to_end(&mut bytes).ok());
    let whole = bytes.len() < Head::SIZE;
    let head = Head { name: "", bytes: &bytes, whole, encoding: options.encoding };
    (found.format.sniff)(&head).map_or(found.sniffed.version, |sniffed| sniffed.version)
}
