//! Names of outputs below a folder: each input its own, whatever the inputs are called.

use super::inputs::{Job, stem};
use crate::format::Format;
use std::collections::HashSet;
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
        let name = job.relative.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem(&name);
        let own = name.get(stem.len()..).unwrap_or_default();
        let ending = to.and_then(|to| to.extensions.first().copied()).unwrap_or(own);
        let mut path = job.relative.with_file_name(format!("{stem}{ending}"));
        for n in 2.. {
            if self.taken.insert(path.clone()) {
                break;
            }
            path.set_file_name(format!("{stem}-{n}{ending}"));
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
