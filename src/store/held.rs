//! Files that other programs have open for writing.

use std::path::{Path, PathBuf};

/// Files that other programs have open for writing, as far as the system shows it: such a program
/// goes on in the old file if a new one takes its place. Other runs of copyist do not count, because
/// they wait for each other.
#[derive(Debug, Default)]
pub struct Held(Vec<(PathBuf, String)>);

impl Held {
    /// Looks which of these files are open.
    pub fn among<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Self {
        Self(of_system::held(paths.into_iter()))
    }

    /// Returns the reason why a file is to be left alone.
    pub fn why(&self, path: &Path) -> Option<String> {
        let (_, program) = self.0.iter().find(|(held, _)| held == path)?;
        Some(format!("{program} has it open; quit that program and repeat the command"))
    }
}

#[cfg(target_os = "linux")]
mod of_system {
    use std::collections::HashMap;
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    /// Bits of a handle's flags that show how it was opened.
    const ACCESS: u32 = 0b11;

    pub fn held<'p>(paths: impl Iterator<Item = &'p Path>) -> Vec<(PathBuf, String)> {
        let wanted: HashMap<_, _> = paths
            .filter_map(|path| {
                let meta = fs::metadata(path).ok()?;
                Some(((meta.dev(), meta.ino()), path))
            })
            .collect();
        let mut held = Vec::new();
        if wanted.is_empty() {
            return held;
        }
        let own = fs::read_link("/proc/self/exe").ok();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let number = process.file_name().to_string_lossy().into_owned();
            let process = process.path();
            let is_own = || fs::read_link(process.join("exe")).ok() == own;
            if !number.bytes().all(|byte| byte.is_ascii_digit()) || is_own() {
                continue;
            }
            for handle in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
                let Ok(meta) = fs::metadata(handle.path()) else { continue };
                let Some(path) = wanted.get(&(meta.dev(), meta.ino())) else { continue };
                if writes(&process.join("fdinfo").join(handle.file_name())) {
                    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
                    held.push(((*path).to_owned(), format!("{} (process {number})", name.trim())));
                }
            }
        }
        held
    }

    /// Whether a handle was opened for writing.
    fn writes(info: &Path) -> bool {
        let text = fs::read_to_string(info).unwrap_or_default();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & ACCESS != 0)
    }
}

#[cfg(not(target_os = "linux"))]
mod of_system {
    use std::path::{Path, PathBuf};

    /// Always returns nothing, because the system does not show it.
    pub fn held<'p>(_: impl Iterator<Item = &'p Path>) -> Vec<(PathBuf, String)> {
        Vec::new()
    }
}
