//! Sessions in the files of OpenCode up to 1.1: one for each session, message and part, and the
//! places of these files and of databases. A session gets the members that `opencode import` demands
//! and the files lack, so that its document brings it into a later release.
//!
//! Source: `storage.ts` of opencode, and the files of release 1.0.152.

use super::database::is_called;
use super::needed::{complete_frame, complete_message};
use super::part::list_of;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Member, Named, Parts};
use crate::json::{Json, is_whole, member as member_of, text};
use crate::position::{Located, Position};
use crate::record::{Field, identity};
use bytes::Bytes;
use std::io::Read;

/// Folder of documents that are to be imported.
const IMPORTS: &str = "/import/";

/// Returns the folder in which OpenCode keeps its sessions.
pub fn home(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let own = || set("HOME").or_else(|| set("USERPROFILE"));
    let data = set("XDG_DATA_HOME").or_else(|| Some(format!("{}/.local/share", own()?)));
    data.map(|data| format!("{data}/opencode"))
}

/// Returns the place of a document, below the folder of all sessions.
pub fn native(named: &Named<'_>) -> String {
    let own = named.session.text(Field::Id).filter(|id| id.starts_with("ses_"));
    let made = || format!("{:016x}", crate::ids::hash(&identity(named.session, named.question)));
    format!("{IMPORTS}{}", own.unwrap_or_else(made))
}

/// Returns the part and the session of a file below the folder of all sessions.
pub fn member(path: &str, head: &mut dyn FnMut() -> Vec<u8>) -> Option<Member> {
    let found = |part: &str, session: Option<&str>| {
        Some(Member { part: part.to_owned(), session: session.map(str::to_owned), version: 1 })
    };
    let (above, file) = path.rsplit_once('/')?;
    if is_called(file) {
        return found(path.get(above.len()..)?, None);
    }
    let name = file.strip_suffix(".json")?;
    let (above, folder) = above.rsplit_once('/')?;
    if folder == IMPORTS.trim_matches('/')
        && above.ends_with("/opencode")
        && name.starts_with("ses_")
    {
        return found(path.get(above.len()..)?, Some(name));
    }
    let (above, kind) = above.rsplit_once('/')?;
    let part =
        path.get(above.rsplit_once("/storage").filter(|(_, rest)| rest.is_empty())?.0.len()..)?;
    match kind {
        "session" if name.starts_with("ses_") => found(part, Some(name)),
        "message" if folder.starts_with("ses_") => found(part, Some(folder)),
        "part" if folder.starts_with("msg_") => {
            let head = head();
            let session = member_of(&head, "sessionID").and_then(text::decode)?;
            found(part, Some(&session))
        }
        _ => None,
    }
}

/// Returns the part beside which the origin of a session is.
pub fn main(parts: &[String]) -> Option<usize> {
    let is_main =
        |name: &String| name.starts_with("/storage/session/") || name.starts_with(IMPORTS);
    parts.iter().position(is_main)
}

/// Returns the part that is a document.
pub fn document(names: &[String]) -> Option<&String> {
    names.iter().find(|name| is_document(name))
}

/// Whether a part is a document, and not a file of a store.
pub fn is_document(name: &str) -> bool {
    name.is_empty() || name.starts_with(IMPORTS)
}

/// Returns the document without messages of a session that is files; `None` if it is not.
///
/// # Errors
/// If its file cannot be read.
pub fn frame(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Option<Bytes>> {
    let names = parts.names();
    let Some(name) = names.iter().find(|name| name.starts_with("/storage/session/")) else {
        let is_ours = names.iter().any(|name| name.starts_with("/storage/"));
        let message = "the file of the session is missing";
        let error = Error::unfit(Diagnostic::new(Code::NoHeader, message));
        return if is_ours { Err(error) } else { Ok(None) };
    };
    let info = value(parts, name, Position::default(), cx)?;
    let frame = [b"{\"info\":", info.as_bytes(), b",\"messages\":[]}"].concat();
    Ok(Some(complete_frame(frame.into())))
}

/// Reads the one value of a file.
fn value(parts: &mut dyn Parts, name: &str, at: Position, cx: &Cx<'_>) -> Result<Json> {
    let (mut bytes, limit) = (Vec::new(), cx.options.max_line as u64);
    let read = parts.open(name)?.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| Error::io("cannot read", error))?;
    let is_text = std::str::from_utf8(&bytes).is_ok();
    if !(is_text && is_whole(&bytes)) {
        let message = format!("{name} is not whole");
        return Err(Error::damaged(Diagnostic::new(Code::CutShort, message).at(at)));
    }
    let bytes = Bytes::from(bytes);
    Ok(Json::trusted(bytes.slice_ref(bytes.trim_ascii())))
}

/// Messages of a session that is files, one by one in the order of their names.
pub struct Files<'a> {
    parts: &'a mut dyn Parts,
    cx: &'a Cx<'a>,
    /// Names of all files, sorted.
    names: Vec<String>,
    /// Names of the files of messages, sorted, and their places among the parts.
    messages: std::vec::IntoIter<(String, u32)>,
}

impl<'a> Files<'a> {
    /// Begins with the first message.
    pub fn of(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Self {
        let mut names = parts.names();
        let messages = names.iter().cloned().zip(0..);
        let mut messages: Vec<(String, u32)> =
            messages.filter(|(name, _)| name.starts_with("/storage/message/")).collect();
        messages.sort_unstable();
        names.sort_unstable();
        Self { parts, cx, names, messages: messages.into_iter() }
    }

    fn message(&mut self, name: &str, part: u32) -> Result<Located<Json>> {
        let at = Position { part, line: 1, ..Position::default() };
        let info = value(self.parts, name, at, self.cx)?;
        let id = name.rsplit_once('/').and_then(|(_, file)| file.strip_suffix(".json"));
        let folder = format!("/storage/part/{}/", id.unwrap_or_default());
        let first = self.names.partition_point(|name| *name < folder);
        let own = self.names.iter().skip(first).take_while(|name| name.starts_with(&folder));
        let own: Vec<String> = own.cloned().collect();
        let mut parts = Vec::new();
        for name in own {
            match value(self.parts, &name, at, self.cx) {
                Ok(part) => parts.push(part),
                // The other parts of the message are whole.
                Err(error) => drop(self.cx.tolerate(error)?),
            }
        }
        let parts = list_of(&parts);
        let item =
            [b"{\"info\":", info.as_bytes(), b",\"parts\":", parts.as_bytes(), b"}"].concat();
        Ok(Located { value: Json::trusted(complete_message(item.into())), at })
    }
}

impl Iterator for Files<'_> {
    type Item = Result<Located<Json>>;

    fn next(&mut self) -> Option<Self::Item> {
        let (name, part) = self.messages.next()?;
        Some(self.message(&name, part))
    }
}
