//! Objects whose order of members differs between releases: the values that have a field leave a
//! `null` in their place, so that the object is written in its own order.

use crate::json::{Json, text};
use crate::mapping::{Extra, Object};
use crate::record::{Field, Node};

/// A member with a field.
#[derive(Debug)]
pub struct Slot {
    /// The name of the member.
    pub name: &'static str,
    /// The field that holds its value, a string.
    pub field: Field,
    /// The name of the member of an object that holds the string, where the value is such an object.
    /// If it is the only member, the whole object leaves a `null`.
    pub inside: Option<&'static str>,
}

/// Returns the slot of a string.
#[must_use]
pub const fn slot(name: &'static str, field: Field) -> Slot {
    Slot { name, field, inside: None }
}

/// Moves the values of an object into the fields of a node; returns what stays.
#[must_use]
pub fn take(object: &Json, slots: &[Slot], node: &mut Node) -> Json {
    let mut rest = Extra::default();
    for (key, value) in object.pairs() {
        let slot = slots.iter().find(|slot| text::is(key.as_bytes(), slot.name));
        let value = match slot.and_then(|slot| Some((slot, inner(&value, slot)?))) {
            Some((slot, inner)) if node.get(slot.field).is_none() => {
                node.set(slot.field, inner);
                emptied(&value, slot)
            }
            _ => value,
        };
        rest.add(key.as_bytes(), value.as_bytes());
    }
    rest.finish().unwrap_or(Json::constant("{}"))
}

fn inner(value: &Json, slot: &Slot) -> Option<Json> {
    let string = match slot.inside {
        None => value.clone(),
        Some(name) => {
            let mut own =
                value.pairs().into_iter().filter(|(key, _)| text::is(key.as_bytes(), name));
            own.next().filter(|_| own.next().is_none())?.1
        }
    };
    string.as_bytes().starts_with(b"\"").then_some(string)
}

/// Returns what stays of a value whose string was taken.
fn emptied(value: &Json, slot: &Slot) -> Json {
    match slot.inside.filter(|_| value.members().nth(1).is_some()) {
        Some(name) => with_inner(value, name, b"null"),
        None => Json::constant("null"),
    }
}

/// Returns an object with another value of this member.
fn with_inner(object: &Json, name: &str, new: &[u8]) -> Json {
    let mut out = Extra::default();
    for (key, value) in object.members() {
        out.add(key, if text::is(key, name) { new } else { value });
    }
    out.finish().unwrap_or(Json::constant("{}"))
}

/// Whether a value that stayed has a place for the string of a slot.
fn is_place(value: &[u8], slot: &Slot) -> bool {
    let object = |name| {
        let value = Json::checked(value.to_vec().into());
        value.member(name).is_some_and(|inner| inner.is_null())
    };
    value == b"null" || value.starts_with(b"{") && slot.inside.is_some_and(object)
}

/// Appends the object of a node and of what stayed; members that are new come last.
pub fn write(rest: Option<&Json>, slots: &[Slot], node: &Node, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let mut written = Vec::new();
    for (key, value) in rest.into_iter().flat_map(Json::members) {
        let slot = slots.iter().find(|slot| text::is(key, slot.name) && is_place(value, slot));
        match slot.filter(|slot| !written.contains(&slot.name)) {
            Some(slot) => {
                written.push(slot.name);
                fill(slot, node, &mut object, value);
            }
            None => object.spelled(key, value),
        }
    }
    for slot in slots.iter().filter(|slot| !written.contains(&slot.name)) {
        let there = rest.is_some_and(|rest| rest.member(slot.name).is_some());
        if node.json(slot.field).is_some() && !there {
            fill(slot, node, &mut object, b"null");
        }
    }
    object.close();
}

fn fill(slot: &Slot, node: &Node, object: &mut Object<'_>, otherwise: &[u8]) {
    match (node.json(slot.field), slot.inside) {
        (None, _) => object.member(slot.name, otherwise),
        (Some(value), None) => object.member(slot.name, value.as_bytes()),
        (Some(value), Some(name)) if otherwise.starts_with(b"{") => {
            let kept = Json::checked(otherwise.to_vec().into());
            object.member(slot.name, with_inner(&kept, name, value.as_bytes()).as_bytes());
        }
        (Some(value), Some(name)) => {
            let mut inner = Object::open(object.key(slot.name));
            inner.member(name, value.as_bytes());
            inner.close();
        }
    }
}
