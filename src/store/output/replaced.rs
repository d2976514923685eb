//! Files that an output would replace.

use super::Output;
use crate::error::{Error, Result};
use crate::store::input::Input;
use crate::store::packed::Packing;
use crate::store::sealed::Meets;
use std::path::Path;
use std::sync::Arc;

/// A file that would be replaced, and what would replace it.
#[derive(Debug)]
pub struct Replaced {
    /// Path of the file.
    pub path: Arc<Path>,
    /// The file that exists.
    pub old: Input,
    /// The file that was written.
    pub new: Input,
}

impl Output {
    /// Returns the files that exist at the places of what was written, where the user allows that
    /// they are replaced. Compressed files are not among them.
    pub fn replaced(&self) -> Result<Vec<Replaced>> {
        let mut replaced = Vec::new();
        for staged in self.staged.iter().filter(|staged| {
            !staged.origin && !staged.aside && staged.over && staged.meets == Meets::Stop
        }) {
            let path = &staged.target;
            if self.replaces(path) || Packing::of_name(path).is_some() || !path.is_file() {
                continue;
            }
            let new = staged.file.as_file().try_clone();
            let new = new.map_err(|error| Error::io("cannot read the output", error))?;
            let (old, new) = (Input::file(Arc::clone(path))?, Input::spooled(new));
            replaced.push(Replaced { path: Arc::clone(path), old, new });
        }
        Ok(replaced)
    }
}
