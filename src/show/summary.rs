//! A call of a tool in one line.

use super::edits::edits;
use super::item::{Call, Output};
use super::texts::{clean, one_line};
use crate::json::Json;

/// Names of the arguments that say most about a call, the first that a call has.
const MAIN: &[&str] = &[
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "task",
    "name",
    "input",
    "code",
    "arguments",
];

/// Returns the main argument of a call in a line of at most `most` characters.
pub fn main_argument(call: &Call, most: usize) -> String {
    let edits = edits(call).into_iter().map(|edit| edit.path);
    let mut paths: Vec<String> = edits.filter(|path| !path.is_empty()).collect();
    paths.dedup();
    let shown = match call.arguments.text() {
        _ if !paths.is_empty() => paths.join(", "),
        Some(text) => text,
        None => of_object(&call.arguments),
    };
    one_line(&clean(&shown), most)
}

fn of_object(arguments: &Json) -> String {
    let named = MAIN.iter().find_map(|name| arguments.member(name).and_then(|value| text(&value)));
    let first = || arguments.pairs().iter().find_map(|(_, value)| text(value));
    let all = || match arguments.as_bytes() {
        b"{}" | b"null" => String::new(),
        other => String::from_utf8_lossy(other).into_owned(),
    };
    named.or_else(first).unwrap_or_else(all)
}

/// Returns a text, or a list of texts as a command line.
fn text(value: &Json) -> Option<String> {
    let list = || {
        let words: Vec<String> = value.elements().map_while(|word| word.text()).collect();
        let program = words.first()?.rsplit('/').next()?;
        match words.as_slice() {
            // A shell that runs a script.
            [_, flag, script] if program.ends_with("sh") && flag.starts_with('-') => {
                Some(script.clone())
            }
            _ => Some(words.join(" ")),
        }
    };
    value.text().or_else(list).filter(|text| !text.trim().is_empty())
}

/// Describes the size of a result, or why there is none.
pub fn outcome(result: Option<&Output>) -> String {
    let Some(result) = result else { return "no result".to_owned() };
    let text = result.text();
    let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
    match (result.is_error, lines) {
        (true, 0) => "failed".to_owned(),
        (true, _) => format!("failed: {}", one_line(&clean(&text), 60)),
        (false, 0) => "no output".to_owned(),
        (false, 1) => one_line(&clean(&text), 60),
        (false, lines) => format!("{lines} lines"),
    }
}
