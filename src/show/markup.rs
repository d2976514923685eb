//! Markdown of strangers: what of it views keep.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use std::ops::Range;

/// Extensions of CommonMark that views read.
pub const EXTENSIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH);

/// Schemes of the links that views keep.
const SCHEMES: &[&str] = &["http", "https", "mailto"];

/// Number of times that a text is read again after changes.
const ROUNDS: usize = 8;

/// Number of levels by which headings are lowered below those of the view.
const LOWER: usize = 2;

/// Whether a link leads to the web or to mail, or is relative.
pub fn is_harmless(address: &str) -> bool {
    let address = address.trim_start();
    match address.split_once(':') {
        Some((scheme, _)) if !scheme.contains(['/', '?', '#']) => {
            SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme))
        }
        _ => true,
    }
}

/// Returns Markdown in which HTML, images and links with other schemes are text, headings are lower,
/// and blocks of code are closed, so that it cannot change what follows it.
pub fn safe(text: &str) -> String {
    let mut text = lowered(text);
    for _ in 0..ROUNDS {
        let mut changes = unsafe_places(&text);
        if changes.is_empty() {
            return closed(text);
        }
        changes.sort_unstable();
        changes.dedup();
        for place in changes.into_iter().rev() {
            text.insert(place, '\\');
        }
    }
    // A text that still has such places shows its source.
    let fence = "`".repeat(longest_fence(&text) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// Returns the places at which a backslash takes away an effect.
fn unsafe_places(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let parser = Parser::new_ext(text, EXTENSIONS);
    let definitions = parser.reference_definitions().iter();
    let definitions: Vec<_> = definitions
        .filter(|(_, definition)| !is_harmless(&definition.dest))
        .map(|(_, definition)| definition.span.clone())
        .collect();
    let find = |range: &Range<usize>, c: char| {
        let inner = text.get(range.clone()).unwrap_or_default();
        inner.match_indices(c).map(|(at, _)| range.start + at).collect::<Vec<_>>()
    };
    places.extend(definitions.iter().filter_map(|range| find(range, '[').first().copied()));
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => places.extend(find(&range, '<')),
            Event::Start(Tag::Image { .. }) => places.extend(find(&range, '!').first()),
            Event::Start(Tag::Link { dest_url, .. }) if !is_harmless(&dest_url) => {
                let begins = [find(&range, '['), find(&range, '<')].concat();
                places.extend(begins.into_iter().min());
            }
            _ => {}
        }
    }
    places
}

/// Lowers the headings of a text.
fn lowered(text: &str) -> String {
    let mut out = text.to_owned();
    let headings =
        Parser::new_ext(text, EXTENSIONS).into_offset_iter().filter_map(|(event, at)| {
            let hashes = text.get(at.start..)?.chars().take_while(|c| *c == '#').count();
            let heading = matches!(event, Event::Start(Tag::Heading { .. }));
            (heading && hashes > 0).then_some((at.start, LOWER.min(6 - hashes.min(6))))
        });
    for (at, more) in headings.collect::<Vec<_>>().into_iter().rev() {
        out.insert_str(at, &"#".repeat(more));
    }
    out
}

/// Closes a block of code that is open at the end of a text.
fn closed(mut text: String) -> String {
    let mut depth = 0_usize;
    let mut open = None;
    for (event, range) in Parser::new_ext(&text, EXTENSIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if depth == 0 => {
                open = Some(range);
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let block =
        open.filter(|range| text.get(range.end..).is_some_and(|rest| rest.trim().is_empty()));
    let Some(block) = block.and_then(|range| text.get(range)) else { return text };
    let mark = block.trim_start().chars().next().unwrap_or('`');
    let fence: String = block.trim_start().chars().take_while(|c| *c == mark).collect();
    let last = block.trim_end().lines().skip(1).last().unwrap_or_default().trim();
    let is_closed = last.len() >= fence.len() && last.chars().all(|c| c == mark);
    if !is_closed {
        let line = if text.ends_with('\n') { "" } else { "\n" };
        text = format!("{text}{line}{fence}");
    }
    text
}

fn longest_fence(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_strangers_is_text() {
        assert_eq!(safe("a <b>c</b>"), "a \\<b>c\\</b>");
        assert_eq!(safe("<script>\nx\n</script>"), "\\<script>\nx\n\\</script>");
        assert_eq!(safe("[x](javascript:y) [z](https://z)"), "\\[x](javascript:y) [z](https://z)");
        assert_eq!(safe("<javascript:y>"), "\\<javascript:y>");
        assert_eq!(safe("[x]: JavaScript:y"), "\\[x]: JavaScript:y");
        assert_eq!(safe("![x](https://z)"), "\\![x](https://z)");
        assert_eq!(safe("![x](data:y)"), "\\!\\[x](data:y)");
        assert_eq!(
            safe("<div>\n[x](javascript:y)\n</div>"),
            "\\<div>\n\\[x](javascript:y)\n\\</div>"
        );
        assert!(!is_harmless("java\tscript:x") && !is_harmless(" vbscript:x"));
        assert!(is_harmless("src/a.rs:7") && is_harmless("HTTPS://x") && !is_harmless("c:x"));
    }

    #[test]
    fn code_stays_as_it_is_and_is_closed() {
        let code = "````\n```\n<b>\n# no heading\n```\n````";
        assert_eq!(safe(code), code);
        assert_eq!(safe("# A\n\n```rs\nx"), "### A\n\n```rs\nx\n```");
        assert_eq!(safe("`<b>` ###### B"), "`<b>` ###### B");
        assert_eq!(safe("~~~~\nx\n~~~"), "~~~~\nx\n~~~\n~~~~");
    }
}
