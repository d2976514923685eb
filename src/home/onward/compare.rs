//! Comparison of the two files of a session with what they were when its origin was written.

use super::other::Other;
use super::{messages_in, named, opened};
use crate::batch::Job;
use crate::error::{Error, Result};
use crate::format::{Format, Parts};
use crate::home::converting::spool;
use crate::origin::{Before, Origin, Since, source_before, target_before};
use crate::stage::Staged;
use crate::store::Input;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;

/// New messages of both files.
pub struct Sides {
    /// Number of new messages in the session that goes on.
    pub own: u64,
    /// Number of new messages in the other agent's file.
    pub others: u64,
    /// The session that goes on, as it was.
    pub before: Staged,
    /// The other agent's session, as it was.
    pub theirs: Staged,
    /// Size in bytes of the other agent's main file, as it was.
    pub known: u64,
}

impl Sides {
    /// Compares the session, which is of this format, with the other agent's file. `Err` inside is
    /// the reason why that is not possible.
    pub fn of(
        other: &Other,
        session: &Job,
        format: &'static Format,
    ) -> Result<std::result::Result<Self, String>> {
        let file = other.origin.clone();
        let opener = Rc::new(move || {
            let opened = File::open(&file).map_err(|error| Error::io("cannot open", error))?;
            Ok(Box::new(opened) as Box<_>)
        });
        let mut sink = spool()?;
        let theirs = named(&other.main);
        let (mut own, mut others) = (opened(session)?.input, opened(&theirs)?.input);
        let origin = match Origin::open(opener, size(&other.main))? {
            Ok(origin) => origin,
            Err(why) => return Ok(Err(format!("the origin cannot be used: {why}"))),
        };
        let (source, target) = match other.is_original {
            true => (&mut others, &mut own),
            false => (&mut own, &mut others),
        };
        let source = match source_before(&origin, source, &mut sink)? {
            Ok(before) => before,
            Err(why) => return Ok(Err(format!("the origin cannot be used: {why}"))),
        };
        let target = target_before(&origin, target, &mut sink)?;
        let (mine, their) = if other.is_original { (target, source) } else { (source, target) };
        let new = |before: Before, format: &'static Format, now: &mut Input| match before.since {
            Since::Unchanged => Ok(Some((0, before.parts))),
            Since::Changed => Ok(None),
            Since::Continued => {
                let mut parts = before.parts;
                let was = messages_in(format, &mut parts)?;
                Ok(Some((messages_in(format, now)?.saturating_sub(was), parts)))
            }
        };
        let Some((own, before)) = new(mine, format, &mut own)? else {
            return Ok(Err(
                "earlier messages were changed since, so this is a session of its own".to_owned()
            ));
        };
        let Some((others, mut theirs)) = new(their, other.format, &mut others)? else {
            let why = format!(
                "earlier messages of {} were changed since, so this is a session of its own",
                other.main.display()
            );
            return Ok(Err(why));
        };
        let main = theirs.names().into_iter().find(|name| name.is_empty());
        let known = main.map_or(Ok(0), |main| theirs.size(&main))?;
        Ok(Ok(Self { own, others, before, theirs, known }))
    }
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |meta| meta.len())
}
