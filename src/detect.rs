//! Which format a file is of, by its first bytes.

use crate::format::{Confidence, Format, Head, Sniffed};
use crate::formats::FORMATS;

/// The format that is surest of the file, with what it makes of it. An archive is never a session,
/// whatever it holds.
///
/// ```
/// use copyist::{detect::detect, format::Head};
/// let bytes = br#"{"type":"session","version":2,"id":"a"}"#;
/// let (format, sniffed) = detect(&Head { name: "a.jsonl", bytes, whole: true, encoding: None }).unwrap();
/// assert_eq!(format.at(sniffed.version), "pi@2");
/// ```
#[must_use]
pub fn detect(head: &Head<'_>) -> Option<(&'static Format, Sniffed)> {
    if head.archive().is_some() {
        return None;
    }
    let mut best: Option<(&'static Format, Sniffed)> = None;
    for format in FORMATS {
        if let Some(sniffed) = (format.sniff)(head)
            && best.is_none_or(|(_, other)| sniffed.confidence > other.confidence)
        {
            best = Some((format, sniffed));
        }
        if best.is_some_and(|(_, sniffed)| sniffed.confidence == Confidence::Certain) {
            // Nobody can be surer.
            break;
        }
    }
    best
}
