//! The facts about a session at the top of its page.

use super::plot::plot;
use super::prose::escaped;
use crate::show::head::{Head, dollars, short, span, spent};
use crate::show::lookup;
use std::fmt::Write as _;

/// Writes the title, the facts, the plot, the branches and the turns.
pub fn overview(head: &Head, out: &mut String) {
    out.push_str("<section id=\"overview\">\n");
    let _ = writeln!(out, "<h1>{}</h1>", escaped(&head.title));
    facts(head, out);
    plot(&head.turns, out);
    branches(head, out);
    turns(head, out);
    out.push_str("</section>\n");
}

fn facts(head: &Head, out: &mut String) {
    let times = head.times.as_ref().map(|times| span(times, " – "));
    let all = [
        ("Agent", Some(head.format.to_owned())),
        ("Model", Some(head.models.iter().cloned().collect::<Vec<_>>().join(", "))),
        ("Project", head.project.clone()),
        ("Branch", head.repository_branch.clone()),
        ("Time", times),
        ("Messages", Some(head.messages.to_string())),
        ("Spent", Some(spent(&head.usage))),
        ("Session", head.id.clone()),
    ];
    out.push_str("<dl>");
    for (name, value) in all {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
        }
    }
    out.push_str("</dl>\n");
}

fn branches(head: &Head, out: &mut String) {
    if !head.is_branched() {
        return;
    }
    out.push_str("<nav id=\"branches\"><h2>Branches</h2><ul>\n");
    for branch in head.own_branches() {
        let parent = branch.parent.map(|parent| format!(" data-parent=\"{parent}\""));
        let fork = branch.fork.map(|fork| format!(" data-fork=\"{fork}\""));
        let _ = writeln!(
            out,
            "<li><a href=\"#n{}\" data-branch=\"{}\"{}{}>{}</a></li>",
            branch.first,
            branch.number,
            parent.unwrap_or_default(),
            fork.unwrap_or_default(),
            escaped(&lookup::description(branch))
        );
    }
    out.push_str("<li class=\"script\"><a href=\"#talk\" data-branch=\"all\">all branches, in the order of the file</a></li>\n</ul></nav>\n");
}

fn turns(head: &Head, out: &mut String) {
    if head.turns.len() < 2 {
        return;
    }
    let _ = writeln!(
        out,
        "<details id=\"turns\"><summary>{} turns</summary><table><thead><tr><th>Turn</th>\
         <th>Question</th><th>Calls</th><th>Tokens</th><th>Cost</th></tr></thead><tbody>",
        head.turns.len()
    );
    for turn in &head.turns {
        let branch = match turn.branch {
            0 => String::new(),
            number => format!(" <small>branch {number}</small>"),
        };
        let tokens = Some(turn.usage.all()).filter(|all| *all > 0.0).map(short);
        let cost = Some(turn.usage.cost).filter(|cost| *cost > 0.0).map(dollars);
        let _ = writeln!(
            out,
            "<tr><td>{}{branch}</td><td><a href=\"#n{}\">{}</a></td><td>{}</td><td>{}</td><td>{}</td></tr>",
            turn.number,
            turn.ordinal,
            escaped(&turn.title),
            turn.calls,
            tokens.unwrap_or_default(),
            cost.unwrap_or_default()
        );
    }
    out.push_str("</tbody></table></details>\n");
}
