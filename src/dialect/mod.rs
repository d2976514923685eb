//! Message shapes of model interfaces, each read and written in one place for all formats that
//! store messages in that shape.

pub mod anthropic;
