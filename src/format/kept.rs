//! Records of a small session, kept so that it is parsed once, however often it is read.

use super::{Cx, Format, Options, Parts, Reader};
use crate::diagnostic::{Diagnostic, Findings, Log};
use crate::error::Result;
use crate::parts::watched::Watched;
use crate::position::Located;
use crate::record::Record;
use std::ops::Range;
use std::rc::Rc;

/// Records of a session, and what was reported while they were read.
struct Kept {
    key: Key,
    /// `None` for a session that has to be read each time.
    reading: Option<Reading>,
}

/// Facts on which the records of a session depend.
struct Key {
    format: &'static str,
    session: Option<String>,
    options: Options,
}

struct Reading {
    records: Vec<Located<Record>>,
    /// Number of findings before each record.
    before: Vec<usize>,
    found: Vec<Diagnostic>,
    /// Counts without these findings.
    counted: Findings,
}

impl Key {
    fn is_of(&self, format: &Format, parts: &dyn Parts, options: &Options) -> bool {
        self.format == format.name
            && self.session == parts.session()
            && self.options.read_the_same(options)
    }
}

impl Format {
    /// Reads a session. The records of a small one are kept for the next reading.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    pub fn records<'a>(&self, parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
        match of(self, parts, cx)? {
            Some(records) => Ok(records),
            None => (self.read)(parts, cx),
        }
    }
}

/// Returns the records of a session, if it is small and can be kept.
///
/// # Errors
/// If it cannot be read.
fn of<'a>(format: &Format, parts: &mut dyn Parts, cx: &'a Cx<'a>) -> Result<Option<Reader<'a>>> {
    if parts.known_size().is_none_or(|size| size > cx.options.small()) {
        return Ok(None);
    }
    let known = parts.memo().and_then(|memo| memo.get::<Kept>());
    let known = known.filter(|kept| kept.key.is_of(format, parts, cx.options));
    let kept = match known {
        Some(kept) => kept,
        None => {
            // A later reading may need the contents.
            let options = Options { contents: true, ..cx.options.clone() };
            let reading = Reading::of(format, parts, &options)?;
            let key = Key { format: format.name, session: parts.session(), options };
            let kept = Rc::new(Kept { key, reading });
            parts.memo().into_iter().for_each(|memo| memo.keep(Rc::clone(&kept)));
            kept
        }
    };
    Ok(Reading::replay(kept, cx))
}

impl Reading {
    /// Reads a session. `None` if it is damaged beyond what the options allow, so that the reading
    /// ends where the damage is, or if files beside it are read.
    fn of(format: &Format, parts: &mut dyn Parts, options: &Options) -> Result<Option<Self>> {
        let (log, mut watched) = (Log::default(), Watched::over(parts));
        let (mut records, mut before) = (Vec::new(), Vec::new());
        let cx = Cx { options, log: &log };
        let Ok(reader) = (format.read)(&mut watched, &cx) else { return Ok(None) };
        for item in reader {
            let Ok(item) = item else { return Ok(None) };
            before.push(log.kept());
            records.push(item);
        }
        if !watched.further.is_empty() {
            return Ok(None);
        }
        let (found, counted) = log.into_findings().divided();
        Ok(Some(Self { records, before, found, counted }))
    }

    /// Returns the records once more, with the findings in their places.
    fn replay<'a>(kept: Rc<Kept>, cx: &'a Cx<'a>) -> Option<Reader<'a>> {
        let end = kept.reading.as_ref()?.records.len();
        let (mut next, mut reported) = (0, 0);
        Some(Box::new(std::iter::from_fn(move || {
            let reading = kept.reading.as_ref()?;
            let report = |found: Range<usize>| {
                let found = reading.found.get(found).unwrap_or_default();
                found.iter().for_each(|found| cx.report(found.clone()));
            };
            let record = reading.records.get(next).cloned();
            if next <= end {
                let until = reading.before.get(next).copied().unwrap_or(reading.found.len());
                report(reported..until);
                reported = until;
            }
            if next == end {
                cx.log.add_counts(&reading.counted);
            }
            next += 1;
            record.map(Ok)
        })))
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Log;
    use crate::format::{Cx, OnError, Options, Parts};
    use crate::formats::pi::FORMAT;
    use crate::memory::Bytes;

    const DAMAGED: &str = concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#,
        "\n{\"type\":\n",
        r#"{"type":"session_info","id":"a","parentId":null,"timestamp":"t","name":"b"}"#,
        "\n{\n"
    );

    /// Returns the records and the findings after each, and all findings in the end.
    fn read(parts: &mut dyn Parts, options: &Options, again: bool) -> String {
        let log = Log::default();
        let cx = Cx { options, log: &log };
        let records = if again { FORMAT.records(parts, &cx) } else { (FORMAT.read)(parts, &cx) };
        let mut all = String::new();
        for item in records.expect("a session") {
            all += &format!("{item:?} {}\n", log.kept());
        }
        format!("{all}{:?}", log.into_findings())
    }

    #[test]
    fn records_that_were_kept_are_those_that_are_read() {
        let keep = Options { on_error: OnError::Keep, ..Options::default() };
        let skip = Options { on_error: OnError::Skip, ..Options::default() };
        let none = Options { index_memory: 0, ..keep.clone() };
        let mut parts = Bytes::new(DAMAGED);
        for options in [&keep, &keep, &skip, &none, &Options::default(), &keep] {
            let expected = read(&mut Bytes::new(DAMAGED), options, false);
            assert_eq!(read(&mut parts, options, true), expected, "{options:?}");
        }
    }
}
