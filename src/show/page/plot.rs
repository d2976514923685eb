//! A plot of tokens and cost over the turns.

use super::prose::escaped;
use crate::show::head::{Turn, dollars, short, spent};
use crate::usage::Usage;
use std::fmt::Write as _;

/// Size of the drawing, which is stretched to the width of the page.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 120.0;

/// Maximum number of bars; more turns share bars.
const BARS: usize = 240;

/// Maximum width of a bar.
const WIDEST: f64 = 48.0;

/// Sort of tokens: class, name, number.
type Sort = (&'static str, &'static str, fn(&Usage) -> f64);

/// The sorts of tokens from the bottom to the top.
const SORTS: &[Sort] = &[
    ("output", "output", |usage| usage.output),
    ("input", "input", |usage| usage.input),
    ("written", "cache written", |usage| usage.cache_write),
    ("read", "cache read", |usage| usage.cache_read),
    ("tokens", "tokens", |usage| usage.tokens),
];

/// Writes the plot, if the session contains tokens or cost.
pub fn plot(turns: &[Turn], out: &mut String) {
    let share = turns.len().div_ceil(BARS).max(1);
    let bars: Vec<(&[Turn], Usage)> = turns
        .chunks(share)
        .map(|turns| {
            let mut sum = Usage::default();
            turns.iter().for_each(|turn| sum.join(turn.usage));
            (turns, sum)
        })
        .collect();
    let highest = bars.iter().map(|(_, usage)| usage.all()).fold(0.0, f64::max);
    let dearest = bars.iter().map(|(_, usage)| usage.cost).fold(0.0, f64::max);
    if bars.len() < 2 || highest <= 0.0 && dearest <= 0.0 {
        return;
    }
    let step = (WIDTH / bars.len() as f64).min(WIDEST);
    let width = step * bars.len() as f64;
    let part = width / WIDTH * 100.0;
    let _ = writeln!(
        out,
        "<figure class=\"plot\"><svg width=\"{part:.0}%\" viewBox=\"0 0 {width:.0} {HEIGHT:.0}\" \
         preserveAspectRatio=\"none\" role=\"img\" aria-label=\"tokens and cost of each turn\">"
    );
    for (place, (turns, usage)) in bars.iter().enumerate() {
        bar(place as f64 * step, step, (turns, usage), highest, out);
    }
    if dearest > 0.0 {
        let point = |(place, (_, usage)): (usize, &(&[Turn], Usage))| {
            let x = (place as f64 + 0.5) * step;
            let y = HEIGHT - usage.cost / dearest * (HEIGHT - 4.0) - 2.0;
            format!("{x:.1},{y:.1}")
        };
        let points: Vec<_> = bars.iter().enumerate().map(point).collect();
        let _ = writeln!(out, "<polyline class=\"cost\" points=\"{}\"/>", points.join(" "));
    }
    out.push_str("</svg>\n<figcaption>");
    for (class, name, number) in SORTS {
        if bars.iter().any(|(_, usage)| number(usage) > 0.0) {
            let _ = write!(out, "<span class=\"key {class}\">{name}</span> ");
        }
    }
    if dearest > 0.0 {
        let _ = write!(out, "<span class=\"key cost\">cost, up to {}</span> ", dollars(dearest));
    }
    let per = if share > 1 { format!("in {share} turns") } else { "a turn".to_owned() };
    let most = format!("up to {} tokens {per}", short(highest));
    let _ = writeln!(out, "<span class=\"most\">{most}</span></figcaption></figure>");
}

fn bar(x: f64, step: f64, (turns, usage): (&[Turn], &Usage), highest: f64, out: &mut String) {
    let (Some(first), Some(last)) = (turns.first(), turns.last()) else { return };
    let name = match turns.len() {
        1 => format!("Turn {}: {}", first.number, first.title),
        _ => format!("Turns {} to {}", first.number, last.number),
    };
    let title = format!("{name}\n{}", spent(usage));
    let branch = if first.branch == 0 { "" } else { " class=\"aside\"" };
    let _ = write!(
        out,
        "<a href=\"#n{}\"{branch}><title>{}</title><rect class=\"all\" x=\"{x:.1}\" y=\"0\" width=\"{step:.1}\" height=\"{HEIGHT:.0}\"/>",
        first.ordinal,
        escaped(&title)
    );
    let mut top = HEIGHT;
    for (class, _, number) in SORTS {
        let height = number(usage) / highest.max(1.0) * HEIGHT;
        if height > 0.0 {
            top -= height;
            let (x, width) = (x + step * 0.1, step * 0.8);
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            );
        }
    }
    out.push_str("</a>\n");
}
