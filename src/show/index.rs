//! Lists of views.

use super::entry::Entry;
use super::{Form, markdown, page};

/// Returns a list of views, given by their paths from the list, with links to them; `None` for a
/// form that has no lists.
#[must_use]
pub fn index(form: Form, entries: &[(String, Entry)]) -> Option<String> {
    match form {
        Form::Html => Some(page::index(entries)),
        Form::Markdown => Some(markdown::index(entries)),
        _ => None,
    }
}
