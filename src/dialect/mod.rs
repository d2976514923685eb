//! Shapes of messages in the interfaces of model providers, each read and written in one place.
//! Several formats store messages in such a shape.

pub mod anthropic;
pub mod chat_completions;
pub mod data_url;
pub mod image;
pub mod refusal;
pub mod responses;
