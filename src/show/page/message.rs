//! A message on a page.

use super::prose::{escaped, prose};
use crate::show::edits::{Edit, edits};
use crate::show::head::{Head, minute, spent};
use crate::show::item::{Block, Call, Item, Message, Output};
use crate::show::lookup;
use crate::show::markdown::capital;
use crate::show::summary::{main_argument, outcome};
use crate::show::terminal::pretty;
use crate::show::texts::{clean, one_line};
use std::fmt::Write as _;

/// Maximum number of characters in the line of a folded part.
const LINE: usize = 160;

/// Number of lines of a result from which on it is folded inside of an open call.
const LONG: usize = 200;

/// Writes a message. `place` are the attributes of its place.
pub fn message(head: &Head, item: &Item, message: &Message, place: &str, out: &mut String) {
    let known = ["user", "assistant", "system", "tool"];
    let class = known.iter().find(|known| **known == message.speaker()).unwrap_or(&"other");
    let aside = if message.excluded { " excluded" } else { "" };
    let _ = write!(out, "<article class=\"m {class}{aside}\" {place}><header><h2>");
    let role = escaped(&capital(message.speaker())).into_owned();
    out.push_str(&role);
    out.push_str("</h2>");
    if item.begins_turn {
        let _ = write!(out, " <span class=\"turn\">{}</span>", item.turn);
    }
    if let Some(label) = &item.label {
        let _ = write!(out, " <span class=\"label\">{}</span>", escaped(label));
    }
    let name = message.name.clone().filter(|_| message.role != "user");
    let usage = message.usage.as_ref().map(spent);
    let excluded = message.excluded.then(|| "not sent to the model".to_owned());
    let facts = [name, usage, excluded, item.time.as_deref().map(minute)];
    let facts: Vec<_> = facts.into_iter().flatten().filter(|fact| !fact.is_empty()).collect();
    let _ = write!(out, "<span class=\"facts\">{}</span>", escaped(&facts.join(" · ")));
    let id = item.ordinal.map_or_else(|| format!("i{}", item.number), |at| format!("n{at}"));
    let _ = writeln!(
        out,
        "<a class=\"here\" href=\"#{id}\" title=\"link to this message\">#</a></header>"
    );
    let lines = message.role == "user";
    message.blocks.iter().for_each(|part| block(part, lines, out));
    if let Some(error) = &message.error {
        let _ = writeln!(out, "<p class=\"error\">{}</p>", escaped(error));
    }
    forks(head, item, out);
    out.push_str("</article>\n");
}

/// Writes links to the branches that leave behind an item.
pub fn forks(head: &Head, item: &Item, out: &mut String) {
    let branches = item.forks.iter().filter_map(|number| head.branches.get(*number as usize));
    let links: Vec<_> = branches
        .map(|branch| {
            let title = escaped(&lookup::description(branch)).into_owned();
            format!("<a href=\"#n{}\" data-branch=\"{}\">{title}</a>", branch.first, branch.number)
        })
        .collect();
    if !links.is_empty() {
        let _ = writeln!(out, "<nav class=\"fork\">Another branch: {}</nav>", links.join(" "));
    }
}

