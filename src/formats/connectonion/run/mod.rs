//! Version 3: `run_N.yaml`, a whole conversation.
//!
//! ConnectOnion writes these files by hand: a header of one line a field, and under `messages: |`
//! a JSON array with one message a line. What it writes so is often no YAML that a parser takes
//! (a system prompt that begins with a space, control characters), so the lines are read as
//! lines.
//!
//! | header | canonical |
//! |---|---|
//! | `agent`, `system_prompt`, `model`, `cwd` | the same names, in `session` |
//! | `timestamp` | `updated`: it is written at the end of a turn |
//! | `tokens`, `cost`, `duration_ms` | `totals` |
//! | any other line `key: value` | `extra` |

mod header;
mod read;
mod write;

pub use header::is_run;
pub use read::{open, pieces};
pub use write::open as open_writer;

/// The line that the messages follow.
const MESSAGES: &str = "messages: |";
/// How the array of messages begins and ends.
const OPEN: &str = "  [";
const CLOSE: &str = "  ]";
/// What stands before each message.
const INDENT: &str = "    ";
