//! The table of sessions.

use super::style::Paint;
use super::text::cropped;
use super::text::{printable, size};
use crate::home::{Listed, State};
use crate::times;
use jiff::Timestamp;
use textwrap::core::display_width;

/// A column: its name, the width up to which it grows, whether it contains numbers, and its rank
/// when columns are left out of a narrow table; the lowest goes first, 0 stays.
struct Column {
    name: &'static str,
    most: usize,
    is_number: bool,
    rank: u8,
}

const fn column(name: &'static str, most: usize, is_number: bool, rank: u8) -> Column {
    Column { name, most, is_number, rank }
}

/// The columns before the title.
const COLUMNS: [Column; 9] = [
    column("agent", 20, false, 0),
    column("id", 36, false, 0),
    column("active", 10, false, 7),
    column("project", 28, false, 5),
    column("messages", 9, true, 4),
    column("size", 7, true, 2),
    column("tokens", 7, true, 3),
    column("cost", 9, true, 1),
    column("state", 10, false, 6),
];

/// Width that the title gets at least, if columns can be left out.
const TITLE: usize = 24;

/// Width of a table in which no column before the title is wide.
const NARROW: usize = 120;

/// Width of the widest of such columns.
const NARROW_COLUMN: usize = 18;

/// Width of the identifiers in such a table.
const NARROW_ID: usize = 13;

/// Number of characters of a title where nothing limits the width.
const LONGEST: usize = 300;

/// Formats sessions as a table. A column without values is left out.
pub fn table(sessions: &[Listed], now: Timestamp, width: Option<usize>, paint: Paint) -> String {
    let (head, lines) = head_and_lines(sessions, now, width, paint);
    if lines.is_empty() { String::new() } else { format!("{head}\n{}", lines.concat()) }
}

