//! Contents of strangers have no effect in any view.

use crate::view;
use copyist::show::{Form, Request};
use serde_json::json;

/// Texts that try to be markup, a script, a link, or a command of the terminal.
pub const HOSTILE: &[&str] = &[
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "'><iframe src=//example.org>",
    "<!-- --> --> <b>",
    "</pre></details></article><h1>",
    "<!-->",
    "<![CDATA[",
    "<?php x ?>",
    "<!DOCTYPE html>",
    "[x](javascript:alert(1))",
    "[x](<javascript:alert(1)> 'title')",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x]\n\n[x]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    "![x](https://example.org/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x) [y](file:///etc/passwd)",
    "```html\n</code></pre><script>alert(1)</script>",
    "~~~~ \"onclick=alert(1)\n</code>",
    "| <b> |\n|:---:|\n| <script>alert(1)</script> |",
    "<div\nonclick=alert(1)\n>",
    "- <div>\n  <script>",
    "> <table><tr>\n\n    <td onclick=x>",
    "# <a href=javascript:x>",
    "{title} {} %s ${x}",
    "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}",
    "&#27;[31m &#x202e; &#0; `&#27;`",
    "a\u{0}b\u{8}c\u{85}d",
];

/// A session in which everything that can be a text is this text.
pub fn session(text: &str) -> Vec<u8> {
    let content = json!([
        { "type": "text", "text": text },
        { "type": "thinking", "thinking": text },
        { "type": "tool_call", "id": text, "name": text, "arguments": { text: text, "command": text } },
        { "type": "tool_call", "id": "w", "name": "write", "arguments": { "path": text, "content": text } },
        { "type": "image", "data": text, "media_type": text },
        { "type": "image", "data": format!("iVBORw0KGgo{text}"), "media_type": "image/png" },
        { "type": "opaque", "data": { "type": text, "content": text } },
    ]);
    let result = json!([{ "type": "tool_result", "call": text, "name": text, "content": text, "is_error": true }]);
    let records = [
        json!({ "kind": "session", "id": text, "cwd": text, "name": text, "system_prompt": text, "branch": text }),
        json!({ "kind": "message", "id": "a", "parent": null, "role": "user", "content": text, "time": text }),
        json!({ "kind": "message", "id": "b", "parent": "a", "role": "assistant", "model": text, "content": content, "error": text }),
        json!({ "kind": "message", "id": "c", "parent": "b", "role": "tool", "content": result }),
        json!({ "kind": "message", "id": "d", "parent": "b", "role": text, "content": text }),
        json!({ "kind": "label", "id": "e", "parent": "d", "target": "a", "label": text }),
        json!({ "kind": "compaction", "id": "f", "parent": "e", "summary": text, "first_kept": "a" }),
        json!({ "kind": "model_change", "id": "g", "parent": "f", "provider": text, "model": text }),
        json!({ "kind": "message", "id": "h", "parent": "g", "role": "bash", "bash": { "command": text, "output": text, "exit_code": text } }),
        json!({ "kind": "session_info", "id": "i", "parent": "h", "name": text }),
        json!({ "kind": "event", "seq": 1, "run": text, "data": { "type": text, "content": text } }),
    ];
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

/// The elements and attributes of a page, in order, without their contents: its structure.
fn tags(page: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let end = after.find('>').expect("an end of a tag");
        let (tag, next) = after.split_at(end);
        // Values are quoted, and quotes inside of them are escaped.
        let outside: String = tag.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        tags.push(outside);
        rest = next;
    }
    tags
}

/// A page without its style, its script and its comment, which are the program's own.
fn body(page: &str) -> String {
    let (_, rest) = page.split_once("</style>").expect("a style");
    let (body, _) = rest.rsplit_once("<script>").expect("a script");
    body.to_owned()
}

