//! Rows for training: what a model was sent and answered, one JSON object for each conversation, in
//! the shapes that training programs and interfaces read.
//!
//! A row is one branch from its root to its end, as a model would get it. Each call has its result
//! directly behind it, identifiers of calls occur once, and names of tools are those that
//! interfaces accept. What a shape has no place for is left out and counted in [`Counts`].
//!
//! Sources: the request types of the packages openai 3.57 and anthropic 2.14, the chat templates of
//! TRL 1.16, and the converter of LLaMA-Factory 0.9.5.

mod anthropic;
mod branches;
mod chat;
mod choices;
mod counts;
mod items;
mod openai;
mod passed;
mod sharegpt;
mod sts;
mod trl;

pub use choices::{Choices, Per, Reasoning, Style};
pub use counts::Counts;

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::ids::hash;
use crate::json::{Unit, refused_units};
use branches::leaves;
use chat::{Chat, Message};
use passed::is_passed;
use std::collections::HashSet;

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The JSON object, on one line without a line ending; several lines for the style `sts`.
    pub text: Vec<u8>,
    /// Hashes of the conversation after each of its messages. Rows that begin alike begin with the
    /// same hashes.
    pub marks: Vec<u64>,
    /// Number of questions.
    pub turns: u64,
    /// Whether a tool reported an error.
    pub has_errors: bool,
}

/// The rows of one session, and what was left out of them.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The rows; none for a session without an answer.
    pub rows: Vec<Row>,
    /// Whether the session has no rows because its checks were not passed.
    pub has_failed: bool,
    /// Counts of contents that the rows do not have, or have otherwise.
    pub counts: Counts,
}

/// Returns the rows of a session.
///
/// # Errors
/// If the format has no rules for what a model is sent, or the session cannot be read.
pub fn rows(
    format: &'static Format,
    parts: &mut dyn Parts,
    choices: &Choices,
    cx: &Cx<'_>,
) -> Result<Rows> {
    let mut made = Rows::default();
    if choices.passed && !is_passed(format, parts, &Cx { log: &Log::default(), ..*cx })? {
        return Ok(Rows { has_failed: true, ..made });
    }
    let ends = match choices.per {
        Per::Branch => leaves(format, parts, cx)?,
        Per::Session | Per::Turn => vec![None],
    };
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    for (number, leaf) in ends.iter().enumerate() {
        let cx = if number == 0 { cx } else { &quiet };
        let chat = Chat::read(format, parts, leaf.as_ref(), choices, cx, &mut made.counts)?;
        for (end, weighed) in pieces(&chat, choices) {
            made.rows.extend(row(&chat, end, weighed, choices, &mut made.counts));
        }
    }
    if choices.per == Per::Branch {
        without_contained(&mut made.rows);
    }
    Ok(made)
}

/// Returns how many messages each row of a conversation has, and the first message whose answers
/// count in training.
fn pieces(chat: &Chat, choices: &Choices) -> Vec<(usize, usize)> {
    let all = chat.messages.len();
    if choices.per != Per::Turn {
        return vec![(all, 0)];
    }
    let questions = chat.messages.iter().enumerate();
    let questions = questions.filter(|(_, message)| matches!(message, Message::User(_)));
    let mut begins: Vec<usize> = questions.map(|(place, _)| place).collect();
    begins.dedup_by(|next, before| *next == *before + 1);
    let ends = begins.iter().skip(1).copied().chain([all]);
    begins.iter().zip(ends).map(|(begin, end)| (end, *begin)).collect()
}

fn row(
    chat: &Chat,
    end: usize,
    weighed: usize,
    choices: &Choices,
    counts: &mut Counts,
) -> Option<Row> {
    let messages = chat.messages.get(..end)?;
    let has_answer = messages.iter().any(|message| matches!(message, Message::Answer(_)));
    if !has_answer {
        return None;
    }
    let system = chat.system.as_ref();
    let mut text = match choices.style {
        Style::OpenAi => openai::row(system, messages, counts),
        Style::Finetune => openai::finetune(system, messages, weighed, counts),
        Style::Trl => trl::row(system, messages, counts),
        Style::ShareGpt => sharegpt::row(system, messages, counts),
        Style::Anthropic => anthropic::row(system, messages, counts),
        Style::Sts => Some(sts::row(&chat.id, system, messages, counts)),
    }?;
    counts.add("lone surrogates", whole_characters(&mut text));
    let marks = messages.iter().scan(0, |mark, message| {
        *mark = hash(&[&u64::to_le_bytes(*mark)[..], &message.mark()].concat());
        Some(*mark)
    });
    let turns = messages.iter().filter(|message| matches!(message, Message::User(_))).count();
    let failed = |message: &Message| matches!(message, Message::Result(result) if result.failed);
    Some(Row {
        text,
        marks: marks.collect(),
        turns: turns as u64,
        has_errors: messages.iter().any(failed),
    })
}

/// Leaves out rows that another row of the session contains, with a branch that ends earlier.
fn without_contained(rows: &mut Vec<Row>) {
    let inside = |row: &Row| row.marks.iter().rev().skip(1).copied().collect::<Vec<_>>();
    let within: HashSet<u64> = rows.iter().flat_map(inside).collect();
    let mut seen = HashSet::new();
    rows.retain(|row| {
        let Some(end) = row.marks.last() else { return false };
        !within.contains(end) && seen.insert(*end)
    });
}

/// Replaces halves of surrogate pairs, which are no characters, and returns how many there were.
/// Readers of data frames fail on them, or lose the message.
fn whole_characters(text: &mut [u8]) -> u64 {
    let halves: Vec<_> =
        refused_units(text).filter(|(_, unit)| *unit == Unit::Half).map(|(span, _)| span).collect();
    for span in &halves {
        if let Some(half) = text.get_mut(span.start..span.end) {
            half.copy_from_slice(b"\\ufffd");
        }
    }
    halves.len() as u64
}
