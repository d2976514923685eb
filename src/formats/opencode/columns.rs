//! Columns of a session's row, and the members of `info` that they contain.
//!
//! Source: the databases of the releases 1.2.27 and 1.18.33, and what these releases export.

use crate::json::Json;
use crate::mapping::Extra;
use crate::sqlite::Row;

/// A member of `info`, with dots between the names of objects, the column that contains it, and
/// whether the column contains the text of a JSON value.
type Column = (&'static str, &'static str, bool);

/// Columns, in the order in which the program exports them.
const COLUMNS: &[Column] = &[
    ("id", "id", false),
    ("slug", "slug", false),
    ("projectID", "project_id", false),
    ("workspaceID", "workspace_id", false),
    ("directory", "directory", false),
    ("path", "path", false),
    ("parentID", "parent_id", false),
    ("title", "title", false),
    ("agent", "agent", false),
    ("model", "model", true),
    ("version", "version", false),
    ("summary.additions", "summary_additions", false),
    ("summary.deletions", "summary_deletions", false),
    ("summary.files", "summary_files", false),
    ("summary.diffs", "summary_diffs", true),
    ("cost", "cost", false),
    ("tokens.input", "tokens_input", false),
    ("tokens.output", "tokens_output", false),
    ("tokens.reasoning", "tokens_reasoning", false),
    ("tokens.cache.read", "tokens_cache_read", false),
    ("tokens.cache.write", "tokens_cache_write", false),
    ("share.url", "share_url", false),
    ("metadata", "metadata", true),
    ("revert", "revert", true),
    ("permission", "permission", true),
    ("time.created", "time_created", false),
    ("time.updated", "time_updated", false),
    ("time.compacting", "time_compacting", false),
    ("time.archived", "time_archived", false),
];

/// Returns the object `info` of a session's row.
pub fn info(row: &Row) -> Json {
    object(COLUMNS, 0, row).unwrap_or(Json::constant("{}"))
}

/// Returns the row of a session with this `info`. Columns for which it has no member are left out.
pub fn row(info: &Json) -> Row {
    let value = |(path, column, is_json): &Column| {
        let value = path.split('.').try_fold(info.clone(), |object, name| object.member(name))?;
        let value = match is_json {
            true => Json::string(&String::from_utf8_lossy(value.as_bytes())),
            false => value,
        };
        Some(((*column).to_owned(), value))
    };
    Row(COLUMNS.iter().filter_map(value).collect())
}

/// Returns the object whose members these columns are: its names are the pieces of the paths at
/// this depth.
fn object(mut columns: &[Column], depth: usize, row: &Row) -> Option<Json> {
    let name = |column: &Column| column.0.split('.').nth(depth);
    let mut out = Extra::default();
    while let Some(first) = columns.first() {
        let count = columns.iter().take_while(|column| name(column) == name(first)).count();
        let (own, rest) = columns.split_at(count);
        let is_object = first.0.split('.').count() > depth + 1;
        let value = if is_object { object(own, depth + 1, row) } else { value(row, first) };
        let key = Json::string(name(first).unwrap_or_default());
        value.iter().for_each(|value| out.add(key.as_bytes(), value.as_bytes()));
        columns = rest;
    }
    out.finish()
}

/// Returns the value in a column, if there is one.
fn value(row: &Row, (_, column, is_json): &Column) -> Option<Json> {
    let value = row.value(column).filter(|value| !value.is_null())?;
    if *is_json {
        return value.parsed();
    }
    // Numbers with a fraction have an exponent in rows.
    let has_exponent = value.text().is_none() && value.as_bytes().contains(&b'e');
    if has_exponent { value.float().map(Json::from_f64) } else { Some(value.clone()) }
}
