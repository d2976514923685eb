//! Members that have a place in their object without a field of the node.

use super::{Extra, How, Object, Row, Source};
use crate::json::{Fault, Json, Span, text};
use crate::record::{Field, Node, Value};

/// Function that writes a member in a way of its own; returns whether it did.
pub type Putting<'p> = &'p mut dyn FnMut(&'static Row, &mut Object<'_>) -> bool;

impl Source<'_> {
    /// Reads a value that does not go to a field as it is.
    pub(super) fn placed(
        &mut self,
        key: Span,
        row: &Row,
        node: &mut Node,
        extra: &mut Extra,
    ) -> Result<(), Fault> {
        if let (How::Inline(rows), Some(b'{')) = (&row.how, self.cursor.peek()) {
            match self.within(rows, node)? {
                Some(inner) if row.field == Field::Extra => {
                    extra.add(self.spelling(key), inner.as_bytes());
                }
                Some(inner) => node.set(row.field, inner),
                None => {}
            }
            return Ok(());
        }
        let value = self.cursor.skip_value()?;
        let spelling = self.spelling(value);
        match row.how {
            How::Custom => self.apart = Some(value),
            How::Constant(usual) if spelling == usual.as_bytes() => {}
            _ => extra.add(self.spelling(key), spelling),
        }
        Ok(())
    }

    /// Reads an object whose members are fields of the node itself, and returns its unnamed
    /// members. An object without any member is returned as `{}`, so that it is not lost.
    fn within(&mut self, rows: &'static [Row], node: &mut Node) -> Result<Option<Json>, Fault> {
        let found = |source: &Self, node: &Node| (node.fields().count(), source.apart.is_some());
        let (before, mut inner) = (found(self, node), Extra::default());
        self.members(rows, None, node, &mut inner)?;
        let none = before == found(self, node);
        Ok(inner.finish().or_else(|| none.then_some(Json::constant("{}"))))
    }
}

impl Object<'_> {
    /// Writes the members of a node in the order of the rows. A member of `extra` that a row names
    /// has its place among them; the others come last. `put` is called first for each row.
    pub fn in_order(
        &mut self,
        rows: &'static [Row],
        node: &Node,
        extra: Option<&Json>,
        put: Putting<'_>,
    ) {
        let others = extra.map(Json::pairs).unwrap_or_default();
        for row in rows {
            if put(row, self) {
                continue;
            }
            let other = others.iter().find(|(key, _)| text::is(key.as_bytes(), row.key));
            let other = other.map(|(_, value)| value);
            match (&row.how, node.get(row.field), other) {
                (How::Inline(rows), ..) if other.is_none_or(Json::is_object) => {
                    let rest = node.json(row.field).filter(|_| row.field != Field::Extra);
                    self.within(row.key, rows, node, rest.or(other), put);
                }
                (How::Object(rows), Some(Value::Node(inner)), _) => {
                    let spacing = self.spacing;
                    let mut object = Object::spaced(self.key(row.key), spacing);
                    let extra = inner.json(Field::Extra);
                    object.in_order(rows, inner, extra, &mut |_, _| false);
                    object.close();
                }
                (How::Json | How::Object(_) | How::Blocks(_), Some(value), _) => {
                    self.row(row, value);
                }
                (_, _, Some(other)) => self.member(row.key, other.as_bytes()),
                (How::Constant(value), ..) => self.member(row.key, value.as_bytes()),
                _ => {}
            }
        }
        for (key, value) in &others {
            if !rows.iter().any(|row| text::is(key.as_bytes(), row.key)) {
                self.spelled(key.as_bytes(), value.as_bytes());
            }
        }
    }

    /// Writes an object whose members are fields of the node itself, unless it would be empty.
    fn within(
        &mut self,
        key: &str,
        rows: &'static [Row],
        node: &Node,
        rest: Option<&Json>,
        put: Putting<'_>,
    ) {
        let (start, first, spacing) = (self.out.len(), self.first, self.spacing);
        let mut inner = Object::spaced(self.key(key), spacing);
        inner.in_order(rows, node, rest, put);
        let empty = inner.first;
        inner.close();
        if empty && rest.is_none() {
            self.out.truncate(start);
            self.first = first;
        }
    }
}
