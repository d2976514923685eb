//! Residue in ConnectOnion's files: a list `x_copyist`, the last member of the top.
//!
//! The software drops members of the top that it does not know when it writes a file again, but
//! not those of a turn. So each turn of a converted file has a member of the same name, and what
//! was dropped is missed. What a person deletes is missed for a member before the turns that says how
//! many chunks there are.

use super::ending::Ending;
use crate::error::{Error, Result};
use crate::format::{Carrier, Load, Took, chunks, take_extra};
use crate::ids::hash;
use crate::json::{Cursor, Json};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::io::{self, BufRead, BufReader, Read, Write};

/// The way of it.
pub static CARRIER: Carrier = Carrier { take, part: |_| Some(0), lacks: None, put };

/// What the list is called, and the mark of a turn.
pub const KEY: &str = "x_copyist";

/// What the member is called that says how many chunks there are, before all else that is long.
const COUNTED: &str = "x_copyist_chunks";

fn take(record: &mut Record) -> Took {
    if record.kind == Kind::Notice && record.node.is(Field::Subtype, KEY) {
        let chunks = record.node.json(Field::Data).cloned().into_iter().collect();
        return Took { chunks, whole: true, marked: false };
    }
    if !matches!(record.kind, Kind::Session | Kind::Turn) {
        return Took::default();
    }
    let counted = take_extra(&mut record.node, COUNTED).is_some();
    let Some(carried) = take_extra(&mut record.node, KEY) else {
        return Took { marked: counted, ..Took::default() };
    };
    let whole = record.kind == Kind::Session && record.node.is_empty();
    match carried.as_bytes().first() {
        Some(b'[') => Took { chunks: chunks(&carried), marked: counted, whole },
        _ => Took { marked: true, whole, ..Took::default() },
    }
}

/// The chunk that a line of the list holds.
pub fn chunk_of(line: &Bytes) -> Option<Json> {
    let item = line.strip_prefix(b"- ")?;
    let item = line.slice_ref(item.trim_ascii());
    let mut cursor = Cursor::new(&item);
    let whole = cursor.skip_value().is_ok() && cursor.end().is_ok() && item.starts_with(b"\"");
    whole.then(|| Json::checked(item.clone()))
}

/// Whether a line is the one that names the list.
pub fn is_name(line: &[u8]) -> bool {
    line.trim_ascii_end().strip_suffix(b":") == Some(KEY.as_bytes())
}

fn put(from: &mut dyn Read, load: Load<'_>, to: &mut dyn Write) -> Result<()> {
    let failed = |error| Error::io("cannot write", error);
    let mut to = Ending::of(to);
    copy(from, load.count, &mut to).map_err(failed)?;
    // What a file says of its end it still says when something stands behind it: the end of a line
    // that is missing is missing behind the list.
    let (before, end) = if to.ends() { ("", "\n") } else { ("\n", "") };
    to.write_all(format!("{before}{KEY}:").as_bytes()).map_err(failed)?;
    while let Some(chunk) = (load.next)()? {
        to.write_all(format!("\n- \"{chunk}\"").as_bytes()).map_err(failed)?;
    }
    to.write_all(end.as_bytes()).map_err(failed)
}

/// Copies a file, and says before its turns or messages how many chunks there are.
fn copy(from: &mut dyn Read, count: u64, to: &mut dyn Write) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        let lists = [b"turns:".as_slice(), b"messages:"].iter().any(|name| line.starts_with(name));
        if lists {
            let end = if line.ends_with(b"\r\n") { "\r\n" } else { "\n" };
            to.write_all(format!("{COUNTED}: {count}{end}").as_bytes())?;
        }
        to.write_all(&line)?;
        line.clear();
        if lists {
            break;
        }
    }
    io::copy(&mut from, to).map(drop)
}

/// Marks a turn of a converted file with a hash of its text, for each is to have one of its own.
pub fn sign(turn: &mut Node, text: &[u8]) {
    let mut extra = Extra::default();
    turn.json(Field::Extra).into_iter().for_each(|old| extra.add_members(old));
    let print = Json::string(&format!("{:016x}", hash(text)));
    extra.add(Json::string(KEY).as_bytes(), print.as_bytes());
    extra.finish().into_iter().for_each(|extra| turn.set(Field::Extra, extra));
}
