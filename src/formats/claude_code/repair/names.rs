//! Identifiers of calls that earlier calls of the conversation have, and new ones in their place.
//!
//! Source: release 2.1.332 leaves out a call whose identifier an earlier call has, and its result.

use super::links::key;
use crate::json::Json;
use crate::repair::Pairing;
use std::collections::{HashMap, HashSet};

/// A block of a line: the line's ordinal, and the block's place in the message.
type At = (u32, usize);

/// The identifiers of the calls so far.
#[derive(Debug, Default)]
pub struct Names {
    used: HashSet<u64>,
    /// New identifiers of calls, by their old ones.
    new: HashMap<u64, Json>,
    /// New identifiers in the blocks of lines.
    lines: HashMap<u32, Vec<(usize, Json)>>,
}

impl Names {
    /// Whether no call gets a new identifier.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the new identifiers in a line.
    pub fn of(&self, ordinal: u32) -> &[(usize, Json)] {
        self.lines.get(&ordinal).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the identifier of the next call: a new one, if a call before has it that waits no
    /// more. A call that still waits is the same one, written again.
    pub fn call(&mut self, given: Json, (line, block): At, open: &Pairing<(), Vec<u8>>) -> Json {
        let name = key(given.as_bytes());
        let again = self.new.get(&name).filter(|new| open.waits(new.as_bytes()));
        let new = match again {
            Some(new) => new.clone(),
            None if open.waits(given.as_bytes()) || self.used.insert(name) => return given,
            None => self.unused(&given),
        };
        self.new.insert(name, new.clone());
        self.lines.entry(line).or_default().push((block, new.clone()));
        new
    }

    /// Returns the identifier of the call that a result answers.
    pub fn result(&mut self, given: Json, (line, block): At, open: &Pairing<(), Vec<u8>>) -> Json {
        let new = self.new.get(&key(given.as_bytes()));
        let Some(new) = new.filter(|new| open.waits(new.as_bytes())) else { return given };
        self.lines.entry(line).or_default().push((block, new.clone()));
        new.clone()
    }

    fn unused(&mut self, given: &Json) -> Json {
        let given = given.text().unwrap_or_default();
        let names = (2_u64..).map(|number| Json::string(&format!("{given}_{number}")));
        let mut free = names.filter(|name| self.used.insert(key(name.as_bytes())));
        free.next().unwrap_or_default()
    }
}
