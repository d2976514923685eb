//! Markdown at a terminal.

use super::table::Table;
use super::wrap::{Ink, Span, columns, lines, pieces};
use crate::diagnostic::printable;
use crate::show::markup::EXTENSIONS;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Indentation of all prose.
const INDENT: &str = "  ";

/// Renders Markdown in this width.
#[derive(Clone, Copy, Debug)]
pub struct Prose {
    /// Number of columns.
    pub width: usize,
    /// Whether text is coloured.
    pub ink: Ink,
    /// Whether a line of the source is a line of the output, as users write.
    pub lines: bool,
}

/// A container around blocks.
enum Container {
    Quote,
    /// Number of the next item of a list, if it has numbers.
    List(Option<u64>),
    /// Width of an item's mark.
    Item(usize),
}

/// State of the rendering of one text.
struct Page<'t> {
    prose: Prose,
    containers: Vec<Container>,
    /// Mark of a list's item, which its first line begins with.
    mark: Option<String>,
    spans: Vec<Span>,
    styles: Vec<&'static str>,
    /// Code of an open block.
    code: Option<String>,
    table: Option<Table>,
    /// Addresses of open links.
    links: Vec<String>,
    /// Whether a block precedes, so that an empty line comes before the next one.
    apart: bool,
    to: &'t mut Vec<u8>,
}

impl Prose {
    /// Renders a text.
    pub fn render(self, text: &str, to: &mut Vec<u8>) {
        let mut page = Page {
            prose: self,
            containers: Vec::new(),
            mark: None,
            spans: Vec::new(),
            styles: Vec::new(),
            code: None,
            table: None,
            links: Vec::new(),
            apart: false,
            to,
        };
        Parser::new_ext(text, EXTENSIONS).for_each(|event| page.event(event));
        page.flush();
    }
}

