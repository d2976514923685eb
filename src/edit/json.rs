//! Three-way merge of JSON texts, by members and elements.

use super::plan::{Items, Level, Piece, plan};
use crate::ids::fingerprint;
use crate::json::{Json, Span};
use bytes::Bytes;
use std::collections::HashMap;

/// Maximum depth at which members are looked at one by one. Deeper values are replaced as a whole.
const DEPTH: usize = 100;

/// Returns `source` with the changes that lead from `before` to `after`. What is the same in these
/// two keeps the spelling of the source, whatever the source has in its place.
///
/// ```
/// use copyist::edit::json::merged;
/// use copyist::json::Json;
/// let source = Json::constant(r#"{ "text" : "a", "cost": 1.50, "own": [] }"#);
/// let before = Json::constant(r#"{"text":"a","cost":1.5}"#);
/// let after = Json::constant(r#"{"text":"b","cost":1.5,"new":true}"#);
/// let merged = merged(&source, &before, &after);
/// assert_eq!(merged.as_bytes(), br#"{ "text" : "b", "cost": 1.50, "new" : true, "own": [] }"#);
/// ```
pub fn merged(source: &Json, before: &Json, after: &Json) -> Json {
    merged_at(source, before, after, DEPTH)
}

fn merged_at(source: &Json, before: &Json, after: &Json, depth: usize) -> Json {
    if before.normal() == after.normal() {
        return source.clone();
    }
    let kinds = [source, before, after].map(|json| json.as_bytes().first().copied());
    match kinds {
        [Some(b'{'), Some(b'{'), Some(b'{')] if depth > 0 => {
            merged_members(source, before, after, depth - 1)
        }
        [Some(b'['), Some(b'['), Some(b'[')] if depth > 0 => {
            merged_elements(source, before, after, depth - 1)
        }
        [Some(b'"'), Some(b'"'), Some(b'"')] if source.normal() == before.normal() => {
            merged_strings(source, before, after)
        }
        _ => after.clone(),
    }
}

/// Returns a string of the source in which only the characters are replaced that differ in `before`
/// and `after`. The source and `before` have the same characters.
fn merged_strings(source: &Json, before: &Json, after: &Json) -> Json {
    // The same character is one place in any spelling.
    let [own, new] = [source, after].map(|json| characters(json.as_bytes()));
    let normal = [before, after].map(Json::normal);
    let [old, normal_new] = normal.each_ref().map(|text| characters(text));
    let [old_text, new_text] = &normal;
    let count = old.len().min(normal_new.len());
    let character = |list: &[Span], text: &[u8], place: usize| {
        list.get(place).map(|span| span.of(text).to_vec())
    };
    let same =
        |a: usize, b: usize| character(&old, old_text, a) == character(&normal_new, new_text, b);
    let start = (0..count).take_while(|place| same(*place, *place)).count();
    let rest = 0..count - start;
    let end = rest.take_while(|back| same(old.len() - 1 - back, new.len() - 1 - back)).count();
    let at = |list: &[Span], place: usize, json: &Json| {
        list.get(place).map_or(json.as_bytes().len() - 1, |span| span.start)
    };
    let part = |json: &Json, from: usize, to: usize| {
        json.as_bytes().get(from..to).unwrap_or_default().to_vec()
    };
    let lead = part(source, 0, at(&own, start, source));
    let replaced = part(after, at(&new, start, after), at(&new, new.len() - end, after));
    let tail = part(source, at(&own, own.len() - end, source), source.as_bytes().len());
    Json::trusted([lead, replaced, tail].concat().into())
}

/// Returns the places of the characters of a string as they are spelled. Two escapes of one
/// character are one place.
fn characters(string: &[u8]) -> Vec<Span> {
    let mut places = Vec::new();
    let (mut at, end) = (1, string.len().saturating_sub(1));
    while at < end {
        let length = match string.get(at..).unwrap_or_default() {
            [b'\\', b'u', rest @ ..] if is_half(rest, b"89abAB") => {
                let low = rest.get(4..).and_then(|rest| rest.strip_prefix(b"\\u"));
                if low.is_some_and(|low| is_half(low, b"cdefCDEF")) { 12 } else { 6 }
            }
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            [0xf0..=0xff, ..] => 4,
            [0xe0..=0xef, ..] => 3,
            [0xc0..=0xdf, ..] => 2,
            _ => 1,
        };
        places.push(Span { start: at, end: (at + length).min(end) });
        at += length;
    }
    places
}

