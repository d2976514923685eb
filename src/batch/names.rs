//! Names of outputs below a folder. Each input gets a distinct name, whatever the inputs are
//! called.

use super::inputs::{Job, stem};
use crate::format::Format;
use crate::formats::FORMATS;
use crate::show::Form;
use crate::store::{below, plain_name};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Assigns names, in the order of the inputs.
#[derive(Debug, Default)]
pub struct Namer {
    /// The paths byte by byte: there are many, and comparing paths by their components is slow.
    taken: HashSet<OsString>,
    /// Number of names that were tried for a first name. Many inputs may have the same name, and a
    /// name that is taken is never released.
    tried: HashMap<(PathBuf, PathBuf), u64>,
}

/// Name of an output, relative to the output folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The main part's path.
    pub main: PathBuf,
    /// The main part's path without its ending.
    pub stem: PathBuf,
    /// The number of the input in the order of all inputs.
    pub place: usize,
}

/// Kind of the outputs that get names.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'f> {
    /// Sessions of the input's format.
    Same,
    /// Sessions of this format.
    Format(&'f Format),
    /// Views in this form.
    View(Form),
}

impl Namer {
    /// Creates a namer for a number of inputs.
    pub fn of(inputs: usize) -> Self {
        Self { taken: HashSet::with_capacity(inputs), tried: HashMap::new() }
    }

    /// Keeps a name for another file of the run.
    pub fn keep(&mut self, name: &str) {
        self.taken.insert(name.into());
    }

    /// Assigns a name to an input's output, with the ending of the kind `to`. If the name is taken,
    /// it gets `-2`, `-3`, and so on.
    pub fn name(&mut self, job: &Job, to: Kind<'_>) -> Name {
        let first = nth(job, to, 1);
        if self.taken.insert(first.main.clone().into()) {
            return first;
        }
        let tried = self.tried.entry((first.main, first.stem)).or_insert(1);
        loop {
            *tried += 1;
            let name = nth(job, to, *tried);
            if self.taken.insert(name.main.clone().into()) {
                return name;
            }
        }
    }

    /// Returns the name that the output of an input has already: the first one to which one of
    /// `outputs`, paths below the output folder, belongs. `None` if that is not one of the first
    /// `most` names.
    pub fn again(&mut self, job: &Job, to: Kind<'_>, outputs: &[&Path], most: u64) -> Option<Name> {
        // There are many names, and most inputs have no output yet.
        let most = if outputs.is_empty() { 0 } else { most };
        let has = |name: &Name| outputs.iter().any(|made| name.is_of(made));
        let name = (1..=most).map(|n| nth(job, to, n)).find(has)?;
        self.taken.insert(name.main.clone().into());
        Some(name)
    }
}

impl Name {
    /// Whether a file below the output folder is a part of the output.
    fn is_of(&self, made: &Path) -> bool {
        let stem = self.stem.file_name().unwrap_or_default().as_encoded_bytes();
        let own = made.file_name().unwrap_or_default().as_encoded_bytes();
        let ending = own.strip_prefix(stem).unwrap_or_default();
        let beside = made.parent() == self.stem.parent() && ending.starts_with(b".");
        made == self.main || beside || made.starts_with(&self.stem)
    }
}

