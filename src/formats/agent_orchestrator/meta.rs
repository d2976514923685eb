//! File of a session's metadata, `{name}.meta.json`.
//!
//! | member | canonical `session` |
//! |---|---|
//! | `session_name` | `name` |
//! | `agent` | `agent`; `null` is in `extra` |
//! | `project_dir`, `created_at`, `last_resumed_at` | `cwd`, `created`, `updated` |
//! | `session_id` | `id`, in version 2 |
//! | `agents_dir`, `schema_version` and any other | `extra` |

use super::line::Shape;
use super::wire::META;
use crate::json::{Cursor, EscapeStyle, Fault, text};
use crate::mapping::{Extra, Object, Source};
use crate::record::{Field, Node, Value};
use bytes::Bytes;

/// Ending of the file's name.
pub const ENDING: &str = ".meta.json";

/// Ending of the file's name while it is written; a killed script leaves a file with this name.
pub const TEMPORARY: &str = ".meta.json.tmp";

/// Members that a session always had. Metadata of version 1 contain only these, or some of the
/// later ones besides.
const FIRST: [&str; 2] = ["session_name", "created_at"];

/// Detects metadata by the beginning of a text, and returns their version: times in whole seconds
/// are those of the shell scripts.
pub fn sniff(head: &[u8]) -> Option<u32> {
    let mut cursor = Cursor::new(head);
    cursor.begin_object().ok()?;
    let (mut known, mut version) = (0, 1);
    // A text that is cut counts as far as it goes.
    while let Ok(Some(key)) = cursor.next_key() {
        let key = key.of(head);
        known += usize::from(FIRST.iter().any(|name| text::is(key, name)));
        let Ok(value) = cursor.skip_value() else { break };
        let fraction = || value.of(head).contains(&b'.');
        if text::is(key, "session_id") || (text::is(key, "created_at") && fraction()) {
            version = 2;
        }
    }
    (known == FIRST.len()).then_some(version)
}

/// Reads the metadata; `None` if the text is not an object. Members are on lines of their own,
/// but values in records must not, so the white space between their parts is removed.
pub fn read(text: &Bytes, shape: Shape) -> Result<Option<Node>, Fault> {
    let mut cursor = Cursor::new(text);
    cursor.skip_value()?;
    cursor.end()?;
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Ok(None);
    }
    let mut line = Vec::with_capacity(text.len());
    EscapeStyle::SCRIPT.spell(text, &mut line);
    let line = Bytes::from(line);
    let mut source = Source::new(&line);
    let (mut node, mut extra) = (Node::with_capacity(12), Extra::default());
    source.members(META, None, &mut node, &mut extra)?;
    // The shell scripts read the identifier from the log.
    if shape == Shape::Printed
        && let Some(Value::Json(id)) = node.take(Field::Id)
    {
        extra.add(b"\"session_id\"", id.as_bytes());
    }
    extra.put(&mut node);
    Ok(Some(node))
}

/// Writes the metadata as the scripts do.
pub fn write(node: &Node, shape: Shape, out: &mut Vec<u8>) {
    let mut text = Vec::new();
    let mut object = Object::open(&mut text);
    let extra = node.json(Field::Extra);
    let kept = |name: &str| extra.and_then(|extra| extra.member(name));
    object.in_order(META, node, extra, &mut |row, object| {
        let key = row.key;
        match key {
            "agent" if node.json(Field::Agent).is_none() && kept(key).is_none() => {
                object.member(key, b"null");
            }
            "session_id" if shape == Shape::Printed => {
                kept(key).into_iter().for_each(|id| object.member(key, id.as_bytes()));
            }
            _ => return false,
        }
        true
    });
    object.close();
    let spelling = match shape {
        Shape::Printed => EscapeStyle::SCRIPT_FILE,
        Shape::Classes => EscapeStyle::PYTHON_FILE,
    };
    spelling.spell(&text, out);
    out.push(b'\n');
}
