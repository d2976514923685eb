//! The view for a terminal.

mod prose;
mod table;
mod wrap;

use super::edits::edits;
use super::head::{Head, minute, spent};
use super::item::{Block, Call, Content, Item, Message, Note, Output};
use super::lookup::{self, Change};
use super::summary::{main_argument, outcome};
use super::texts::clean;
use super::{Renderer, Tools};
use crate::diagnostic::printable;
use prose::Prose;
use wrap::{Ink, cropped};

/// Minimum number of columns.
const NARROWEST: usize = 20;

/// Writes text for a terminal.
pub struct Terminal {
    width: usize,
    ink: Ink,
    tools: Tools,
    change: Change,
    sub_agent: u64,
}

impl Terminal {
    /// Creates a renderer for a terminal of this width.
    pub fn new(width: usize, colors: bool, tools: Tools) -> Self {
        let (width, ink) = (width.max(NARROWEST), Ink(colors));
        Self { width, ink, tools, change: Change::default(), sub_agent: 0 }
    }

    fn line(&self, style: &str, text: &str, to: &mut Vec<u8>) {
        let text = cropped(&printable(text), self.width);
        to.extend_from_slice(self.ink.paint(style, &text).as_bytes());
        to.push(b'\n');
    }

    /// Writes a text as it is, indented, each long line in several.
    fn verbatim(&self, style: &str, indent: &str, text: &str, to: &mut Vec<u8>) {
        let room = self.width.saturating_sub(indent.len()).max(NARROWEST);
        for line in clean(text).lines() {
            for piece in wrap::pieces(&printable(&line.replace('\t', "    ")), room) {
                let line = format!("{indent}{}", self.ink.paint(style, &piece));
                to.extend_from_slice(line.trim_end().as_bytes());
                to.push(b'\n');
            }
        }
    }

    /// Writes the number of messages of sub-agents that were left out.
    fn end_sub_agent(&mut self, to: &mut Vec<u8>) {
        let count = std::mem::take(&mut self.sub_agent);
        if count > 0 {
            let word = if count == 1 { "message" } else { "messages" };
            self.line(Ink::FAINT, &format!("  … {count} {word} of a sub-agent"), to);
        }
    }

    fn message(&self, item: &Item, message: &Message, to: &mut Vec<u8>) {
        let (style, title) = match message.speaker() {
            "user" if item.begins_turn => (Ink::USER, format!("Turn {} · user", item.turn)),
            "user" => (Ink::USER, "user".to_owned()),
            "assistant" => (Ink::ASSISTANT, "assistant".to_owned()),
            other => (Ink::OTHER, other.to_owned()),
        };
        let time = item.time.as_deref().map(minute).unwrap_or_default();
        let spent = message.usage.as_ref().map(spent).unwrap_or_default();
        let name = message.name.as_deref().filter(|_| message.role != "user").unwrap_or_default();
        let excluded = if message.excluded { "not sent to the model" } else { "" };
        let label = item.label.as_ref().map(|label| format!("[{label}]")).unwrap_or_default();
        let facts = [name, &time, &spent, excluded, &label];
        let facts: Vec<_> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        if self.shows(message) {
            to.push(b'\n');
            let title = cropped(&printable(&title), self.width);
            let room = self.width.saturating_sub(wrap::columns(&title) + 2);
            let facts = cropped(&printable(&facts.join(" · ")), room);
            let line = format!(
                "{}  {}",
                self.ink.paint(style, &title),
                self.ink.paint(Ink::FAINT, &facts)
            );
            to.extend_from_slice(line.trim_end().as_bytes());
            to.push(b'\n');
        }
        let lines = message.role == "user";
        message.blocks.iter().for_each(|block| self.block(block, lines, to));
        if let Some(error) = &message.error {
            self.verbatim(Ink::ERROR, "  ", error, to);
        }
    }

    /// Whether a message has anything to show.
    fn shows(&self, message: &Message) -> bool {
        let tool = |block: &Block| matches!(block, Block::Call(_) | Block::Output(_));
        self.tools != Tools::None || message.error.is_some() || !message.blocks.iter().all(tool)
    }

    fn block(&self, block: &Block, lines: bool, to: &mut Vec<u8>) {
        match block {
            Block::Text { text } => {
                let prose = Prose { width: self.width, ink: self.ink, lines };
                prose.render(&clean(text), to);
            }
            Block::Thinking { text } if text.is_empty() => {
                self.line(Ink::FAINT, "  (thinking)", to)
            }
            Block::Thinking { text } => self.verbatim(Ink::THOUGHT, "  ", text, to),
            Block::Image { text, .. } | Block::Other { text } => {
                self.verbatim(
                    Ink::FAINT,
                    "  ",
                    &format!("[{}]", text.trim_matches(['[', ']'])),
                    to,
                );
            }
            Block::Command { command, output, exit_code } => {
                self.verbatim(Ink::CALL, "  ", &format!("$ {command}"), to);
                self.verbatim(Ink::FAINT, "    ", output, to);
                let code = exit_code.iter().map(|code| format!("exit code {code}"));
                code.for_each(|code| self.verbatim(Ink::ERROR, "    ", &code, to));
            }
            Block::Call(call) => self.call(call, to),
            Block::Output(output) => self.output(output, to),
        }
    }

