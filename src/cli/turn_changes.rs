//! Output of the turns of two sessions, side by side or as JSON.

use super::text::printable;
use super::text::{cropped, number};
use super::turn_table::{cost, count, time, tools};
use crate::alignment::Counts;
use crate::batch::FileReport;
use crate::diagnostic::plural;
use crate::turns::{Check, Pair, Turn, counts};
use crate::usage::Usage;
use serde_json::{Value, json};
use std::fmt::Write as _;
use textwrap::core::display_width;

/// Columns of the names of values, and of the change at the end of a line.
const NAME: usize = 11;
const CHANGE: usize = 9;

/// Returns the name of a session in the heading.
pub fn title(report: &FileReport) -> String {
    printable(&format!("{} ({})", &*report.path, report.format_name()))
}

/// Returns the pairs as JSON Lines.
pub fn as_json(pairs: &[Pair<'_>]) -> String {
    let line = |pair: &Pair<'_>| {
        let change = match (pair.a, pair.b) {
            (_, None) => "only_a",
            (None, _) => "only_b",
            _ if pair.is_same() => "same",
            _ => "changed",
        };
        let differ: Vec<_> =
            rows(pair).iter().filter(|row| row.differs).map(|row| row.name).collect();
        let differ = if pair.a.is_some() == pair.b.is_some() { differ } else { Vec::new() };
        json!({"change": change, "differ": differ, "a": pair.a, "b": pair.b}).to_string() + "\n"
    };
    let mut summary = json!({"change": "summary"});
    let numbers = serde_json::to_value(counts(pairs));
    if let (Value::Object(all), Ok(Value::Object(numbers))) = (&mut summary, numbers) {
        all.extend(numbers);
    }
    pairs.iter().map(line).collect::<String>() + &summary.to_string() + "\n"
}

/// Returns the pairs as text, at most `width` columns wide.
pub fn as_text(
    [(title_a, a), (title_b, b)]: [(&str, &[Turn]); 2],
    pairs: &[Pair<'_>],
    width: usize,
) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "--- {title_a}: {}\n+++ {title_b}: {}", sums(a), sums(b));
    for pair in pairs {
        let Some(turn) = pair.a.or(pair.b) else { continue };
        let which = match (pair.a, pair.b) {
            (Some(a), Some(b)) if a.number != b.number => {
                format!("turn {}, {}", a.number, b.number)
            }
            (_, None) => format!("only in A: turn {}", turn.number),
            (None, _) => format!("only in B: turn {}", turn.number),
            _ => format!("turn {}", turn.number),
        };
        let head = printable(&format!("{which}: {}", turn.input));
        let _ = writeln!(out, "\n{}", cropped(&head, width));
        let both = pair.a.is_some() == pair.b.is_some();
        rows(pair).iter().for_each(|row| out.push_str(&row.line(both, width)));
    }
    let _ = writeln!(out, "\n{}", summary(pairs));
    out
}

