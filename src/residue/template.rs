//! A record of the source, said by what the target's records say already.
//!
//! A template is the record as a line of the canonical stream in which values that the target
//! holds, too, are replaced by references: `{"^":0}` is the value at the same place of the first
//! of the target's records, `{"^":"1/content/0/text"}` the one at this place of the second. So an
//! edit of the target is an edit of what the template gives. `as` names another form of the
//! value, `cut` how much before and behind it is left out. What could be taken for a reference is
//! written as `{"^":null,"raw":"…"}`, with its spelling as text.

use super::forms::Form;
use super::places::{Place, Places};
use super::print::is_known_by;
use crate::json::{Cursor, Json, text};
use bytes::Bytes;

/// Strings of this length are looked for in longer ones.
const PART: usize = 48;
/// How deep values are looked into.
const DEEPEST: usize = 24;
/// The members that say what an object is.
const NAMES: &[&str] = &["kind", "type"];
/// What a reference is called.
const REFERENCE: &str = "^";

/// The target's records that a record of the source is told by.
pub struct Base {
    lines: Vec<Json>,
    places: Places,
}

impl Base {
    /// These records, as lines of the canonical stream.
    pub fn new(lines: Vec<Bytes>) -> Self {
        let lines: Vec<_> = lines.into_iter().map(Json::checked).collect();
        Self { places: Places::of(&lines), lines }
    }

    /// The record as a template. It is checked that the template gives the record again; if it does
    /// not, the record itself is the template.
    pub fn template(&self, record: &Bytes) -> Vec<u8> {
        let record = Json::checked(record.clone());
        let mut out = Vec::new();
        let beside: Vec<_> = self.lines.iter().cloned().map(Some).collect();
        self.inner(&record, &beside, "", 0, &mut out);
        let given = fill(&Json::checked(out.clone().into()), &self.lines);
        if given.as_deref() == Some(record.as_bytes()) {
            return out;
        }
        record.as_bytes().to_vec()
    }

    /// A value, and what stands at the same place of the target's records.
    fn value(
        &self,
        value: &Json,
        beside: &[Option<Json>],
        key: &str,
        depth: usize,
        out: &mut Vec<u8>,
    ) {
        if NAMES.contains(&key) || depth >= DEEPEST || (depth == 1 && !is_known_by(key)) {
            return out.extend_from_slice(value.as_bytes());
        }
        if let Some(record) = beside.iter().position(|beside| beside.as_ref() == Some(value)) {
            return out.extend_from_slice(format!("{{\"{REFERENCE}\":{record}}}").as_bytes());
        }
        if let Some((place, form)) = self.places.find(value, key) {
            return refer(place, form, None, out);
        }
        self.inner(value, beside, key, depth, out);
    }

    fn inner(
        &self,
        value: &Json,
        beside: &[Option<Json>],
        key: &str,
        depth: usize,
        out: &mut Vec<u8>,
    ) {
        match Inner::of(value) {
            Inner::Members(list) => {
                let beside = opened(beside, members);
                out.push(b'{');
                for (i, (key, value)) in list.into_iter().enumerate() {
                    separate(i, out);
                    out.extend_from_slice(key.as_bytes());
                    out.push(b':');
                    let name = key.text().unwrap_or_default();
                    // A way cannot say such a name.
                    let same = |(other, _): &&(Json, Json)| *other == key && !name.contains('/');
                    let beside = beside.iter().map(|list| list.iter().find(same));
                    let beside: Vec<_> =
                        beside.map(|m| m.map(|(_, value)| value.clone())).collect();
                    self.value(&value, &beside, &name, depth + 1, out);
                }
                out.push(b'}');
            }
            Inner::Items(list) => {
                let beside = opened(beside, |list| list.elements().collect());
                out.push(b'[');
                for (i, item) in list.into_iter().enumerate() {
                    separate(i, out);
                    let beside: Vec<_> = beside.iter().map(|list| list.get(i).cloned()).collect();
                    self.value(&item, &beside, key, depth + 1, out);
                }
                out.push(b']');
            }
            Inner::Reference => {
                out.extend_from_slice(b"{\"^\":null,\"raw\":");
                text::quote(&String::from_utf8_lossy(value.as_bytes()), out);
                out.push(b'}');
            }
            Inner::Whole => {
                let long = value.as_bytes().len() >= PART;
                match long.then(|| self.places.holding(value)).flatten() {
                    Some((place, cut)) => refer(place, "", Some(cut), out),
                    None => out.extend_from_slice(value.as_bytes()),
                }
            }
        }
    }
}

/// What is in these values, where they are there.
fn opened<T>(values: &[Option<Json>], open: fn(&Json) -> Vec<T>) -> Vec<Vec<T>> {
    values.iter().map(|value| value.as_ref().map(open).unwrap_or_default()).collect()
}

/// The record that a template gives; `None` if what it refers to is not there.
pub fn fill(template: &Json, base: &[Json]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    put(template, "", base, 0, &mut out)?;
    Some(out)
}

