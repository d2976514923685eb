//! Repair: recovers every record of a damaged session, and makes a session with which the real
//! software continues.
//!
//! A format repairs its own sessions, part by part; this module has the tools for it. A part of
//! lines is divided into records and other bytes (`pieces`). The format looks at the records and
//! decides how they are linked. Then everything is read again and written (`walk`). Records without
//! a defect are written byte for byte. In other records only the necessary bytes are changed, and a
//! note of the change is added. Bytes that cannot stand in the output go to the quarantine. Only an
//! index of the session is kept in memory.

mod draft;
mod mark;
mod pairing;
mod pieces;
mod quarantine;
mod spread;
mod talk;
mod twice;
mod waiting;
mod walk;

pub use mark::{Fixes, mark, write_marked};
pub use pairing::{Added, Pairing, Rules};
pub(crate) use pieces::whole;
pub use quarantine::QUARANTINE;
pub(crate) use spread::EFFORT;
pub use spread::literal_backslashes;
pub use talk::{Role, Talk, repair_talk};
pub use twice::Twice;
pub use waiting::Waiting;
pub use walk::Walk;

use crate::diagnostic::{Code, Diagnostic, Log, Severity};
use crate::error::{Error, Result};
use crate::format::{Change, Cx, Format, Options, Parts, RepairIo, RepairOptions, Repaired, Sink};
use crate::position::Position;
use draft::{Again, Draft};
use quarantine::Quarantine;
use std::io::Write;

/// Repairs one session.
///
/// A session without a defect passes byte for byte. Bytes that cannot stand in the output go to the
/// part [`QUARANTINE`], which is created only if there is something to put into it.
///
/// Records that were set aside or added can change the meaning of the rest: which record is the
/// last, or to which entry a reference leads. Therefore the result of a repair is repaired again
/// until it has no defect, and only then goes to its place.
///
/// # Errors
/// If not one record is there, or if reading or writing fails.
///
/// ```
/// use copyist::diagnostic::Log;
/// use copyist::format::{Cx, Options, RepairOptions};
/// use copyist::{formats::pi, memory::{Buffer, Bytes}, repair};
/// let torn = concat!(
///     r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#, "\n",
///     r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"#,
///     r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":"Hello"}}"#, "\n",
/// );
/// let (options, log) = (Options::default(), Log::default());
/// let (cx, mut out) = (Cx { options: &options, log: &log }, Buffer::default());
/// let done = repair::run(&pi::FORMAT, &mut Bytes::new(torn), &mut out, &RepairOptions::default(), &cx)?;
/// assert_eq!((done.records, done.rescued, done.messages), (2, 1, 1));
/// assert_eq!(out.main().iter().filter(|b| **b == b'\n').count(), 2);
/// assert!(out.part(repair::QUARANTINE).is_some());
/// # Ok::<(), copyist::error::Error>(())
/// ```
pub fn run(
    format: &Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    run_asking(format, (parts, sink), wanted, Questions::default(), cx)
}

