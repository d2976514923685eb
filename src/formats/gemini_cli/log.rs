//! The log of version 2, applied in its order as the program applies it: which messages there are,
//! which are in the conversation at its end, and behind which message each one came.

use super::message::{Sort, sort};
use crate::json::Json;
use crate::mapping::{Extra, without};
use std::collections::HashMap;

/// A message from its first line to its last version.
#[derive(Debug)]
pub struct Life {
    /// Its identifier, decoded.
    id: String,
    /// The line and the text of each version, and whether it is a line of its own.
    versions: Vec<(usize, Json, bool)>,
    /// Whether it is a message of the conversation.
    pub is_talk: bool,
    /// The message of the conversation before it.
    pub before: Option<usize>,
    /// Whether the first version is in a list, and not a line of its own.
    pub is_listed: bool,
    /// Whether another message had its identifier before.
    pub is_again: bool,
}

impl Life {
    /// Returns the last version.
    pub fn last(&self) -> Json {
        self.versions.last().map(|(_, text, _)| text.clone()).unwrap_or_default()
    }

    /// Returns the form in which a version is kept: `0` for the last one, the names of the members
    /// that it lacks, or its text.
    fn form(&self, version: &Json) -> Json {
        let last = self.last();
        if *version == last {
            return Json::constant("0");
        }
        let has = |key: &[u8]| version.members().any(|(own, _)| own == key);
        let lacks: Vec<&[u8]> =
            last.members().map(|(key, _)| key).filter(|key| !has(key)).collect();
        let names = Json::list(&lacks);
        let is_shorter = !lacks.is_empty() && shortened(&last, &names) == *version;
        if is_shorter { names } else { version.clone() }
    }

    /// Returns the forms of all versions on lines, with their distances from the first one; `None`
    /// if the last version is the only one.
    pub fn forms(&self) -> Option<Json> {
        let (first, text, _) = self.versions.first()?;
        let mut out = [b"[", self.form(text).as_bytes()].concat();
        let later = self.versions.iter().skip(1).filter(|(_, _, is_line)| *is_line);
        for (line, text, _) in later {
            out.extend_from_slice(format!(",{},", line - first).as_bytes());
            out.extend_from_slice(self.form(text).as_bytes());
        }
        out.push(b']');
        (out != b"[0]").then(|| Json::trusted(out.into()))
    }
}

/// Returns an object without the members of a list of names.
pub fn shortened(object: &Json, names: &Json) -> Json {
    let names: Vec<String> = names.elements().filter_map(|name| name.text()).collect();
    names
        .iter()
        .fold(object.clone(), |object, name| without(&object, name).unwrap_or(Json::constant("{}")))
}

/// Item in a list of messages.
#[derive(Debug)]
pub enum Item {
    /// A message that is new.
    New(usize),
    /// A message that the log has.
    Known(usize, Json),
    /// A value that is no message.
    Other(Json),
}

/// Effect of a line.
#[derive(Debug)]
pub enum Effect {
    /// Data of the session, and the messages in them. If they drop messages and add none, also the
    /// last message that is left: `Some(None)` if none is.
    Data(&'static str, Vec<Item>, Option<Option<usize>>),
    /// A message that is new.
    New(usize),
    /// A further version of a message.
    Again,
    /// No effect.
    None,
}

/// Log while it is applied.
#[derive(Debug, Default)]
pub struct Log {
    pub lives: Vec<Life>,
    /// Messages that are in the conversation, in their order.
    list: Vec<usize>,
    /// Messages in the conversation by identifier.
    known: HashMap<String, usize>,
    /// Messages that each identifier has had.
    had: HashMap<String, Vec<usize>>,
    /// Last message of the conversation at each place of the list.
    ends: Vec<Option<usize>>,
}

/// Whether a message is one of the conversation behind which others come.
fn is_talk(id: &str, text: &Json) -> bool {
    sort(text) == Sort::Talk && answer_listed_again(id, text).is_none()
}

/// Returns the identifier of the answer whose results a message repeats. The program makes such
/// messages when it resumes a session, and names each after its answer.
pub fn answer_listed_again<'a>(id: &'a str, text: &Json) -> Option<&'a str> {
    let answer = id.strip_suffix(LISTED_AGAIN)?;
    let is_result = |part: Json| {
        ["functionResponse", "inlineData", "fileData"]
            .iter()
            .any(|name| part.member(name).is_some())
    };
    let content = text.member("content")?;
    content.elements().next()?.member("functionResponse")?;
    content.elements().all(is_result).then_some(answer)
}

/// End of the identifier of a message that repeats the results of an answer, behind that of the
/// answer.
pub const LISTED_AGAIN: &str = "_response";

/// Name of a record with data of the session.
pub const SET: &str = "$set";
/// Name of a record that takes messages back.
pub const REWIND: &str = "$rewindTo";
/// Name of a header.
pub const HEADER: &str = "header";

