//! Places in an entry that the interface of a model refuses, and text that takes their place.

use crate::diagnostic::Code;
use crate::dialect::image::{is_outside, media_type};
use crate::dialect::refusal::{image_fault, in_place_of_image, is_tool_name, tool_name};
use crate::json::{Json, Span, Unit, elements, member, refused_units, text};

/// Place that is refused.
#[derive(Debug)]
pub struct Refused {
    /// The bytes that are replaced.
    pub at: Span,
    /// Their replacement.
    pub new: Vec<u8>,
    /// The member that changes; empty for a whole block, and for a part of a text.
    pub member: &'static str,
    /// Fix that the replacement is.
    pub code: Code,
}

/// Whether an entry has U+0000, which only some interfaces refuse.
pub fn has_nul(entry: &[u8]) -> bool {
    refused_units(entry).any(|(_, unit)| unit == Unit::Nul)
}

/// Returns the places of an entry that are refused, except in thoughts that carry a signature; with
/// `nuls` also U+0000.
pub fn refused(entry: &[u8], nuls: bool) -> Vec<Refused> {
    let message = member(entry, "message").unwrap_or(entry);
    let content = member(message, "content").unwrap_or_default();
    let (mut found, mut signed) = (Vec::new(), Vec::new());
    // A result has the name of its call.
    found.extend(member(message, "toolName").and_then(|name| renamed(entry, name)));
    for (_, block) in elements(content) {
        let is = |kind| member(block, "type").is_some_and(|given| text::is(given, kind));
        if is("thinking") && member(block, "thinkingSignature").is_some() {
            signed.push(span_of(entry, block));
        } else if is("toolCall") {
            found.extend(member(block, "name").and_then(|name| renamed(entry, name)));
        } else if is("image") {
            found.extend(without_image(entry, block).or_else(|| typed_image(entry, block)));
        }
    }
    let taken: Vec<Span> = found.iter().map(|refused| refused.at).chain(signed).collect();
    let is_taken =
        |at: &Span| taken.iter().any(|span| span.start <= at.start && at.end <= span.end);
    let units = refused_units(entry).filter(|(_, unit)| nuls || *unit == Unit::Half);
    let units = units.map(|(at, _)| at).filter(|at| !is_taken(at));
    let code = Code::SurrogateReplaced;
    let unit = |at| Refused { at, new: b"\\ufffd".to_vec(), member: "", code };
    found.extend(units.map(unit));
    found
}

/// Returns the place of a slice of the entry in it.
fn span_of(entry: &[u8], slice: &[u8]) -> Span {
    let start = slice.as_ptr().addr() - entry.as_ptr().addr();
    Span { start, end: start + slice.len() }
}

/// Returns a name that no tool can have, with the name that it gets.
fn renamed(entry: &[u8], name: &[u8]) -> Option<Refused> {
    let given = text::decode(name).filter(|given| !is_tool_name(given))?;
    let new = Json::string(&tool_name(&given)).as_bytes().to_vec();
    Some(Refused { at: span_of(entry, name), new, member: "name", code: Code::ToolRenamed })
}

/// Returns an image that no model takes, with the text that replaces it.
fn without_image(entry: &[u8], block: &[u8]) -> Option<Refused> {
    let fault = image_fault(&text::decode(member(block, "data")?)?)?;
    let new = in_place_of_image(fault);
    Some(Refused { at: span_of(entry, block), new, member: "", code: Code::ImageReplaced })
}

/// Returns the media type of an image whose data have another one.
fn typed_image(entry: &[u8], block: &[u8]) -> Option<Refused> {
    let data = text::decode(member(block, "data")?).filter(|data| !is_outside(data))?;
    let new = Json::string(media_type(&data)?).as_bytes().to_vec();
    let (name, code) = ("mimeType", Code::MediaTypeChanged);
    match member(block, name) {
        Some(given) if given == new => None,
        Some(given) => Some(Refused { at: span_of(entry, given), new, member: name, code }),
        None => {
            let end = span_of(entry, block).end - 1;
            let new = [b",\"mimeType\":".as_slice(), &new].concat();
            Some(Refused { at: Span { start: end, end }, new, member: name, code })
        }
    }
}

/// Returns the places of identifiers of calls that get new ones: those of an answer by the calls'
/// numbers in it, or that of a result.
pub fn renamed_calls(entry: &[u8], names: &[(usize, Vec<u8>)]) -> Vec<Refused> {
    let message = member(entry, "message").unwrap_or(entry);
    let code = Code::CallRenamed;
    let place = |old: &[u8], new: &Vec<u8>, member| Refused {
        at: span_of(entry, old),
        new: new.clone(),
        member,
        code,
    };
    let is_call =
        |block: &&[u8]| member(block, "type").is_some_and(|kind| text::is(kind, "toolCall"));
    let calls: Vec<&[u8]> = match member(message, "toolCallId") {
        Some(id) => return names.iter().map(|(_, new)| place(id, new, "toolCallId")).collect(),
        None => elements(member(message, "content").unwrap_or_default())
            .map(|(_, block)| block)
            .filter(is_call)
            .collect(),
    };
    let id = |number: &usize| calls.get(*number).and_then(|call| member(call, "id"));
    names.iter().filter_map(|(number, new)| Some(place(id(number)?, new, "id"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refused_place_is_found_once() {
        let entry = br#"{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"a\u0000\ud83d"},{"type":"toolCall","id":"1","name":"fs.\ud83d","arguments":{"x":"\ud83d"}},{"type":"image","data":"","mimeType":"\udc00"},{"type":"thinking","thinking":"\ud83d","thinkingSignature":"s"}]}}"#;
        let found = refused(entry, false);
        let codes: Vec<_> = found.iter().map(|refused| refused.code).collect();
        use Code::{ImageReplaced, SurrogateReplaced, ToolRenamed};
        assert_eq!(codes, [ToolRenamed, ImageReplaced, SurrogateReplaced, SurrogateReplaced]);
        assert_eq!(found[0].new, b"\"fs__\"");
        assert!(found[1].at.of(entry).starts_with(b"{\"type\":\"image\""));
    }
}
