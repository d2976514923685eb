//! Folders that move.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A folder by which sessions are found, and the folder that replaces it.
#[derive(Clone, Debug)]
pub struct Map {
    /// The old path.
    pub old: String,
    /// The new one.
    pub new: String,
    met: Arc<AtomicBool>,
}

impl Map {
    /// Makes a map from an old path to a new one.
    #[must_use]
    pub fn new(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), met: Arc::default() }
    }

    /// Notes that a session names the old path, or one below it.
    pub fn meet(&self) {
        self.met.store(true, Ordering::Relaxed);
    }

    /// Whether any session names the old path.
    #[must_use]
    pub fn was_met(&self) -> bool {
        self.met.load(Ordering::Relaxed)
    }

    /// Returns the path below the new folder, if it is the old folder or below it. It keeps the
    /// spelling of the old one: slashes in a path of Windows, and the beginning `\\?\`.
    #[must_use]
    pub fn moved(&self, path: &str) -> Option<String> {
        let rest = below(path, &self.old)?;
        self.meet();
        let new = self.new.trim_end_matches(SEPARATORS);
        if !is_of_windows(&self.new) {
            let rest = if is_of_windows(&self.old) { rest.replace('\\', "/") } else { rest.into() };
            return Some(format!("{new}{rest}"));
        }
        let (before, own) = plain(path);
        let slashes = is_of_windows(path) && !own.contains('\\');
        let new = if slashes { new.replace('\\', "/") } else { new.to_owned() };
        let rest = if is_of_windows(path) { rest.into() } else { rest.replace('/', "\\") };
        let before =
            if plain(&new).0.is_empty() && new.get(1..2) == Some(":") { before } else { "" };
        Some(format!("{before}{new}{rest}"))
    }

    /// Returns this map and that of the other path by which the Windows Subsystem for Linux and
    /// Windows reach the same folder, if both folders have one.
    #[must_use]
    pub fn with_twin(self) -> Vec<Self> {
        let twins = twin(&self.old).zip(twin(&self.new));
        let twin = twins.map(|(old, new)| Self::new(old, new));
        std::iter::once(self).chain(twin).collect()
    }
}

/// Characters between the pieces of a path.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// Names by which Windows reaches the files of a Linux in it.
const LINUXES: [&str; 2] = [r"\\wsl$\", r"\\wsl.localhost\"];

/// Whether a path is one of Windows, which has a drive or a server. It ignores case, and slashes are
/// as good as backslashes.
///
/// ```
/// use copyist::format::is_of_windows;
/// assert!(is_of_windows(r"C:\Users\ada") && is_of_windows("c:/Users"));
/// assert!(is_of_windows(r"\\wsl$\Ubuntu\home\ada") && is_of_windows(r"\\?\C:\Users"));
/// assert!(!is_of_windows("/mnt/c/Users/ada") && !is_of_windows("C:") && !is_of_windows("a:b"));
/// ```
#[must_use]
pub fn is_of_windows(path: &str) -> bool {
    let drive = match path.as_bytes() {
        [drive, b':', separator, ..] => {
            drive.is_ascii_alphabetic() && matches!(separator, b'/' | b'\\')
        }
        _ => false,
    };
    drive || path.starts_with(r"\\")
}

/// Returns the path by which a Linux in Windows knows a folder that Windows reaches in it.
///
/// ```
/// use copyist::format::inside_linux;
/// assert_eq!(inside_linux(r"\\wsl$\Ubuntu\home\ada").as_deref(), Some("/home/ada"));
/// assert_eq!(inside_linux(r"\\server\share"), None);
/// ```
#[must_use]
pub fn inside_linux(path: &str) -> Option<String> {
    let path = path.replace('/', "\\");
    let inside = LINUXES.iter().find_map(|linuxes| path.strip_prefix(linuxes))?;
    let (_, rest) = inside.split_once('\\')?;
    Some(format!("/{}", rest.replace('\\', "/")))
}

/// Returns the rest of a path behind a folder, if it is that folder or below it.
///
/// ```
/// use copyist::format::below;
/// assert_eq!(below("/home/ada/x", "/home/ada/"), Some("/x"));
/// assert_eq!(below("/home/adam", "/home/ada"), None);
/// assert_eq!(below(r"\\?\c:\Users\ADA\x", "C:/Users/ada"), Some(r"\x"));
/// ```
#[must_use]
pub fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = if is_of_windows(folder) {
        let (path, folder) = (plain(path).1, plain(folder).1.trim_end_matches(SEPARATORS));
        let same = |a: u8, b: u8| {
            let separator = |byte| byte == b'/' || byte == b'\\';
            a.eq_ignore_ascii_case(&b) || separator(a) && separator(b)
        };
        let (begin, rest) = path.split_at_checked(folder.len())?;
        begin.bytes().zip(folder.bytes()).all(|(a, b)| same(a, b)).then_some(rest)?
    } else {
        path.strip_prefix(folder.trim_end_matches(SEPARATORS))?
    };
    (rest.is_empty() || rest.starts_with(SEPARATORS)).then_some(rest)
}

