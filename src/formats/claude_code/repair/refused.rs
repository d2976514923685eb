//! Blocks of a message that the interface of the model refuses, and what takes their place.
//!
//! Only what the blocks themselves show is written: the media type of an image from its bytes, the
//! arguments of a call from their JSON text, and identifiers in the interface's form.

use crate::diagnostic::Code;
use crate::dialect::image::{is_outside, media_type};
use crate::dialect::refusal::{
    image_fault, in_place_of_image, is_call_id, is_tool_name, text_block, tool_name,
};
use crate::json::{Json, Span};

/// A change of a block: its code, the name of the member, and the old value.
pub type Change = (Code, &'static str, Vec<u8>);

/// Returns the content of a message without what the interface refuses, and the changes; `None`
/// where nothing changes. `names` has new identifiers of calls, by the places of their blocks;
/// `alone` are the places of calls and results that are not in pairs, and become texts.
pub fn accepted(
    content: &[u8],
    names: &[(usize, Json)],
    alone: &[usize],
) -> Option<(Vec<u8>, Vec<Change>)> {
    if !content.starts_with(b"[") {
        return None;
    }
    let (list, mut changes) = (Json::trusted(content.to_vec().into()), Vec::new());
    let mut blocks = Vec::new();
    for (at, block) in list.elements().enumerate() {
        let name = names.iter().find(|(place, _)| *place == at).map(|(_, name)| name);
        if is_unsigned(&block) {
            changes.push((Code::ThoughtRemoved, "block", block.as_bytes().to_vec()));
        } else if alone.contains(&at) {
            let orphan = is_of(&block, "tool_result");
            let code = if orphan { Code::OrphanResult } else { Code::ServedReplaced };
            changes.push((code, "block", block.as_bytes().to_vec()));
            blocks.push(text_block(&in_words(&block)));
        } else if let Some(fault) = fault_of_image(&block) {
            changes.push((Code::ImageReplaced, "block", block.as_bytes().to_vec()));
            blocks.push(in_place_of_image(fault));
        } else {
            blocks.push(accepted_block(&block, name, &mut changes));
        }
    }
    let list = || [b"[", blocks.join(&b","[..]).as_slice(), b"]"].concat();
    (!changes.is_empty() && !blocks.is_empty()).then(|| (list(), changes))
}

/// Whether a block is a thought without a signature.
pub fn is_unsigned(block: &Json) -> bool {
    let signature = block.member("signature");
    let signed = signature.is_some_and(|given| !matches!(given.as_bytes(), b"\"\"" | b"null"));
    is_of(block, "thinking") && !signed
}

fn is_of(block: &Json, kind: &str) -> bool {
    block.is_object()
        && block.member("type").is_some_and(|given| given.text().as_deref() == Some(kind))
}

/// Returns why an image is refused whatever its media type is.
fn fault_of_image(block: &Json) -> Option<&'static str> {
    let source = block.member("source").filter(|_| is_of(block, "image"))?;
    image_fault(&source.member("data").filter(|_| is_of(&source, "base64"))?.text()?)
}

/// Describes a call or a result.
fn in_words(block: &Json) -> String {
    if let Some(name) = block.text_of("name") {
        return format!("[The tool `{name}` was called here; its result is not in this answer.]");
    }
    let content = block.member("content");
    let said = content.as_ref().and_then(|content| {
        let of_block = |block: Json| block.member("text")?.text();
        let texts = || content.elements().filter_map(of_block).collect::<Vec<_>>().join("\n");
        match content.as_bytes().first()? {
            b'"' => content.text(),
            b'[' => Some(texts()),
            _ => content.member("text")?.text(),
        }
    });
    let content = content.map_or_else(String::new, |content| {
        String::from_utf8_lossy(content.as_bytes()).into_owned()
    });
    format!("[A tool answered here: {}]", said.as_deref().unwrap_or(&content))
}

/// Values that replace others, by their places in the block.
type Edits = Vec<(Span, Vec<u8>)>;

fn accepted_block(block: &Json, new: Option<&Json>, changes: &mut Vec<Change>) -> Vec<u8> {
    let mut edits = Edits::new();
    if is_of(block, "tool_use") {
        identifier(block, "id", new, &mut edits, changes);
        name(block, &mut edits, changes);
        input(block, &mut edits, changes);
    } else if is_of(block, "tool_result") {
        identifier(block, "tool_use_id", new, &mut edits, changes);
        for inner in block.member("content").iter().flat_map(Json::elements) {
            match fault_of_image(&inner) {
                Some(fault) => {
                    changes.push((Code::ImageReplaced, "block", inner.as_bytes().to_vec()));
                    edits.push((block.place_of(&inner), in_place_of_image(fault)));
                }
                None => image(block, &inner, &mut edits, changes),
            }
        }
    } else {
        image(block, block, &mut edits, changes);
    }
    edits.sort_by_key(|(at, _)| at.start);
    let mut bytes = block.as_bytes().to_vec();
    for (at, new) in edits.into_iter().rev() {
        bytes.splice(at.start..at.end, new);
    }
    bytes
}

