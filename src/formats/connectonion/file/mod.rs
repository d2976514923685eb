//! Versions 1 and 2, and the summaries of version 3: a YAML file, as `yaml.dump` of PyYAML writes
//! it.
//!
//! Version 2 is one file an agent: all turns come first, as summaries, then `messages` with the
//! whole conversation by turn. In version 1, one file a process, each turn contains its `messages`
//! itself, as JSON text that repeats all messages before it. In version 3 the messages are in
//! separate files, and `evals/<slug>.yaml` sums up the runs of `evals/<slug>/`; evaluations that
//! users write are among these summaries.
//!
//! | top | canonical |
//! |---|---|
//! | `name` | `agent` of `session` |
//! | `timestamp` (version 1) | `created` |
//! | `session_id`, `created`, `updated` (version 2) | `id`, `created`, `updated` |
//! | `total_cost`, `total_tokens` (version 2) | `totals` |
//! | `system_prompt` (version 2) | `system_prompt` of a second `session` record, behind the turns |
//! | `name`, `created`, `updated`, `model` (summary) | the same |
//! | `runs` (summary) | `totals` |
//! | `agent` (evaluation) | the same |
//! | `run`, `output`, `history` of a turn (version 3) | `attempt`, `result`, `history` |
//! | `meta` of a turn (summary) | `tokens`, `total_cost`, `duration`, `time` |
//! | a turn | `turn`; `expected`, `evaluation` and what people add for a check are its `eval` |
//! | a message of turn `n` | `message` with `turn` `n`; of a list of version 1 only what it adds |
//! | any other member | `extra` of the record that it belongs to |
//!
//! The `layout` of the turn records how a list of version 1 begins: no layout for a list that
//! begins with the whole list before it, `apart` with only the system message of that list, `alone`
//! with nothing of it; `none` is a turn without a list. A system message that differs from the
//! first is `excluded`.
//!
//! The `layout` of the session is `index` for a summary and `authored` for an evaluation. Neither
//! contains messages, so the reader makes `synthesized` records from question and answer of each
//! turn.
//!
//! The agent does not write its answer into `messages`, and in version 2 after a restart omits
//! whole questions: the reader restores both from the turn, as `synthesized` records.

mod assembly;
mod dated;
mod list;
mod outline;
mod queue;
mod read;
mod sniff;
mod tee;
mod top;
mod turn;
mod turns;
mod write;

pub use dated::open as open_dated_writer;
pub use outline::outline;
pub use read::{open, pieces};
pub use sniff::{is_known, shape, shape_of_turns};
pub use top::{AUTHORED, DATED, INDEX, KEYED, Lists, Shape, put};
pub use turn::{earlier_runs, text_of};
pub use write::open as open_writer;

/// The layout of a notice for a key of `messages` that does not follow from the turns.
const KEY: &str = "key";
/// The layout of a notice for such a key that is spelled as a text.
const TEXT_KEY: &str = "text key";
/// The layout of a notice for such a key without a list.
const NULL_KEY: &str = "null key";
const NULL_TEXT_KEY: &str = "null text key";