impl Page<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Code(code) => self.span("36", &code),
            Event::SoftBreak if !self.prose.lines => self.span("", " "),
            Event::SoftBreak | Event::HardBreak => self.span("", "\n"),
            Event::Rule => {
                self.flush();
                let room = self.room().min(40);
                self.put(vec![self.prose.ink.paint(Ink::FAINT, &"─".repeat(room))]);
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => match &mut self.code
            {
                Some(code) => code.push_str(&text),
                None => self.span("", &text),
            },
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.flush();
                self.styles.push("1");
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.gap();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.code = Some(String::new());
                if let CodeBlockKind::Fenced(info) = kind
                    && !info.is_empty()
                {
                    let info = format!("[{}]", printable(&info));
                    self.put(vec![self.prose.ink.paint(Ink::FAINT, &info)]);
                    self.apart = false;
                }
            }
            Tag::List(first) => {
                self.flush();
                // A list inside of another one follows its item directly.
                if self.containers.is_empty() {
                    self.gap();
                }
                self.containers.push(Container::List(first));
            }
            Tag::Item => {
                self.flush();
                let mark = match self.containers.last_mut() {
                    Some(Container::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.containers.push(Container::Item(columns(&mark)));
                self.mark = Some(mark);
            }
            Tag::Table(_) => {
                self.flush();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::Emphasis => self.styles.push("3"),
            Tag::Strong => self.styles.push("1"),
            Tag::Strikethrough => self.styles.push("9"),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => {
                self.flush();
                if matches!(tag, TagEnd::Item) && self.mark.is_some() {
                    self.put(vec![String::new()]);
                }
                self.containers.pop();
                self.apart = !matches!(tag, TagEnd::Item);
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                let room = self.room().saturating_sub(2).max(8);
                let code = code.replace('\t', "    ");
                let ink = self.prose.ink;
                let shown = code.lines().flat_map(|line| pieces(&printable(line), room));
                let shown = shown.map(|line| format!("  {}", ink.paint("36", &line)));
                self.put(shown.collect());
            }
            TagEnd::TableCell => {
                let spans = std::mem::take(&mut self.spans);
                if let Some(table) = &mut self.table {
                    table.cell(spans);
                }
            }
            TagEnd::Table => {
                let (room, ink) = (self.room(), self.prose.ink);
                let table = self.table.take().unwrap_or_default();
                self.put(table.lines(room, ink));
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => {
                let address = self.links.pop().unwrap_or_default();
                let text: String = self.spans.iter().map(|span| span.text.as_str()).collect();
                if !text.ends_with(&address) {
                    self.span(Ink::FAINT, &format!(" ({address})"));
                }
            }
            _ => {}
        }
    }

    fn span(&mut self, style: &str, text: &str) {
        let mut all: Vec<&str> = self.styles.clone();
        all.extend(Some(style).filter(|style| !style.is_empty()));
        // Line breaks of the source remain; other control characters are shown.
        let text: Vec<_> = text.split('\n').map(printable).collect();
        self.spans.push(Span { style: all.join(";"), text: text.join("\n") });
    }

    /// Number of columns inside of the containers.
    fn room(&self) -> usize {
        let used: usize = self.containers.iter().map(Container::columns).sum();
        self.prose.width.saturating_sub(used + INDENT.len()).max(10)
    }

    /// Ends a block of text.
    fn flush(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        if spans.iter().any(|span| !span.text.trim().is_empty()) {
            let lines = lines(&spans, self.room(), self.prose.ink);
            self.put(lines);
        }
    }

    /// Returns the marks of the containers that precede a line.
    fn prefix(&self) -> String {
        let inside = |container: &Container| match container {
            Container::Quote => self.prose.ink.paint(Ink::FAINT, "│ "),
            Container::List(_) => String::new(),
            Container::Item(width) => " ".repeat(*width),
        };
        self.containers.iter().map(inside).collect()
    }

    /// Writes an empty line, if a block precedes.
    fn gap(&mut self) {
        if std::mem::take(&mut self.apart) {
            let line = format!("{INDENT}{}", self.prefix());
            self.to.extend_from_slice(line.trim_end().as_bytes());
            self.to.push(b'\n');
        }
    }

    /// Writes lines behind the marks of their containers.
    fn put(&mut self, lines: Vec<String>) {
        let prefix = self.prefix();
        let mark = self.mark.take();
        if mark.is_none() {
            self.gap();
        }
        for (number, line) in lines.iter().enumerate() {
            let prefix = match &mark {
                Some(mark) if number == 0 => {
                    let outer = prefix.len() - columns(mark).min(prefix.len());
                    format!("{}{mark}", prefix.get(..outer).unwrap_or_default())
                }
                _ => prefix.clone(),
            };
            self.to.extend_from_slice(format!("{INDENT}{prefix}{line}").trim_end().as_bytes());
            self.to.push(b'\n');
        }
        self.apart = true;
    }
}

impl Container {
    fn columns(&self) -> usize {
        match self {
            Self::Quote => 2,
            Self::List(_) => 0,
            Self::Item(width) => *width,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str) -> String {
        let mut to = Vec::new();
        Prose { width: 40, ink: Ink(false), lines: false }.render(text, &mut to);
        String::from_utf8(to).expect("UTF-8")
    }

    #[test]
    fn markdown_is_readable_text() {
        let text = "# Head\n\nOne **bold**\nline.\n\n1. first\n2. second\n   - inner\n\n> quoted\n\n```rs\nfn f() {}\n```\n";
        let shown = "  Head\n\n  One bold line.\n\n  1. first\n  2. second\n     • inner\n\n  │ quoted\n\n  [rs]\n    fn f() {}\n";
        assert_eq!(rendered(text), shown);
    }

    #[test]
    fn tables_have_columns() {
        let text = "| a | long head |\n|---|---|\n| 1 | x |\n";
        assert_eq!(rendered(text), "  a │ long head\n  ──┼──────────\n  1 │ x\n");
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(
            rendered("<b>x</b> \u{1b}[31m [a](javascript:b)"),
            "  <b>x</b> \\u{1b}[31m a (javascript:b)\n"
        );
    }
}
