//! Members that no row names.

use crate::json::{Json, text};
use crate::record::{Field, Node, Shape};

/// Usual length of the members of a line, in bytes.
const USUAL: usize = 384;

/// Members that no row names, in order.
#[derive(Debug, Default)]
pub struct Extra(Vec<u8>);

impl Extra {
    /// Adds a member in its source spelling.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        if self.0.is_empty() {
            // Most lists of members are of this length, and then their buffer never grows.
            self.0.reserve(USUAL.max(key.len() + value.len() + 3));
        }
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.extend_from_slice(key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
    }

    /// Adds the members of an object's spelling.
    pub fn add_members(&mut self, object: &Json) {
        let spelling = object.as_bytes();
        let inner = spelling.get(1..spelling.len().saturating_sub(1)).unwrap_or_default();
        if !inner.iter().all(u8::is_ascii_whitespace) {
            self.0.push(if self.0.is_empty() { b'{' } else { b',' });
            self.0.extend_from_slice(inner);
        }
    }

    /// Removes the members of this name.
    pub fn remove(&mut self, name: &str) {
        let rest = std::mem::take(self).finish().and_then(|all| without(&all, name));
        rest.iter().for_each(|rest| self.add_members(rest));
    }

    /// Returns the members as one object, if there are any.
    pub fn finish(mut self) -> Option<Json> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push(b'}');
        Some(Json::trusted(self.0.into()))
    }

    /// Sets the members as the unnamed ones of a node, if there are any.
    pub fn put(self, node: &mut Node) {
        if let Some(extra) = self.finish() {
            node.set(Field::Extra, extra);
        }
    }
}

/// Returns the object without its members of this name; `None` if no other member is left.
pub fn without(object: &Json, name: &str) -> Option<Json> {
    let mut rest = Extra::default();
    for (key, value) in object.members().filter(|(key, _)| !text::is(key, name)) {
        rest.add(key, value);
    }
    rest.finish()
}

/// Takes a member that no field took out of the `rest`, for its place among the others: a `null`,
/// or a value of another shape. Once its field is `set`, as by an edit in another format, the
/// field's value is written in its place.
pub fn misfit(rest: &mut Option<Json>, name: &str, shape: Shape, set: bool) -> Option<Json> {
    let value = rest.as_ref()?.member(name)?;
    let fits = value.as_bytes().first().is_some_and(|first| shape.admits(*first));
    // A member that a field could take is there twice.
    if set && fits {
        return None;
    }
    *rest = rest.take().and_then(|rest| without(&rest, name));
    Some(value)
}
