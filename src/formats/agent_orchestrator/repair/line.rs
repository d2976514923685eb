//! Recognition of the lines of a log by their own members.

use super::super::line::{Shape, What};
use super::super::wire::PARENT;
use crate::diagnostic::Code;
use crate::json::{members, salvage, text};

/// Beginnings of lines: those of `claude`, and those of the scripts and the SDK.
pub const BEGINS: &[&[u8]] =
    &[b"{\"type\":", b"{\"type\": ", b"{\"subtype\":", b"{\"content\":", b"{\"uuid\":"];

/// Whether an object is a line, not an object from inside a line. A message inside a printed line
/// and the result of a tool look like lines of the SDK, but lack the member [`PARENT`].
pub fn recognise(object: &[u8]) -> bool {
    match What::of(object) {
        Ok(What::Assistant(Shape::Classes) | What::User(Shape::Classes)) => has(object, PARENT),
        Ok(What::Other) | Err(_) => false,
        Ok(_) => true,
    }
}

/// Restores a line from the complete members of a torn one.
pub fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    salvage(torn).filter(|object| recognise(object))
}

/// Whether a line is text that `claude` and the shell wrote to standard error, which the shell
/// scripts put into the log, too.
pub fn is_words(line: &[u8], shape: Shape) -> bool {
    let object = matches!(line.first(), Some(b'{' | b'[') | None);
    shape == Shape::Printed && !object && !line.contains(&0)
}

/// Whether a line contains an identifier that makes it unlike any other line of its session. A time
/// is not enough, for users make such logs by hand; and the results that a repair adds for two
/// calls with one identifier are the same.
pub fn is_unlike(what: What, line: &[u8]) -> bool {
    let holds = |name: &[u8]| memchr::memmem::find(line, name).is_some();
    match what {
        What::User(_) if holds(Code::ResultSynthesized.name().as_bytes()) => false,
        What::Assistant(_) | What::User(_) => {
            has(line, "uuid") || holds(b"\"tool_use_id\"") || holds(b"\"toolu_")
        }
        What::System(_) | What::Result(_) => has(line, "uuid"),
        What::Prompt | What::Other => false,
    }
}

fn has(object: &[u8], name: &str) -> bool {
    members(object).any(|(key, _)| text::is(key, name))
}