/// Sets a new identifier, or gives the old one the form of the interface: the same one in the call
/// and in its result.
fn identifier(
    block: &Json,
    key: &'static str,
    new: Option<&Json>,
    edits: &mut Edits,
    changes: &mut Vec<Change>,
) {
    let Some(old) = block.member(key) else { return };
    let fit = || {
        let given = old.text().filter(|id| !is_call_id(id))?;
        Some(Json::string(&tool_name(&given)))
    };
    let Some(new) = new.cloned().or_else(fit) else { return };
    let new = new.as_bytes().to_vec();
    changes.push((Code::CallRenamed, key, old.as_bytes().to_vec()));
    edits.push((block.place_of(&old), new));
}

fn name(block: &Json, edits: &mut Edits, changes: &mut Vec<Change>) {
    let Some(old) = block.member("name") else { return };
    let Some(given) = old.text().filter(|name| !is_tool_name(name)) else { return };
    changes.push((Code::ToolRenamed, "name", old.as_bytes().to_vec()));
    edits.push((block.place_of(&old), Json::string(&tool_name(&given)).as_bytes().to_vec()));
}

/// Makes the arguments of a call an object: none are an empty one, and a JSON text is read.
fn input(block: &Json, edits: &mut Edits, changes: &mut Vec<Change>) {
    let Some(old) = block.member("input") else {
        let end = block.as_bytes().len() - 1;
        changes.push((Code::MemberRestored, "member", b"\"input\"".to_vec()));
        return edits.push((Span { start: end, end }, b",\"input\":{}".to_vec()));
    };
    let new = match old.as_bytes() {
        object if object.starts_with(b"{") => return,
        b"[]" | b"null" | b"\"\"" => b"{}".to_vec(),
        _ => match old.parsed().filter(Json::is_object) {
            Some(parsed) => parsed.as_bytes().to_vec(),
            None => return,
        },
    };
    changes.push((Code::Retyped, "input", old.as_bytes().to_vec()));
    edits.push((block.place_of(&old), new));
}

/// Gives an image inside of a block the media type of its data.
fn image(block: &Json, image: &Json, edits: &mut Edits, changes: &mut Vec<Change>) {
    let source = image.member("source").filter(|_| is_of(image, "image"));
    let Some(source) = source.filter(|source| is_of(source, "base64")) else { return };
    let data = source.text_of("data").filter(|data| !is_outside(data));
    let Some(own) = data.as_deref().and_then(media_type) else { return };
    let new = Json::string(own).as_bytes().to_vec();
    let old = source.member("media_type");
    if old.as_ref().is_some_and(|old| old.as_bytes() == new) {
        return;
    }
    let was = old.as_ref().map_or(b"null".to_vec(), |old| old.as_bytes().to_vec());
    changes.push((Code::MediaTypeChanged, "media_type", was));
    edits.push(match old {
        Some(old) => (block.place_of(&old), new),
        None => {
            let end = block.place_of(&source).end - 1;
            (Span { start: end, end }, [b",\"media_type\":".as_slice(), &new].concat())
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(content: &str) -> String {
        let (new, _) = accepted(content.as_bytes(), &[], &[]).expect("a change");
        assert_eq!(accepted(&new, &[], &[]), None, "{content}");
        String::from_utf8(new).expect("UTF-8")
    }

    #[test]
    fn blocks_get_what_they_show_themselves() {
        let call = |rest: &str| format!(r#"[{{"type":"tool_use","id":"a","name":"b"{rest}}}]"#);
        assert_eq!(changed(&call("")), call(r#","input":{}"#));
        assert_eq!(changed(&call(r#","input":"{\"x\":1}""#)), call(r#","input":{"x":1}"#));
        assert_eq!(accepted(call(r#","input":[1]"#).as_bytes(), &[], &[]), None);
        let image = |rest: &str| {
            format!(
                r#"[{{"type":"tool_result","tool_use_id":"a","content":[{{"type":"image","source":{{"type":"base64","data":"R0lGODlhAQABAAAAACwAAAAAAQABAAACAkwBADs="{rest}}}}}]}}]"#
            )
        };
        let gif = image(r#","media_type":"image/gif""#);
        assert_eq!(changed(&image("")), gif);
        assert_eq!(changed(&image(r#","media_type":"image/jpg""#)), gif);
        let thought = r#"[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Six."}]"#;
        assert_eq!(changed(thought), r#"[{"type":"text","text":"Six."}]"#);
        let cut = changed(
            r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoA"}}]"#,
        );
        assert!(cut.contains("cut off") && !cut.contains("base64"), "{cut}");
        let result =
            r#"[{"type":"advisor_tool_result","tool_use_id":"s","content":{"text":"Go."}}]"#;
        let (said, _) = accepted(result.as_bytes(), &[], &[0]).expect("a change");
        let said = String::from_utf8(said).expect("UTF-8");
        assert_eq!(said, r#"[{"type":"text","text":"[A tool answered here: Go.]"}]"#);
        let result = changed(r#"[{"type":"tool_result","tool_use_id":"f.B:0","content":"x"}]"#);
        assert!(result.contains(r#""tool_use_id":"f_B_0""#), "{result}");
    }
}
