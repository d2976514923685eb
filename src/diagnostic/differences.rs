//! What differs between a session and another one, counted.

use serde::Serialize;
use std::collections::BTreeMap;

/// What differs between two sessions, by name: that of its kind for a record which only one of them
/// has, kind and path for a field of records that stand for each other. `[*]` stands for all places
/// of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// What only the first session has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub removed: BTreeMap<String, u64>,
    /// What the second session says otherwise.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, u64>,
    /// What only the second session has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub added: BTreeMap<String, u64>,
}
