//! Calls of the interface's own tools, as messages to read. In records their items stay as they are,
//! because an agent sends them back unchanged.
//!
//! | item | message |
//! |---|---|
//! | `web_search_call` | assistant, a call with its `action`, and its status as result |
//! | `image_generation_call` | assistant, a call with its prompt, and its image as result; without an image its status |
//! | `tool_search_call` | assistant, a call with its arguments |
//! | `tool_search_output` | tool, a result: the names of the tools that were found, one a line |

use crate::json::Json;
use crate::mapping::Object;
use crate::record::{Field, Node, block};

/// Reads an item; `None` for one of another type.
///
/// ```
/// use copyist::dialect::responses::provided;
/// use copyist::{json::Json, record::Field};
/// let item = r#"{"type":"image_generation_call","id":"i","revised_prompt":"a crane","result":"iVBORw0KGgo="}"#;
/// let message = provided::read(&item.parse()?).expect("a call");
/// let blocks = message.nodes(Field::Content).expect("a call and its result");
/// assert_eq!(blocks[0].json(Field::Arguments).map(Json::as_bytes), Some(&br#"{"prompt":"a crane"}"#[..]));
/// # Ok::<(), copyist::json::Fault>(())
/// ```
#[must_use]
pub fn read(item: &Json) -> Option<Node> {
    let blocks = match item.member("type")?.text()?.as_str() {
        "web_search_call" => {
            vec![call(item, "web_search", item.member("action")), result(item, status(item))]
        }
        "image_generation_call" => {
            let prompt = string(item, "revised_prompt");
            let made = image(item).or_else(|| status(item));
            vec![call(item, "image_generation", prompt.map(arguments)), result(item, made)]
        }
        "tool_search_call" => vec![call(item, "tool_search", item.member("arguments"))],
        "tool_search_output" => {
            let found = block::text(Json::string(&tools(&item.member("tools")?)));
            return Some(message("tool", vec![result(item, Some(found))]));
        }
        _ => return None,
    };
    Some(message("assistant", blocks))
}

fn message(role: &str, blocks: Vec<Node>) -> Node {
    Node::default().with(Field::Role, Json::string(role)).with(Field::Content, blocks)
}

fn string(item: &Json, name: &str) -> Option<Json> {
    item.member(name).filter(|value| value.text().is_some())
}

fn status(item: &Json) -> Option<Node> {
    string(item, "status").map(block::text)
}

/// Returns the identifier of a call: its own, or that of its item.
fn id(item: &Json) -> Option<Json> {
    string(item, "call_id").or_else(|| string(item, "id"))
}

fn call(item: &Json, name: &str, arguments: Option<Json>) -> Node {
    block::of(block::TOOL_CALL)
        .with_some(Field::Id, id(item))
        .with(Field::Name, Json::string(name))
        .with_some(Field::Arguments, arguments.filter(|arguments| !arguments.is_null()))
}

fn result(item: &Json, content: Option<Node>) -> Node {
    let mut result = block::of(block::TOOL_RESULT)
        .with_some(Field::Call, id(item))
        .with(Field::Content, content.into_iter().collect::<Vec<_>>());
    if status(item).is_some_and(|status| status.is(Field::Text, "failed")) {
        result.set(Field::IsError, Json::constant("true"));
    }
    result
}

fn arguments(prompt: Json) -> Json {
    Object::json(|object| {
        object.member("prompt", prompt.as_bytes());
    })
}

fn image(item: &Json) -> Option<Node> {
    let data = string(item, "result").filter(|data| data.as_bytes() != b"\"\"")?;
    Some(block::of(block::IMAGE).with(Field::Data, data))
}

/// Returns the names of tools, those of a namespace behind its name.
fn tools(list: &Json) -> String {
    let name = |tool: &Json| tool.text_of("name");
    let mut names = Vec::new();
    for tool in list.elements() {
        let Some(outer) = name(&tool) else { continue };
        match tool.member("tools") {
            Some(inner) => {
                let inner = inner.elements().filter_map(|tool| name(&tool));
                names.extend(inner.map(|inner| format!("{outer}.{inner}")));
            }
            None => names.push(outer),
        }
    }
    if names.is_empty() { "no tools found".to_owned() } else { names.join("\n") }
}
