//! The verdict on a session, the same for `validate`, `inspect` and `repair`: a session is valid,
//! or healthy, if it follows its schema, repair changes nothing in it, and the interface of its
//! model takes what is sent of it.

use super::found::Found;
use super::repaired::options_of;
use super::report::Verdict;
use super::task::Task;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::Result;
use crate::format::{Cx, Head, Options, Parts, RepairOptions, Sniffed};
use crate::store::{Claims, Destination, Input, Output, Policy};
use crate::{repair, validate};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

impl Task {
    /// Reports all defects of an input. Returns the number of records.
    pub(super) fn judge(
        &self,
        (input, files): (&mut Input, &[Arc<Path>]),
        found: &Found,
        max_errors: usize,
        cx: &Cx<'_>,
    ) -> Result<u64> {
        let schema = self.schema(found)?;
        let count = validate::run(found.format, &schema, input, max_errors, cx)?.records;
        if !cx.log.has(Code::is_invalid) {
            let wanted = options_of(&RepairOptions::default(), files);
            self.needs_repair(input, found, &wanted, cx)?;
        }
        Ok(count)
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
        match self.judge(session, found, max_errors, cx) {
            Err(error) if error.code() != Code::Io => {
                cx.report(error.into_diagnostic());
                Ok(0)
            }
            records => records,
        }
    }

    /// Returns the verdict on an input in one word, and reports the defects that the log does not
    /// have yet.
    pub(super) fn state(
        &self,
        session: (&mut Input, &[Arc<Path>]),
        found: &Found,
        cx: &Cx<'_>,
    ) -> &'static str {
        let log = Log::default();
        let inner = Cx { options: cx.options, log: &log };
        if let Err(error) = self.judge(session, found, REPORTED, &inner) {
            inner.report(error.into_diagnostic());
        }
        let found = log.into_findings();
        let verdict = Verdict::of(&found);
        cx.log.add_new(found, |code| code.is_invalid() || code == Code::Refused);
        verdict.name()
    }

    /// Reports what repair would change.
    fn needs_repair(
        &self,
        input: &mut Input,
        found: &Found,
        wanted: &RepairOptions,
        cx: &Cx<'_>,
    ) -> Result<()> {
        let log = Log::default();
        let options = Options { origin: false, ..cx.options.clone() };
        let inner = Cx { options: &options, log: &log };
        let dry = Policy { dry: true, ..Policy::default() };
        let claims: Arc<Claims> = Arc::default();
        let mut nowhere = Output::prepare(Destination::Nowhere, Vec::new(), dry, claims)?;
        let changed = match repair::run(found.format, input, &mut nowhere, wanted, &inner) {
            Err(error) if error.code() != Code::Io => {
                cx.report(error.into_diagnostic());
                return Ok(());
            }
            done => done?.changed,
        };
        drop(nowhere.discard());
        let findings = log.into_findings();
        let mut first = findings.diagnostics.into_iter().filter(|found| found.code.is_fix());
        if let Some(Diagnostic { code, at, .. }) = first.next() {
            let message = format!("{}: {}", Code::RepairNeeded.title(), code.title());
            cx.report(Diagnostic { at, ..Diagnostic::new(Code::RepairNeeded, message) });
        } else if changed {
            cx.report(Diagnostic::of(Code::RepairNeeded));
        }
        Ok(())
    }

    /// Reports what is left in a session that was repaired, or that repair left as it was. Returns
    /// how many messages its context has, where that is known.
    pub(super) fn judge_repaired(
        &self,
        parts: &mut dyn Parts,
        found: &Found,
        cx: &Cx<'_>,
    ) -> Option<u64> {
        let version = version_of(parts, found, cx.options);
        let found = Found { sniffed: Sniffed { version, ..found.sniffed }, ..*found };
        let judged = self
            .schema(&found)
            .and_then(|schema| validate::run(found.format, &schema, parts, REPORTED, cx));
        match judged {
            Ok(judged) => judged.messages,
            Err(error) => {
                cx.report(error.into_diagnostic());
                None
            }
        }
    }
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
