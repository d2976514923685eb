//! The picture of the terminal in the README, made of what the program prints. `UPDATE=1` writes it.

use crate::common::read;
use crate::machine::Machine;
use std::fmt::Write as _;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// Commands in the picture.
const COMMANDS: &[&str] = &[
    "copyist list",
    "cd lamps && copyist continue --in codex",
    "cd && copyist migrate --in-place --journal log .pi/agent/sessions && copyist undo log",
    "copyist repair --in-place torn.jsonl",
];

/// Columns; longer lines are cut.
const COLUMNS: usize = 96;
const CHARACTER: f32 = 7.23;
const LINE: usize = 17;

/// A text as XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Classes of the style for the codes of a terminal.
fn class(codes: &str) -> Option<&'static str> {
    let class = |code: &str| match code {
        "1" => Some("b"),
        "2" | "90" => Some("d"),
        "31" | "91" => Some("r"),
        "32" | "92" => Some("g"),
        "33" | "93" => Some("y"),
        "34" | "94" | "36" | "96" => Some("c"),
        "35" | "95" => Some("m"),
        _ => None,
    };
    codes.split(';').filter_map(class).next_back()
}

/// One line of a terminal as SVG, cut after the last column.
fn drawn(line: &str, y: usize) -> String {
    let mut out = format!("<text x=\"12\" y=\"{y}\" xml:space=\"preserve\">");
    let (mut column, mut open) = (0, None);
    for (number, piece) in line.split("\u{1b}[").enumerate() {
        let text = match piece.split_once('m').filter(|_| number > 0) {
            Some((codes, text)) => {
                open = if codes.is_empty() || codes == "0" { None } else { class(codes).or(open) };
                text
            }
            None => piece,
        };
        let room = COLUMNS.saturating_sub(column);
        let mut text = text.to_owned();
        column += text.width();
        if column > COLUMNS {
            text = text.chars().take(room.saturating_sub(1)).collect::<String>();
            text += if room > 0 { "…" } else { "" };
        }
        match open {
            _ if text.is_empty() => {}
            Some(class) => {
                let _ = write!(out, "<tspan class=\"{class}\">{}</tspan>", escaped(&text));
            }
            None => out += &escaped(&text),
        }
    }
    out + "</text>\n"
}

#[test]
fn picture_of_the_terminal_is_what_the_program_prints() {
    let machine = Machine::new("torn.jsonl pi/v1/feature-work 6000");
    let commands: Vec<_> = COMMANDS.iter().map(|command| (*command).to_owned()).collect();
    let printed = machine.run(&commands, "always");
    let (mut body, mut y) = (String::new(), 26);
    for (command, output) in commands.iter().zip(&printed) {
        body += &drawn(&format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m"), y);
        y += LINE;
        for line in output.lines() {
            body += &drawn(line, y);
            y += LINE;
        }
        y += LINE / 2;
    }
    let width = (COLUMNS as f32).mul_add(CHARACTER, 24.0).ceil();
    let picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{y}\" \
         viewBox=\"0 0 {width} {y}\" role=\"img\">\n<title>copyist in a terminal</title>\n<style>\n\
         text{{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         fill:#24292f}}\nrect{{fill:#f6f8fa;stroke:#d0d7de}}\n.b{{font-weight:bold}}.d{{fill:#6e7781}}\
         .r{{fill:#cf222e}}.g{{fill:#1a7f37}}.y{{fill:#9a6700}}.c{{fill:#0969da}}.m{{fill:#8250df}}\n\
         @media(prefers-color-scheme:dark){{text{{fill:#e6edf3}}rect{{fill:#161b22;stroke:#30363d}}\
         .d{{fill:#8b949e}}.r{{fill:#ff7b72}}.g{{fill:#3fb950}}.y{{fill:#d29922}}.c{{fill:#58a6ff}}\
         .m{{fill:#bc8cff}}}}\n</style>\n<rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n\
         {body}</svg>\n",
        width - 1.0,
        y - 1
    );
    assert!(picture.len() < 20_000, "{} bytes", picture.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/terminal.svg");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, picture).expect("a picture");
    } else {
        let there = String::from_utf8(read(&path)).expect("UTF-8");
        assert!(there == picture, "`UPDATE=1` draws docs/terminal.svg again");
    }
}