/// Whether four digits are a half of a surrogate pair, by their second digit.
fn is_half(digits: &[u8], second: &[u8]) -> bool {
    matches!(digits, [b'd' | b'D', digit, ..] if second.contains(digit))
}

/// Member or element of a merged object or list.
enum Slot {
    /// The source's slot in this place, perhaps with another value.
    Own(usize, Option<Json>),
    /// New text.
    New(Vec<u8>),
}

/// Members of an object by their names in normal spelling. Of members with one name, the last one
/// counts.
struct Members {
    members: Vec<(Vec<u8>, Json)>,
    places: HashMap<Vec<u8>, usize>,
}

impl Members {
    fn of(object: &Json) -> Self {
        let members = object.pairs().into_iter().map(|(name, value)| (name.normal(), value));
        let members: Vec<_> = members.collect();
        let places = members.iter().enumerate().map(|(place, (name, _))| (name.clone(), place));
        let places = places.collect();
        Self { members, places }
    }

    fn value(&self, name: &[u8]) -> Option<&Json> {
        let place = self.places.get(name)?;
        self.members.get(*place).map(|(_, value)| value)
    }

    /// Returns the members that count, with their places.
    fn counted(&self) -> impl Iterator<Item = (usize, &(Vec<u8>, Json))> {
        let members = self.members.iter().enumerate();
        members.filter(|(place, (name, _))| self.places.get(name) == Some(place))
    }
}

fn merged_members(source: &Json, before: &Json, after: &Json, depth: usize) -> Json {
    let pairs = source.pairs();
    if pairs.is_empty() {
        return after.clone();
    }
    let [own, old, new] = [source, before, after].map(Members::of);
    let mut added = added(&own, &old, &new, colon(source, &pairs));
    let mut slots: Vec<_> = added.remove(&None).unwrap_or_default();
    for (place, (name, value)) in own.members.iter().enumerate() {
        let counts = own.places.get(name) == Some(&place);
        match (old.value(name), new.value(name)) {
            (Some(_), None) => {}
            (Some(old), Some(new)) if counts => {
                slots.push(Slot::Own(place, Some(merged_at(value, old, new, depth))));
            }
            (None, Some(new)) if counts => slots.push(Slot::Own(place, Some(new.clone()))),
            _ => slots.push(Slot::Own(place, None)),
        }
        slots.extend(added.remove(&Some(place)).unwrap_or_default());
    }
    let spans = pairs.iter().map(|(name, value)| {
        let (name, value) = (source.place_of(name), source.place_of(value));
        (Span { start: name.start, end: value.end }, value.start)
    });
    rebuilt(source, &spans.collect::<Vec<_>>(), &slots)
}

/// Returns the new members by the place of the source's member behind which they go.
fn added(
    own: &Members,
    old: &Members,
    new: &Members,
    colon: &[u8],
) -> HashMap<Option<usize>, Vec<Slot>> {
    let mut added: HashMap<_, Vec<_>> = HashMap::new();
    let mut behind = None;
    for (_, (name, value)) in new.counted() {
        if let Some(place) = own.places.get(name) {
            behind = Some(*place);
            continue;
        }
        let unchanged = old.value(name).is_some_and(|old| old.normal() == value.normal());
        if !unchanged {
            let text = [name.as_slice(), colon, value.as_bytes()].concat();
            added.entry(behind).or_default().push(Slot::New(text));
        }
    }
    added
}

/// Returns what is between a name and its value in the source.
fn colon<'s>(source: &'s Json, pairs: &[(Json, Json)]) -> &'s [u8] {
    let first = pairs.first().map(|(name, value)| (source.place_of(name), source.place_of(value)));
    let between = first.and_then(|(name, value)| source.as_bytes().get(name.end..value.start));
    between.unwrap_or(b":")
}

/// Elements of a list.
struct Elements {
    elements: Vec<Json>,
    hashes: Vec<u64>,
}

impl Elements {
    fn of(list: &Json) -> Self {
        let elements: Vec<_> = list.elements().collect();
        let hashes = elements.iter().map(hash).collect();
        Self { elements, hashes }
    }

    fn get(&self, place: u32) -> Json {
        self.elements.get(place as usize).cloned().unwrap_or_default()
    }
}

