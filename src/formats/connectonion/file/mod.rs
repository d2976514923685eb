//! Versions 1 and 2: a YAML file, as `yaml.dump` of PyYAML writes it.
//!
//! Version 2 is one file an agent: all turns come first, in short, then `messages` with the whole
//! conversation by turn. In version 1, one file a process, each turn has its `messages` itself: as
//! JSON text, which repeats all messages before it.
//!
//! | top | canonical |
//! |---|---|
//! | `name` | `agent` of `session` |
//! | `timestamp` (version 1) | `created` |
//! | `session_id`, `created`, `updated` (version 2) | `id`, `created`, `updated` |
//! | `total_cost`, `total_tokens` (version 2) | `totals` |
//! | `system_prompt` (version 2) | `system_prompt` of a second `session` record, behind the turns |
//! | a turn | `turn`; `expected`, `evaluation` and what people add for a check are its `eval` |
//! | a message of turn `n` | `message` with `turn` `n`; of a list of version 1 only what it adds |
//! | any other member | `extra` of the record that it belongs to |
//!
//! How a list of version 1 begins is the `layout` of the turn: without one with the whole list
//! before it, `apart` with the system message of that, `alone` with nothing of it; `none` is a turn
//! without a list. A system message that differs from the first is `excluded`.
//!
//! The agent keeps its answer out of `messages`, and in version 2 after a restart whole questions:
//! the reader restores both from the turn, as `synthesized` records.

mod assembly;
mod dated;
mod list;
mod queue;
mod read;
mod shadow;
mod sniff;
mod top;
mod turn;
mod turns;
mod write;

pub use dated::open as open_dated_writer;
pub use read::{open, pieces};
pub use sniff::version;
pub use top::{DATED, KEYED, Shape};
pub use write::open as open_writer;

use crate::json::Json;
use crate::record::{Field, Node};

/// What `file.style` says of a file that is spelled for people, as this crate spells sessions that
/// come from elsewhere. Other files are spelled as PyYAML spells them.
const READABLE: &str = "readable";

/// The subtype of notices that stand for comments and blank lines between records.
const REMARK: &str = "comment";

/// The comments and blank lines that a notice stands for, if it does.
fn remark(notice: &Node) -> Option<String> {
    let said = notice.json(Field::Data).filter(|_| notice.is(Field::Subtype, REMARK));
    said.and_then(Json::text)
}
