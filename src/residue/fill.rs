//! What a template gives, with the target's records that it refers to.

use super::forms::Form;
use super::outline::DEEPEST;
use super::template::{REFERENCE, inside, separate};
use crate::formats::canonical;
use crate::json::{Cursor, Json};
use crate::record::Kind;
use std::cell::RefCell;

/// The member that says what a record is.
const KIND: &str = "kind";

/// The records that a template refers to.
struct Base<'b> {
    records: &'b [Json],
    /// The long lists among what was referred to: who went through one for each of its elements would
    /// do the square of the work.
    lists: RefCell<Vec<List>>,
}

/// The elements of a list, and where that stands.
struct List {
    record: usize,
    path: String,
    items: Vec<Json>,
}

/// So many elements are gone through one by one.
const FEW: usize = 16;

impl<'b> Base<'b> {
    fn of(records: &'b [Json]) -> Self {
        Self { records, lists: RefCell::default() }
    }

    /// The value at a path in a record.
    fn resolve(&self, record: usize, path: &str) -> Option<Json> {
        let mut lists = self.lists.borrow_mut();
        let is_above = |list: &&List| {
            let rest = path.strip_prefix(&list.path).filter(|_| list.record == record);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let above = lists.iter().filter(is_above).max_by_key(|list| list.path.len());
        let mut at = above.map_or(0, |list| list.path.len());
        let mut steps = path.get(at..)?.split('/').skip(1);
        let mut value = match above {
            Some(list) => {
                let step = steps.next()?;
                at += step.len() + 1;
                list.items.get(step.parse::<usize>().ok()?)?.clone()
            }
            None => self.records.get(record)?.clone(),
        };
        for step in steps {
            value = match value.as_bytes().first()? {
                b'{' => value.member(step)?,
                b'[' => match step.parse().ok()? {
                    few @ 0..FEW => value.elements().nth(few)?,
                    many => {
                        let items: Vec<_> = value.elements().collect();
                        let found = items.get(many).cloned();
                        lists.push(List { record, path: path.get(..at)?.to_owned(), items });
                        found?
                    }
                },
                _ => return None,
            };
            at += step.len() + 1;
        }
        Some(value)
    }
}

/// The record that a template gives; `None` if what it refers to is not there.
pub fn fill(template: &Json, base: &[Json]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    put(template, "", &Base::of(base), 0, &mut out)?;
    Some(out)
}

/// What is left of a record that a template gives: its members, or their elements, as far as what
/// they refer to is there and is what a record can have; else those of the first record that it
/// refers to and that has them.
pub fn fill_rest(template: &Json, base: &[Json]) -> Vec<u8> {
    let base = &Base::of(base);
    let kind = template.member(KIND).unwrap_or_default();
    let mut out = vec![b'{'];
    for (key, value) in members(template) {
        let Some(name) = key.text() else { continue };
        let path = format!("/{name}");
        let fits = |value: &Vec<u8>| name == KIND || is_read(&kind, &key, value);
        let held = || base.records.iter().find_map(|record| record.member(&name));
        let member =
            fill_at(&value, &path, base).filter(fits).or_else(|| match Inner::of(&value) {
                Inner::Items(items) => Some(fill_items(&items, &path, base, &|item| {
                    is_read(&kind, &key, &[b"[", item, b"]"].concat())
                })),
                _ => held().map(|held| held.as_bytes().to_vec()).filter(fits),
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

fn fill_at(value: &Json, path: &str, base: &Base<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    put(value, path, base, 1, &mut out)?;
    Some(out)
}

/// Whether a record of this kind can have a member that is spelled so.
fn is_read(kind: &Json, key: &Json, value: &[u8]) -> bool {
    let role: &[u8] = match key.text().as_deref() {
        Some("role") => b"",
        _ if kind.text().as_deref() == Some(Kind::Message.name()) => b",\"role\":\"user\"",
        _ => b"",
    };
    let head = [b"{\"kind\":", kind.as_bytes(), role, b",", key.as_bytes(), b":"].concat();
    canonical::record(&[head.as_slice(), value, b"}"].concat().into()).is_ok()
}

fn fill_items(
    items: &[Json],
    path: &str,
    base: &Base<'_>,
    fits: &dyn Fn(&[u8]) -> bool,
) -> Vec<u8> {
    let there = items.iter().enumerate();
    let there = there.filter_map(|(i, item)| fill_at(item, &format!("{path}/{i}"), base));
    let there = there.filter(|item| fits(item));
    let mut out = vec![b'['];
    for (i, item) in there.enumerate() {
        separate(i, &mut out);
        out.extend_from_slice(&item);
    }
    out.push(b']');
    out
}

fn put(value: &Json, path: &str, base: &Base<'_>, depth: usize, out: &mut Vec<u8>) -> Option<()> {
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
fn given(reference: &Json, path: &str, base: &Base<'_>) -> Option<Json> {
    let to = reference.member(REFERENCE)?;
    if to.is_null() {
        return Some(Json::checked(reference.member("raw")?.text()?.into()));
    }
    let value = match to.text() {
        Some(place) => {
            let (record, path) = place.split_once('/').unwrap_or((&place, ""));
            let path = if path.is_empty() { String::new() } else { format!("/{path}") };
            base.resolve(record.parse().ok()?, &path)?
        }
        None => base.resolve(to.float()? as usize, path)?,
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

/// The members of an object, names and values.
pub fn members(object: &Json) -> Vec<(Json, Json)> {
    let slice = |part| Json::checked(object.bytes().slice_ref(part));
    object.members().map(|(key, value)| (slice(key), slice(value))).collect()
}