    fn call(&self, call: &Call, to: &mut Vec<u8>) {
        if self.tools == Tools::None {
            return;
        }
        let failed = call.result.as_ref().is_some_and(|result| result.is_error);
        let name = printable(&call.name);
        let end = cropped(&printable(&outcome(call.result.as_ref())), self.width / 3);
        let used = wrap::columns(&name) + wrap::columns(&end) + 7;
        let argument = main_argument(call, self.width);
        let argument = cropped(&printable(&argument), self.width.saturating_sub(used));
        let style = if failed { Ink::ERROR } else { Ink::FAINT };
        let line = format!(
            "  {} {} {} {}",
            self.ink.paint(Ink::CALL, &format!("● {name}")),
            argument,
            self.ink.paint(Ink::FAINT, "→"),
            self.ink.paint(style, &end)
        );
        to.extend_from_slice(line.as_bytes());
        to.push(b'\n');
        if self.tools != Tools::Full {
            return;
        }
        let edits = edits(call);
        if edits.is_empty() {
            let text = call.arguments.text();
            let text = text.unwrap_or_else(|| pretty(call.arguments.as_bytes()));
            self.verbatim("", "    ", &text, to);
        }
        for edit in edits {
            self.verbatim(Ink::FAINT, "    ", &edit.path, to);
            for line in &edit.lines {
                let style = match line.parts().0 {
                    '+' => Ink::ADDED,
                    '-' => Ink::REMOVED,
                    '@' => Ink::FAINT,
                    _ => "",
                };
                self.verbatim(style, "    ", &line.shown(), to);
            }
        }
        if let Some(result) = &call.result {
            self.verbatim(style, "    │ ", &result.text(), to);
        }
    }

    fn output(&self, output: &Output, to: &mut Vec<u8>) {
        if self.tools == Tools::None {
            return;
        }
        let name = output.name.as_deref().unwrap_or("result");
        let style = if output.is_error { Ink::ERROR } else { Ink::FAINT };
        self.line(style, &format!("  ● {name} → {}", outcome(Some(output))), to);
        if self.tools == Tools::Full {
            self.verbatim(style, "    │ ", &output.text(), to);
        }
    }

    fn note(&self, note: &Note, to: &mut Vec<u8>) {
        let style = if note.is_error { Ink::ERROR } else { Ink::FAINT };
        to.push(b'\n');
        self.line(style, &format!("── {}", clean(&note.title)), to);
        if let Some(text) = &note.text {
            Prose { width: self.width, ink: self.ink, lines: false }.render(&clean(text), to);
        }
    }
}

/// Returns JSON with a line for each member, if it can be read.
pub fn pretty(json: &[u8]) -> String {
    let value = serde_json::from_slice::<serde_json::Value>(json);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| String::from_utf8_lossy(json).into_owned())
}

impl Renderer for Terminal {
    fn begin(&mut self, head: &Head, to: &mut Vec<u8>) {
        self.line(Ink::TITLE, &clean(&head.title), to);
        let times = head.times.as_ref().map(|(first, last)| {
            let (first, last) = (minute(first), minute(last));
            if first == last { first } else { format!("{first} to {last}") }
        });
        let models = head.models.iter().cloned().collect::<Vec<_>>().join(", ");
        let messages = format!("{} messages", head.messages);
        let first = [Some(head.format.to_owned()), head.id.clone(), Some(models)];
        let second = [head.project.clone(), times, Some(messages), Some(spent(&head.usage))];
        for facts in [first.to_vec(), second.to_vec()] {
            let facts: Vec<_> = facts.into_iter().flatten().filter(|it| !it.is_empty()).collect();
            self.line(Ink::FAINT, &facts.join(" · "), to);
        }
        if head.is_branched() {
            let count = head.own_branches().count();
            let text = format!("{count} branches; `--branch all` or `--branch N` shows the others");
            self.line(Ink::BRANCH, &text, to);
        }
    }

    fn item(&mut self, head: &Head, item: &Item, to: &mut Vec<u8>) {
        if item.of_sub_agent && self.tools != Tools::Full {
            self.sub_agent += 1;
            return;
        }
        self.end_sub_agent(to);
        if let Some(branch) = self.change.at(head, item) {
            to.push(b'\n');
            self.line(Ink::BRANCH, &format!("⑂ {}", lookup::heading(branch)), to);
        }
        match &item.content {
            Content::Message(message) => self.message(item, message, to),
            Content::Note(note) => self.note(note, to),
        }
        for fork in &item.forks {
            if let Some(branch) = head.branches.get(*fork as usize) {
                let title = lookup::description(branch);
                self.line(Ink::BRANCH, &format!("  ⑂ {title}; --branch {fork} shows it"), to);
            }
        }
    }

    fn end(&mut self, _head: &Head, to: &mut Vec<u8>) {
        self.end_sub_agent(to);
    }
}
