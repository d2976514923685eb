//! Contents that are cut out of records, so that a session becomes smaller.
//!
//! A cut leaves a line in place of a text or an image, and nothing in place of thoughts. Records keep
//! their identifiers, parents and roles, and calls and results stay pairs.

use crate::diagnostic::plural;
use crate::json::Json;
use crate::mapping::Extra;
use crate::record::{Field, Node, Record, Value, block};
use std::collections::HashMap;

/// Size in bytes of the longest text that is never cut.
pub const SHORT: usize = 200;

/// Contents that are cut out of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// The record itself.
    pub record: bool,
    /// The texts of results.
    pub results: bool,
    /// Whether these texts come again in a later result.
    pub is_copy: bool,
    /// Images and documents.
    pub images: bool,
    /// Thoughts.
    pub thoughts: bool,
    /// Long texts in the data of an event.
    pub data: bool,
}

/// The cuts of a session, by the places of records in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct Cuts(HashMap<u64, Cut>);

impl Cuts {
    /// Returns the cut of the record at this place, to be changed.
    pub fn at(&mut self, place: u64) -> &mut Cut {
        self.0.entry(place).or_default()
    }

    /// Cuts the record at this place. Returns whether the record stays.
    ///
    /// ```
    /// use copyist::cuts::Cuts;
    /// use copyist::json::Json;
    /// use copyist::record::{Field, Kind, Node, Record, block};
    /// let mut result = Node::default();
    /// result.set(Field::Type, block::type_of(block::TOOL_RESULT));
    /// result.set(Field::Content, Json::string(&"x".repeat(300)));
    /// let mut record = Record::new(Kind::Message);
    /// record.node.set(Field::Content, vec![result]);
    /// let mut cuts = Cuts::default();
    /// cuts.at(7).results = true;
    /// assert!(cuts.record(7, &mut record));
    /// let result = &record.node.nodes(Field::Content).unwrap()[0];
    /// assert_eq!(result.text(Field::Content).unwrap(), "[copyist cut 300 bytes of output]");
    /// ```
    pub fn record(&self, place: u64, record: &mut Record) -> bool {
        let Some(cut) = self.0.get(&place) else { return true };
        if cut.record {
            return false;
        }
        let node = &mut record.node;
        if cut.thoughts
            && let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content)
        {
            blocks.retain(|block| !block.is(Field::Type, block::THINKING));
        }
        if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
            blocks.iter_mut().for_each(|block| cut.block(block));
        }
        if cut.results || cut.images {
            shorten(node, Field::Details);
        }
        if cut.data {
            shorten(node, Field::Data);
        }
        true
    }
}

impl Cut {
    fn block(self, block: &mut Node) {
        if self.images && is_image(block) {
            *block = image_line(block);
        }
        if !block.is(Field::Type, block::TOOL_RESULT) {
            return;
        }
        for field in [Field::Content, Field::Output] {
            match block.get_mut(field) {
                Some(Value::Json(text)) if self.results => self.text(text),
                Some(Value::Nodes(blocks)) => blocks.iter_mut().for_each(|inner| {
                    if self.images && is_image(inner) {
                        *inner = image_line(inner);
                    } else if self.results
                        && let Some(Value::Json(text)) = inner.get_mut(Field::Text)
                    {
                        self.text(text);
                    }
                }),
                _ => {}
            }
        }
    }

    fn text(self, text: &mut Json) {
        if let Some(long) = text.text().filter(|long| long.len() > SHORT) {
            let size = plural(long.len() as u64, "byte");
            *text = Json::string(&match self.is_copy {
                true => format!("[copyist cut {size}: the same output comes again below]"),
                false => format!("[copyist cut {size} of output]"),
            });
        }
    }
}

/// Whether a block is an image or a document.
#[must_use]
pub fn is_image(block: &Node) -> bool {
    block.is(Field::Type, block::IMAGE) || block.is(Field::Type, block::DOCUMENT)
}

/// Returns the text in place of an image.
fn image_line(image: &Node) -> Node {
    let size = image.json(Field::Data).map_or(0, |data| data.as_bytes().len() as u64);
    let kind = image.text(Field::Type).unwrap_or_default();
    block::text(Json::string(&format!("[copyist cut {} of {kind}]", plural(size, "byte"))))
}

/// Shortens the long texts in a value.
fn shorten(node: &mut Node, field: Field) {
    if let Some(short) = node.json(field).and_then(|value| shortened(value, DEEPEST)) {
        node.set(field, short);
    }
}

/// Maximum depth at which texts are shortened.
const DEEPEST: usize = 16;

/// Returns a value without its long texts; `None` if it has none. A list of long texts, such as one
/// of images, loses them; elsewhere a line is put in their place.
fn shortened(value: &Json, depth: usize) -> Option<Json> {
    let depth = depth.checked_sub(1)?;
    let mut changed = false;
    match value.as_bytes().first()? {
        b'"' if value.as_bytes().len() > SHORT => {
            let size = plural(value.as_bytes().len() as u64, "byte");
            Some(Json::string(&format!("[copyist cut {size}]")))
        }
        b'{' => {
            let mut out = Extra::default();
            for (key, member) in value.members() {
                let new = shortened(&Json::trusted(value.bytes().slice_ref(member)), depth);
                changed |= new.is_some();
                out.add(key, new.as_ref().map_or(member, Json::as_bytes));
            }
            out.finish().filter(|_| changed)
        }
        b'[' => {
            let mut items = Vec::new();
            for item in value.elements() {
                let is_long = item.is_string() && item.as_bytes().len() > SHORT;
                let new = if is_long { None } else { shortened(&item, depth) };
                changed |= is_long || new.is_some();
                if !is_long {
                    items.push(new.unwrap_or(item));
                }
            }
            changed.then(|| Json::list(items))
        }
        _ => None,
    }
}
