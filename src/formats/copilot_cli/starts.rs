//! Events with which tools begin: they repeat the calls of the answer before them.

use crate::ids::hash;
use crate::json::Json;
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, block};
use std::collections::HashMap;

/// Calls whose tools have not begun yet.
#[derive(Debug, Default)]
pub struct Calls(HashMap<u64, Call>);

#[derive(Debug)]
struct Call {
    name: Option<Json>,
    arguments: Option<Json>,
}

/// Returns the data of the event with which the tool of a call begins.
pub fn of_call(call: &Node) -> Json {
    Object::json(|object| {
        for (name, field) in
            [("toolCallId", Field::Id), ("toolName", Field::Name), ("arguments", Field::Arguments)]
        {
            call.json(field).into_iter().for_each(|value| object.member(name, value.as_bytes()));
        }
    })
}

impl Calls {
    /// Notes the calls of a message.
    pub fn note(&mut self, record: &Record) {
        let blocks = record.node.nodes(Field::Content).filter(|_| record.kind == Kind::Message);
        for call in blocks.into_iter().flatten() {
            let own = |field| call.json(field).map(Json::detached);
            if let Some(id) =
                call.json(Field::Id).filter(|_| call.is(Field::Type, block::TOOL_CALL))
            {
                let call = Call { name: own(Field::Name), arguments: own(Field::Arguments) };
                self.0.insert(hash(id.as_bytes()), call);
            }
        }
    }

    fn take(&mut self, data: &Json) -> Option<Call> {
        self.0.remove(&hash(data.member("toolCallId")?.as_bytes()))
    }

    /// Whether the event with these data repeats a call.
    pub fn repeats(&mut self, data: &Json) -> bool {
        let normal = |value: Option<Json>| value.map(|value| value.normal());
        self.take(data).is_some_and(|call| {
            normal(call.name) == normal(data.member("toolName"))
                && normal(call.arguments) == normal(data.member("arguments"))
        })
    }

    /// Returns the data with the call as it is now; `None` if the call is gone.
    pub fn renewed(&mut self, data: &Json) -> Option<Json> {
        let call = self.take(data)?;
        Some(Object::json(|object| {
            for (key, value) in data.pairs() {
                let name = key.text().unwrap_or_default();
                let value = match name.as_str() {
                    "toolName" => call.name.clone(),
                    "arguments" => call.arguments.clone(),
                    _ => Some(value),
                };
                value.iter().for_each(|value| object.member(&name, value.as_bytes()));
            }
        }))
    }
}