impl Items for Elements {
    fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    fn likeness(&mut self, item: u32, level: Level) -> Option<u64> {
        self.elements.get(item as usize).map(|element| likeness(element, level))
    }
}

fn merged_elements(source: &Json, before: &Json, after: &Json, depth: usize) -> Json {
    let [mut own, mut old, mut new] = [source, before, after].map(Elements::of);
    if own.elements.is_empty() {
        return after.clone();
    }
    let pieces = plan(&mut own, &mut old, &mut new);
    let slots = pieces.map(|piece| match piece {
        Piece::Own(place) => Slot::Own(place as usize, None),
        Piece::Edited(place, before, after) => {
            let value = merged_at(&own.get(place), &old.get(before), &new.get(after), depth);
            Slot::Own(place as usize, Some(value))
        }
        Piece::New(place) => Slot::New(new.get(place).as_bytes().to_vec()),
    });
    let slots: Vec<_> = slots.collect();
    let spans = own.elements.iter().map(|element| {
        let span = source.place_of(element);
        (span, span.start)
    });
    rebuilt(source, &spans.collect::<Vec<_>>(), &slots)
}

/// Writes an object or a list with these slots. `spans` has the place of each slot of the source,
/// and where its value begins.
fn rebuilt(source: &Json, spans: &[(Span, usize)], slots: &[Slot]) -> Json {
    let text = source.as_bytes();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let (first, last) = (spans.first().map(|(span, _)| span), spans.last().map(|(span, _)| span));
    let lead = part(0, first.map_or(1, |span| span.start));
    let tail = part(last.map_or(text.len() - 1, |span| span.end), text.len());
    let usual = match spans {
        [(first, _), (second, _), ..] => part(first.end, second.start).to_vec(),
        _ => [b",", lead.get(1..).unwrap_or_default()].concat(),
    };
    let mut out = lead.to_vec();
    for (number, slot) in slots.iter().enumerate() {
        let before = match slot {
            Slot::Own(place, _) if *place > 0 => spans
                .get(place - 1)
                .zip(spans.get(*place))
                .map(|((before, _), (own, _))| part(before.end, own.start)),
            _ => None,
        };
        if number > 0 {
            out.extend_from_slice(before.unwrap_or(&usual));
        }
        match slot {
            Slot::Own(place, value) => {
                let Some((span, start)) = spans.get(*place) else { continue };
                match value {
                    Some(value) => {
                        out.extend_from_slice(part(span.start, *start));
                        out.extend_from_slice(value.as_bytes());
                    }
                    None => out.extend_from_slice(part(span.start, span.end)),
                }
            }
            Slot::New(text) => out.extend_from_slice(text),
        }
    }
    out.extend_from_slice(tail);
    Json::trusted(Bytes::from(out))
}

/// Returns a hash of a value: equal for values with the same meaning.
pub fn hash(json: &Json) -> u64 {
    fingerprint(&json.normal())
}

/// Returns a text that is one value, perhaps with white space around it, with the changes that lead
/// from `before` to `after`; `None` if one of the three is anything else.
pub fn merged_text(source: &Bytes, before: &Bytes, after: &Bytes) -> Option<Vec<u8>> {
    let read = |text| Json::read(text).ok();
    let (own, old, new) = (read(source)?, read(before)?, read(after)?);
    let start = own.as_bytes().as_ptr().addr() - source.as_ptr().addr();
    let end = start + own.as_bytes().len();
    let around = |range| source.get(range).unwrap_or_default();
    let merged = merged(&own, &old, &new);
    Some([around(0..start), merged.as_bytes(), around(end..source.len())].concat())
}

/// Names of members by which a value is recognized though it was edited. Members of the objects in
/// [`INSIDE`] count, too.
const KINDS: &[&str] = &["type", "role", "subtype", "kind", "name"];
/// Names of members that identify a value.
const IDENTITIES: &[&str] = &["id", "uuid", "call_id", "tool_use_id", "toolCallId", "turn_id"];
/// Names of members whose values say what the object around them is.
const INSIDE: &[&str] = &["payload", "message"];

/// Returns a hash of what a value is.
pub fn likeness(json: &Json, level: Level) -> u64 {
    let mut text = json.as_bytes().first().copied().into_iter().collect();
    describe(json, level, true, &mut text);
    fingerprint(&text)
}

