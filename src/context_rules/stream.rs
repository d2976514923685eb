//! Context of a session whose software has no rules of its own, such as a stream from an importer.
//!
//! Messages are sent as they are, except for excluded ones, those of sub-agents, and answers that
//! were broken off. The summary of the last compaction replaces all messages that the compaction
//! does not keep. Edits apply. Summaries of branches, commands, and messages of extensions are sent
//! as messages of the user.

use super::{Chosen, words};
use crate::error::Result;
use crate::format::{Api, Context, Resent};
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};

/// Writes a message in the shape of a format.
pub type WriteFn = fn(&Record, &mut Vec<u8>);

/// Begins the context of a session, whose messages `own` writes in the shape of its format.
#[must_use]
pub fn stream(session: &Record, own: WriteFn) -> Box<dyn Context> {
    let prompt = session.node.json(Field::SystemPrompt).filter(|prompt| !prompt.is_null()).cloned();
    Box::new(Stream { own, prompt, chosen: Chosen::default(), system: None, began: false })
}

struct Stream {
    own: WriteFn,
    prompt: Option<Json>,
    chosen: Chosen,
    /// The system message before those of the path.
    system: Option<Node>,
    /// Whether a message was sent.
    began: bool,
}

impl Context for Stream {
    fn look(&mut self, position: u32, located: &Located<Record>) -> Result<()> {
        self.chosen.look(position, &located.value);
        Ok(())
    }

    fn begin(&mut self, place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let compaction = self.chosen.compaction(place);
        let own = compaction.as_ref().and_then(|node| node.node(Field::SystemMessage)).cloned();
        let prompt = self.prompt.take().map(|prompt| {
            Node::default()
                .with(Field::Role, Json::constant("\"system\""))
                .with(Field::Content, prompt)
        });
        self.system = own.or(prompt);
        let system = self.system.clone().map(|node| Record { kind: Kind::Message, node });
        let summary = compaction.map(|node| Record { kind: Kind::Compaction, node });
        system.into_iter().chain(summary).collect()
    }

    fn message(&mut self, position: u32, record: &Record) -> Option<Record> {
        self.chosen.message(position, record)
    }

    fn taken(&mut self, position: u32, record: Record) -> Option<Record> {
        self.chosen.taken(position, record)
    }

    fn edited(&self, record: &Record) -> Option<Record> {
        self.chosen.edited(record)
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        (self.own)(message, out);
    }

    fn sent(&mut self, message: &Record) -> Option<Node> {
        let first = !std::mem::replace(&mut self.began, true);
        words::message(message, first)
    }

    fn resent(&self, api: Api) -> Option<Box<dyn Resent>> {
        Some(self.chosen.resent(api, self.system.as_ref()))
    }
}
