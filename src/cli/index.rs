//! The list of all views of a run.

use super::text::printable;
use super::{Stop, save};
use crate::show::{BEGINNING, Entry, Form, index, is_view};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Writes a list of views, the newest first. An existing file is replaced if it is such a list, or
/// if the user wants that.
pub fn write(path: &Path, form: Form, views: &[PathBuf], force: bool) -> Result<(), Stop> {
    let before = beginning(path).unwrap_or_default();
    let is_list = is_view(&before) && Entry::read(&before).is_none();
    if path.exists() && !is_list && !force {
        let path = printable(&path.to_string_lossy());
        let message = format!("{path} exists and is no list of views; use `--force`");
        return Err(Stop { code: 3, message });
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let entry = |view: &PathBuf| {
        let own = view.strip_prefix(folder).unwrap_or(view).to_string_lossy().replace('\\', "/");
        Some((own, Entry::read(&beginning(view)?)?))
    };
    let mut entries: Vec<_> = views.iter().filter_map(entry).collect();
    entries.sort_by(|a, b| b.1.date.cmp(&a.1.date).then_with(|| a.0.cmp(&b.0)));
    let text = index(form, &entries).unwrap_or_default();
    let like: Vec<_> = views.iter().map(PathBuf::as_path).collect();
    save(path, text.as_bytes(), true, &like)
}

/// Reads the beginning of a file, if there is one.
fn beginning(path: &Path) -> Option<Vec<u8>> {
    let mut begin = Vec::new();
    File::open(path).ok()?.take(BEGINNING as u64).read_to_end(&mut begin).ok()?;
    Some(begin)
}
