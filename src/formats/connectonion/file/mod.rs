//! Version 2: one YAML file an agent, as `yaml.dump` of PyYAML writes it.
//!
//! All turns come first, in short, then `messages` with the whole conversation by turn.
//!
//! | top | canonical |
//! |---|---|
//! | `name`, `session_id`, `created`, `updated` | `agent`, `id`, `created`, `updated` of `session` |
//! | `total_cost`, `total_tokens` | `totals` |
//! | `system_prompt` | `system_prompt` of a second `session` record, behind the turns |
//! | a turn | `turn`; `expected`, `evaluation` and what people add for a check are its `eval` |
//! | a message under turn `n` | `message` with `turn` `n` |
//! | any other member | `extra` of the record that it belongs to |
//!
//! The agent keeps its answer out of `messages`, and after a restart whole questions: the reader
//! restores both from the turn, as `synthesized` records.

mod assembly;
mod read;
mod shadow;
mod top;
mod turn;
mod turns;
mod write;

pub use read::{open, pieces};
pub use write::open as open_writer;

/// How far aliases may expand, in bytes.
const EXPANSION: u64 = 64 << 20;

/// Whether the beginning of a file is that of such a file.
#[must_use]
pub fn is_file(head: &str) -> bool {
    // A file that was written anew may have its members in the order of their names.
    let listed = head.split_once("\nmessages:\n  ").is_some_and(|(_, list)| {
        let key = list.split(':').next().unwrap_or_default();
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit())
    });
    // What stands behind the turns may look like anything.
    let prompt = head.find("\nsystem_prompt:").or(head.find("\nmessages:"));
    let head = prompt.and_then(|end| head.get(..end)).unwrap_or(head);
    let begins = |key: &str| {
        let key = format!("{key}:");
        head.lines().any(|line| line.starts_with(&key))
    };
    // The summaries of version 3 have the same turns, each with the number of a run.
    let summary = begins("runs") || head.lines().any(|line| line.starts_with("  run: "));
    let earlier = head.lines().any(|line| line.starts_with("  messages: "));
    listed || (begins("name") && begins("turns") && !summary && !earlier)
}
