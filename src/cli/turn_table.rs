//! Turns as a table, as wide as the terminal.

use super::text::printable;
use super::text::{cropped, number};
use crate::turns::{Check, Turn};
use textwrap::core::display_width;

/// Number of turns up to which all are shown, and number of those at each end of a longer list.
const ALL: usize = 12;
const ENDS: usize = 5;

/// Minimum width of a column whose texts are cropped, and width of a table that shows expected
/// answers and each kind of tokens.
const LEAST: usize = 8;
const WIDE: usize = 120;

/// A column: its name, whether its texts can be cropped, and its cell for a turn.
struct Column {
    name: &'static str,
    is_text: bool,
    cell: fn(&Turn) -> String,
}

/// A column with its cells.
type Filled<'c> = (&'c Column, Vec<String>);

const fn column(name: &'static str, is_text: bool, cell: fn(&Turn) -> String) -> Column {
    Column { name, is_text, cell }
}

const COLUMNS: &[Column] = &[
    column("turn", false, |turn| turn.number.to_string()),
    column("input", true, |turn| turn.input.clone()),
    column("tools", true, |turn| tools(&turn.tools)),
    column("check", true, |turn| turn.check.as_ref().map(Check::words).unwrap_or_default()),
];

const EXPECTED: Column = column("expected", true, |turn| {
    turn.check.as_ref().and_then(Check::expectation).unwrap_or_default()
});

const TOKENS: &[Column] = &[column("tokens", false, |turn| count(turn.usage.all()))];

const KINDS_OF_TOKENS: &[Column] = &[
    column("in", false, |turn| count(turn.usage.input)),
    column("out", false, |turn| count(turn.usage.output)),
    column("cached", false, |turn| count(turn.usage.cache_read)),
    column("in all", false, |turn| count(turn.usage.tokens)),
];

const ENDING: &[Column] = &[
    column("cost", false, |turn| cost(turn.usage.cost)),
    column("time", false, |turn| turn.duration.map(time).unwrap_or_default()),
];

/// Returns the lines of the table: every turn, or the first and the last ones.
pub fn lines(turns: &[Turn], width: usize, all: bool) -> Vec<String> {
    if turns.is_empty() {
        return Vec::new();
    }
    let ends = if all || turns.len() <= ALL { turns.len() } else { ENDS };
    let (first, rest) = turns.split_at(ends);
    let last = rest.get(rest.len().saturating_sub(ENDS)..).unwrap_or_default();
    let shown: Vec<&Turn> = first.iter().chain(last).collect();
    let is_wide = width >= WIDE;
    let tokens = if is_wide { KINDS_OF_TOKENS } else { TOKENS };
    let columns = COLUMNS.iter().chain(is_wide.then_some(&EXPECTED)).chain(tokens).chain(ENDING);
    let columns: Vec<Filled<'_>> = columns
        .map(|column| (column, shown.iter().map(|turn| printable(&(column.cell)(turn))).collect()))
        .filter(|(_, cells): &Filled<'_>| cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let widths = widths(&columns, width);
    let line = |cell: &dyn Fn(&Filled<'_>) -> String| {
        let cells = columns.iter().zip(&widths).map(|(column, width)| {
            let text = cropped(&cell(column), *width);
            let blank = " ".repeat(width.saturating_sub(display_width(&text)));
            if column.0.is_text { text + &blank } else { blank + &text }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&|(column, _)| column.name.to_owned())];
    for row in 0..shown.len() {
        if row == ends {
            let more = number((turns.len() - shown.len()) as f64);
            lines.push(format!("… {more} more turns; --turns lists all"));
        }
        lines.push(line(&|(_, cells)| cells.get(row).cloned().unwrap_or_default()));
    }
    lines
}

/// Returns the widths of the columns. Where the table is too wide, the widest text gives way.
fn widths(columns: &[Filled<'_>], width: usize) -> Vec<usize> {
    let widest = |(column, cells): &Filled<'_>| {
        let cells = cells.iter().map(|cell| display_width(cell));
        cells.chain([display_width(column.name)]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = columns.iter().map(widest).collect();
    let gaps = 2 * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let texts = columns.iter().zip(&mut widths).filter(|((column, _), _)| column.is_text);
        let Some((_, most)) = texts.max_by_key(|(_, width)| **width) else { break };
        if *most <= LEAST {
            break;
        }
        *most -= 1;
    }
    widths
}

/// Returns the names of tools, each with the number of its calls one after the other.
pub fn tools(names: &[String]) -> String {
    let runs = names.chunk_by(|a, b| a == b).filter_map(|run| Some((run.first()?, run.len())));
    let runs = runs.map(|(name, calls)| match calls {
        1 => name.clone(),
        calls => format!("{name} ×{calls}"),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// Returns a number of tokens; nothing for none.
pub fn count(tokens: f64) -> String {
    if tokens > 0.0 { number(tokens) } else { String::new() }
}

/// Returns a cost; nothing for none.
pub fn cost(cost: f64) -> String {
    if cost > 0.0 { format!("{cost:.4}") } else { String::new() }
}

/// Returns a duration in milliseconds in words.
pub fn time(milliseconds: f64) -> String {
    let seconds = milliseconds / 1000.0;
    let (minutes, hours) = ((seconds / 60.0) as u64, (seconds / 3600.0) as u64);
    match () {
        () if seconds < 60.0 => format!("{seconds:.1} s"),
        () if hours == 0 => format!("{minutes} min {:02} s", seconds as u64 % 60),
        () => format!("{hours} h {:02} min", minutes % 60),
    }
}
