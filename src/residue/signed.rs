//! Thoughts whose signature the target does not show.
//!
//! Such a signature comes home from the residue, beside whatever the file says the thought is. So the
//! item holds a hash of each of these thoughts.

use super::print;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// What an item calls them.
const KEY: &str = "signed";

fn is_signed(block: &Node) -> bool {
    block.is(Field::Type, block::THINKING) && block.get(Field::Signature).is_some()
}

/// Notes the signed thoughts of a record, if its template has a signature that the target does not
/// show, of a thought that it does.
pub fn note(record: &Record, template: &[u8], object: &mut Object<'_>) {
    let blocks = record.node.nodes(Field::Content).filter(|_| record.kind == Kind::Message);
    let mut signed = blocks.unwrap_or_default().iter().filter(|b| is_signed(b)).peekable();
    if signed.peek().is_none() {
        return;
    }
    let content = Json::checked(template.to_vec().into()).member(Field::Content.name());
    let starts = |block: &Json, field: Field, with| {
        block.member(field.name()).is_some_and(|value| value.as_bytes().first() == Some(with))
    };
    let is_hidden =
        |b: Json| starts(&b, Field::Thinking, &b'{') && starts(&b, Field::Signature, &b'"');
    if !content.is_some_and(|content| content.elements().any(is_hidden)) {
        return;
    }
    let list = object.key(KEY);
    for (i, thought) in signed.filter_map(|block| block.json(Field::Thinking)).enumerate() {
        list.push(if i == 0 { b'[' } else { b',' });
        text::quote(&print::short(thought), list);
    }
    list.push(b']');
}

/// Takes signatures from thoughts that are not those that an item notes; how many.
pub fn unsigned(item: &Json, record: &mut Record) -> usize {
    let (Some(noted), Some(Value::Nodes(blocks))) =
        (item.member(KEY), record.node.get_mut(Field::Content))
    else {
        return 0;
    };
    let noted: Vec<_> = noted.elements().filter_map(|print| print.text()).collect();
    let is_noted = |block: &Node| {
        let thought = block.json(Field::Thinking).map(print::short);
        thought.is_none_or(|thought| noted.iter().any(|noted| **noted == thought))
    };
    let edited = blocks.iter_mut().filter(|block| is_signed(block) && !is_noted(block));
    edited.map(|block| drop(block.take(Field::Signature))).count()
}
