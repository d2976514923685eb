//! Detection of the format of a file, by its first bytes.

use crate::format::{Confidence, Format, Head, Sniffed};
use crate::formats::FORMATS;

/// Returns the format with the highest confidence, with its result for the file. The version is final
/// if the format has no [`Format::settle`]. An archive is
/// never a session, whatever it contains.
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
            // No format can have a higher confidence.
            break;
        }
    }
    best
}
