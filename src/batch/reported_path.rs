//! File paths in reports.

use crate::store::Name;
use serde::{Serialize, Serializer};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path as it is reported: to the user as text, to programs as in the journal. A path that is not
/// valid UTF-8 is given to programs as bytes, because two such paths may look the same as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedPath {
    path: Arc<Path>,
    /// The text for display, if the path is not valid UTF-8.
    shown: Option<String>,
}

impl ReportedPath {
    /// Returns the path itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path is `path`, in the same spelling.
    pub fn is(&self, path: &Path) -> bool {
        self.path.as_os_str() == path.as_os_str()
    }
}

impl From<Arc<Path>> for ReportedPath {
    fn from(path: Arc<Path>) -> Self {
        let shown = path.to_str().is_none().then(|| path.display().to_string());
        Self { path, shown }
    }
}

impl From<&Arc<Path>> for ReportedPath {
    fn from(path: &Arc<Path>) -> Self {
        Arc::clone(path).into()
    }
}

impl From<PathBuf> for ReportedPath {
    fn from(path: PathBuf) -> Self {
        Arc::<Path>::from(path).into()
    }
}

impl From<&Path> for ReportedPath {
    fn from(path: &Path) -> Self {
        Arc::<Path>::from(path).into()
    }
}

impl From<String> for ReportedPath {
    fn from(shown: String) -> Self {
        PathBuf::from(shown).into()
    }
}

impl Deref for ReportedPath {
    type Target = str;

    fn deref(&self) -> &str {
        self.shown.as_deref().or_else(|| self.path.to_str()).unwrap_or_default()
    }
}

impl Serialize for ReportedPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Name::from(&*self.path).serialize(serializer)
    }
}