fn block(part: &Block, lines: bool, out: &mut String) {
    match part {
        Block::Text { text } => prose(text, lines, out),
        Block::Thinking { text } if text.is_empty() => {
            out.push_str(
                "<p class=\"hidden-thought\">Thinking, readable only by its provider</p>\n",
            );
        }
        Block::Thinking { text } => {
            let line = escaped(&one_line(&clean(text), LINE)).into_owned();
            let _ = writeln!(
                out,
                "<details class=\"thinking\"><summary>Thinking <small>{line}</small></summary>"
            );
            prose(text, false, out);
            out.push_str("</details>\n");
        }
        Block::Image { media_type, text, data, .. } => {
            let text = escaped(text).into_owned();
            let _ = match media_type.zip(data.as_deref()) {
                // The data were checked to be base64.
                Some((kind, data)) => writeln!(
                    out,
                    "<figure><img loading=\"lazy\" alt=\"{text}\" src=\"data:{kind};base64,{data}\"></figure>"
                ),
                None => writeln!(out, "<p class=\"placeholder\">[{text}]</p>"),
            };
        }
        Block::Other { text } => {
            let _ = writeln!(out, "<p class=\"placeholder\">{}</p>", escaped(text));
        }
        Block::Command { command, output, exit_code } => {
            let _ = writeln!(out, "<pre class=\"command\">$ {}</pre>", escaped(command));
            verbatim("output", output, out);
            if let Some(code) = exit_code {
                let _ = writeln!(out, "<p class=\"error\">exit code {}</p>", escaped(code));
            }
        }
        Block::Call(own) => call(own, out),
        Block::Output(own) => {
            let name = own.name.as_deref().unwrap_or("result");
            begin_call(name, "", Some(own), out);
            result(own, out);
            out.push_str("</details>\n");
        }
    }
}

fn begin_call(name: &str, argument: &str, result: Option<&Output>, out: &mut String) {
    let failed = if result.is_some_and(|result| result.is_error) { " failed" } else { "" };
    let _ = writeln!(
        out,
        "<details class=\"call{failed}\"><summary><b>{}</b> <code>{}</code> <small>{}</small></summary>",
        escaped(name),
        escaped(argument),
        escaped(&outcome(result))
    );
}

fn call(call: &Call, out: &mut String) {
    begin_call(&call.name, &main_argument(call, LINE), call.result.as_ref(), out);
    let edits = edits(call);
    if edits.is_empty() {
        let text = call.arguments.text();
        let text = text.unwrap_or_else(|| readable(call));
        verbatim("arguments", &text, out);
    }
    edits.iter().for_each(|edit| diff(edit, out));
    call.result.iter().for_each(|own| result(own, out));
    out.push_str("</details>\n");
}

/// Returns the arguments, each text with its own lines.
fn readable(call: &Call) -> String {
    let members = call.arguments.pairs();
    if members.is_empty() {
        return pretty(call.arguments.as_bytes());
    }
    let shown = members.iter().map(|(name, value)| {
        let name = name.text().unwrap_or_default();
        let value = value.text().unwrap_or_else(|| pretty(value.as_bytes()));
        let line = if value.contains('\n') { "\n" } else { " " };
        format!("{name}:{line}{value}")
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn result(result: &Output, out: &mut String) {
    let text = result.blocks.iter().filter_map(|part| match part {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text = text.collect::<Vec<_>>().join("\n");
    let class = if result.is_error { "output error" } else { "output" };
    verbatim(class, &text, out);
    let others = result.blocks.iter().filter(|part| !matches!(part, Block::Text { .. }));
    others.for_each(|part| block(part, false, out));
}

/// Writes a text as it is; a long one is folded.
fn verbatim(class: &str, text: &str, out: &mut String) {
    if text.is_empty() {
        return;
    }
    let text = clean(text);
    let count = text.lines().count();
    let pre = format!("<pre class=\"{class}\">{}</pre>", escaped(&text));
    let _ = match count > LONG {
        true => {
            writeln!(out, "<details class=\"long\"><summary>{count} lines</summary>{pre}</details>")
        }
        false => writeln!(out, "{pre}"),
    };
}

fn diff(edit: &Edit, out: &mut String) {
    let _ =
        write!(out, "<div class=\"diff\"><div class=\"path\">{}</div><pre>", escaped(&edit.path));
    for line in &edit.lines {
        let (sign, text) = line.parts();
        let text = clean(text);
        let text = escaped(&text);
        let _ = match sign {
            '+' => writeln!(out, "<ins>+{text}</ins>"),
            '-' => writeln!(out, "<del>-{text}</del>"),
            '@' => writeln!(out, "<i>{text}</i>"),
            _ => writeln!(out, " {text}"),
        };
    }
    out.push_str("</pre></div>\n");
}
