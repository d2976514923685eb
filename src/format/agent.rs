//! Description of how the software of a format uses a session.

use super::{Context, Inserted, Interface, Marks, Mends, Prompt, Reader, Totals, Turns};
use crate::json::Json;
use crate::record::{Field, Node, Record, turns};

/// Facts about the use of a session by its software: what the software sends, changes and adds.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Builds the messages that the format's own software sends to a model, if its rules are known.
    pub context: Option<ContextFn>,
    /// Turns that the software takes back, if it can.
    pub rewind: Option<Rewind>,
    /// Finds the messages that one request of a run showed to a model, where sessions keep
    /// requests.
    pub prompt: Option<PromptFn>,
    /// Returns the words of the command by which the software continues a session, from the session's
    /// identifier and the path of its main file. `None` where there is no such command.
    pub command: Option<CommandFn>,
    /// The reason why no command is known that continues a session.
    pub unresumable: &'static str,
    /// Whether an answer is one message, however many tools it calls.
    pub whole_answers: bool,
    /// Whether a result is in one place with its call, so that results have the order of their calls.
    pub results_in_calls: bool,
    /// Turns the records of a relative's file into those that the software itself reads.
    pub plain: Option<PlainFn>,
    /// Whether the software continues a session at the last entry of its file.
    pub ends_at_last: bool,
    /// Whether the software puts entries into another order than that of the file.
    pub reorders: bool,
    /// Faults that the software mends in a history before it sends it.
    pub mends: Mends,
    /// The interface to which the software sends a history, where sessions do not decide on it.
    pub interface: Interface,
    /// Text that the software sends as the result of a call without one.
    pub unanswered: &'static str,
    /// Names records that the software adds to a session by itself. Where it names the session's own
    /// record, the software changes this one's unnamed members.
    pub additions: Option<AdditionFn>,
    /// Makes the record that gives a session a new name, where this is no `session_info`.
    pub rename: Option<RenameFn>,
    /// Fields of the session's record that the software fills by itself where they are missing.
    pub fills: &'static [Field],
    /// Whether the software removes sessions that were not updated for long, so that one that is
    /// written counts as updated now.
    pub expires: bool,
    /// Whether the session's record names copyist as the program that began the file.
    pub is_ours: Option<fn(&Node) -> bool>,
    /// Returns the running totals of tokens and cost that the software notes in a record.
    pub totals: Option<TotalsFn>,
    /// Returns the number of tokens of the model's window that the software notes in a record.
    pub window: Option<fn(&Record) -> Option<u64>>,
    /// Texts that the software writes in the name of the user.
    pub inserted: Inserted,
    /// Records without which the software continues a session as before.
    pub spare: Spare,
}

/// Records without which the software continues a session as before: they show progress, save files
/// for going back, or repeat the output of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Spare {
    /// Types of records that can be left out.
    pub records: &'static [&'static str],
    /// Whether the data of an event repeat the output of a tool.
    pub repeats: fn(&Json) -> bool,
}

impl Agent {
    /// No rule is known.
    pub const UNKNOWN: Self = Self {
        context: None,
        rewind: None,
        prompt: None,
        command: None,
        unresumable: "no command is known",
        whole_answers: false,
        results_in_calls: false,
        plain: None,
        ends_at_last: false,
        reorders: false,
        mends: Mends::Nothing,
        interface: Interface::ChatCompletions,
        unanswered: turns::NO_RESULT,
        additions: None,
        rename: None,
        fills: &[],
        expires: false,
        is_ours: None,
        totals: None,
        window: None,
        inserted: Inserted::NOTHING,
        spare: Spare { records: &[], repeats: |_| false },
    };
}

/// Facts about turns that the software takes back.
#[derive(Clone, Copy, Debug)]
pub struct Rewind {
    /// Returns the turns of a session of this version, if the software can take them back.
    pub turns: TurnsFn,
    /// Records at the beginning and the end of turns.
    pub marks: &'static Marks,
}

/// Begins a context with the data of the session record.
pub type ContextFn = fn(&Record) -> Box<dyn Context>;
/// Returns the turns of a session of this version, if the software can take them back.
pub type TurnsFn = fn(u32) -> Option<Box<dyn Turns>>;
/// Looks for the request with this number in the run with this identifier.
pub type PromptFn = fn(&str, f64) -> Box<dyn Prompt>;
/// Returns the words of a command that continues the session with this identifier in this file.
pub type CommandFn = fn(&str, &str) -> Vec<String>;
/// Turns the records of a relative's file into those of the format's own software.
pub type PlainFn = for<'a> fn(Reader<'a>) -> Reader<'a>;
/// Returns what a record is that the software adds to a session by itself, as a noun: `attachment`.
pub type AdditionFn = fn(&Record) -> Option<&'static str>;
/// Returns the record that gives this session this name.
pub type RenameFn = fn(&Node, &crate::json::Json) -> Record;
/// Returns the running totals in a record, one for each model.
pub type TotalsFn = fn(&Record) -> Vec<Totals>;
