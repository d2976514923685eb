//! Templates of the blocks of a message, which are data of the message.

use super::part;
use crate::json::Json;
use crate::record::{Field, Node, Value, block};

/// Member of a message's unnamed data with the templates of its blocks: a block that is edited or
/// added in another format has none of its own.
pub const BLOCKS: &str = "$blocks";

/// Takes the templates out of blocks; `None` if all are usual.
pub fn detached(blocks: &mut [Node]) -> Option<Json> {
    let (mut out, mut is_usual) = (Vec::new(), true);
    list(blocks.iter_mut(), &mut out, |block, out| match block.take(Field::Extra) {
        Some(Value::Json(own)) => {
            is_usual = false;
            out.extend_from_slice(own.as_bytes());
        }
        _ => out.push(b'0'),
    });
    (!is_usual).then(|| Json::trusted(out.into()))
}

/// Returns the blocks of a message with their templates: those of calls by their identifiers, the
/// others in their order.
pub fn attached(message: &Node) -> Vec<Node> {
    let mut blocks = message.content().to_vec();
    let own = message.json(Field::Extra).and_then(|extra| extra.member(BLOCKS)).unwrap_or_default();
    let templates =
        |name: &str| own.member(name).unwrap_or_default().elements().collect::<Vec<Json>>();
    let (mut content, mut calls) = (templates("content"), templates("toolCalls"));
    content.retain(|own| !own.is_list());
    let mut thoughts = templates("thoughts").into_iter();
    let mut parts = Vec::new();
    // Content may contain the calls beside it as well.
    for block in blocks.iter_mut().rev().filter(|own| own.is(Field::Type, block::TOOL_CALL)) {
        let is_its = |own: &Json| {
            let id = own.member("gemini").and_then(|own| own.member(CALL_ID));
            id.is_some() && id.as_ref() == block.json(Field::Id)
        };
        let place = calls.iter().rposition(is_its);
        block.put(Field::Extra, place.map(|place| calls.remove(place)));
    }
    for (number, block) in blocks.iter_mut().enumerate() {
        match block.get(Field::Extra) {
            Some(_) => {}
            None if block.is(Field::Type, block::THINKING) && thoughts.len() > 0 => {
                let own = thoughts.next().filter(Json::is_object);
                block.put(Field::Extra, own);
            }
            None => parts.push(number),
        }
    }
    if parts.len() == content.len() {
        for (number, template) in parts.into_iter().zip(content) {
            let fitting = Some(template).filter(Json::is_object);
            blocks
                .get_mut(number)
                .into_iter()
                .for_each(|own| own.put(Field::Extra, fitting.clone()));
        }
    }
    blocks
}

/// Whether a part of content repeats a thought or a call that is beside it, as in a session that was
/// resumed.
pub fn is_same(part: &Node, beside: &Node) -> bool {
    let is = |name| part.is(Field::Type, name) && beside.is(Field::Type, name);
    let same = |field| part.json(field) == beside.json(field);
    let is_call = is(block::TOOL_CALL) && part.json(Field::Signature).is_none();
    let plain = |node: &Node| {
        let text = node.text(Field::Thinking).unwrap_or_default();
        text.replace("**\n", "** ")
    };
    match is_call {
        true => [Field::Id, Field::Name, Field::Arguments].into_iter().all(same),
        false => is(block::THINKING) && plain(part) == plain(beside),
    }
}

/// Returns the parts of content by their places: a part that repeats a call or a thought beside it
/// is written like that, or left out with it. `None` if blocks were added or removed.
pub fn placed(message: &Node, content: &[&Node], beside: &[&Node]) -> Option<Vec<Json>> {
    let own = message.json(Field::Extra)?.member(BLOCKS)?.member("content")?;
    let places: Vec<Json> = own.elements().collect();
    let is_beside = |own: &&Json| own.is_list();
    let count = places.iter().filter(is_beside).count();
    if count == 0 || places.len() - count != content.len() {
        return None;
    }
    let (mut blocks, mut out) = (content.iter(), Vec::new());
    for place in &places {
        let mut text = Vec::new();
        match place.elements().next().filter(|_| is_beside(&place)) {
            None => part::write(blocks.next()?, &mut text),
            Some(part) => {
                let read = part::read(&part);
                let is_its = |own: &&&Node| match read.json(Field::Id) {
                    Some(id) => own.json(Field::Id) == Some(id),
                    None => own.is(Field::Type, block::THINKING),
                };
                let Some(own) = beside.iter().find(is_its) else { continue };
                match read.json(Field::Id).is_none() || is_same(&read, own) {
                    true => text.extend_from_slice(part.as_bytes()),
                    false => {
                        let mut call = (*own).clone();
                        call.take(Field::Extra);
                        part::write(&call, &mut text);
                    }
                }
            }
        }
        out.push(Json::trusted(text.into()));
    }
    Some(out)
}

/// Member of a call's template with the call's identifier.
pub const CALL_ID: &str = "$id";

/// Writes a list.
pub fn list<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(b'[');
    for (number, item) in items.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}
