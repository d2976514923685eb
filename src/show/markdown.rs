//! The view in Markdown.

use super::edits::edits;
use super::entry::{Entry, MARKDOWN, address};
use super::head::{Head, minute, spent};
use super::item::{Block, Call, Content, Item, Message, Note, Output};
use super::lookup::{self, Change};
use super::markup::safe;
use super::summary::{main_argument, outcome};
use super::terminal::pretty;
use super::texts::{clean, one_line};
use super::{Renderer, Tools};

/// Maximum number of characters of a call in one line.
const LINE: usize = 200;

/// Writes Markdown.
pub struct Markdown {
    tools: Tools,
    change: Change,
}

impl Markdown {
    /// Creates a renderer.
    pub fn new(tools: Tools) -> Self {
        Self { tools, change: Change::default() }
    }

    fn message(&self, item: &Item, message: &Message, to: &mut Vec<u8>) {
        let role = match (message.speaker(), item.begins_turn) {
            ("user", true) => format!("{}. User", item.turn),
            (role, _) => capital(role),
        };
        let agent = if item.of_sub_agent { " of a sub-agent" } else { "" };
        paragraph(&format!("## {}{agent}", inline(&role)), to);
        let name = message.name.clone().filter(|_| message.role != "user");
        let excluded = message.excluded.then(|| "not sent to the model".to_owned());
        let label = item.label.as_ref().map(|label| format!("label: {label}"));
        let usage = message.usage.as_ref().map(spent);
        let facts = [name, item.time.as_deref().map(minute), usage, excluded, label];
        let facts: Vec<_> = facts.into_iter().flatten().filter(|it| !it.is_empty()).collect();
        if !facts.is_empty() {
            paragraph(&format!("*{}*", inline(&facts.join(" · "))), to);
        }
        message.blocks.iter().for_each(|block| self.block(block, to));
        if let Some(error) = &message.error {
            paragraph(&format!("**Error:** {}", inline(error)), to);
        }
    }

    fn block(&self, block: &Block, to: &mut Vec<u8>) {
        match block {
            Block::Text { text } => paragraph(&safe(&clean(text)), to),
            Block::Thinking { text } if text.is_empty() => paragraph("*(thinking)*", to),
            Block::Thinking { text } => {
                let quoted = clean(text);
                paragraph(&quote(&format!("*Thinking*\n\n{}", safe(&quoted))), to);
            }
            Block::Image { text, .. } | Block::Other { text } => {
                paragraph(&inline(&format!("[{}]", text.trim_matches(['[', ']']))), to);
            }
            Block::Command { command, output, exit_code } => {
                fence("sh", command, to);
                fence("", output, to);
                exit_code
                    .iter()
                    .for_each(|code| paragraph(&format!("Exit code {}", inline(code)), to));
            }
            Block::Call(call) if self.tools != Tools::None => self.call(call, to),
            Block::Output(output) if self.tools != Tools::None => self.output(output, to),
            Block::Call(_) | Block::Output(_) => {}
        }
    }

    fn call(&self, call: &Call, to: &mut Vec<u8>) {
        let argument = main_argument(call, LINE);
        let argument = if argument.is_empty() { argument } else { format!(" {}", code(&argument)) };
        let end = match (self.tools, &call.result) {
            (Tools::Full, Some(result)) if !result.blocks.is_empty() => String::new(),
            (_, result) => format!(" → {}", inline(&outcome(result.as_ref()))),
        };
        paragraph(&format!("**{}**{argument}{end}", inline(&call.name)), to);
        if self.tools != Tools::Full {
            return;
        }
        let edits = edits(call);
        for edit in &edits {
            let lines = edit.lines.iter().map(|line| line.shown() + "\n");
            // The only path is in the line above.
            if edits.len() > 1 {
                paragraph(&code(&edit.path), to);
            }
            fence("diff", &lines.collect::<String>(), to);
        }
        // One argument is in the line already, if that is not cropped.
        let alone = call.arguments.members().count() < 2 && !argument.ends_with("…`");
        if edits.is_empty() && (!alone || call.arguments.text().is_some()) {
            match call.arguments.text() {
                Some(text) => fence("", &text, to),
                None => fence("json", &pretty(call.arguments.as_bytes()), to),
            }
        }
        call.result.iter().for_each(|result| self.result(result, to));
    }

    fn output(&self, output: &Output, to: &mut Vec<u8>) {
        let name = output.name.as_deref().unwrap_or("result");
        paragraph(&format!("**{}** → {}", inline(name), inline(&outcome(Some(output)))), to);
        if self.tools == Tools::Full {
            self.result(output, to);
        }
    }

