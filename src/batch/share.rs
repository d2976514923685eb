//! Sessions of a run that several processes work on, in a form that can be sent to them.

use super::inputs::grouped;
use super::inputs::{Between, Job, JobSource, Whole};
use super::names;
use crate::formats::FORMATS;
use crate::store::{Among, Copies, Entry, Name, Row};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session to be worked on, and what the process that works on it must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "EncodedShare", into = "EncodedShare")]
pub struct Share {
    /// The input.
    pub job: Job,
    /// The name of its output below the output folder, which no other share of the run has.
    pub output: names::Name,
    /// The last journal entry of the input. The outputs that it names may be replaced, unless they
    /// changed since.
    pub earlier: Option<Entry>,
    /// Number of bytes that there are to read.
    pub bytes: u64,
}

/// A share in the form for another process. Paths that are not valid UTF-8 are encoded as in a
/// journal.
#[derive(Serialize, Deserialize)]
struct EncodedShare {
    /// The files, by the names of their parts.
    files: Vec<(String, Name)>,
    /// For a session in a folder that sessions share: format, version, folder, identifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<(String, u32, Name, String)>,
    /// For a session between others: format, version, the bytes where it begins and ends, number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    between: Option<(String, u32, u64, u64, u64)>,
    relative: Name,
    named: bool,
    main: Name,
    stem: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<Entry>,
    bytes: u64,
}

impl From<Share> for EncodedShare {
    fn from(Share { job, output, earlier, bytes }: Share) -> Self {
        let sent = |(part, path): &(String, Arc<Path>)| (part.clone(), Name::from(&**path));
        let (files, whole) = match &job.source {
            JobSource::Whole(Whole { format, version, among, files }) => {
                let home = Name::from(&*among.home);
                let whole = (format.name.to_owned(), *version, home, among.session.clone());
                (files.iter().map(sent).collect(), Some(whole))
            }
            _ => (job.files().map(|path| (String::new(), Name::from(&**path))).collect(), None),
        };
        let between = match &job.source {
            JobSource::Between(Between { format, version, row, number }) => {
                Some((format.name.to_owned(), *version, row.span.start, row.span.end, *number))
            }
            _ => None,
        };
        let relative = Name::from(&*job.relative);
        let (main, stem) = (Name::from(&*output.main), Name::from(&*output.stem));
        Self { files, whole, between, relative, named: job.named, main, stem, earlier, bytes }
    }
}

impl TryFrom<EncodedShare> for Share {
    type Error = String;

    fn try_from(sent: EncodedShare) -> Result<Self, String> {
        let EncodedShare { files, whole, between, relative, named, main, stem, earlier, bytes } =
            sent;
        let mut files = files.into_iter().map(|(part, path)| (part, Arc::from(path.path())));
        let format = |name: String| {
            let format = FORMATS.iter().copied().find(|format| format.name == name);
            format.ok_or_else(|| format!("no format is called {name}"))
        };
        let source = match (whole, between) {
            (Some((name, version, home, session)), _) => {
                let among = Among { home: home.path(), session, copies: Copies::default() };
                let (format, files) = (format(name)?, files.collect());
                JobSource::Whole(Whole { format, version, among, files })
            }
            (None, between) => {
                let path = files.next().ok_or("a share without a file")?.1;
                match between {
                    None => JobSource::File(path),
                    Some((name, version, start, end, number)) => {
                        let row = Row { path, span: start..end, text: None };
                        JobSource::Between(Between { format: format(name)?, version, row, number })
                    }
                }
            }
        };
        let job = Job { source, relative: relative.path(), named, passed_over: None };
        let output = names::Name { main: main.path(), stem: stem.path(), place: 0 };
        Ok(Self { job, output, earlier, bytes })
    }
}

