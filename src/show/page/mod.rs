//! The view as one page of HTML: it loads nothing, and runs no script but its own.

mod index;
mod message;
mod overview;
mod plot;
mod prose;

pub use index::index;

use super::Renderer;
use super::entry::{Entry, PAGE};
use super::head::Head;
use super::item::{Content, Item, Note};
use super::lookup::{self, Change};
use super::texts::clean;
use prose::{escaped, prose};
use std::fmt::Write as _;

/// Style of all pages.
const STYLE: &str = include_str!("style.css");

/// Script of the pages of sessions.
const SCRIPT: &str = include_str!("script.js");

/// Hashes by which the policy of a page names its style and its script.
const STYLE_HASH: &str = "qgsapNBmSAM8fHaas6csIiRK8JijuvLcc8PZi8Dgtyg=";
const SCRIPT_HASH: &str = "q8+M8+XC732FNAyqebzJPcFEmw79bhxXfXB8NShgeOU=";

/// Writes a page.
#[derive(Debug, Default)]
pub struct Page {
    change: Change,
    /// Ordinal of the last node.
    ordinal: u32,
    /// Whether the last item is of a sub-agent.
    in_sub_agent: bool,
}

impl Page {
    /// Returns the attributes that give an item its identifier, its branch and its place.
    fn place(&mut self, head: &Head, item: &Item) -> String {
        self.ordinal = item.ordinal.unwrap_or(self.ordinal);
        let id = item.ordinal.map_or_else(|| format!("i{}", item.number), |at| format!("n{at}"));
        let mut out = format!("id=\"{id}\"");
        if head.is_branched() {
            let (branch, at) = lookup::own_branch(head, item.branch, self.ordinal);
            let _ = write!(out, " data-b=\"{branch}\" data-n=\"{at}\"");
        }
        out
    }

    /// Begins or ends the part of a sub-agent.
    fn sub_agent(&mut self, begins: bool, to: &mut String) {
        if begins != self.in_sub_agent {
            let begin = "<details class=\"agent\"><summary>Sub-agent</summary>\n";
            to.push_str(if begins { begin } else { "</details>\n" });
            self.in_sub_agent = begins;
        }
    }

    /// Begins a branch, where the item before is on another one.
    fn branch(&mut self, head: &Head, item: &Item, to: &mut String) {
        let Some(branch) = self.change.at(head, item) else { return };
        let from = branch.fork.map(|fork| {
            let parent = branch.parent.and_then(|parent| head.branches.get(parent as usize));
            let name = parent.map(lookup::name).unwrap_or_default();
            format!(" <a href=\"#n{fork}\">leaves {name} here</a>")
        });
        let at = item.ordinal.unwrap_or(self.ordinal);
        let _ = writeln!(
            to,
            "<h2 class=\"branch\" data-b=\"{}\" data-n=\"{at}\">{}<small>{}</small></h2>",
            branch.number,
            escaped(&lookup::heading(branch)),
            from.unwrap_or_default()
        );
    }
}

impl Renderer for Page {
    fn begin(&mut self, head: &Head, to: &mut Vec<u8>) {
        let mut out = String::new();
        begin(&head.title, Some(&Entry::of(head)), SCRIPT_HASH, &mut out);
        let title = escaped(&head.title).into_owned();
        let _ = write!(out, include_str!("bar.html"), title = title);
        out.push_str("<main>\n");
        overview::overview(head, &mut out);
        out.push_str("<section id=\"talk\">\n");
        if let Some(prompt) = &head.system_prompt {
            let _ = writeln!(
                out,
                "<article class=\"m system\"><header><h2>System prompt</h2></header>\n\
                 <details class=\"long\"><summary>{}</summary>",
                escaped(&super::texts::one_line(&clean(prompt), 100))
            );
            prose(prompt, true, &mut out);
            out.push_str("</details></article>\n");
        }
        to.extend_from_slice(out.as_bytes());
    }

    fn item(&mut self, head: &Head, item: &Item, to: &mut Vec<u8>) {
        let mut out = String::new();
        self.sub_agent(item.of_sub_agent, &mut out);
        self.branch(head, item, &mut out);
        let place = self.place(head, item);
        match &item.content {
            Content::Message(message) => message::message(head, item, message, &place, &mut out),
            Content::Note(note) => write_note(head, item, note, &place, &mut out),
        }
        to.extend_from_slice(out.as_bytes());
    }

    fn end(&mut self, _head: &Head, to: &mut Vec<u8>) {
        let mut out = String::new();
        self.sub_agent(false, &mut out);
        out.push_str("</section>\n</main>\n");
        out.push_str(include_str!("help.html"));
        let _ = write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n");
        to.extend_from_slice(out.as_bytes());
    }
}

fn write_note(head: &Head, item: &Item, note: &Note, place: &str, out: &mut String) {
    let class = if note.is_error { "note error" } else { "note" };
    let time = item.time.as_deref().map(super::head::minute).unwrap_or_default();
    let title = escaped(&note.title).into_owned();
    let time = escaped(&time).into_owned();
    let _ = write!(out, "<article class=\"{class}\" {place}>");
    match &note.text {
        Some(text) => {
            let _ = writeln!(out, "<details open><summary>{title} <time>{time}</time></summary>");
            prose(text, false, out);
            out.push_str("</details>");
        }
        None => {
            let _ = write!(out, "<p>{title} <time>{time}</time></p>");
        }
    }
    message::forks(head, item, out);
    out.push_str("</article>\n");
}

/// Writes the beginning of a page up to its body. `script` is the hash of its script; it is empty if
/// the page has none.
fn begin(title: &str, entry: Option<&Entry>, script: &str, out: &mut String) {
    let title = escaped(title).into_owned();
    let entry = entry.map(|entry| format!(": {}", entry.in_comment())).unwrap_or_default();
    let script = match script {
        "" => "'none'".to_owned(),
        hash => format!("'sha256-{hash}'"),
    };
    let mark = String::from_utf8_lossy(PAGE);
    let _ = write!(
        out,
        "{mark}{entry} -->\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'sha256-{STYLE_HASH}'; script-src {script}; img-src data:; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    );
}
