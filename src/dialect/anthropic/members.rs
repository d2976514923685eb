//! Objects whose producer keeps an order of members, known to the model or not.
//!
//! Python always writes all members of its data classes, `null` for a missing value. Members
//! without a field in the model, and `null` where a field has a value of another type, are kept in
//! `extra`; the order of the table determines where the writer puts them.

use crate::json::{Fault, Json, Span, text};
use crate::mapping::{Extra, Object, Row, Source};
use crate::record::{Field, Node, Value};

/// Members of one object.
#[derive(Debug)]
pub struct Members {
    /// Members that have a field.
    pub rows: &'static [Row],
    /// All members that the producer writes, in its order.
    pub order: &'static [&'static str],
    /// Members of the objects inside this one.
    pub inner: &'static [(&'static str, &'static Members)],
}

/// Function that reads a member in a way of its own; returns whether it did.
pub type Taking<'t> = &'t mut dyn FnMut(&mut Source<'_>, Span) -> Result<bool, Fault>;
/// Function that writes a member in a way of its own; returns whether it did.
pub type Putting<'p> = &'p mut dyn FnMut(&str, &mut Object<'_>) -> bool;

impl Members {
    /// Reads the object that begins here.
    ///
    /// # Errors
    /// If the text breaks the grammar.
    pub fn read(
        &self,
        source: &mut Source<'_>,
        node: &mut Node,
        extra: &mut Extra,
        take: Taking<'_>,
    ) -> Result<(), Fault> {
        source.cursor.begin_object()?;
        while let Some(key) = source.cursor.next_key()? {
            if take(source, key)? {
                continue;
            }
            let name = source.spelling(key);
            match self.rows.iter().find(|row| text::is(name, row.key)) {
                Some(row) => source.value(key, row, node, extra)?,
                None => source.unknown(key, extra)?,
            }
        }
        Ok(())
    }

    /// Writes a node's members; members of `extra` that are not in the order come last.
    pub fn write(
        &self,
        node: &Node,
        extra: Option<&Json>,
        object: &mut Object<'_>,
        put: Putting<'_>,
    ) {
        for key in self.order {
            if put(key, object) {
                continue;
            }
            let row = self.rows.iter().find(|row| row.key == *key);
            match row.and_then(|row| node.get(row.field)) {
                Some(Value::Json(json)) => object.member(key, json.as_bytes()),
                Some(Value::Node(inner)) => self.write_inner(key, inner, object),
                _ => {
                    let value = extra.and_then(|extra| extra.member(key));
                    value.into_iter().for_each(|value| object.member(key, value.as_bytes()));
                }
            }
        }
        for (key, value) in extra.into_iter().flat_map(Json::members) {
            if !self.order.iter().any(|known| text::is(key, known)) {
                let key = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
                object.member(&String::from_utf8_lossy(key), value);
            }
        }
    }

    fn write_inner(&self, key: &str, node: &Node, object: &mut Object<'_>) {
        let members = self.inner.iter().find(|(name, _)| *name == key);
        let mut inner = Object::open(object.key(key));
        if let Some((_, members)) = members {
            members.write(node, node.json(Field::Extra), &mut inner, &mut |_, _| false);
        }
        inner.close();
    }
}
