//! Messages of Anthropic's Messages interface, as Claude's programs store and print them.

pub mod block;
pub mod context;
pub mod members;
mod split;

pub use split::split;

use crate::mapping::{Row, row};
use crate::record::Field;

/// Members of an answer's `usage`.
pub static USAGE: &[Row] = &[
    row("input_tokens", Field::InputTokens),
    row("cache_creation_input_tokens", Field::CacheWrite),
    row("cache_read_input_tokens", Field::CacheRead),
    row("output_tokens", Field::OutputTokens),
];
