//! Inputs that are copies of one session, as sync programs and users leave them.

use super::report::FileReport;
use crate::diagnostic::{Code, Diagnostic};
use crate::store::text_of;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The inputs of a run by the identifiers of their sessions.
#[derive(Debug, Default)]
pub struct Copies {
    first: HashMap<u64, PathBuf>,
    /// Inputs by the hashes of their beginnings.
    beginnings: HashMap<u64, PathBuf>,
}

impl Copies {
    /// Looks at the report on the next input. If an input before it has the same session, and both
    /// files begin with the same line, this is noted in the report; also if one with another
    /// identifier begins with the same question and answer.
    pub fn look(&mut self, report: &mut FileReport) {
        let Some(looked) = report.looked.take() else { return };
        let path = Path::new(&*report.path).to_owned();
        let identity = looked.identity.hash();
        let Some(first) = self.first.get(&identity) else {
            self.first.insert(identity, path.clone());
            let Some(beginning) = looked.beginning else { return };
            let Some(other) = self.beginnings.get(&beginning) else {
                self.beginnings.insert(beginning, path);
                return;
            };
            let message = format!("{}: {}", Code::SameBeginning.title(), other.display());
            report.findings.add(Diagnostic::new(Code::SameBeginning, message));
            return;
        };
        let Ok(Some(relation)) = relation(first, &path) else { return };
        let other = first.display();
        let what = match relation {
            Relation::Same => format!("{other} has the same text"),
            Relation::Begins => format!("{other} is the beginning of this file"),
            Relation::Continues => format!("this file is the beginning of {other}"),
            Relation::Parts(line) => format!("{other} differs from line {line} on"),
        };
        let message = format!("{}: {what}", Code::SameSession.title());
        report.findings.add(Diagnostic::new(Code::SameSession, message));
    }
}

/// Relation of a file to another one that begins with the same line.
#[derive(Debug, PartialEq, Eq)]
enum Relation {
    Same,
    /// The other file continues where this one ends.
    Begins,
    /// This file continues where the other one ends.
    Continues,
    /// The files differ from this line on.
    Parts(u64),
}

/// Compares the texts of two files, compressed or not; `None` if their first lines differ.
fn relation(a: &Path, b: &Path) -> io::Result<Option<Relation>> {
    let (mut a, mut b) = (BufReader::new(text_of(a)?), BufReader::new(text_of(b)?));
    let mut line = 1;
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 {
            return Ok(match (left.is_empty(), right.is_empty()) {
                (true, true) => Some(Relation::Same),
                (true, false) => Some(Relation::Begins),
                _ => Some(Relation::Continues),
            });
        }
        let same = left.iter().zip(right).take_while(|(l, r)| l == r).count();
        line += memchr::memchr_iter(b'\n', left.get(..same).unwrap_or_default()).count() as u64;
        if same < length {
            return Ok((line > 1).then_some(Relation::Parts(line)));
        }
        a.consume(length);
        b.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_compared_from_their_first_line_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let compared = |a: &str, b: &str| {
            let [one, other] = ["a", "b"].map(|name| folder.path().join(name));
            std::fs::write(&one, a).and_then(|()| std::fs::write(&other, b)).expect("written");
            relation(&one, &other).expect("readable")
        };
        assert_eq!(compared("h\nx\n", "h\nx\n"), Some(Relation::Same));
        assert_eq!(compared("h\n", "h\nx\n"), Some(Relation::Begins));
        assert_eq!(compared("h\nx\n", "h\n"), Some(Relation::Continues));
        assert_eq!(compared("h\nx\ny\n", "h\nx\nz\n"), Some(Relation::Parts(3)));
        assert_eq!(compared("g\nx\n", "h\nx\n"), None);
    }
}