impl Log {
    /// Applies a line, and returns its effect.
    pub fn apply(&mut self, line: usize, value: &Json) -> Effect {
        let text = |name: &str| value.member(name)?.text();
        if let Some(id) = text(REWIND) {
            let place =
                self.known.get(&id).and_then(|own| self.list.iter().position(|it| it == own));
            self.cut(place.unwrap_or(0));
            return Effect::Data(REWIND, Vec::new(), Some(self.end()));
        }
        if let Some(id) = text("id") {
            return match self.message(line, id, value, false) {
                Item::New(life) => Effect::New(life),
                _ => Effect::Again,
            };
        }
        let set = value.member(SET).filter(Json::is_object);
        if let Some(set) = set {
            let list = set.member("messages").filter(Json::is_list);
            let items = list.map(|list| self.replace(line, &list));
            let known = |item: &Item| match item {
                Item::Known(own, _) => Some(*own).filter(|own| self.is_talk(*own)),
                _ => None,
            };
            let is_new = |item: &Item| matches!(item, Item::New(own) if self.is_talk(*own));
            let items_of = items.as_deref().unwrap_or_default();
            let end = items.is_some().then(|| items_of.iter().rev().find_map(known));
            let end = end.filter(|_| !items_of.iter().any(is_new));
            return Effect::Data(SET, items.unwrap_or_default(), end);
        }
        if text("sessionId").and(text("projectHash")).is_some() {
            let list = value.member("messages").unwrap_or_default();
            let items = list.elements().map(|item| match item.text_of("id") {
                Some(id) => self.message(line, id, &item, true),
                None => Item::Other(item),
            });
            return Effect::Data(HEADER, items.collect(), None);
        }
        Effect::None
    }

    /// Removes the messages from this place on.
    fn cut(&mut self, place: usize) {
        for own in self.list.drain(place.min(self.list.len())..) {
            if let Some(life) = self.lives.get(own) {
                self.known.remove(&life.id);
            }
        }
        self.ends.truncate(place);
    }

    /// Returns the last message of the conversation.
    pub fn end(&self) -> Option<usize> {
        self.ends.last().copied().flatten()
    }

    fn is_talk(&self, life: usize) -> bool {
        self.lives.get(life).is_some_and(|life| life.is_talk)
    }

    fn push(&mut self, life: usize) {
        let end = if self.is_talk(life) { Some(life) } else { self.end() };
        self.list.push(life);
        self.ends.push(end);
    }

    /// Adds a message behind the others, or a version to one that is there.
    fn message(&mut self, line: usize, id: String, text: &Json, is_listed: bool) -> Item {
        let is_talk = is_talk(&id, text);
        if let Some(own) = self.known.get(&id).copied()
            && let Some(life) = self.lives.get_mut(own).filter(|life| life.is_talk == is_talk)
        {
            life.versions.push((line, text.clone(), !is_listed));
            return Item::Known(own, text.clone());
        }
        if let Some(own) = self.returning(&id, is_talk) {
            if let Some(life) = self.lives.get_mut(own) {
                life.versions.push((line, text.clone(), !is_listed));
            }
            self.known.insert(id, own);
            self.push(own);
            return Item::Known(own, text.clone());
        }
        let life = self.born(line, id, text, is_listed);
        self.push(life);
        Item::New(life)
    }

    /// Returns the message with this identifier that was dropped and is in the same place again:
    /// behind the message behind which it came.
    fn returning(&self, id: &str, is_talk: bool) -> Option<usize> {
        let end = self.end();
        let stays = |own: &&usize| {
            self.lives
                .get(**own)
                .is_some_and(|life| life.is_talk == is_talk && (!is_talk || life.before == end))
        };
        self.had.get(id)?.iter().find(stays).copied()
    }

    fn born(&mut self, line: usize, id: String, text: &Json, is_listed: bool) -> usize {
        let number = self.lives.len();
        let had = self.had.entry(id.clone()).or_default();
        had.push(number);
        self.lives.push(Life {
            versions: vec![(line, text.clone(), !is_listed)],
            is_talk: is_talk(&id, text),
            before: self.ends.last().copied().flatten(),
            is_listed,
            is_again: had.len() > 1,
            id: id.clone(),
        });
        self.known.insert(id, number);
        number
    }

    /// Replaces the list of messages. A message stays the one that it was as long as the messages
    /// before it are the same.
    fn replace(&mut self, line: usize, list: &Json) -> Vec<Item> {
        self.cut(0);
        let read = |item: Json| match item.text_of("id") {
            Some(id) => self.message(line, id, &item, true),
            None => Item::Other(item),
        };
        list.elements().map(read).collect()
    }

    /// Returns the form of a list's items: `0` for a new message, in a list with its form if it
    /// has later versions; the identifier of a known one in its last version; else the text.
    pub fn items(&self, items: &[Item]) -> Json {
        let form = |item: &Item| match item {
            Item::New(_) => b"0".to_vec(),
            Item::Known(own, text) => match self.lives.get(*own) {
                Some(life) if life.last() == *text => Json::string(&life.id).as_bytes().to_vec(),
                _ => text.as_bytes().to_vec(),
            },
            Item::Other(text) if text.is_object() => text.as_bytes().to_vec(),
            Item::Other(text) => [b"[", text.as_bytes(), b"]"].concat(),
        };
        Json::list(items.iter().map(form))
    }
}

/// Returns an object with another value of a member that it has.
pub fn with_member(object: &Json, name: &str, value: &[u8]) -> Json {
    let mut out = Extra::default();
    for (key, own) in object.members() {
        out.add(key, if crate::json::text::is(key, name) { value } else { own });
    }
    out.finish().unwrap_or(Json::constant("{}"))
}