/// Repairs one session once, to see whether it has defects. What is written is not used.
///
/// # Errors
/// The errors of [`run`].
pub fn is_needed(
    format: &Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<bool> {
    parts.keep()?;
    let (mut quarantine, before) = (Quarantine::default(), Draft::default());
    let lent = Lent { before: &before, sink, quarantine: &mut quarantine };
    pass(format, parts, lent, wanted, cx).map(|(_, done)| done.changed)
}

/// Counts the messages that the software would send of a session. The second value is a hash of the
/// compaction among them, if there is one.
pub type Counting<'c> = &'c dyn Fn(&mut dyn Parts) -> (u64, Option<u64>);

/// Reports the defects of a session, which is the input or, where that was changed, the result.
/// Returns how many messages its context has, where it is known.
pub type Judge<'j> = &'j dyn Fn(&mut dyn Parts, bool, &Cx<'_>) -> Option<u64>;

/// Questions to the layers above, because this module knows neither the rules for contexts nor the
/// schemas.
#[derive(Clone, Copy, Default)]
pub struct Questions<'a> {
    /// Counts the messages of the context, before and after, where the format's repair does not
    /// surely know them.
    pub counting: Option<Counting<'a>>,
    /// Reports the defects that are left in the result.
    pub judge: Option<Judge<'a>>,
}

/// Repairs one session as [`run`] does, with these questions.
///
/// # Errors
/// The errors of [`run`].
pub fn run_asking(
    format: &Format,
    (parts, sink): (&mut dyn Parts, &mut dyn Sink),
    wanted: &RepairOptions,
    questions: Questions<'_>,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    parts.keep()?;
    if !format.links() {
        wanted.relink.iter().for_each(|(entry, parent)| cx.report(not_linked(entry, parent)));
    }
    let (mut quarantine, before) = (Quarantine::default(), Draft::default());
    let lent = Lent { before: &before, sink, quarantine: &mut quarantine };
    let (mut draft, mut done) = pass(format, parts, lent, wanted, cx)?;
    let wanted = RepairOptions { relink: Vec::new(), ..wanted.clone() };
    // A record of the maximum length now contains a note, too.
    let max_line = cx.options.max_line.saturating_mul(2);
    let options = Options { max_line, ..cx.options.clone() };
    for number in 2.. {
        if !done.changed {
            break;
        }
        quarantine.turn();
        let log = Log::default();
        let inner = Cx { options: &options, log: &log };
        let lent = Lent { before: &draft, sink, quarantine: &mut quarantine };
        let mut again = Again { source: parts, draft: &draft };
        let (next, more) = match pass(format, &mut again, lent, &wanted, &inner) {
            // A defect that no repair can fix is reported, as in an input that needs no repair.
            Ok((_, more)) if !more.changed && !quarantine.has_additions() => {
                report_new(log, |code| code.severity() == Severity::Error, &again.names(), cx);
                break;
            }
            Ok(made) if number <= PASSES => made,
            // What an earlier repair kept may be no session either.
            Err(error) if [Code::Io, Code::NothingBack].contains(&error.code()) => {
                return Err(error);
            }
            made => {
                quarantine.turn_back();
                cx.report(unsettled(made.err()));
                break;
            }
        };
        let news = |code: Code| code.is_fix() || cx.log.count_of(code) == 0;
        report_new(log, news, &again.names(), cx);
        let Repaired { entries, messages, .. } = more;
        (draft, done) = (next, Repaired { entries, messages, ..done });
    }
    let judged = Log::default();
    let sent = questions.judge.and_then(|judge| {
        let mut after = Again { source: parts, draft: &draft };
        judge(&mut after, done.changed, &Cx { options: &options, log: &judged })
    });
    let sent = sent.filter(|_| !done.changed && done.entries_before > 0);
    if let Some(sent) = sent.filter(|_| !done.counted) {
        (done.messages_before, done.messages) = (sent, sent);
    } else if let Some(counting) = questions.counting.filter(|_| !done.counted) {
        // The software builds no context of a session that it cannot read, even if this program
        // reads some of it.
        done.messages_before = if done.entries_before > 0 { counting(parts).0 } else { 0 };
        let mut after = Again { source: parts, draft: &draft };
        let same = !done.changed && done.entries_before > 0;
        done.messages = if same { done.messages_before } else { counting(&mut after).0 };
    }
    let changes = done.messages_before > 0 && done.messages != done.messages_before;
    if let Some(counting) = questions.counting.filter(|_| changes) {
        let (_, before) = counting(parts);
        let (_, after) = counting(&mut Again { source: parts, draft: &draft });
        cx.report(context_changed(&done, before, after));
    }
    let left = |code: Code| code.is_invalid() || code == Code::Refused;
    if done.changed {
        let news = |code: Code| left(code) && cx.log.count_of(code) == 0;
        report_new(judged, news, &Again { source: parts, draft: &draft }.names(), cx);
    } else {
        cx.log.add_new(judged.into_findings(), left);
    }
    draft.put(quarantine.part(), parts, sink)?;
    Ok(Repaired { quarantined: quarantine.taken(), fixes: fixes(cx), ..done })
}

/// Maximum number of times that a session is repaired. Twice is mostly enough.
const PASSES: u32 = 8;

fn unsettled(error: Option<Error>) -> Diagnostic {
    let why = error.map(|error| format!(": {}", error.message())).unwrap_or_default();
    Diagnostic::new(Code::Unsettled, format!("{}{why}", Code::Unsettled.title()))
}

/// Returns the note that the model gets another number of messages, with the reason.
fn context_changed(done: &Repaired, before: Option<u64>, after: Option<u64>) -> Diagnostic {
    let (from, to) = (done.messages_before, done.messages);
    let why = match (before, after) {
        (before, Some(after)) if before != Some(after) => {
            "a compaction was restored, which replaces the messages before it"
        }
        (Some(_), None) => "the compaction no longer has an effect",
        _ if to > from => "records were restored or linked again",
        _ => "records were set aside or linked again",
    };
    let title = Code::ContextChanged.title();
    Diagnostic::new(Code::ContextChanged, format!("{title}: {from} → {to} messages; {why}"))
}

/// One repair of a session.
fn pass<'a>(
    format: &Format,
    parts: &'a mut dyn Parts,
    lent: Lent<'a>,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<(Draft, Repaired)> {
    let mut work = Work { parts, lent, draft: Draft::default() };
    let done = (format.repair)(&mut work, wanted, cx)?;
    work.lent.quarantine.flush()?;
    Ok((work.draft, done))
}

