//! An input that is repaired before it is read for conversion. The repaired parts are kept in
//! unnamed temporary files.

use super::input::Input;
use super::output::Output;
use super::temporary::no_temporary;
use crate::error::Result;
use crate::format::{Change, Parts, Sink, Spool};
use crate::repair::QUARANTINE;
use std::fs::File;
use std::io::Write;

/// Lets `work` repair the input. From then on, the parts that `work` wrote are read instead of the
/// original ones. Quarantined lines go to the output's quarantine. Also returns the names of the
/// parts that were written.
///
/// # Errors
/// The errors of `work`, and if there is no room.
pub fn mend<T>(
    input: &mut Input,
    output: &mut Output,
    work: impl FnOnce(&mut dyn Parts, &mut dyn Sink) -> Result<T>,
) -> Result<(T, Vec<String>)> {
    let mut waiting = Waiting { output, parts: Vec::new() };
    let done = work(input, &mut waiting)?;
    let parts = waiting.parts;
    let names = parts.iter().map(|(name, _)| name.clone()).collect();
    parts.into_iter().for_each(|(name, file)| input.put(&name, file));
    Ok((done, names))
}

struct Waiting<'a> {
    output: &'a mut Output,
    parts: Vec<(String, File)>,
}

impl Sink for Waiting<'_> {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        if name == QUARANTINE {
            return self.output.create(name);
        }
        let failed = |error| no_temporary(&std::env::temp_dir(), error);
        let file = tempfile::tempfile().map_err(failed)?;
        self.parts.push((name.to_owned(), file.try_clone().map_err(failed)?));
        Ok(Box::new(file))
    }

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
        self.output.change(name, change)
    }

    // A part that is not changed is read from its original file.
    fn is_in_place(&self) -> bool {
        true
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn stem(&self) -> Option<String> {
        self.output.stem()
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.output.spool()
    }
}