/// Returns the number of turns, and what they cost together.
fn sums(turns: &[Turn]) -> String {
    let mut usage = Usage::default();
    turns.iter().for_each(|turn| usage.join(turn.usage));
    let durations: Vec<f64> = turns.iter().filter_map(|turn| turn.duration).collect();
    let duration = (!durations.is_empty()).then(|| time(durations.iter().sum()));
    let tokens = Some(count(usage.all())).filter(|it| !it.is_empty()).map(|it| it + " tokens");
    let cost = Some(cost(usage.cost)).filter(|it| !it.is_empty()).map(|it| format!("cost {it}"));
    let parts = [Some(plural(turns.len() as u64, "turn")), tokens, cost, duration];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the counts of pairs in words.
fn summary(pairs: &[Pair<'_>]) -> String {
    let Counts { same, changed, only_a, only_b, .. } = counts(pairs);
    let mut parts = vec![format!("{} in both", plural(same + changed, "turn"))];
    if changed > 0 {
        let tools = pairs.iter().filter(|pair| pair.tools_differ()).count();
        let results = pairs.iter().filter(|pair| pair.results_differ()).count();
        parts.push(format!(
            "tools differ in {}, results in {}",
            number(tools as f64),
            number(results as f64)
        ));
    } else if same > 0 {
        parts.push("tools and results are the same".to_owned());
    }
    parts.extend((only_a > 0).then(|| format!("{only_a} only in A")));
    parts.extend((only_b > 0).then(|| format!("{only_b} only in B")));
    parts.join("; ")
}

/// One value of two turns.
struct Row {
    name: &'static str,
    a: String,
    b: String,
    differs: bool,
    /// Change of a number, in percent.
    change: Option<f64>,
}

/// Returns the values of two turns that at least one of them has.
fn rows(pair: &Pair<'_>) -> Vec<Row> {
    let texts = |name, value: &dyn Fn(&Turn) -> String, differs: Option<bool>| {
        let [a, b] = [pair.a, pair.b].map(|turn| turn.map(value).unwrap_or_default());
        let differs = differs.unwrap_or(a != b);
        Row { name, a, b, differs, change: None }
    };
    let numbers = |name, value: &dyn Fn(&Turn) -> f64, shown: fn(f64) -> String| {
        let [a, b] = [pair.a, pair.b].map(|turn| turn.map(value).unwrap_or_default());
        let change = (a > 0.0 && b > 0.0).then(|| (b / a - 1.0) * 100.0);
        let words = |it: f64| if it > 0.0 { shown(it) } else { String::new() };
        Row { name, a: words(a), b: words(b), differs: a != b, change }
    };
    let check = |turn: &Turn| turn.check.as_ref().map(Check::words).unwrap_or_default();
    let expected =
        |turn: &Turn| turn.check.as_ref().and_then(Check::expectation).unwrap_or_default();
    let rows = [
        texts("tools", &|turn| tools(&turn.tools), Some(pair.tools_differ())),
        texts(
            "result",
            &|turn| turn.result.clone().unwrap_or_default(),
            Some(pair.results_differ()),
        ),
        texts("expected", &expected, None),
        texts("check", &check, None),
        texts("model", &|turn| turn.model.clone().unwrap_or_default(), None),
        numbers("tokens", &|turn| turn.usage.all(), count),
        numbers("cost", &|turn| turn.usage.cost, cost),
        numbers("time", &|turn| turn.duration.unwrap_or_default(), time),
    ];
    // One model for all turns needs no line.
    let is_shown =
        |row: &Row| row.name != "model" || row.differs && pair.a.is_some() && pair.b.is_some();
    let rows = rows.into_iter().filter(|row| !row.a.is_empty() || !row.b.is_empty());
    rows.filter(is_shown).collect()
}

impl Row {
    /// Returns the line of the values, marked if they differ in a pair.
    fn line(&self, both: bool, width: usize) -> String {
        let Self { name, a, b, differs, change } = self;
        let [a, b] = [a, b].map(|text| printable(text));
        if !both {
            let text = if a.is_empty() { b } else { a };
            let text = cropped(&text, width.saturating_sub(NAME));
            return format!("  {name:<9}{text}\n");
        }
        let mark = if *differs { '≠' } else { ' ' };
        let room = width.saturating_sub(NAME + CHANGE + 2) / 2;
        let a = cropped(if a.is_empty() { "—" } else { &a }, room);
        let b = cropped(if b.is_empty() { "—" } else { &b }, room);
        let blank = " ".repeat(room.saturating_sub(display_width(&a)));
        let change = change.filter(|_| *differs).map(|change| {
            let blank = " ".repeat(room.saturating_sub(display_width(&b)));
            format!("{blank}{:>CHANGE$}", format!("{change:+.0} %"))
        });
        let line = format!("{mark} {name:<9}{a}{blank}  {b}{}", change.unwrap_or_default());
        line.trim_end().to_owned() + "\n"
    }
}
