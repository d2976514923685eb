//! Lists of messages and of calls, as several styles write them.

use super::chat::Call;
use crate::document::on_one_line;
use crate::json::{Json, text};
use crate::mapping::Object;

/// The form of the arguments of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// An object.
    Object,
    /// The text of the object.
    Text,
}

/// Number of digits from which on a number may not fit into 64 bits.
const MANY_DIGITS: usize = 19;

/// Returns arguments on one line, with long whole numbers as texts: loaders of data sets stop at
/// them.
fn loadable(value: &Json) -> Json {
    let value = &Json::trusted(on_one_line(value.bytes()));
    let is_long = |bytes: &[u8]| {
        bytes
            .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
            .any(|run| run.len() >= MANY_DIGITS && run.first().is_some_and(u8::is_ascii_digit))
    };
    let bytes = value.as_bytes();
    if !is_long(bytes) {
        return value.clone();
    }
    let mut out = Vec::new();
    match bytes.first() {
        Some(b'{') => {
            let mut object = Object::open(&mut out);
            for (key, value) in value.pairs() {
                object.spelled(key.as_bytes(), loadable(&value).as_bytes());
            }
            object.close();
        }
        Some(b'[') => {
            let mut list = Items::open(&mut out);
            value
                .elements()
                .for_each(|value| list.next().extend_from_slice(loadable(&value).as_bytes()));
            list.close();
        }
        Some(b'"') => return value.clone(),
        _ => return Json::string(&String::from_utf8_lossy(bytes)),
    }
    Json::trusted(out.into())
}

/// Writes the calls of an answer as a member, if there are some.
pub fn calls(calls: &[Call], key: &str, form: Arguments, object: &mut Object<'_>) {
    if calls.is_empty() {
        return;
    }
    let mut list = Items::open(object.key(key));
    for call in calls {
        let mut one = list.object();
        one.member("id", call.id.as_bytes());
        one.member("type", b"\"function\"");
        let mut function = Object::open(one.key("function"));
        function.member("name", call.name.as_bytes());
        let arguments = call.arguments.as_bytes();
        match form {
            Arguments::Object => {
                function.member("arguments", loadable(&call.arguments).as_bytes());
            }
            Arguments::Text => {
                text::quote(&String::from_utf8_lossy(arguments), function.key("arguments"));
            }
        }
        function.close();
        one.close();
    }
    list.close();
}

/// A list of messages while it is written.
pub struct Items<'o> {
    out: &'o mut Vec<u8>,
    begun: bool,
}

impl<'o> Items<'o> {
    /// Opens the list.
    pub fn open(out: &'o mut Vec<u8>) -> Self {
        out.push(b'[');
        Self { out, begun: false }
    }

    /// Writes the system message, if there is one.
    pub fn system(&mut self, system: Option<&Json>) {
        if let Some(system) = system {
            let mut object = self.item("system");
            object.member("content", system.as_bytes());
            object.close();
        }
    }

    /// Begins a message with its role.
    pub fn item(&mut self, role: &str) -> Object<'_> {
        let mut object = self.object();
        text::quote(role, object.key("role"));
        object
    }

    /// Begins an object.
    pub fn object(&mut self) -> Object<'_> {
        Object::open(self.next())
    }

    /// Begins an item, and returns the buffer into which it is written.
    pub fn next(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        self.out
    }

    /// Closes the list.
    pub fn close(self) {
        self.out.push(b']');
    }
}
