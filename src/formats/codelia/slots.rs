//! Tables of the members of Codelia's objects, each member in its place.
//!
//! Like in [`mapping`](crate::mapping), a row names a member once for reading and writing. Three
//! things are different here. Codelia nests small objects (`model`, `prompts`, `output`) whose
//! members are fields of the record itself. A member of another shape than its field, such as
//! `"usage":null`, is kept among the unnamed members, but is written in its own place. Messages are
//! not values of the record, but records of their own.

use crate::json::{Fault, Json, Span, text};
use crate::mapping::{Extra, Object, Row, Source};
use crate::record::{Field, Node};
use bytes::Bytes;

/// Member of an object.
#[derive(Debug)]
pub enum Slot {
    /// Value of the record.
    Value(Row),
    /// Member that always has this value.
    Fixed(&'static str, &'static str),
    /// Object whose members are values of the record. Members that no slot names go to the given
    /// field, or else to the unnamed members under the object's name.
    Within(&'static str, &'static [Slot], Option<Field>),
    /// Group of values.
    Group(&'static str, Field, &'static [Slot]),
    /// Member that no field of the model stands for, but that has a place among the others.
    Kept(&'static str),
    /// Member with the conversation: messages, an input, or a result.
    Said(&'static str),
}

impl Slot {
    fn key(&self) -> &'static str {
        match self {
            Self::Value(row) => row.key,
            Self::Fixed(key, _) | Self::Within(key, ..) | Self::Group(key, ..) => key,
            Self::Kept(key) | Self::Said(key) => key,
        }
    }
}

/// Findings in an object beside its values.
#[derive(Debug, Default)]
pub struct Found {
    /// Position of the value of the [`Slot::Said`] member.
    pub said: Option<Span>,
    /// Whether a member occurs twice, so that the object can be read in two ways.
    pub twice: bool,
}

/// Reads the object that begins here, and returns the members that no slot names. `decides` is the
/// member that the caller has already looked at; the reader skips it.
///
/// # Errors
/// If the text breaks the grammar.
pub fn read(
    source: &mut Source<'_>,
    slots: &'static [Slot],
    decides: Option<&str>,
    node: &mut Node,
    found: &mut Found,
) -> Result<Extra, Fault> {
    let mut extra = Extra::default();
    let mut seen: Vec<&[u8]> = Vec::with_capacity(8);
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        let name = source.spelling(key);
        found.twice |= seen.contains(&name);
        seen.push(name);
        if decides.is_some_and(|decides| text::is(name, decides)) {
            source.cursor.skip_value()?;
            continue;
        }
        let Some(slot) = slots.iter().find(|slot| text::is(name, slot.key())) else {
            source.unknown(key, &mut extra)?;
            continue;
        };
        let first = source.cursor.peek().unwrap_or_default();
        match slot {
            Slot::Value(row) => {
                let mut own = Extra::default();
                source.value(key, row, node, &mut own)?;
                own.finish().iter().for_each(|own| extra.add_members(own));
            }
            Slot::Fixed(_, fixed) => {
                let value = source.cursor.skip_value()?;
                if source.spelling(value) != fixed.as_bytes() {
                    extra.add(name, source.spelling(value));
                }
            }
            Slot::Within(_, slots, rest) if first == b'{' => {
                match (within(source, slots, node, found)?, rest) {
                    (Some(inner), Some(field)) => node.set(*field, inner),
                    (Some(inner), None) => extra.add(name, inner.as_bytes()),
                    (None, _) => {}
                }
            }
            Slot::Group(_, field, slots) if first == b'{' => {
                let mut group = Node::with_capacity(slots.len());
                if let Some(extra) = read(source, slots, None, &mut group, found)?.finish() {
                    group.set(Field::Extra, extra);
                }
                node.set(*field, group);
            }
            Slot::Said(_) => found.said = Some(source.cursor.skip_value()?),
            Slot::Within(..) | Slot::Group(..) | Slot::Kept(_) => {
                source.unknown(key, &mut extra)?;
            }
        }
    }
    Ok(extra)
}

/// Reads a nested object whose members are values of the record, and returns the members that no
/// slot names. An object without any member is returned as `{}`, so that it is not lost.
fn within(
    source: &mut Source<'_>,
    slots: &'static [Slot],
    node: &mut Node,
    found: &mut Found,
) -> Result<Option<Json>, Fault> {
    let before = (node.fields().count(), found.said.is_some());
    let inner = read(source, slots, None, node, found)?.finish();
    let none = before == (node.fields().count(), found.said.is_some());
    Ok(inner.or_else(|| none.then_some(Json::constant("{}"))))
}

/// Writes the members of an object; `said` is the value of its [`Slot::Said`] member, if it has
/// one.
pub fn write(
    slots: &'static [Slot],
    node: &Node,
    extra: Option<&Json>,
    said: Option<&[u8]>,
    object: &mut Object<'_>,
) {
    let others: Vec<_> = extra.into_iter().flat_map(Json::members).collect();
    for slot in slots {
        let other =
            others.iter().find(|(key, _)| text::is(key, slot.key())).map(|(_, value)| *value);
        match (slot, other) {
            (Slot::Value(row), _) if node.get(row.field).is_some() => {
                node.get(row.field).into_iter().for_each(|value| object.row(row, value));
            }
            (Slot::Within(key, slots, rest), _) if !is_other(other) => {
                let other = other.map(|other| Json::checked(Bytes::copy_from_slice(other)));
                let rest = rest.and_then(|field| node.json(field)).or(other.as_ref());
                if rest.is_some() || has_any(slots, node, said) {
                    let mut inner = Object::open(object.key(key));
                    write(slots, node, rest, said, &mut inner);
                    inner.close();
                }
            }
            (Slot::Group(key, field, slots), _) if node.node(*field).is_some() => {
                let group = node.node(*field).into_iter();
                group.for_each(|group| write_object(slots, group, object.key(key)));
            }
            (Slot::Said(key), _) if said.is_some() => {
                said.into_iter().for_each(|said| object.member(key, said));
            }
            (Slot::Fixed(key, fixed), None) => object.member(key, fixed.as_bytes()),
            (slot, Some(other)) => object.member(slot.key(), other),
            (_, None) => {}
        }
    }
    for (key, value) in others {
        if !slots.iter().any(|slot| text::is(key, slot.key())) {
            object.spelled(key, value);
        }
    }
}

/// Writes a group of values as an object.
fn write_object(slots: &'static [Slot], group: &Node, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    write(slots, group, group.json(Field::Extra), None, &mut object);
    object.close();
}

/// Whether an unnamed member is of another type where the table nests an object.
fn is_other(other: Option<&[u8]>) -> bool {
    other.is_some_and(|other| !other.starts_with(b"{"))
}

/// Whether an object would have at least one member.
fn has_any(slots: &'static [Slot], node: &Node, said: Option<&[u8]>) -> bool {
    slots.iter().any(|slot| match slot {
        Slot::Value(row) => node.get(row.field).is_some(),
        Slot::Within(_, slots, rest) => {
            has_any(slots, node, said) || rest.is_some_and(|field| node.json(field).is_some())
        }
        Slot::Group(_, field, _) => node.node(*field).is_some(),
        Slot::Said(_) => said.is_some(),
        Slot::Fixed(..) => true,
        Slot::Kept(_) => false,
    })
}
