//! Messages of a trajectory as a model gets them: by the rules of streams, for no program continues
//! a trajectory by rules of its own. A step after which a model sees only that and what follows is a
//! compaction.

use crate::context_rules::{self, Chosen};
use crate::dialect::chat_completions;
use crate::error::Result;
use crate::format::{Api, Context, Resent};
use crate::json::Json;
use crate::mapping::Spacing;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};

/// Begins a context.
pub fn open(session: &Record) -> Box<dyn Context> {
    let prompt = session.node.json(Field::SystemPrompt).filter(|prompt| !prompt.is_null()).cloned();
    Box::new(Steps { prompt, chosen: Chosen::default(), system: None, began: false })
}

struct Steps {
    prompt: Option<Json>,
    chosen: Chosen,
    /// System message before those of the steps.
    system: Option<Node>,
    /// Whether a message was sent.
    began: bool,
}

impl Context for Steps {
    fn look(&mut self, position: u32, located: &Located<Record>) -> Result<()> {
        self.chosen.look(position, &located.value);
        Ok(())
    }

    fn begin(&mut self, place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let compaction = self.chosen.compaction(place);
        let own = compaction.as_ref().and_then(|node| node.node(Field::SystemMessage)).cloned();
        let prompt = self.prompt.take().map(|prompt| {
            let mut node = Node::with_capacity(2);
            node.set(Field::Role, Json::constant("\"system\""));
            node.set(Field::Content, prompt);
            node
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
        let node = context_rules::message(message, false).unwrap_or_default();
        let mut message = Record { kind: Kind::Message, node };
        message.node.take(Field::Extra);
        message.node.take(Field::Layout);
        chat_completions::write(&message, Spacing::None, true, out);
    }

    fn sent(&mut self, message: &Record) -> Option<Node> {
        let first = !std::mem::replace(&mut self.began, true);
        context_rules::message(message, first)
    }

    fn resent(&self, api: Api) -> Option<Box<dyn Resent>> {
        Some(self.chosen.resent(api, self.system.as_ref()))
    }
}
