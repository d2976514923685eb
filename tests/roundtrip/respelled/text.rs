//! Files whose text is another one.

use super::chance::Chance;
use super::json::{self, DEEDS, Spaces};

/// A file with something changed, and what that is.
pub fn changed(text: &str, chance: &mut Chance) -> (String, String) {
    if let Some(done) = chance.one_in(8).then(|| as_file(text, chance)) {
        return done;
    }
    match text.trim_start_matches('\u{feff}').starts_with('{') {
        true => as_json(text, chance),
        false => as_yaml(text, chance),
    }
}

/// What a program does to any file of text.
fn as_file(text: &str, chance: &mut Chance) -> (String, String) {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let some = chance.below(lines.len());
    let (what, text) = match chance.below(5) {
        0 => ("crlf", text.replace('\n', "\r\n")),
        1 => ("unended", text.trim_end_matches('\n').to_owned()),
        2 => ("mark", format!("\u{feff}{text}")),
        3 => {
            lines.insert(some, ["\n", "  \n", "\r\n"][chance.below(3)]);
            ("blank", lines.concat())
        }
        _ => {
            let line = lines[some].trim_end_matches('\n').to_owned();
            let new = [" ", "\t", "\r", "  "][chance.below(4)];
            let ended = format!("{line}{new}\n");
            lines[some] = &ended;
            ("space", lines.concat())
        }
    };
    (text, what.to_owned())
}

/// Lines of JSON, or one value.
fn as_json(text: &str, chance: &mut Chance) -> (String, String) {
    let spaces = [Spaces::None, Spaces::Python, Spaces::Any][chance.below(3)];
    let deed = DEEDS[chance.below(DEEDS.len())];
    if let Some(mut whole) = json::parse(text) {
        let spaces = match chance.below(4) {
            0 => spaces,
            width => Spaces::Lines([2, 4, 0][width - 1]),
        };
        if chance.one_in(2) {
            json::change(&mut whole, deed, chance);
        }
        return (whole.spell(spaces, chance) + "\n", format!("{deed:?} {spaces:?}"));
    }
    // All lines in one spelling, or some of them changed.
    let all = chance.one_in(3);
    let line = |line: &str, chance: &mut Chance| match json::parse(line) {
        Some(mut value) if all || chance.one_in(3) => {
            if !all {
                json::change(&mut value, deed, chance);
            }
            value.spell(if all || chance.one_in(2) { spaces } else { spelled(line) }, chance)
        }
        _ => line.to_owned(),
    };
    let text = text.lines().map(|old| line(old, chance) + "\n").collect();
    (text, if all { format!("{spaces:?}") } else { format!("{deed:?} {spaces:?}") })
}

/// How a line seems to be spelled.
fn spelled(line: &str) -> Spaces {
    if line.contains("\": ") { Spaces::Python } else { Spaces::None }
}

/// A file of YAML, of which this knows lines only.
fn as_yaml(text: &str, chance: &mut Chance) -> (String, String) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_message = |line: &str| line.trim_start().starts_with("{\"role\"");
    let is_top = |line: &&String| line.starts_with(|c: char| c.is_ascii_lowercase());
    let tops: Vec<usize> = (0..lines.len()).filter(|n| is_top(&&lines[*n])).collect();
    let places: Vec<usize> = (0..lines.len()).filter(|n| !is_message(&lines[*n])).collect();
    let top = tops.get(chance.below(tops.len())).copied().unwrap_or(0);
    let some = places.get(chance.below(places.len())).copied().unwrap_or(0);
    let indent = |line: &str| " ".repeat(line.len() - line.trim_start().len());
    let what = match chance.below(9) {
        0 => {
            let new = ["x_new: 42", "x_new: 'a b'", "x_new:\n- 1\n- a: b", "x_new: null"];
            lines.insert(top, new[chance.below(4)].to_owned());
            "unknown of the top"
        }
        1 => {
            let line = format!("{}x_new: {}", indent(&lines[some]), ["1", "'a'"][chance.below(2)]);
            lines.insert(some, line);
            "unknown"
        }
        2 => {
            let line = format!("{}# said by hand", indent(&lines[some]));
            lines.insert(some, line);
            "comment"
        }
        3 => {
            quote(&mut lines[some]);
            "quotes"
        }
        4 => {
            let scalars = [(": null", ": ~"), ("0.0", "0.00"), (": 1", ": 0x1"), ("true", "True")];
            let (old, new) = scalars[chance.below(4)];
            lines[some] = lines[some].replacen(old, new, 1);
            "scalars"
        }
        5 if some + 1 < lines.len() => {
            lines.swap(some, some + 1);
            "order"
        }
        6 => {
            let again = lines[some].clone();
            lines.insert(some, again);
            "twice"
        }
        7 => {
            lines.remove(some);
            "absent"
        }
        _ => return messages(lines, chance),
    };
    (lines.join("\n") + "\n", what.to_owned())
}

/// A value in other quotes.
fn quote(line: &mut String) {
    let Some((key, value)) = line.split_once(": ") else { return };
    let plain = value.trim_matches(['\'', '"']);
    if plain.contains(['\'', '"', '\\', '#', ':']) || plain.is_empty() {
        return;
    }
    let mark = if value.starts_with('\'') { '"' } else { '\'' };
    *line = format!("{key}: {mark}{plain}{mark}");
}

/// Messages as JSON, one a line, in another spelling.
fn messages(lines: Vec<String>, chance: &mut Chance) -> (String, String) {
    let deed = DEEDS[chance.below(DEEDS.len())];
    let indented = chance.one_in(3);
    let line = |line: String, chance: &mut Chance| {
        let text = line.trim().trim_end_matches(',');
        let Some(mut value) = json::parse(text).filter(|_| chance.one_in(2)) else { return line };
        let comma = if line.ends_with(',') { "," } else { "" };
        let mut before = line[..line.len() - line.trim_start().len()].to_owned();
        if indented {
            before = " ".repeat(2 + chance.below(5));
        } else {
            json::change(&mut value, deed, chance);
        }
        format!("{before}{}{comma}", value.spell(Spaces::Python, chance))
    };
    let lines: Vec<String> = lines.into_iter().map(|old| line(old, chance)).collect();
    let what = if indented { "indented".to_owned() } else { format!("{deed:?}") };
    (lines.join("\n") + "\n", format!("messages {what}"))
}