/// Formats sessions as the lines of a table.
pub fn lines(sessions: &[Listed], now: Timestamp, width: usize) -> Vec<String> {
    let (_, lines) = head_and_lines(sessions, now, Some(width), Paint::none());
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

fn head_and_lines(
    sessions: &[Listed],
    now: Timestamp,
    width: Option<usize>,
    paint: Paint,
) -> (String, Vec<String>) {
    let ids = short_ids(sessions);
    let rows = sessions.iter().zip(&ids).map(|(session, id)| cells(session, id, now));
    let rows: Vec<_> = rows.collect();
    let widths = widths(&rows, width);
    let room = width.map(|width| width.saturating_sub(widths.iter().map(used).sum()));
    let room = room.unwrap_or(LONGEST).max(1);
    let head = line(&COLUMNS.map(|column| column.name.to_owned()), "title", &widths, room, &plain);
    let rows = sessions.iter().zip(&rows);
    let lines = rows.map(|(session, row)| {
        let state = |text: &str| paint.state(session.summary.state, text);
        let mut text = line(row, &title(session), &widths, room, &state);
        if let Some(hit) = &session.hit {
            let room = width.unwrap_or(LONGEST).saturating_sub(2);
            text.push_str(&format!("  {}\n", cropped(&printable(hit), room)));
        }
        text
    });
    (paint.head(head.trim_end()).to_string(), lines.collect())
}

/// Returns text without a colour.
fn plain(text: &str) -> String {
    text.to_owned()
}

/// Minimum number of characters of an identifier.
const SHORTEST: usize = 8;

/// Returns the beginnings of identifiers that tell each session from those with another identifier.
fn short_ids(sessions: &[Listed]) -> Vec<String> {
    let mut all: Vec<&str> = sessions.iter().map(|session| session.summary.id.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let short = |session: &Listed| {
        let id = session.summary.id.as_str();
        let place = all.partition_point(|other| *other < id);
        let before = place.checked_sub(1).and_then(|before| all.get(before));
        let others = [before, all.get(place + 1)].into_iter().flatten();
        let shared = others.map(|other| shared(id, other)).max().unwrap_or(0);
        printable(&id.chars().take((shared + 1).max(SHORTEST)).collect::<String>())
    };
    sessions.iter().map(short).collect()
}

/// Returns how many columns of the terminal a column and the space behind it take.
fn used(width: &usize) -> usize {
    if *width > 0 { width + 2 } else { 0 }
}

/// Returns the widths of the columns; those that are left out have none.
fn widths(rows: &[[String; 9]], width: Option<usize>) -> [usize; 9] {
    let mut widths = [0; 9];
    for row in rows {
        for ((own, cell), column) in widths.iter_mut().zip(row).zip(&COLUMNS) {
            let narrow = width.is_some_and(|width| width < NARROW);
            let narrowest = if column.name == "id" { NARROW_ID } else { NARROW_COLUMN };
            let most = if narrow { column.most.min(narrowest) } else { column.most };
            *own = (*own).max(display_width(cell).min(most));
        }
    }
    for (width, column) in widths.iter_mut().zip(&COLUMNS).filter(|(width, _)| **width > 0) {
        *width = (*width).max(column.name.len());
    }
    for rank in 1..=7 {
        let total: usize = widths.iter().map(used).sum();
        if width.is_none_or(|width| total + TITLE <= width) {
            break;
        }
        let ranked = widths.iter_mut().zip(&COLUMNS).filter(|(_, column)| column.rank == rank);
        ranked.for_each(|(width, _)| *width = 0);
    }
    widths
}

fn line(
    cells: &[String; 9],
    title: &str,
    widths: &[usize; 9],
    room: usize,
    state: &dyn Fn(&str) -> String,
) -> String {
    let mut out = String::new();
    for ((cell, width), column) in cells.iter().zip(widths).zip(&COLUMNS) {
        if *width == 0 {
            continue;
        }
        let cell = if column.name == "project" { end(cell, *width) } else { cropped(cell, *width) };
        let pad = " ".repeat(width.saturating_sub(display_width(&cell)));
        let (before, after) =
            if column.is_number { (pad.as_str(), "") } else { ("", pad.as_str()) };
        let cell = if column.name == "state" { state(&cell) } else { cell };
        out.push_str(&format!("{before}{cell}{after}  "));
    }
    out.push_str(&cropped(title, room));
    format!("{}\n", out.trim_end())
}

/// Crops a path to `room` columns: its end names the project.
fn end(path: &str, room: usize) -> String {
    if display_width(path) <= room {
        return path.to_owned();
    }
    let mut start = path.len();
    for (at, _) in path.char_indices().rev() {
        if path.get(at..).map_or(0, display_width) >= room {
            break;
        }
        start = at;
    }
    format!("…{}", path.get(start..).unwrap_or_default())
}

fn title(session: &Listed) -> String {
    let summary = &session.summary;
    match (&summary.title, &summary.fault) {
        (Some(title), _) => printable(title),
        (None, Some(fault)) => format!("({})", printable(fault)),
        (None, None) => String::new(),
    }
}

fn cells(session: &Listed, id: &str, now: Timestamp) -> [String; 9] {
    let summary = &session.summary;
    let count = |count: Option<u64>| count.map(short).unwrap_or_default();
    let state = if summary.state == State::Ok { "" } else { summary.state.name() };
    [
        summary.agent.clone(),
        id.to_owned(),
        session.updated.map(|time| age(time, now)).unwrap_or_default(),
        printable(summary.project.as_deref().unwrap_or_default()),
        summary.messages.to_string(),
        size(session.size as f64),
        count(summary.tokens),
        summary.cost.map(price).unwrap_or_default(),
        state.to_owned(),
    ]
}

/// Formats a time of the last week as an age, and another one as a date.
fn age(time: Timestamp, now: Timestamp) -> String {
    let minutes = now.duration_since(time).as_mins();
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m ago"),
        60..1440 => format!("{}h ago", minutes / 60),
        1440..10080 => format!("{}d ago", minutes / 1440),
        _ => times::in_seconds(time).chars().take(10).collect(),
    }
}

/// Formats a cost; a small one with more digits.
fn price(cost: f64) -> String {
    let digits = if cost < 0.01 { 4 } else { 2 };
    format!("{cost:.digits$}")
}

/// Formats a count with a unit from 10,000 on.
pub fn short(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1000),
        1_000_000..1_000_000_000 => format!("{:.1}M", count as f64 / 1e6),
        _ => format!("{:.1}G", count as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_last_week_is_an_age() {
        let now = "2026-01-08T12:00:00Z".parse().expect("a time");
        let shown = |time: &str| age(time.parse().expect("a time"), now);
        assert_eq!(shown("2026-01-08T11:59:30Z"), "now");
        assert_eq!(shown("2026-01-08T11:15:00Z"), "45m ago");
        assert_eq!(shown("2026-01-07T13:00:00Z"), "23h ago");
        assert_eq!(shown("2026-01-02T12:00:00Z"), "6d ago");
        assert_eq!(shown("2025-12-31T12:00:00Z"), "2025-12-31");
        assert_eq!(shown("2027-01-01T12:00:00Z"), "2027-01-01");
    }

    #[test]
    fn a_path_keeps_its_end() {
        assert_eq!(end("/home/ada/project", 8), "…project");
        assert_eq!(end("/a", 8), "/a");
    }

    #[test]
    fn counts_are_short() {
        let shown = [0, 9_999, 10_000, 1_200_000, 3_000_000_000].map(short);
        assert_eq!(shown, ["0", "9999", "10k", "1.2M", "3.0G"]);
    }
}
