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
    /// The name of the one member of an object that holds the string, where the value is such an
    /// object.
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
        let value = match slot.and_then(|slot| Some((slot.field, inner(&value, slot)?))) {
            Some((field, inner)) if node.get(field).is_none() => {
                node.set(field, inner);
                Json::constant("null")
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
            let mut members = value.pairs().into_iter();
            let (key, inner) = members.next()?;
            (text::is(key.as_bytes(), name) && members.next().is_none()).then_some(inner)?
        }
    };
    string.as_bytes().starts_with(b"\"").then_some(string)
}

/// Appends the object of a node and of what stayed; members that are new come last.
pub fn write(rest: Option<&Json>, slots: &[Slot], node: &Node, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let mut written = Vec::new();
    for (key, value) in rest.into_iter().flat_map(Json::members) {
        let slot = slots.iter().find(|slot| text::is(key, slot.name) && value == b"null");
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
        (Some(value), Some(name)) => {
            let mut inner = Object::open(object.key(slot.name));
            inner.member(name, value.as_bytes());
            inner.close();
        }
    }
}