    fn result(&self, result: &Output, to: &mut Vec<u8>) {
        let text = result.text();
        if result.is_error {
            paragraph("*failed:*", to);
        }
        if !text.is_empty() {
            fence("", &text, to);
        }
    }

    fn note(&self, note: &Note, to: &mut Vec<u8>) {
        paragraph("---", to);
        paragraph(&format!("*{}*", inline(&note.title)), to);
        if let Some(text) = &note.text {
            paragraph(&safe(&clean(text)), to);
        }
    }
}

impl Renderer for Markdown {
    fn begin(&mut self, head: &Head, to: &mut Vec<u8>) {
        to.extend_from_slice(MARKDOWN);
        paragraph(&format!(": {} -->", Entry::of(head).in_comment()), to);
        paragraph(&format!("# {}", inline(&head.title)), to);
        let times = head.times.as_ref().map(|(first, last)| {
            let (first, last) = (minute(first), minute(last));
            if first == last { first } else { format!("{first} to {last}") }
        });
        let rows = [
            ("Agent", Some(head.format.to_owned())),
            ("Session", head.id.clone()),
            ("Project", head.project.clone()),
            ("Models", Some(head.models.iter().cloned().collect::<Vec<_>>().join(", "))),
            ("Time", times),
            ("Messages", Some(head.messages.to_string())),
            ("Spent", Some(spent(&head.usage))),
        ];
        to.extend_from_slice(b"| | |\n|---|---|\n");
        for (name, value) in rows {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                to.extend_from_slice(format!("| {name} | {} |\n", inline(&value)).as_bytes());
            }
        }
        to.push(b'\n');
        if head.is_branched() {
            for branch in head.own_branches() {
                let line = format!("- {}\n", inline(&lookup::description(branch)));
                to.extend_from_slice(line.as_bytes());
            }
            to.push(b'\n');
        }
        if let Some(prompt) = &head.system_prompt {
            paragraph("## System prompt", to);
            fence("", prompt, to);
        }
    }

    fn item(&mut self, head: &Head, item: &Item, to: &mut Vec<u8>) {
        if let Some(branch) = self.change.at(head, item) {
            paragraph("---", to);
            paragraph(&format!("# {}", inline(&lookup::heading(branch))), to);
        }
        match &item.content {
            Content::Message(message) => self.message(item, message, to),
            Content::Note(note) => self.note(note, to),
        }
        for fork in &item.forks {
            let branch = head.branches.get(*fork as usize);
            let line = branch.map(|branch| format!("⑂ *{}*", inline(&lookup::description(branch))));
            line.iter().for_each(|line| paragraph(line, to));
        }
    }

    fn end(&mut self, _head: &Head, _to: &mut Vec<u8>) {}
}

fn paragraph(text: &str, to: &mut Vec<u8>) {
    let text = text.trim_end();
    if !text.is_empty() {
        to.extend_from_slice(text.as_bytes());
        to.extend_from_slice(b"\n\n");
    }
}

/// Returns a text with a capital letter.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Writes a block of code, whose fence is longer than any in the code.
fn fence(info: &str, text: &str, to: &mut Vec<u8>) {
    let text = clean(text);
    let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    to.extend_from_slice(format!("{fence}{info}\n{text}{end}{fence}\n\n").as_bytes());
}

/// Returns code in a line.
fn code(text: &str) -> String {
    let text = one_line(&clean(text), usize::MAX);
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

fn quote(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

/// Returns plain text in one line, in which nothing is markup.
pub fn inline(text: &str) -> String {
    let text = one_line(&clean(text), usize::MAX);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '&' | '~') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Returns a list of views, given by their paths.
pub fn index(entries: &[(String, Entry)]) -> String {
    let mut to = MARKDOWN.to_vec();
    paragraph(" -->", &mut to);
    let count = entries.len();
    let word = if count == 1 { "session" } else { "sessions" };
    paragraph(&format!("# {count} {word}"), &mut to);
    to.extend_from_slice(b"| Session | Agent | Project | Last message | Messages | Tokens |\n");
    to.extend_from_slice(b"|---|---|---|---|--:|--:|\n");
    for (path, entry) in entries {
        let line = format!(
            "| [{}]({}) | {} | {} | {} | {} | {} |\n",
            inline(&entry.title),
            address(path),
            inline(&entry.agent),
            inline(&entry.project),
            inline(&entry.date),
            entry.messages,
            entry.tokens()
        );
        to.extend_from_slice(line.as_bytes());
    }
    String::from_utf8_lossy(&to).into_owned()
}