/// Returns the beginning of a path of Windows that keeps it from being changed, and the rest.
fn plain(path: &str) -> (&str, &str) {
    const VERBATIM: &str = r"\\?\";
    path.strip_prefix(VERBATIM).map_or(("", path), |rest| (VERBATIM, rest))
}

/// Returns the other path of a folder of Windows that a Linux in it sees, or the other way round.
fn twin(path: &str) -> Option<String> {
    if let Some(rest) = path.strip_prefix("/mnt/") {
        let (drive, rest) = rest.split_at_checked(1)?;
        let letter = drive.bytes().all(|byte| byte.is_ascii_lowercase());
        return (letter && (rest.is_empty() || rest.starts_with('/')))
            .then(|| format!("{}:{}", drive.to_ascii_uppercase(), rest.replace('/', "\\")));
    }
    let backslashes = plain(path).1.replace('/', "\\");
    if let Some((drive, rest)) = backslashes.split_once(':').filter(|(drive, _)| drive.len() == 1) {
        let (drive, rest) = (drive.to_ascii_lowercase(), rest.replace('\\', "/"));
        return Some(format!("/mnt/{drive}{rest}"));
    }
    let [one, other] = LINUXES;
    let renamed = |from: &str, to: &str| Some(format!("{to}{}", backslashes.strip_prefix(from)?));
    renamed(one, other).or_else(|| renamed(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_path_keeps_its_spelling() {
        let windows = Map::new(r"C:\Users\ada\quay", r"D:\work\quay");
        for (path, new) in [
            (r"C:\Users\ada\quay\src", Some(r"D:\work\quay\src")),
            ("c:/users/ada/quay/src", Some("D:/work/quay/src")),
            (r"\\?\C:\Users\ada\quay", Some(r"\\?\D:\work\quay")),
            (r"C:\Users\ada\quay-two", None),
            ("/mnt/c/Users/ada/quay", None),
        ] {
            assert_eq!(windows.moved(path).as_deref(), new, "{path}");
        }
        let linux = Map::new(r"C:\Users\ada\quay", "/home/ada/quay/");
        assert_eq!(linux.moved(r"C:\Users\ada\quay\a\b").as_deref(), Some("/home/ada/quay/a/b"));
        let back = Map::new("/home/ada/quay", r"\\server\share\quay");
        assert_eq!(back.moved("/home/ada/quay/a").as_deref(), Some(r"\\server\share\quay\a"));
    }

    #[test]
    fn a_folder_of_windows_has_a_twin_in_its_linux() {
        for (path, other) in [
            (r"C:\Users\ada", Some("/mnt/c/Users/ada")),
            ("/mnt/d/work", Some(r"D:\work")),
            (r"\\wsl$\Ubuntu\home\ada", Some(r"\\wsl.localhost\Ubuntu\home\ada")),
            ("/home/ada", None),
            ("/mnt/disk/work", None),
        ] {
            assert_eq!(twin(path).as_deref(), other, "{path}");
        }
    }
}
