//! Parts of a session that are watched: which further files a reader opens from them, and which lines
//! the main part has.

use super::memo::Memo;
use super::shown::Showing;
use super::{Opener, Parts, Searched};
use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;

/// File beside the parts that a reader opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Further {
    /// File to which a part refers, by its name.
    Followed(String),
    /// Another session or a file beside the main part, by the folders and the end of its name.
    Found(Vec<String>, String),
    /// The file with further data of the session, which calls the session by this name.
    Index(String),
}

/// Parts, and the further files that were opened from them.
pub struct Watched<'a> {
    parts: &'a mut dyn Parts,
    /// Further files, in the order in which they were first opened.
    pub further: Vec<Further>,
    /// Visitor of the lines of the main part.
    showing: Option<Showing>,
}

impl<'a> Watched<'a> {
    /// Begins to watch these parts.
    pub fn over(parts: &'a mut dyn Parts) -> Self {
        Self { parts, further: Vec::new(), showing: None }
    }

    /// Begins to watch these parts, and shows the lines of the main part while it is read.
    pub fn showing(parts: &'a mut dyn Parts, showing: Showing) -> Self {
        Self { showing: Some(showing), ..Self::over(parts) }
    }

    fn note(&mut self, file: Further) {
        if !self.further.contains(&file) {
            self.further.push(file);
        }
    }
}

impl Parts for Watched<'_> {
    fn names(&self) -> Vec<String> {
        self.parts.names()
    }

    fn file_name(&self) -> Option<String> {
        self.parts.file_name()
    }

    fn session(&self) -> Option<String> {
        self.parts.session()
    }

    fn memo(&self) -> Option<&Memo> {
        self.parts.memo()
    }

    fn known_size(&self) -> Option<u64> {
        self.parts.known_size()
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        let part = self.parts.open(name)?;
        let is_main = self.parts.names().first().is_none_or(|main| main == name);
        Ok(match self.showing.as_ref().filter(|_| is_main) {
            Some(showing) => showing.over(part),
            None => part,
        })
    }

    fn size(&mut self, name: &str) -> Result<u64> {
        self.parts.size(name)
    }

    fn keep(&mut self) -> Result<()> {
        self.parts.keep()
    }

    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        self.parts.open_at(name, byte)
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        self.parts.copies(names)
    }

    fn follow(&mut self, name: &str) -> Result<Option<Box<dyn Read>>> {
        let found = self.parts.follow(name)?;
        if found.is_some() {
            self.note(Further::Followed(name.to_owned()));
        }
        Ok(found)
    }

    fn search(&mut self, folders: &[&str], wanted: &dyn Fn(&[u8]) -> bool) -> Searched {
        self.parts.search(folders, wanted)
    }

    fn find(&mut self, folders: &[&str], ending: &str) -> Result<Option<Box<dyn Read>>> {
        let found = self.parts.find(folders, ending)?;
        if found.is_some() {
            let folders = folders.iter().map(|folder| (*folder).to_owned()).collect();
            self.note(Further::Found(folders, ending.to_owned()));
        }
        Ok(found)
    }

    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        let index = self.parts.index()?;
        if let Some((name, _)) = &index {
            self.note(Further::Index(name.clone()));
        }
        Ok(index)
    }

    fn origin(&mut self) -> Result<Option<Opener>> {
        self.parts.origin()
    }
}
