//! Running totals of tokens and cost.

/// Tokens and cost of a session up to a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// The model, if each has totals of its own.
    pub model: Option<String>,
    /// Tokens sent, without those of the cache.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// Cost in US dollars.
    pub cost: f64,
}
