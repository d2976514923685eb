//! Messages of Anthropic's Messages interface, as Claude's programs store and print them.

pub mod block;
pub mod context;
mod split;

pub use split::split;
