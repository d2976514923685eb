//! Data of a record that its step does not say: the difference between the record and what a reader
//! takes from the step alone.
//!
//! Both are compared as JSON, member by member. Texts stay in the step, and the difference refers to
//! the blocks there by type and number, so that an edited text is edited in the record, too. Where
//! the step says something else than the difference expects, the step counts.

use super::wire::{self, shown};
use crate::json::{EscapeStyle, Json, text};
use crate::mapping::{Extra, record_text, without};
use crate::record::{Field, Record, block};
use crate::times;

/// Member with the names of members that the record lacks.
pub const LACKS: &str = "lacks";
/// Members of a difference between lists of blocks: the block in the step, or the text in place of
/// the block there.
const OF: &str = "of";
const SHOWN: &str = "shown";
/// Member with the characters of a text that several thoughts share: begin, end, and all.
const PIECE: &str = "piece";
/// Members for arguments that are not an object.
const AS_TEXT: &str = "arguments_text";
const INSIDE: &str = "arguments_in";
/// Arguments as Python spells them.
const SPACED: Json = Json::constant("\"spaced\"");
/// Content that is a text and not a list.
const PLAIN: Json = Json::constant("true");

/// Returns the record without what belongs to its source only, as JSON.
#[must_use]
pub fn object_of(record: &Record) -> Json {
    let mut out = Vec::new();
    let mut record = record.clone();
    for field in [Field::Extra, Field::Layout] {
        record.node.take(field);
    }
    record_text::object_of(&record, &mut out);
    Json::trusted(out.into())
}

/// Returns what `whole` has beside `plain`; `None` if they are the same.
#[must_use]
pub fn between(plain: &Json, whole: &Json) -> Option<Json> {
    let mut out = Extra::default();
    for (key, value) in whole.pairs() {
        let name = text::decode(key.as_bytes()).unwrap_or_default();
        let Some(own) = plain.member(&name) else {
            out.add(key.as_bytes(), value.as_bytes());
            continue;
        };
        if own == value || own.normal() == value.normal() {
            continue;
        }
        match name.as_str() {
            "content" => out.add(key.as_bytes(), content(&own, &value).as_bytes()),
            "arguments" => arguments(&own, &value, &mut out),
            _ if own.is_object() && value.is_object() => {
                let inner = between(&own, &value);
                inner.iter().for_each(|inner| out.add(key.as_bytes(), inner.as_bytes()));
            }
            _ => out.add(key.as_bytes(), value.as_bytes()),
        }
    }
    let lacks = plain
        .members()
        .filter(|(key, _)| whole.member(&text::decode(key).unwrap_or_default()).is_none());
    let lacks: Vec<&[u8]> = lacks.map(|(key, _)| key).collect();
    if !lacks.is_empty() {
        out.add(b"\"lacks\"", Json::list(lacks).as_bytes());
    }
    out.finish()
}

/// Adds the difference between arguments, which a step has as an object.
fn arguments(own: &Json, value: &Json, out: &mut Extra) {
    let own = &compact(own);
    let inside = own.pairs().into_iter().find(|(_, inner)| inner == value);
    match (inside, value.text()) {
        (Some((name, _)), _) => out.add(b"\"arguments_in\"", name.as_bytes()),
        (None, Some(text)) if text.as_bytes() == own.as_bytes() => {
            out.add(b"\"arguments_text\"", b"true");
        }
        (None, Some(text)) if text == spaced(own) => {
            out.add(b"\"arguments_text\"", SPACED.as_bytes());
        }
        (None, Some(_)) => out.add(b"\"arguments_text\"", value.as_bytes()),
        (None, None) => out.add(b"\"arguments\"", value.as_bytes()),
    }
}

/// Returns a value as a document is read: without white space, in the usual spelling.
fn compact(value: &Json) -> Json {
    let mut out = Vec::with_capacity(value.as_bytes().len());
    EscapeStyle::SCRIPT.spell(value.as_bytes(), &mut out);
    Json::trusted(out.into())
}

