//! Markdown as HTML in which nothing of a stranger is markup.

use crate::show::markup::{EXTENSIONS, is_harmless};
use crate::show::texts::clean;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Parser, Tag, TagEnd, html};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns a text as the content of an element or of an attribute, without control characters.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let text = clean(text);
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Writes Markdown. With `lines`, a line of the source is a line of the output, as users write.
pub fn prose(text: &str, lines: bool, out: &mut String) {
    let text = clean(text);
    let parser = Parser::new_ext(&text, EXTENSIONS);
    // A definition is nothing that a reader sees, but it is a part of the message.
    let mut definitions: Vec<_> = parser.reference_definitions().iter().collect();
    definitions.sort_by_key(|(_, definition)| definition.span.start);
    let definitions: Vec<_> = definitions
        .into_iter()
        .map(|(_, definition)| text.get(definition.span.clone()).unwrap_or_default().to_owned())
        .collect();
    let mut plain = Plain { lines, code: None, links: Vec::new() };
    out.push_str("<div class=\"text\">");
    html::push_html(out, parser.filter_map(|event| plain.event(event)));
    for definition in definitions {
        let _ = write!(out, "<p class=\"raw\">{}</p>", escaped(&definition));
    }
    out.push_str("</div>\n");
}

/// Replaces the events that HTML would not show as text.
struct Plain {
    lines: bool,
    /// Code of an open block, behind the head of the block.
    code: Option<String>,
    /// Ends of the open links.
    links: Vec<&'static str>,
}

impl Plain {
    fn event<'e>(&mut self, event: Event<'e>) -> Option<Event<'e>> {
        if let Some(code) = &mut self.code {
            match event {
                Event::Text(text) => code.push_str(&escaped(&text)),
                Event::End(TagEnd::CodeBlock) => {
                    code.push_str("</code></pre></div>\n");
                    return self.code.take().map(|code| Event::Html(code.into()));
                }
                _ => {}
            }
            return None;
        }
        Some(match event {
            // An entity may be a control character.
            Event::Html(text) | Event::InlineHtml(text) | Event::Text(text) => {
                Event::Text(clean(&text).into_owned().into())
            }
            Event::Code(text) => Event::Code(clean(&text).into_owned().into()),
            Event::Start(Tag::HtmlBlock) => Event::Html("<p class=\"raw\">".into()),
            Event::End(TagEnd::HtmlBlock) => Event::Html("</p>\n".into()),
            Event::SoftBreak if self.lines => Event::HardBreak,
            Event::Start(Tag::Link { dest_url, title, .. }) => self.link("", &dest_url, &title),
            Event::Start(Tag::Image { dest_url, title, .. }) => {
                self.link("image: ", &dest_url, &title)
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                Event::InlineHtml(self.links.pop().unwrap_or_default().into())
            }
            // An alignment would be a style of its own, which the page's policy refuses.
            Event::Start(Tag::Table(columns)) => {
                let columns = columns.iter().map(|_| pulldown_cmark::Alignment::None).collect();
                Event::Start(Tag::Table(columns))
            }
            Event::Start(Tag::Heading { level, .. }) => {
                let (id, classes, attrs) = (None, Vec::new(), Vec::new());
                Event::Start(Tag::Heading { level: lower(level), id, classes, attrs })
            }
            Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
            Event::Start(Tag::CodeBlock(kind)) => {
                self.code = Some(begin_code(&kind));
                return None;
            }
            other => other,
        })
    }

    /// Begins a link; one that leads elsewhere than to the web or to mail is a text with its
    /// address.
    fn link<'e>(&mut self, kind: &str, address: &str, title: &str) -> Event<'e> {
        let leads = is_harmless(address) && address.contains(':');
        let (begin, end) = match leads {
            true => ("a rel=\"noopener noreferrer nofollow\" href", "</a>"),
            false => ("span class=\"link\" data-to", "</span>"),
        };
        self.links.push(end);
        let title = if title.is_empty() { address } else { title };
        let (address, title) = (escaped(address), escaped(title));
        let begin: CowStr<'_> = format!("<{begin}=\"{address}\" title=\"{title}\">{kind}").into();
        Event::InlineHtml(begin)
    }
}

fn begin_code(kind: &CodeBlockKind<'_>) -> String {
    let info = match kind {
        CodeBlockKind::Fenced(info) if !info.is_empty() => {
            format!("<span class=\"info\">{}</span>", escaped(info))
        }
        _ => String::new(),
    };
    format!("<div class=\"code\">{info}<pre><code>")
}

/// Returns the level of a heading below those of the page.
fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        let mut out = String::new();
        prose(text, false, &mut out);
        let inner = out.strip_prefix("<div class=\"text\">").expect("a text");
        inner.strip_suffix("</div>\n").expect("an end").to_owned()
    }

    #[test]
    fn nothing_of_a_stranger_is_markup() {
        assert_eq!(
            html("<script>alert(1)</script>"),
            "<p class=\"raw\">&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"
        );
        assert_eq!(html("a <img onerror=x>"), "<p>a &lt;img onerror=x&gt;</p>\n");
        let link = html("[x](javascript:alert(1))");
        assert_eq!(
            link,
            "<p><span class=\"link\" data-to=\"javascript:alert(1)\" title=\"javascript:alert(1)\">x</span></p>\n"
        );
        assert!(html("![x](https://a/b.png)").contains(">image: x</a>"));
        assert!(html("[x](https://a/\"onclick=y)").contains("href=\"https://a/&quot;onclick=y\""));
        assert!(html("| a |\n|:-:|\n| b |").contains("<th>a</th>"));
        let code = html("```\"><b>\n<i>\n```");
        assert!(code.contains("&quot;&gt;&lt;b&gt;</span>") && code.contains("&lt;i&gt;"));
    }

    #[test]
    fn definitions_are_shown() {
        assert!(html("[x]: https://a 'b'\n").contains("[x]: https://a &#39;b&#39;"));
    }
}
