//! Counts of the differences between two sessions.

use serde::Serialize;
use std::collections::BTreeMap;

/// Differences between two sessions, by name. A record that only one of them has is named by its
/// kind; a field of corresponding records is named by kind and path. `[*]` represents all places of
/// a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Differences {
    /// Records and fields that only the first session has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub removed: BTreeMap<String, u64>,
    /// Fields whose values differ in the second session.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, u64>,
    /// Records and fields that only the second session has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub added: BTreeMap<String, u64>,
}