/// Returns a JSON text with a space behind each comma and colon, as Python writes it.
fn spaced(value: &Json) -> String {
    let (mut out, mut is_inside, mut is_escaped) = (Vec::new(), false, false);
    for byte in value.as_bytes() {
        out.push(*byte);
        if is_inside {
            is_inside = *byte != b'"' || is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
        } else if matches!(byte, b',' | b':') {
            out.push(b' ');
        } else {
            is_inside = *byte == b'"';
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Returns the blocks of content, of which a text is one.
fn blocks_of(content: &Json) -> Vec<Json> {
    match content.as_bytes().first() {
        Some(b'"') => {
            let block = [b"{\"type\":\"text\",\"text\":", content.as_bytes(), b"}"].concat();
            vec![Json::trusted(block.into())]
        }
        _ => content.elements().collect(),
    }
}

/// Blocks of a step, by type and number.
struct Blocks {
    all: Vec<(String, usize, Json)>,
    used: Vec<bool>,
}

impl Blocks {
    fn of(content: &Json) -> Self {
        let mut all: Vec<(String, usize, Json)> = Vec::new();
        for block in blocks_of(content) {
            let kind = block.text_of("type").unwrap_or_default();
            let number = all.iter().filter(|(other, ..)| *other == kind).count();
            all.push((kind, number, block));
        }
        Self { used: vec![false; all.len()], all }
    }

    /// Returns the place of the next block of this type that was not used.
    fn next(&self, kind: &str) -> Option<usize> {
        let mut places = (0..self.all.len()).filter(|place| self.used.get(*place) == Some(&false));
        places.find(|place| self.all.get(*place).is_some_and(|(own, ..)| own == kind))
    }

    /// Returns the place of the block of this name.
    fn find(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|(kind, number, _)| format!("{kind}.{number}") == name)
    }

    fn take(&mut self, place: usize) -> Option<&Json> {
        *self.used.get_mut(place)? = true;
        self.all.get(place).map(|(.., block)| block)
    }

    fn name(&self, place: usize) -> String {
        self.all.get(place).map(|(kind, number, _)| format!("{kind}.{number}")).unwrap_or_default()
    }
}

/// Returns the difference between contents: names of blocks of the step, blocks that differ from
/// one there, and whole blocks.
fn content(own: &Json, value: &Json) -> Json {
    let mut blocks = Blocks::of(own);
    if !value.is_list() {
        let is_only =
            |(_, _, block): &(String, usize, Json)| block.member("text").as_ref() == Some(value);
        let same = blocks.all.len() == 1 && blocks.all.iter().all(is_only);
        return if same { PLAIN } else { value.clone() };
    }
    let (mut items, mut at) = (Vec::new(), 0);
    for block in value.elements() {
        let kind = block.text_of("type").unwrap_or_default();
        items.push(item(&mut blocks, &kind, &block, &mut at));
    }
    Json::list(&items)
}

fn item(blocks: &mut Blocks, kind: &str, block: &Json, at: &mut usize) -> Json {
    if kind == block::THINKING {
        return thought(blocks, block, at);
    }
    let shown = || shown(block);
    let Some(place) = blocks.next(kind) else {
        // A text in the step may be in place of the block.
        let place = blocks.next(block::TEXT).filter(|place| {
            let own = blocks.all.get(*place).and_then(|(.., own)| own.text_of("text"));
            own.is_some() && own == shown()
        });
        let Some(place) = place else { return block.clone() };
        blocks.take(place);
        let mut out = Extra::default();
        out.add(b"\"shown\"", Json::string(&blocks.name(place)).as_bytes());
        out.add_members(block);
        return out.finish().unwrap_or(Json::constant("{}"));
    };
    let name = blocks.name(place);
    let Some(own) = blocks.take(place).cloned() else { return block.clone() };
    match between(&own, block) {
        None => Json::string(&name),
        Some(inner) => with(&[(OF, Json::string(&name))], &inner),
    }
}

/// Returns the difference of a thought, which may be a piece of the step's one text.
fn thought(blocks: &mut Blocks, block: &Json, at: &mut usize) -> Json {
    let own = blocks.find("thinking.0").and_then(|place| blocks.all.get(place)).cloned();
    let (Some((.., own)), Some(said)) = (own, block.text_of("thinking")) else {
        return block.clone();
    };
    let name = Json::constant("\"thinking.0\"");
    // A thought without words, of which only the signature is known, is one as well.
    if *at == 0 && own.member("thinking") == block.member("thinking") {
        *at = said.chars().count() + wire::SEAM.chars().count();
        return match between(&own, block) {
            None => name,
            Some(rest) => with(&[(OF, name)], &rest),
        };
    }
    if !text::lone_halves(block.as_bytes()).is_empty() {
        return block.clone();
    }
    let all: Vec<char> = own.text_of("thinking").unwrap_or_default().chars().collect();
    let (start, said): (usize, Vec<char>) = (*at, said.chars().collect());
    let end = start + said.len();
    if said.is_empty() || all.get(start..end) != Some(said.as_slice()) {
        return block.clone();
    }
    *at = end + wire::SEAM.chars().count();
    let rest = without(block, "thinking").and_then(|rest| without(&rest, "type"));
    let place = Json::list([start, end, all.len()].map(|number| Json::number(number as u64)));
    with(&[(OF, name), (PIECE, place)], &rest.unwrap_or(Json::constant("{}")))
}

fn with(head: &[(&str, Json)], rest: &Json) -> Json {
    let mut out = Extra::default();
    for (name, value) in head {
        out.add(Json::string(name).as_bytes(), value.as_bytes());
    }
    out.add_members(rest);
    out.finish().unwrap_or(Json::constant("{}"))
}

/// Returns the object that `plain` is with a difference.
#[must_use]
pub fn applied(plain: &Json, delta: &Json) -> Json {
    let lacks: Vec<Json> = delta.member(LACKS).unwrap_or_default().elements().collect();
    let mut out = Extra::default();
    for (key, value) in plain.pairs().into_iter().filter(|(key, _)| !lacks.contains(key)) {
        let name = text::decode(key.as_bytes()).unwrap_or_default();
        let other = delta.member(&name);
        let merged = match (name.as_str(), other) {
            ("content", Some(other)) => joined(&value, &other),
            ("arguments", None) => in_form(&value, delta),
            ("time", Some(other)) => {
                let same = times::of(&other).map(times::with_millis) == value.text();
                if same { other } else { value }
            }
            (_, Some(other)) if value.is_object() && other.is_object() => applied(&value, &other),
            (_, Some(other)) => other,
            (_, None) => value,
        };
        out.add(key.as_bytes(), merged.as_bytes());
    }
    let own = |name: &str| [LACKS, OF, SHOWN, PIECE, AS_TEXT, INSIDE].contains(&name);
    for (key, value) in delta.pairs() {
        let name = text::decode(key.as_bytes()).unwrap_or_default();
        let taken = plain.member(&name).is_some() && !lacks.contains(&key);
        if !own(&name) && !taken {
            out.add(key.as_bytes(), value.as_bytes());
        }
    }
    out.finish().unwrap_or(Json::constant("{}"))
}

/// Returns the arguments of a step in the form that the record has.
fn in_form(own: &Json, delta: &Json) -> Json {
    let own = &compact(own);
    if let Some(name) = delta.text_of(INSIDE) {
        return own.member(&name).unwrap_or_else(|| own.clone());
    }
    let as_text = || Json::string(&String::from_utf8_lossy(own.as_bytes()));
    match delta.member(AS_TEXT) {
        None => own.clone(),
        Some(spelled) if spelled == SPACED => Json::string(&spaced(own)),
        Some(spelled) => {
            let same = spelled.parsed().is_some_and(|parsed| parsed.normal() == own.normal());
            if same { spelled } else { as_text() }
        }
    }
}

/// Returns the content of a step with a difference. Blocks of which the difference does not know
/// come last.
fn joined(own: &Json, delta: &Json) -> Json {
    let mut blocks = Blocks::of(own);
    if !delta.is_list() {
        let texts = blocks.all.iter().all(|(kind, ..)| kind == block::TEXT);
        let only = blocks.all.first().filter(|_| texts && blocks.all.len() == 1);
        return match (delta == &PLAIN, only) {
            (true, Some((.., block))) => block.member("text").unwrap_or_default(),
            (true, None) => own.clone(),
            (false, _) if blocks.all.is_empty() || own.as_bytes() == b"\"\"" => delta.clone(),
            (false, _) => own.clone(),
        };
    }
    let (mut items, mut thoughts) = (Vec::new(), Vec::new());
    for item in delta.elements() {
        if let Some(name) = item.text() {
            let found = blocks.find(&name).and_then(|place| blocks.take(place));
            items.extend(found.cloned());
        } else if let Some(name) = item.text_of(OF) {
            let found = blocks.find(&name).and_then(|place| blocks.take(place)).cloned();
            items.extend(found.and_then(|block| piece(&block, &item)).map(|b| applied(&b, &item)));
        } else if let Some(name) = item.text_of(SHOWN) {
            let place = blocks.find(&name);
            let said = place.and_then(|place| blocks.take(place)).cloned();
            let whole = without(&item, SHOWN).unwrap_or_default();
            let same = said.as_ref().and_then(|said| said.text_of("text")) == shown(&whole);
            // An edited text counts.
            items.extend(if same { Some(whole) } else { said });
        } else if let Some(kind) = item.text_of("type") {
            thoughts.extend(item.text_of("thinking").filter(|_| kind == block::THINKING));
            items.push(item);
        }
    }
    // Thoughts that are kept whole are what the step says of them.
    if let Some(place) = blocks.find("thinking.0").filter(|_| !thoughts.is_empty())
        && let Some((.., said)) = blocks.all.get(place)
        && said.text_of("thinking").as_ref() == Some(&thoughts.join(wire::SEAM))
    {
        blocks.take(place);
    }
    let left = blocks.all.iter().zip(&blocks.used).filter(|(_, used)| !**used);
    let left: Vec<Json> = left.map(|((.., block), _)| block.clone()).collect();
    let is_empty =
        |block: &Json| block.member("text").is_some_and(|text| text.as_bytes() == b"\"\"");
    items.extend(left.into_iter().filter(|block| !is_empty(block)));
    Json::list(&items)
}

/// Returns the piece of a thought that an item means; the first piece is all of a thought of
/// another length, and the others are gone.
fn piece(block: &Json, item: &Json) -> Option<Json> {
    let Some(place) = item.member(PIECE) else { return Some(block.clone()) };
    let numbers: Vec<usize> =
        place.elements().filter_map(|n| n.float()).map(|n| n as usize).collect();
    let [from, to, all] = numbers.as_slice() else { return Some(block.clone()) };
    let said: Vec<char> = block.text_of("thinking")?.chars().collect();
    if said.len() != *all {
        return (*from == 0).then(|| block.clone());
    }
    let piece: String = said.get(*from..*to)?.iter().collect();
    let mut out = Extra::default();
    out.add(b"\"type\"", block::type_of(block::THINKING).as_bytes());
    out.add(b"\"thinking\"", Json::string(&piece).as_bytes());
    out.finish()
}
