//! Objects whose producer writes the same members in many orders.
//!
//! The members without a field are kept in `extra` as everywhere; between them, [`PLACE`] marks
//! the places of the members with a field. So `extra` is a template of the object, and the object
//! is written again with its own order of members. An object whose members are fields of the node
//! itself ([`How::Inline`]) has a template of its own in its place.

use super::{Extra, How, Object, Row, Source, Taking};
use crate::json::{Fault, Json, text};
use crate::record::Node;

/// Value that marks the place of a member whose value is a field.
pub const PLACE: &[u8] = b"0";

/// Function that writes a member in a way of its own, by its name and the template's value;
/// returns whether it did.
pub type Putting<'p> = &'p mut dyn FnMut(&str, &[u8], &mut Object<'_>) -> bool;

/// Reads the object that begins here into `node` and `template`.
pub fn read(
    source: &mut Source<'_>,
    rows: &'static [Row],
    node: &mut Node,
    template: &mut Extra,
    take: Taking<'_>,
) -> Result<(), Fault> {
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        if take(source, key, template)? {
            continue;
        }
        let name = source.spelling(key);
        match rows.iter().find(|row| text::is(name, row.key)) {
            Some(Row { how: How::Inline(inner), .. }) => match source.cursor.peek() {
                Some(b'{') => {
                    let mut own = Extra::default();
                    read(source, inner, node, &mut own, &mut |_, _, _| Ok(false))?;
                    template.add(name, own.finish().unwrap_or(EMPTY).as_bytes());
                }
                _ => source.unknown(key, template)?,
            },
            Some(row) => {
                let first = source.cursor.peek().unwrap_or_default();
                source.value(key, row, node, template)?;
                if row.field.shape().admits(first) {
                    template.add(name, PLACE);
                }
            }
            None => source.unknown(key, template)?,
        }
    }
    Ok(())
}

/// Writes a node by its template. A field that got a value by an edit is written in the place of
/// a value of another shape, or behind the other members.
pub fn write(
    rows: &'static [Row],
    node: &Node,
    template: &Json,
    object: &mut Object<'_>,
    put: Putting<'_>,
) {
    let mut named = vec![false; rows.len()];
    for (key, value) in template.members() {
        let place = rows.iter().position(|row| text::is(key, row.key));
        place.and_then(|place| named.get_mut(place)).into_iter().for_each(|named| *named = true);
        let name = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        if put(&name, value, object) {
            continue;
        }
        let row = place.and_then(|place| rows.get(place));
        if let Some(Row { how: How::Inline(inner), .. }) = row {
            let own = Json::trusted(template.bytes().slice_ref(value));
            match value.starts_with(b"{") {
                true => within(inner, node, &own, object.key(&name)),
                false if has_any(inner, node) => within(inner, node, &EMPTY, object.key(&name)),
                false => object.spelled(key, value),
            }
            continue;
        }
        let held = row.and_then(|row| Some((row, node.get(row.field)?)));
        let fits = |row: &Row| value.first().is_some_and(|b| row.field.shape().admits(*b));
        match held {
            Some((row, held)) if value == PLACE || !fits(row) => object.row(row, held),
            None if value == PLACE && row.is_some() => {}
            _ => object.spelled(key, value),
        }
    }
    for (row, _) in rows.iter().zip(named).filter(|(_, named)| !named) {
        match (&row.how, node.get(row.field)) {
            (How::Inline(inner), _) if has_any(inner, node) => {
                within(inner, node, &EMPTY, object.key(row.key));
            }
            (How::Inline(_), _) | (_, None) => {}
            (_, Some(value)) => object.row(row, value),
        }
    }
}

/// Moves the members of an object that have a field into a node; returns the object's template.
pub fn take(object: &Json, rows: &'static [Row], node: &mut Node) -> Json {
    let (mut source, mut kept) = (Source::new(object.bytes()), Extra::default());
    let read = self::read(&mut source, rows, node, &mut kept, &mut |_, _, _| Ok(false));
    // The grammar of a value was checked.
    read.map_or_else(|_| object.clone(), |()| kept.finish().unwrap_or(EMPTY))
}

/// Appends the object of a node and of its template; members that are new come last.
pub fn fill(kept: Option<&Json>, rows: &'static [Row], node: &Node, out: &mut Vec<u8>) {
    within(rows, node, kept.unwrap_or(&EMPTY), out);
}

/// Template of an object without members.
const EMPTY: Json = Json::constant("{}");

/// Appends an object whose members are fields of the node itself.
fn within(rows: &'static [Row], node: &Node, template: &Json, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    write(rows, node, template, &mut object, &mut |_, _, _| false);
    object.close();
}

/// Whether a node has the field of any of these rows.
fn has_any(rows: &[Row], node: &Node) -> bool {
    rows.iter().any(|row| node.get(row.field).is_some())
}
