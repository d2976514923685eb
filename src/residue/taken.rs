//! What answers took that are new, where the file tells of it in records of their own, which home
//! has not: there the message says it.

use crate::formats::Spec;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value};

/// What the last answer took, until its last message comes.
#[derive(Default)]
pub struct Taken {
    /// The message, and what it is to say.
    last: Option<(Json, Node)>,
    /// The model of the run.
    run: Node,
}

impl Taken {
    /// Whether home has such records itself.
    pub fn is_told_by(&self, home: Spec) -> bool {
        home.version().kinds.contains(&Kind::Response)
    }

    /// Takes what a new record says of an answer, or gives it to the answer.
    pub fn tell(&mut self, record: &mut Record) {
        match record.kind {
            Kind::Run if record.node.is(Field::Layout, "header") => {
                self.run = Node::default();
                for field in [Field::Provider, Field::Model] {
                    let value = record.node.json(field).cloned();
                    value.into_iter().for_each(|value| self.run.set(field, value));
                }
            }
            Kind::Response => self.last = self.answer(&record.node),
            Kind::Message => {
                let id = record.node.json(Field::Id);
                let own = self.last.take_if(|(last, _)| id == Some(last));
                let told = own.iter().flat_map(|(_, told)| told.iter());
                for (field, value) in told {
                    if record.node.get(field).is_none() {
                        record.node.set(field, value.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// The last message of an answer, and what it took.
    fn answer(&self, response: &Node) -> Option<(Json, Node)> {
        let last = response.json(Field::Messages)?.elements().last()?;
        let last = match last.as_bytes().first() {
            Some(b'[') => last.elements().last()?,
            _ => last,
        };
        let mut told = self.run.clone();
        if let Some(Value::Node(usage)) = response.get(Field::Usage) {
            let mut usage = usage.clone();
            let extra = usage.take(Field::Extra);
            if let Some(Value::Json(extra)) = extra
                && let Some(model) =
                    extra.member("model").filter(|m| m.text().is_some_and(|m| !m.is_empty()))
            {
                told.set(Field::Model, model);
            }
            told.set(Field::Usage, usage);
        }
        (!told.is_empty()).then_some((last, told))
    }
}
