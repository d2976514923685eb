//! Selection of the files that a walk through folders finds.

use globset::{Error, Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::Path;
use std::str::FromStr;

/// A glob over the paths below a walked folder.
///
/// A glob without a `/` matches names at any depth, a glob with one matches whole paths from the
/// walked folder. A glob that ends in `/` matches only folders. `*` and `?` stop at a `/`, `**`
/// does not.
#[derive(Clone, Debug)]
pub struct Pattern {
    glob: Glob,
    /// Whether the pattern matches only folders.
    folders: bool,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, folders) = text.strip_suffix('/').map_or((text, false), |path| (path, true));
        let name = !path.contains('/');
        let path = path.strip_prefix('/').unwrap_or(path);
        if path.is_empty() {
            return Err("an empty glob matches nothing".to_owned());
        }
        let whole = if name { format!("**/{path}") } else { path.to_owned() };
        let glob = GlobBuilder::new(&whole).literal_separator(true).build();
        // Only the kind of the error is reported: the whole message would quote the glob in a
        // changed form.
        glob.map(|glob| Self { glob, folders }).map_err(|error| error.kind().to_string())
    }
}

/// Selects files by patterns; without patterns it selects every file.
#[derive(Debug, Default)]
pub struct Filter {
    include: Option<Globs>,
    exclude: Globs,
}

#[derive(Debug, Default)]
struct Globs {
    any: GlobSet,
    folders: GlobSet,
}

impl Filter {
    /// Creates a filter. A file is selected if a pattern of `include` matches it, or a pattern for
    /// folders matches a folder above it, and no pattern of `exclude` does. An empty `include`
    /// matches everything.
    pub fn new(include: &[Pattern], exclude: &[Pattern]) -> Result<Self, Error> {
        let include = if include.is_empty() { None } else { Some(Globs::new(include)?) };
        Ok(Self { include, exclude: Globs::new(exclude)? })
    }

    /// Whether the filter selects every file, whatever its name is.
    pub fn takes_all(&self) -> bool {
        let Globs { any, folders } = &self.exclude;
        self.include.is_none() && any.is_empty() && folders.is_empty()
    }

    /// Whether a walk enters a folder.
    pub fn enters(&self, folder: &Path) -> bool {
        !self.exclude.any.is_match(folder) && !self.exclude.folders.is_match(folder)
    }

    /// Whether a file is selected, given that the walk enters the folders above it.
    pub fn takes(&self, file: &Path) -> bool {
        let included = self.include.as_ref().is_none_or(|include| {
            let mut folders = file.ancestors().skip(1);
            include.any.is_match(file) || folders.any(|folder| include.folders.is_match(folder))
        });
        included && !self.exclude.any.is_match(file)
    }
}

impl Globs {
    fn new(patterns: &[Pattern]) -> Result<Self, Error> {
        let (mut any, mut folders) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let set = if pattern.folders { &mut folders } else { &mut any };
            set.add(pattern.glob.clone());
        }
        Ok(Self { any: any.build()?, folders: folders.build()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(text: &str) -> Vec<Pattern> {
        text.split_whitespace().map(|glob| glob.parse().expect("a glob")).collect()
    }

    fn taken(include: &str, exclude: &str) -> Vec<&'static str> {
        let filter = Filter::new(&globs(include), &globs(exclude)).expect("globs");
        let files = ["a.jsonl", "b.txt", "x/a.jsonl", "x/y/a.jsonl", "y/b.jsonl"];
        let walked = |path: &&&str| {
            let path = Path::new(path);
            path.ancestors().skip(1).all(|folder| filter.enters(folder)) && filter.takes(path)
        };
        files.iter().filter(walked).copied().collect()
    }

    #[test]
    fn a_glob_without_a_slash_speaks_of_names() {
        assert_eq!(taken("b*", ""), ["b.txt", "y/b.jsonl"]);
        assert_eq!(taken("", "*.jsonl"), ["b.txt"]);
        assert_eq!(taken("", "y"), ["a.jsonl", "b.txt", "x/a.jsonl"]);
        assert!(taken("y", "").is_empty());
    }

    #[test]
    fn a_glob_with_a_slash_speaks_of_paths() {
        assert_eq!(taken("/*.jsonl", ""), ["a.jsonl"]);
        assert_eq!(taken("x/*", ""), ["x/a.jsonl"]);
        assert_eq!(taken("x/**", ""), ["x/a.jsonl", "x/y/a.jsonl"]);
        assert_eq!(taken("", "/y"), ["a.jsonl", "b.txt", "x/a.jsonl", "x/y/a.jsonl"]);
        assert_eq!(taken("", "x/**"), ["a.jsonl", "b.txt", "y/b.jsonl"]);
    }

    #[test]
    fn a_slash_at_the_end_means_folders() {
        assert_eq!(taken("y/", ""), ["x/y/a.jsonl", "y/b.jsonl"]);
        assert_eq!(taken("x/y/", ""), ["x/y/a.jsonl"]);
        assert_eq!(taken("", "b.txt/ x/"), ["a.jsonl", "b.txt", "y/b.jsonl"]);
    }

    #[test]
    fn exclude_wins() {
        assert_eq!(taken("a.jsonl x/", "x/y b.txt"), ["a.jsonl", "x/a.jsonl"]);
    }

    #[test]
    fn filter_with_an_invalid_glob_is_refused() {
        for wrong in ["", "/", "[a", "{a"] {
            assert!(wrong.parse::<Pattern>().is_err(), "{wrong:?}");
        }
    }
}
