//! The parts of messages as views show them.

use super::item::{Block, Call, Output};
use super::texts::one_line;
use crate::dialect::image;
use crate::json::{Json, text::from_base64};
use crate::record::{Field, Node, Value, block};

/// Maximum number of characters of the address of an image.
const ADDRESS: usize = 200;

/// Returns the blocks of a message or of a result.
pub fn blocks(holder: &Node) -> Vec<Block> {
    match holder.get(Field::Content) {
        Some(Value::Json(json)) => {
            let text = json.text().filter(|text| !text.is_empty());
            text.map(|text| Block::Text { text }).into_iter().collect()
        }
        Some(Value::Nodes(blocks)) => blocks.iter().map(one).collect(),
        _ => Vec::new(),
    }
}

fn one(block: &Node) -> Block {
    let text = |field| block.text(field).unwrap_or_default();
    match block.text(Field::Type).unwrap_or_default().as_str() {
        block::TEXT => Block::Text { text: text(Field::Text) },
        block::THINKING => Block::Thinking { text: text(Field::Thinking) },
        block::IMAGE => of_image(block),
        block::TOOL_CALL => Block::Call(Call {
            id: block.text(Field::Id),
            name: text(Field::Name),
            arguments: arguments(block),
            result: None,
        }),
        block::TOOL_RESULT => Block::Output(output(block)),
        _ => {
            let shown = block::placeholder(block).text(Field::Text).unwrap_or_default();
            Block::Other { text: shown }
        }
    }
}

/// Returns the arguments of a call: an object, or the text that the model wrote in its place.
fn arguments(call: &Node) -> Json {
    let Some(given) = call.json(Field::Arguments) else { return Json::constant("{}") };
    given.parsed().unwrap_or_else(|| given.clone())
}

/// Returns the result of a tool.
pub fn output(result: &Node) -> Output {
    let mut found = blocks(result);
    let own = result.text(Field::Output).filter(|text| found.is_empty() && !text.is_empty());
    found.extend(own.map(|text| Block::Text { text }));
    Output {
        call: result.text(Field::Call),
        name: result.text(Field::Name),
        blocks: found,
        is_error: result.is_true(Field::IsError),
    }
}

/// Returns an image. Its data are kept if they are base64 of a type that pages show.
fn of_image(image: &Node) -> Block {
    let data = image.text(Field::Data).unwrap_or_default();
    let named = image.text(Field::MediaType);
    if image::is_outside(&data) {
        let text = format!("image: {}", one_line(&data, ADDRESS));
        return Block::Image { media_type: None, bytes: 0, text, data: None };
    }
    let media_type = image::media_type(&data).filter(|_| is_base64(&data));
    let bytes = data.len() as u64 / 4 * 3;
    let kind = media_type.map(str::to_owned).or(named).unwrap_or_default();
    let text = format!("image: {}, {} kB", one_line(&kind, 40), bytes.div_ceil(1000));
    Block::Image { media_type, bytes, text, data: media_type.map(|_| data) }
}

/// Whether a text is base64 without line breaks.
fn is_base64(data: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    data.bytes().all(fits)
        && data.get(..64.min(data.len()) / 4 * 4).is_some_and(|head| from_base64(head).is_some())
}