impl Share {
    /// Returns the folder that the session shares with others. Its outputs share a folder, too.
    fn home(&self) -> Option<&PathBuf> {
        match &self.job.source {
            JobSource::Whole(whole) => Some(&whole.among.home),
            _ => None,
        }
    }
}

/// Returns shares in the form for another process.
pub fn encoded(shares: &[Share]) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(shares)
}

/// Returns the shares that were sent. Sessions of one folder have their copies of its shared files
/// in common.
pub fn decoded(sent: &[u8]) -> serde_json::Result<Vec<Share>> {
    let mut shares: Vec<Share> = serde_json::from_slice(sent)?;
    let mut copies: HashMap<PathBuf, Copies> = HashMap::new();
    for share in &mut shares {
        if let JobSource::Whole(whole) = &mut share.job.source {
            whole.among.copies = copies.entry(whole.among.home.clone()).or_default().clone();
        }
    }
    Ok(shares)
}

/// Divides shares into portions of about `bytes` bytes and at most `most` shares. Sessions of one
/// folder that they share stay together. Portions of more than `bytes` bytes come first, the
/// largest one before the others, so that no process is left with one of them at the end. All
/// others are in the order of the inputs, so that a portion is about few folders.
pub fn portions(shares: Vec<Share>, bytes: u64, most: usize) -> Vec<Vec<Share>> {
    let size = |shares: &[Share]| shares.iter().map(|share| share.bytes).sum::<u64>();
    let (mut large, mut small) = (Vec::new(), Vec::<Vec<Share>>::new());
    let mut room = 0;
    for unit in units(shares) {
        let length = size(&unit);
        match small.last_mut() {
            _ if length >= bytes => large.push(unit),
            Some(last) if length <= room && last.len() + unit.len() <= most => {
                last.extend(unit);
                room -= length;
            }
            _ => {
                small.push(unit);
                room = bytes - length;
            }
        }
    }
    large.sort_by_key(|unit| std::cmp::Reverse(size(unit)));
    large.append(&mut small);
    large
}

/// Returns the shares that stay together, in the order of the inputs.
fn units(shares: Vec<Share>) -> Vec<Vec<Share>> {
    let homes = grouped(shares.into_iter().map(|share| (share.home().cloned(), share)));
    homes.into_iter().map(|(_, unit)| unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(path: &str, bytes: u64) -> Share {
        let output = names::Name { main: path.into(), stem: path.into(), place: 0 };
        Share { job: Job::found(Path::new(path), path.into()), output, earlier: None, bytes }
    }

    fn whole(home: &str, session: &str, bytes: u64) -> Share {
        let mut share = share(&format!("{home}/{session}"), bytes);
        let format = FORMATS.iter().find(|format| format.files.shared.is_some()).expect("one");
        let among =
            Among { home: home.into(), session: session.to_owned(), copies: Copies::default() };
        let files = vec![("part".to_owned(), Arc::from(Path::new("part")))];
        share.job.source = JobSource::Whole(Whole { format, version: 2, among, files });
        share
    }

    #[test]
    fn shares_encoded_and_decoded_are_equal() {
        let shares = [share("a/b.jsonl", 3), whole("home", "s", 4)];
        assert_eq!(decoded(&encoded(&shares).expect("JSON")).expect("shares"), shares);
    }

    #[test]
    fn portions_hold_every_share_once_and_homes_together() {
        let shares = vec![
            share("a", 4),
            whole("h", "1", 3),
            share("b", 50),
            share("c", 5),
            whole("h", "2", 3),
            share("d", 90),
            share("e", 10),
        ];
        let portions = portions(shares, 10, 3);
        let paths = |portion: &Vec<Share>| -> Vec<String> {
            portion.iter().map(|share| share.job.relative.display().to_string()).collect()
        };
        let paths: Vec<_> = portions.iter().map(paths).collect();
        assert_eq!(paths, [vec!["d"], vec!["b"], vec!["e"], vec!["a", "h/1", "h/2"], vec!["c"]]);
    }
}
