//! Names of outputs below a folder: each input its own, whatever the inputs are called.

use super::inputs::{Job, stem};
use crate::format::Format;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

/// Gives out names, in the order of the inputs.
#[derive(Debug, Default)]
pub struct Namer {
    taken: HashSet<PathBuf>,
}

/// What an output is called, relative to the output folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The main part's path.
    pub main: PathBuf,
    /// The same without its ending.
    pub stem: PathBuf,
}

impl Namer {
    /// The name of an input's output, with the ending of `to` or else its own. A name that is taken
    /// gets `-2`, `-3`, and so on.
    pub fn name(&mut self, job: &Job, to: Option<&Format>) -> Name {
        let own = job.relative.file_name().unwrap_or_default();
        // A name that is no text keeps all its bytes; it has no ending that a format could know.
        let (base, ending) = match own.to_str() {
            Some(name) => {
                let base = to.map_or(str::to_owned as fn(&str) -> _, |to| to.stem)(stem(name));
                (OsString::from(base), name.get(stem(name).len()..))
            }
            None => (own.to_owned(), None),
        };
        let ending = to.and_then(|to| to.extensions.first().copied()).or(ending);
        let mut n = 1u64;
        loop {
            let mut stem = base.clone();
            if n > 1 {
                stem.push(format!("-{n}"));
            }
            let mut main = stem.clone();
            main.push(ending.unwrap_or_default());
            let main = job.relative.with_file_name(main);
            if self.taken.insert(main.clone()) {
                return Name { main, stem: job.relative.with_file_name(stem) };
            }
            n += 1;
        }
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
            namer.name(&job("a/x.jsonl"), Some(&canonical::FORMAT)).main,
            PathBuf::from("a/x.copyist.jsonl")
        );
        assert_eq!(
            namer.name(&job("x.copyist.jsonl"), Some(&pi::FORMAT)).main,
            PathBuf::from("x.jsonl")
        );
        let second = namer.name(&job("x.jsonl"), Some(&pi::FORMAT));
        assert_eq!(second, Name { main: "x-2.jsonl".into(), stem: "x-2".into() });
        assert_eq!(namer.name(&job("x.jsonl"), None).stem, PathBuf::from("x-3"));
    }
}