/// Reports the findings of a later repair that the earlier ones did not have. Their places are not
/// places of the input.
fn report_new(log: Log, news: impl Fn(Code) -> bool, names: &[String], cx: &Cx<'_>) {
    let found = log.into_findings();
    let news: Vec<_> = found.counts.into_keys().filter(|code| news(*code)).collect();
    for found in found.diagnostics.into_iter().filter(|found| news.contains(&found.code)) {
        let place = found.at.map(|at| {
            let part = names.get(at.part as usize).filter(|name| !name.is_empty());
            let part = part.map(|name| format!("{name} of ")).unwrap_or_default();
            format!(", in line {} of {part}what was repaired", at.line)
        });
        let message = format!("{}{}", found.message, place.unwrap_or_default());
        cx.report(Diagnostic { at: None, message, ..found });
    }
}

/// Text of the result that is added for a call of a tool without one.
pub const OUTCOME_UNKNOWN: &str =
    "The session was interrupted before this tool returned. The outcome of the call is unknown.";

/// Returns the error for a session of which no record is left.
#[must_use]
pub fn nothing_back() -> Error {
    Error::unfit(Diagnostic::of(Code::NothingBack))
}

/// Returns the report that an entry was not linked to the parent that the user wants for it.
#[must_use]
pub fn not_linked(entry: &str, parent: &str) -> Diagnostic {
    let code = Code::NotLinked;
    Diagnostic::new(code, format!("{}: {entry} to {parent}", code.title()))
}

/// Returns how many fixes were reported.
fn fixes(cx: &Cx<'_>) -> u64 {
    let fixes = Code::ALL.iter().filter(|code| code.is_fix());
    fixes.map(|code| cx.log.count_of(*code)).sum()
}

/// State that all repairs of one session share.
struct Lent<'a> {
    /// Draft of the repair before.
    before: &'a Draft,
    sink: &'a mut dyn Sink,
    quarantine: &'a mut Quarantine,
}

/// State of one repair.
struct Work<'a> {
    parts: &'a mut dyn Parts,
    lent: Lent<'a>,
    draft: Draft,
}