#[test]
fn hostile_texts_inject_nothing_into_a_page() {
    const KNOWN: &[&str] = &[
        "/head",
        "body",
        "header",
        "a",
        "div",
        "form",
        "input",
        "output",
        "/output",
        "button",
        "/button",
        "/form",
        "/div",
        "/header",
        "main",
        "section",
        "h1",
        "/h1",
        "dl",
        "dt",
        "/dt",
        "dd",
        "/dd",
        "/dl",
        "/a",
        "nav",
        "h2",
        "/h2",
        "ul",
        "li",
        "/li",
        "/ul",
        "/nav",
        "details",
        "summary",
        "/summary",
        "/details",
        "/section",
        "/main",
        "dialog",
        "/dialog",
        "kbd",
        "/kbd",
        "article",
        "/article",
        "span",
        "/span",
        "small",
        "/small",
        "time",
        "/time",
        "p",
        "/p",
        "pre",
        "/pre",
        "code",
        "/code",
        "b",
        "/b",
        "ins",
        "/ins",
        "del",
        "/del",
        "i",
        "/i",
        "em",
        "/em",
        "strong",
        "/strong",
        "br",
        "br /",
        "hr",
        "hr /",
        "blockquote",
        "/blockquote",
        "ol",
        "/ol",
        "table",
        "/table",
        "thead",
        "/thead",
        "tbody",
        "/tbody",
        "tr",
        "/tr",
        "th",
        "/th",
        "td",
        "/td",
        "h3",
        "/h3",
        "h4",
        "/h4",
        "h5",
        "/h5",
        "h6",
        "/h6",
        "figure",
        "/figure",
        "img",
        "s",
        "/s",
        "svg",
        "/svg",
        "title",
        "/title",
        "rect",
        "polyline",
        "figcaption",
        "/figcaption",
    ];
    const ATTRIBUTES: &[&str] = &[
        "id",
        "class",
        "href",
        "data-b",
        "data-n",
        "data-branch",
        "data-parent",
        "data-fork",
        "data-do",
        "title",
        "aria-label",
        "role",
        "type",
        "placeholder",
        "autocomplete",
        "spellcheck",
        "rel",
        "data-to",
        "start",
        "method",
        "open",
        "loading",
        "alt",
        "src",
    ];
    for text in HOSTILE {
        let request = Request { events: true, ..Request::new(Form::Html) };
        let page = view(&session(text), &request);
        let comment = page.lines().nth(1).expect("a comment");
        assert!(comment.ends_with(" -->") && comment.matches("--").count() == 2, "{comment}");
        for tag in tags(&body(&page)) {
            let (name, attributes) = tag.split_once(' ').unwrap_or((&tag, ""));
            assert!(KNOWN.contains(&name), "{text:?}: <{tag}>");
            for attribute in attributes.split(' ').filter(|part| !part.is_empty() && *part != "/") {
                let (name, value) = attribute.split_once('=').unwrap_or((attribute, "\"\""));
                assert!(ATTRIBUTES.contains(&name) && value == "\"\"", "{text:?}: <{tag}>");
            }
        }
        for link in page.split(" href=\"").skip(1) {
            let leads = ["#", "http://", "https://", "mailto:"];
            assert!(leads.iter().any(|begin| link.starts_with(begin)), "{text:?}: {link:.60}");
        }
        for image in page.split(" src=\"").skip(1) {
            assert!(image.starts_with("data:image/png;base64,iVBORw0KGgo"), "{text:?}");
        }
        let control = |c: &char| c.is_control() && *c != '\n' && *c != '\t';
        assert_eq!(page.chars().find(control), None, "{text:?}");
    }
}

#[test]
fn hostile_texts_are_text_in_markdown() {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    for text in HOSTILE {
        let markdown = view(&session(text), &Request::new(Form::Markdown));
        let (comment, rest) = markdown.split_once('\n').expect("lines");
        assert!(comment.matches("--").count() == 2, "{comment}");
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for event in Parser::new_ext(rest, options) {
            match event {
                Event::Html(html) | Event::InlineHtml(html) => panic!("{text:?}: {html}"),
                Event::Start(Tag::Image { dest_url, .. }) => panic!("{text:?}: {dest_url}"),
                Event::Start(Tag::Link { dest_url, .. }) => {
                    assert!(dest_url.starts_with("https://"), "{text:?}: {dest_url}");
                }
                _ => {}
            }
        }
        // What follows a message is not a part of it.
        assert!(rest.contains("\n# "), "{text:?}");
        let headings = Parser::new_ext(rest, options)
            .filter(|event| matches!(event, Event::Start(Tag::Heading { .. })))
            .count();
        assert!(headings >= 6, "{text:?}: {headings}");
    }
}

#[test]
fn hostile_texts_do_not_command_a_terminal() {
    for text in HOSTILE {
        let form = Form::Text { width: 60, colors: false };
        let shown = view(&session(text), &Request { events: true, ..Request::new(form) });
        let control =
            |c: &char| c.is_control() && *c != '\n' || matches!(c, '\u{202a}'..='\u{202e}');
        assert_eq!(shown.chars().find(control), None, "{text:?}");
    }
}

#[test]
fn hostile_fences_survive_in_markdown() {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let output = "````\n```\n`````\ninside\n";
    let records = [
        json!({ "kind": "session", "id": "s" }),
        json!({ "kind": "message", "id": "a", "parent": null, "role": "assistant", "content": [
            { "type": "tool_call", "id": "c", "name": "cat", "arguments": { "a": "x", "b": output } },
        ] }),
        json!({ "kind": "message", "id": "b", "parent": "a", "role": "tool", "content": [
            { "type": "tool_result", "call": "c", "content": output },
        ] }),
    ];
    let session: String = records.iter().map(|record| format!("{record}\n")).collect();
    let markdown = view(session.as_bytes(), &Request::new(Form::Markdown));
    let mut code = Vec::new();
    let mut inside = false;
    for event in Parser::new_ext(&markdown, Options::empty()) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                inside = true;
                code.push(String::new());
            }
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) if inside => code.last_mut().expect("a block").push_str(&text),
            _ => {}
        }
    }
    assert!(code.contains(&output.to_owned()), "{code:?}");
}
