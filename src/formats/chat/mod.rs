//! Rows of conversations, as training programs and interfaces of models take them. They are only
//! read: `copyist export` writes them.
//!
//! A file has a row on each line, one list of rows, or session traces one behind the other. Each row
//! or trace becomes a session.
//!
//! | row | canonical |
//! |---|---|
//! | members beside the messages | `session` |
//! | `system`, a text | `system_prompt` of the session |
//! | message of OpenAI's Chat Completions, TRL, or Anthropic's Messages | `message` |
//! | results in a message of Anthropic's Messages | `message` of role `tool` for each |
//! | `reasoning_content` and its other names | thoughts before the answer |
//! | turn of ShareGPT | `message`; a call and its result get an identifier |
//! | `prompt` and `completion` | the messages of both |
//! | session trace of Hugging Face | the same |
//!
//! Source: the request types of the packages openai 3.57 and anthropic 2.14, the chat templates of
//! TRL 1.16, the converter of LLaMA-Factory 0.9.5, and Hugging Face's page on session traces.

mod context;
mod message;
mod pairs;
mod read;
mod row;
mod turn;

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{
    Agent, Confidence, Cx, Files, Format, Head, Mends, Reach, RepairIo, RepairOptions, Repaired,
    Required, Sink, Sniffed, Version, Writer,
};
use crate::json::is_whole;
use crate::record::Kind;

/// Entry of the format in the table of formats.
pub static FORMAT: Format = Format {
    reads_only: true,
    pieces: Some(read::pieces),
    files: Files { rows: Some(read::rows), ..Files::ONE },
    agent: Agent {
        context: Some(context::open),
        unresumable: "rows are data for training, and no program continues them",
        whole_answers: true,
        mends: Mends::OpenCalls,
        unanswered: crate::context_rules::NO_RESULT,
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: "chat",
        summary: "rows of conversations for training (JSON Lines or a JSON list), only read",
        source: "openai 3.57, anthropic 2.14, TRL 1.16, LLaMA-Factory 0.9.5, Hugging Face",
        versions: &[Version {
            number: 1,
            summary: "rows of OpenAI, TRL, ShareGPT and Anthropic's Messages; session traces",
            schema: include_str!("../../../schemas/chat.schema.json"),
            tree: false,
            kinds: &[Kind::Session, Kind::Message, Kind::Opaque],
        }],
        extensions: &[".jsonl", ".ndjson", ".json"],
        sniff,
        read: read::open,
        write,
        repair,
    })
};

/// Detects rows by the first one. Any program may write such members, so each other format comes
/// first.
fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let is_called = Head::is_called(head.name, FORMAT.extensions);
    let mut lines = head.lines();
    let is_torn = lines.next().is_some_and(|line| line.starts_with(b"{") && !is_whole(line));
    let is_row = row::is_row(row::first(head.bytes)) || is_torn && lines.any(row::is_row);
    (is_called && is_row).then_some(Sniffed { confidence: Confidence::Weak, version: 1 })
}

fn write<'a>(
    _: &'a mut dyn Sink,
    _: &'static Version,
    _: &'a Cx<'a>,
) -> Result<Box<dyn Writer + 'a>> {
    Err(Error::request(Code::ReadsOnly, "rows are only read; `copyist export` writes them"))
}

/// Reads a row. It is whole, or nothing of it can be recovered: a conversation without its end is
/// another one.
fn repair(io: &mut dyn RepairIo, _: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let records =
        read::open(io.parts(), cx)?.try_fold(0, |count, record| record.map(|_| count + 1))?;
    io.begin(false)?;
    io.keep("")?;
    let reach = Reach { entries: records, messages: records };
    Ok(Repaired { records, ..Repaired::default() }.reaching(reach, reach))
}