/// What is left of a record that a template gives: its members, or their elements, as far as what
/// they refer to is there; else those of the first record that it refers to.
pub fn fill_rest(template: &Json, base: &[Json]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for (key, value) in members(template) {
        let Some(name) = key.text() else { continue };
        let held = || base.first().and_then(|first| first.member(&name));
        let member =
            fill_at(&value, &format!("/{name}"), base).or_else(|| match Inner::of(&value) {
                Inner::Items(items) => Some(fill_items(&items, &format!("/{name}"), base)),
                _ => held().map(|held| held.as_bytes().to_vec()),
            });
        if let Some(member) = member {
            separate(out.len() - 1, &mut out);
            out.extend_from_slice(key.as_bytes());
            out.push(b':');
            out.extend_from_slice(&member);
        }
    }
    out.push(b'}');
    out
}

fn fill_at(value: &Json, path: &str, base: &[Json]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    put(value, path, base, 1, &mut out)?;
    Some(out)
}

fn fill_items(items: &[Json], path: &str, base: &[Json]) -> Vec<u8> {
    let there = items.iter().enumerate();
    let there = there.filter_map(|(i, item)| fill_at(item, &format!("{path}/{i}"), base));
    let mut out = vec![b'['];
    for (i, item) in there.enumerate() {
        separate(i, &mut out);
        out.extend_from_slice(&item);
    }
    out.push(b']');
    out
}

fn put(value: &Json, path: &str, base: &[Json], depth: usize, out: &mut Vec<u8>) -> Option<()> {
    match Inner::of(value) {
        _ if depth >= DEEPEST => out.extend_from_slice(value.as_bytes()),
        Inner::Reference => out.extend_from_slice(given(value, path, base)?.as_bytes()),
        Inner::Members(members) => {
            out.push(b'{');
            for (i, (key, value)) in members.into_iter().enumerate() {
                separate(i, out);
                out.extend_from_slice(key.as_bytes());
                out.push(b':');
                put(&value, &format!("{path}/{}", key.text()?), base, depth + 1, out)?;
            }
            out.push(b'}');
        }
        Inner::Items(items) => {
            out.push(b'[');
            for (i, item) in items.into_iter().enumerate() {
                separate(i, out);
                put(&item, &format!("{path}/{i}"), base, depth + 1, out)?;
            }
            out.push(b']');
        }
        Inner::Whole => out.extend_from_slice(value.as_bytes()),
    }
    Some(())
}

/// What a reference refers to.
fn given(reference: &Json, path: &str, base: &[Json]) -> Option<Json> {
    let to = reference.member(REFERENCE)?;
    if to.is_null() {
        return Some(Json::checked(reference.member("raw")?.text()?.into()));
    }
    let value = match to.text() {
        Some(place) => {
            let (record, path) = place.split_once('/').unwrap_or((&place, ""));
            let path = if path.is_empty() { String::new() } else { format!("/{path}") };
            resolve(base.get(record.parse::<usize>().ok()?)?, &path)?
        }
        None => resolve(base.get(to.float()? as usize)?, path)?,
    };
    if let Some(cut) = reference.member("cut") {
        let ends: Vec<usize> = cut.elements().filter_map(|n| Some(n.float()? as usize)).collect();
        let whole = value.normal();
        let inner = inside(&whole);
        let [before, behind] = ends.try_into().ok()?;
        let kept = inner.get(before..inner.len().checked_sub(behind)?)?;
        let kept = [b"\"", kept, b"\""].concat();
        // An edit may have put an escape across a cut.
        let mut cursor = Cursor::new(&kept);
        cursor.skip_value().ok()?;
        cursor.end().ok()?;
        return Some(Json::checked(kept.into()));
    }
    let form = reference.member("as").and_then(|form| form.text()).unwrap_or_default();
    (Form::of(&form)?.make)(&value)
}

fn refer(place: &Place, form: &str, cut: Option<(usize, usize)>, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{{\"{REFERENCE}\":").as_bytes());
    text::quote(&format!("{}{}", place.record, place.path), out);
    if !form.is_empty() {
        out.extend_from_slice(format!(",\"as\":\"{form}\"").as_bytes());
    }
    if let Some((before, behind)) = cut {
        out.extend_from_slice(format!(",\"cut\":[{before},{behind}]").as_bytes());
    }
    out.push(b'}');
}

/// What a value is made of, as far as a template may change it.
enum Inner {
    Members(Vec<(Json, Json)>),
    Items(Vec<Json>),
    /// An object that is a reference, or could be taken for one.
    Reference,
    /// No list or object, or one that has white space between its parts, which must stay.
    Whole,
}

