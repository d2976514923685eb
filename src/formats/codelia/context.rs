//! Messages that Codelia loads when it resumes a session: those of the path, unchanged.

use super::message;
use crate::format::Context;
use crate::json::Json;
use crate::record::{Field, Kind, Record, block};

/// Begins a context.
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(Messages)
}

/// Beginnings of the messages of a compaction: text to be kept word by word, and the summary.
///
/// Source: codelia 9484c01 (2026-03-03).
const SUMMED: &[&str] = &["[codelia.compaction.retain]\n", "[codelia.compaction.summary]\n"];

struct Messages;

impl Context for Messages {
    fn summary(&self, message: &Record) -> Option<Json> {
        if !(message.kind == Kind::Message && message.node.is(Field::Role, "user")) {
            return None;
        }
        let text = block::message_text(&message.node)?.text()?;
        SUMMED.iter().find_map(|prefix| text.strip_prefix(prefix)).map(Json::string)
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        message::write(message, true, out);
    }
}
