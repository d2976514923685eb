//! The places to which a task writes its outputs.

use super::walk::Written;
use crate::diagnostic::{Code, Diagnostic};
use crate::format::Cx;
use crate::store::{Backup, other_names};
use std::path::{Path, PathBuf};

/// Place of the outputs.
#[derive(Clone, Debug)]
pub enum OutputPlace {
    /// No outputs are written.
    None,
    /// One file, or `-` for standard output.
    One(PathBuf),
    /// Files below a folder.
    Folder(PathBuf),
    /// Files below a folder, named as the target's agent names them.
    Native(PathBuf),
    /// The place of the input, which is replaced.
    InPlace(Backup),
}

impl OutputPlace {
    /// Returns what runs that write to this place leave in folders that they walk.
    pub fn written(&self) -> Written {
        match self {
            Self::InPlace(Backup::Suffix(suffix)) => {
                Written { backup: Some(suffix.clone()), folder: None }
            }
            Self::Folder(folder) | Self::Native(folder) => {
                Written { backup: None, folder: Some(folder.clone()) }
            }
            Self::None | Self::One(_) | Self::InPlace(Backup::None) => Written::default(),
        }
    }
}

/// Reports if a file that is changed in place has other hard links, which keep the old contents.
pub(super) fn report_hard_links(path: &Path, place: &OutputPlace, cx: &Cx<'_>) {
    let suffix = place.written().backup;
    let others = other_names(path, suffix.as_deref());
    if others > 0 {
        let message = format!("{} ({others})", Code::NamesPart.title());
        cx.report(Diagnostic::new(Code::NamesPart, message));
    }
}