/// Returns the `n`th name that an input's output may have.
fn nth(job: &Job, to: Kind<'_>, n: u64) -> Name {
    let own = job.relative.file_name().unwrap_or_default();
    let format = match to {
        Kind::Format(format) => Some(format),
        Kind::Same | Kind::View(_) => None,
    };
    let rule = format.map_or(str::to_owned as fn(&str) -> _, |to| to.files.stem);
    // A name that is not valid UTF-8 keeps all its bytes, and has no ending of a format.
    let (base, ending, packing) = match own.to_str() {
        Some(packed) => {
            let name = plain_name(packed);
            let stem = stem(name);
            (OsString::from(rule(stem)), name.get(stem.len()..), packed.get(name.len()..))
        }
        None => (own.to_owned(), None, None),
    };
    let ending = match to {
        Kind::View(form) => Some(form.ending()),
        _ => format.and_then(|to| to.extensions.first().copied()).or(ending.map(main_ending)),
    };
    // Files that find each other by their names cannot have another ending, and views are opened by
    // programs that read no archives.
    let alone = !matches!(to, Kind::View(_))
        && format.is_none_or(|to| to.files.beside.is_empty() && to.files.shared.is_none());
    let packing = packing.filter(|_| alone);
    let stem = if n > 1 { numbered(&base, n, rule) } else { base };
    let (ending, packing) = (ending.unwrap_or_default(), packing.unwrap_or_default());
    let folder = job.relative.parent().unwrap_or(Path::new(""));
    let stem = below(folder, stem);
    let mut main = OsString::with_capacity(stem.as_os_str().len() + ending.len() + packing.len());
    main.push(&stem);
    main.push(ending);
    main.push(packing);
    Name { main: main.into(), stem, place: 0 }
}

/// Returns the ending of a session's main file for that of any of its files.
fn main_ending(ending: &str) -> &str {
    let mut formats = FORMATS.iter().map(|format| format.files.beside);
    let beside = formats.find(|beside| beside.iter().skip(1).any(|other| *other == ending));
    beside.and_then(|beside| beside.first().copied()).unwrap_or(ending)
}

/// Turns an identifier or a name from inside a session into a file name, without an ending.
pub fn plain(name: &str) -> String {
    /// Maximum length in bytes. Most file systems allow 255 bytes, and an ending and a number are
    /// appended.
    const LONGEST: usize = 200;
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut plain = String::new();
    for c in name.chars().map(|c| if fits(c) { c } else { '_' }) {
        if plain.len() + c.len_utf8() > LONGEST {
            break;
        }
        plain.push(c);
    }
    if plain.is_empty() { "session".to_owned() } else { plain }
}

/// Appends a number to a name. The name is shortened as far as the format's rule for names
/// requires.
fn numbered(base: &OsStr, n: u64, rule: fn(&str) -> String) -> OsString {
    let ending = format!("-{n}");
    let mut short = base.to_str().unwrap_or_default().to_owned();
    while !short.is_empty() && rule(&format!("{short}{ending}")) != format!("{short}{ending}") {
        short.pop();
    }
    let mut name = if short.is_empty() { base.to_owned() } else { short.into() };
    name.push(ending);
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::JobSource;
    use crate::formats::{canonical, pi};

    #[test]
    fn a_name_from_inside_leads_nowhere() {
        assert_eq!(plain("../a b/é"), "___a_b_é");
        assert_eq!(plain(""), "session");
        assert_eq!(plain(&"é".repeat(300)).len(), 200);
    }

    #[test]
    fn a_name_taken_twice_gets_a_number() {
        let job = |path: &str| Job {
            source: JobSource::File(Path::new(path).into()),
            relative: PathBuf::from(path),
            named: true,
            passed_over: None,
        };
        let mut namer = Namer::default();
        assert_eq!(
            namer.name(&job("a/x.jsonl"), Kind::Format(&canonical::FORMAT)).main,
            PathBuf::from("a/x.copyist.jsonl")
        );
        assert_eq!(
            namer.name(&job("x.copyist.jsonl"), Kind::Format(&pi::FORMAT)).main,
            PathBuf::from("x.jsonl")
        );
        let packed = namer.name(&job("y.copyist.jsonl.zst"), Kind::Format(&pi::FORMAT));
        assert_eq!(packed, Name { main: "y.jsonl.zst".into(), stem: "y".into(), place: 0 });
        let second = namer.name(&job("x.jsonl"), Kind::Format(&pi::FORMAT));
        assert_eq!(second, Name { main: "x-2.jsonl".into(), stem: "x-2".into(), place: 0 });
        assert_eq!(namer.name(&job("x.jsonl"), Kind::Same).stem, PathBuf::from("x-3"));
        namer.keep("index.html");
        let view = namer.name(&job("index.jsonl.zst"), Kind::View(Form::Html));
        assert_eq!(view.main, PathBuf::from("index-2.html"));
    }
}
