//! Names of outputs below a folder: each input its own, whatever the inputs are called.

use super::inputs::{Job, stem};
use crate::format::Format;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::PathBuf;

/// Gives out names, in the order of the inputs.
#[derive(Debug, Default)]
pub struct Namer {
    taken: HashSet<PathBuf>,
}

impl Namer {
    /// The path of an input's output, relative to the output folder, with the ending of `to` or
    /// else its own. A name that is taken gets `-2`, `-3`, and so on.
    pub fn name(&mut self, job: &Job, to: Option<&Format>) -> PathBuf {
        let own = job.relative.file_name().unwrap_or_default();
        // A name that is no text keeps all its bytes; it has no ending that a format could know.
        let (stem, ending) = match own.to_str() {
            Some(name) => (OsStr::new(stem(name)), name.get(stem(name).len()..)),
            None => (own, None),
        };
        let to = to.and_then(|to| to.extensions.first().copied());
        let ending = to.or(ending).unwrap_or_default();
        let named = |number: &str| {
            let mut name = stem.to_owned();
            name.push(number);
            name.push(ending);
            job.relative.with_file_name(name)
        };
        let mut path = named("");
        for n in 2.. {
            if self.taken.insert(path.clone()) {
                break;
            }
            path = named(&format!("-{n}"));
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Origin;
    use crate::formats::{canonical, pi};

    #[test]
    fn a_name_taken_twice_gets_a_number() {
        let job = |path: &str| Job {
            origin: Origin::File(path.into()),
            relative: PathBuf::from(path),
            named: true,
            passed_over: false,
            size: None,
        };
        let mut namer = Namer::default();
        assert_eq!(
            namer.name(&job("a/x.jsonl"), Some(&canonical::FORMAT)),
            PathBuf::from("a/x.copyist.jsonl")
        );
        assert_eq!(
            namer.name(&job("x.copyist.jsonl"), Some(&pi::FORMAT)),
            PathBuf::from("x.jsonl")
        );
        assert_eq!(namer.name(&job("x.jsonl"), Some(&pi::FORMAT)), PathBuf::from("x-2.jsonl"));
        assert_eq!(namer.name(&job("x.jsonl"), None), PathBuf::from("x-3.jsonl"));
    }
}