impl Inner {
    fn of(value: &Json) -> Self {
        let bytes = value.as_bytes();
        match bytes.first() {
            Some(b'{') => {
                let members = members(value);
                let first = members.first().map(|(key, _)| key.as_bytes());
                let inside: usize =
                    members.iter().map(|(k, v)| k.as_bytes().len() + v.as_bytes().len() + 2).sum();
                match (first == Some(b"\"^\""), bytes.len() == inside.max(1) + 1) {
                    (true, _) => Self::Reference,
                    (false, true) => Self::Members(members),
                    (false, false) => Self::Whole,
                }
            }
            Some(b'[') => {
                let items: Vec<_> = value.elements().collect();
                let inside: usize = items.iter().map(|item| item.as_bytes().len() + 1).sum();
                let tight = bytes.len() == inside.max(1) + 1;
                if tight { Self::Items(items) } else { Self::Whole }
            }
            _ => Self::Whole,
        }
    }
}

fn separate(place: usize, out: &mut Vec<u8>) {
    if place > 0 {
        out.push(b',');
    }
}

/// Shows every value below this one that has a place of its own: the way to it, the member that it
/// is in, and the value.
pub fn walk(value: &Json, show: &mut dyn FnMut(&str, &str, &Json)) {
    step(value, "", "", 0, show);
}

fn step(
    value: &Json,
    path: &str,
    key: &str,
    depth: usize,
    show: &mut dyn FnMut(&str, &str, &Json),
) {
    if depth >= DEEPEST {
        return;
    }
    match value.as_bytes().first() {
        Some(b'{') => {
            let mut seen = Vec::new();
            for (key, value) in members(value) {
                let Some(name) = key.text().filter(|name| !name.contains('/')) else { continue };
                if seen.contains(&name) {
                    continue;
                }
                if depth == 0 && !is_known_by(&name) {
                    continue;
                }
                let path = format!("{path}/{name}");
                show(&path, &name, &value);
                step(&value, &path, &name, depth + 1, show);
                seen.push(name);
            }
        }
        Some(b'[') => {
            for (i, value) in value.elements().enumerate() {
                let path = format!("{path}/{i}");
                show(&path, key, &value);
                step(&value, &path, key, depth + 1, show);
            }
        }
        _ => {}
    }
}

/// The value at a path.
fn resolve(value: &Json, path: &str) -> Option<Json> {
    let mut value = value.clone();
    for step in path.split('/').skip(1) {
        value = match value.as_bytes().first()? {
            b'{' => value.member(step)?,
            b'[' => value.elements().nth(step.parse().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// The members of an object, names and values.
pub fn members(object: &Json) -> Vec<(Json, Json)> {
    let slice = |part| Json::checked(object.bytes().slice_ref(part));
    object.members().map(|(key, value)| (slice(key), slice(value))).collect()
}

/// A string's spelling without its quotes.
pub fn inside(string: &[u8]) -> &[u8] {
    string.get(1..string.len().saturating_sub(1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::checked(text.to_owned().into())
    }

    fn there_and_back(source: &str, target: &[&str]) -> String {
        let lines = target.iter().map(|line| Bytes::from(line.to_string())).collect();
        let base = Base::new(lines);
        let template = base.template(&Bytes::from(source.to_owned()));
        let target: Vec<_> = target.iter().map(|line| json(line)).collect();
        let template = Json::checked(template.into());
        assert_eq!(fill(&template, &target).as_deref(), Some(source.as_bytes()), "{template:?}");
        format!("{template:?}")
    }

    #[test]
    fn what_the_target_says_is_not_said_again() {
        let source = r#"{"kind":"message","id":"a1","content":[{"type":"text","text":"yes"}]}"#;
        let target = r#"{"kind":"message","id":"m1","content":"yes"}"#;
        let template = there_and_back(source, &[target]);
        assert_eq!(
            template,
            r#"{"kind":"message","id":"a1","content":[{"type":"text","text":{"^":"0/content"}}]}"#
        );
        let edited = json(r#"{"kind":"message","id":"m1","content":"no"}"#);
        assert_eq!(
            fill(&json(&template), &[edited]).as_deref(),
            Some(&br#"{"kind":"message","id":"a1","content":[{"type":"text","text":"no"}]}"#[..])
        );
    }

    #[test]
    fn other_forms_and_parts_are_found() {
        let arguments = r#"{"command": "cargo test --locked"}"#;
        let long = "what was said before, in so many words that it is worth a reference";
        let source = format!(
            r#"{{"kind":"message","content":[{{"arguments":{arguments}}}],"summary":"{long}"}}"#
        );
        let spelled = Json::string(arguments);
        let target = format!(
            r#"{{"kind":"message","content":[{{"arguments":{spelled:?}}},"<summary>\n{long}\n"]}}"#
        );
        let template = there_and_back(&source, &[&target]);
        assert!(template.contains(r#""as":"parsed""#), "{template}");
        assert!(template.contains(r#""cut":[11,2]"#), "{template}");
        assert!(!template.contains("cargo"), "{template}");
    }

    #[test]
    fn names_like_references_are_themselves() {
        for source in [r#"{"^":0}"#, r#"{"a":{"b":[{"^":{"^":1}}]}}"#, r#"{"a": {"^": 1}}"#] {
            there_and_back(source, &[r#"{"^":5,"a":1}"#]);
        }
    }
}
