//! The list of pages.

use super::begin;
use super::prose::escaped;
use crate::show::entry::{Entry, address};
use std::fmt::Write as _;

/// Returns a page that lists pages, given by their paths.
pub fn index(entries: &[(String, Entry)]) -> String {
    let mut out = String::new();
    let count = entries.len();
    let title = if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") };
    begin(&title, None, "", &mut out);
    let _ = writeln!(
        out,
        "<main class=\"index\">\n<section id=\"overview\"><h1>{title}</h1></section>\n<table>\n<thead><tr>\
         <th>Session</th><th>Agent</th><th>Project</th><th>Last message</th>\
         <th class=\"number\">Messages</th><th class=\"number\">Tokens</th></tr></thead>\n<tbody>"
    );
    for (path, entry) in entries {
        let cell = |text: &str| escaped(text).into_owned();
        let _ = writeln!(
            out,
            "<tr><td><a href=\"{}\">{}</a></td><td>{}</td><td class=\"soft\">{}</td><td class=\"soft date\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
            address(path),
            cell(&entry.title),
            cell(&entry.agent),
            cell(&entry.project),
            cell(&entry.date),
            entry.messages,
            cell(&entry.tokens())
        );
    }
    out.push_str("</tbody>\n</table>\n</main>\n</body>\n</html>\n");
    out
}