impl RepairIo for Work<'_> {
    fn parts(&mut self) -> &mut dyn Parts {
        self.parts
    }

    fn takes_parts(&self) -> bool {
        self.lent.sink.takes_parts()
    }

    fn is_in_place(&self) -> bool {
        self.lent.sink.is_in_place()
    }

    fn begin(&mut self, removes: bool) -> Result<()> {
        if removes { self.lent.quarantine.open(self.lent.sink) } else { Ok(()) }
    }

    fn create(&mut self, part: &str) -> Result<Box<dyn Write>> {
        Ok(Box::new(self.draft.create(part, self.lent.sink)?))
    }

    fn share(&mut self, part: &str, change: Option<Box<dyn Change>>) {
        self.draft.share(part, change);
    }

    fn keep(&mut self, part: &str) -> Result<()> {
        self.draft.keep(part, self.lent.before);
        Ok(())
    }

    fn aside(&mut self, part: &str, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        self.lent.quarantine.take(part, bytes, at, code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Cannot;
    use crate::formats::pi;
    use crate::memory::{Buffer, Bytes};
    use std::io::Read;

    /// Repairs without end: removes the first byte of each input, and reports it.
    fn eats(io: &mut dyn RepairIo, _: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
        let mut text = Vec::new();
        io.parts().main()?.read_to_end(&mut text).cannot("read")?;
        let Some((first, rest)) = text.split_first() else { return Err(nothing_back()) };
        io.begin(true)?;
        io.aside("", &[*first], Position::default(), Code::StraySetAside)?;
        cx.report(Diagnostic::new(Code::StraySetAside, "eaten"));
        io.create("")?.write_all(rest).cannot("write")?;
        Ok(Repaired { changed: true, ..Repaired::default() })
    }

    /// Returns the repaired text, the lines of the quarantine, and the number of reports that the
    /// repair does not settle.
    fn eaten(text: &str) -> (String, Vec<String>, u64) {
        let format = Format { repair: eats, ..pi::FORMAT };
        let (options, log, mut out) = (Options::default(), Log::default(), Buffer::default());
        let cx = Cx { options: &options, log: &log };
        let done = run(&format, &mut Bytes::new(text), &mut out, &RepairOptions::default(), &cx);
        let aside = String::from_utf8(out.part(QUARANTINE).expect("a quarantine")).expect("text");
        let aside: Vec<_> = aside.lines().map(str::to_owned).collect();
        assert_eq!(done.expect("an outcome").quarantined, aside.len() as u64);
        let left = String::from_utf8(out.main()).expect("text");
        (left, aside, log.count_of(Code::Unsettled))
    }

    #[test]
    fn repair_that_never_settles_ends_with_a_finding() {
        let (left, aside, told) = eaten("0123456789");
        assert_eq!((left.as_str(), aside.len(), told), ("89", PASSES as usize, 1));
        assert!(!aside[0].contains("pass") && aside[7].contains("\"pass\":8,"), "{aside:?}");
    }

    /// Takes everything off, and finds no session in what it made.
    fn spoils(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
        let mut text = Vec::new();
        io.parts().main()?.read_to_end(&mut text).cannot("read")?;
        if text.len() > 1 {
            return eats(io, wanted, cx);
        }
        io.keep("")?;
        cx.report(Diagnostic::new(Code::YamlSyntax, "no YAML").at(Position::default()));
        Ok(Repaired::default())
    }

    #[test]
    fn repair_with_an_unreadable_result_reports_it() {
        for (text, told) in [("0", 1), ("012", 1)] {
            let format = Format { repair: spoils, ..pi::FORMAT };
            let (options, log, mut out) = (Options::default(), Log::default(), Buffer::default());
            let cx = Cx { options: &options, log: &log };
            run(&format, &mut Bytes::new(text), &mut out, &RepairOptions::default(), &cx)
                .expect("an outcome");
            assert_eq!(log.count_of(Code::YamlSyntax), told, "{text}");
        }
    }

    #[test]
    fn a_later_repair_that_finds_nothing_back_writes_nothing() {
        let format = Format { repair: eats, ..pi::FORMAT };
        let (options, log, mut out) = (Options::default(), Log::default(), Buffer::default());
        let cx = Cx { options: &options, log: &log };
        let done = run(&format, &mut Bytes::new("0"), &mut out, &RepairOptions::default(), &cx);
        assert_eq!(done.expect_err("nothing is left").code(), Code::NothingBack);
        assert_eq!(out.names().count(), 0);
    }
}