fn describe(json: &Json, level: Level, within: bool, text: &mut Vec<u8>) {
    for (name, value) in json.pairs() {
        let is = |names: &[&str]| {
            names.iter().any(|known| crate::json::text::is(name.as_bytes(), known))
        };
        if is(KINDS) || level == Level::Identity && is(IDENTITIES) {
            text.extend(name.normal());
            text.extend(value.normal());
        } else if within && is(INSIDE) {
            describe(&value, level, false, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        text.parse().expect("JSON")
    }

    fn check(source: &str, before: &str, after: &str, wanted: &str) {
        let merged = merged(&json(source), &json(before), &json(after));
        assert_eq!(String::from_utf8_lossy(merged.as_bytes()), wanted);
    }

    #[test]
    fn what_did_not_change_keeps_its_spelling() {
        check(r#"{ "a": 1.50 }"#, r#"{"a":1.5}"#, r#"{"a":1.5}"#, r#"{ "a": 1.50 }"#);
        let source = r#"{"a":"\u0061","b":[ 1 , 2 ]}"#;
        check(
            source,
            r#"{"a":"a","b":[1,2]}"#,
            r#"{"a":"a","b":[1,3]}"#,
            r#"{"a":"\u0061","b":[ 1 , 3 ]}"#,
        );
    }

    #[test]
    fn members_are_added_and_removed_in_the_style_of_the_source() {
        let source = "{\n  \"a\": 1,\n  \"b\": 2\n}";
        check(source, r#"{"a":1,"b":2}"#, r#"{"b":2}"#, "{\n  \"b\": 2\n}");
        check(
            source,
            r#"{"a":1,"b":2}"#,
            r#"{"a":1,"n":0,"b":2}"#,
            "{\n  \"a\": 1,\n  \"n\": 0,\n  \"b\": 2\n}",
        );
        check(source, r#"{"a":1,"b":2}"#, r#"{}"#, "{\n  \n}");
        check("{\n \"a\":1\n}", r#"{"a":1}"#, r#"{"a":1,"n":0}"#, "{\n \"a\":1,\n \"n\":0\n}");
        check("{}", "{}", r#"{"n":0}"#, r#"{"n":0}"#);
    }

    #[test]
    fn members_that_the_writer_does_not_know_stay() {
        check(
            r#"{"x":1,"a":"b","y":2}"#,
            r#"{"a":"b"}"#,
            r#"{"a":"c"}"#,
            r#"{"x":1,"a":"c","y":2}"#,
        );
        check(
            r#"{"a":"b"}"#,
            r#"{"a":"b","usual":null}"#,
            r#"{"a":"c","usual":null}"#,
            r#"{"a":"c"}"#,
        );
    }

    #[test]
    fn blocks_are_recognized_by_their_kind() {
        let source =
            r#"[{"type":"thinking","x":1,"signature":"s"},{"type":"text","text":"a","own":1}]"#;
        let before = r#"[{"type":"thinking","x":1,"signature":"s"},{"type":"text","text":"a"}]"#;
        let after = r#"[{"type":"text","text":"b"},{"type":"image"}]"#;
        check(source, before, after, r#"[{"type":"text","text":"b","own":1},{"type":"image"}]"#);
    }

    #[test]
    fn of_a_text_only_the_edited_characters_are_replaced() {
        let check = |source: &str, before: &str, after: &str, wanted: &str| {
            check(&format!("\"{source}\""), before, after, &format!("\"{wanted}\""));
        };
        check(r"caf\u00e9 \/ x", r#""café / x""#, r#""café / yz""#, r"caf\u00e9 \/ yz");
        check(
            r"\ud83c\udf0d a \uD83D",
            "\"🌍 a \\ud83d\"",
            "\"🌍 \\ud83d\"",
            r"\ud83c\udf0d \uD83D",
        );
        check(r"\u0061", r#""a""#, r#""aa""#, r"\u0061a");
        check("", r#""""#, r#""a""#, "a");
        check(r"\u0061b", r#""ab""#, r#""""#, "");
    }

    #[test]
    fn the_last_of_several_members_of_one_name_counts() {
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, r#"{"a":3}"#, r#"{"a":1,"a":3}"#);
    }

    #[test]
    fn deep_values_end_no_program() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(20_000), "]".repeat(20_000));
        let merged = merged(&json(&deep("1")), &json(&deep("1")), &json(&deep("2")));
        assert_eq!(merged.as_bytes(), deep("2").as_bytes());
    }
}
