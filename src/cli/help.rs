//! Layout of the help: the commands by task, the options by group, and the few that `-h` shows.

use super::examples;
use clap::{Arg, Command};
use std::fmt::Write;

/// Commands by task, in the order of the help.
const COMMANDS: &[(&str, &[&str])] = &[
    ("Find and read", &["list", "show", "inspect", "context", "diff", "usage", "export"]),
    ("Go on elsewhere", &["continue", "trim", "move", "pack", "unpack", "append", "fork", "label"]),
    ("Change files", &["migrate", "convert", "repair", "undo", "clean"]),
    ("Check", &["validate", "detect", "status", "result"]),
    ("Look up", &["formats", "schema", "explain", "config", "completions", "man"]),
];

/// Command lines of the jobs that most users have, with the effect of each.
const JOBS: &[(&str, &str)] = &[
    ("list", "all sessions of all agents here"),
    ("continue --in codex", "go on in another agent, and back"),
    ("migrate --in-place --journal log DIR", "to today's version; `undo log`"),
    ("repair --in-place session.jsonl", "repair a torn file"),
    ("convert -t pi -o new.jsonl old.yaml", "another format, and back"),
];

/// Options by group, by the names of their fields. Other options are a command's own.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Input",
        &[
            "from",
            "include",
            "exclude",
            "files_from",
            "null",
            "whole",
            "session",
            "encoding",
            "max_line",
            "index_memory",
            "origin",
            "ignore_origin",
            "agents_dir",
            "sessions_dir",
            "project_dir",
        ],
    ),
    (
        "Output",
        &[
            "output",
            "out_dir",
            "in_place",
            "backup",
            "no_backup",
            "force",
            "dry_run",
            "layout",
            "ids",
            "no_origin",
            "redact",
            "no_redact",
            "map_path",
            "dialect",
        ],
    ),
    ("Damage", &["repair", "quarantine", "on_error", "fail_on", "salvage", "relink", "resumable"]),
    ("Long runs", &["jobs", "journal", "resume"]),
    ("Display", &["json", "sarif", "report", "quiet", "verbose", "progress", "color", "width"]),
];

/// The options that `-h` shows of commands with many.
const SHORT: &[(&str, &[&str])] = &[
    (
        "migrate",
        &["to", "in_place", "out_dir", "output", "dry_run", "repair", "journal", "force", "jobs"],
    ),
    (
        "convert",
        &[
            "to",
            "out_dir",
            "output",
            "dry_run",
            "repair",
            "redact",
            "journal",
            "force",
            "from",
            "no_origin",
        ],
    ),
    (
        "repair",
        &["in_place", "out_dir", "output", "dry_run", "resumable", "salvage", "journal", "force"],
    ),
    ("validate", &["from", "fail_on", "max_errors", "include", "json", "sarif", "verbose"]),
    ("detect", &["from", "include", "exclude", "json"]),
    ("show", &["form", "output", "tools", "turns", "branch", "redact", "no_redact", "force"]),
    ("inspect", &["turns", "session", "whole", "from", "full", "json"]),
    ("context", &["leaf", "turn", "shape", "session", "from", "json"]),
    ("diff", &["by", "ignore", "context", "session", "json"]),
    ("list", &["agent", "project", "since", "state", "grep", "sort", "json"]),
    ("status", &["sessions_dir", "project_dir", "why"]),
    ("result", &["sessions_dir", "project_dir"]),
    ("usage", &["by", "since", "agent", "project", "prices", "json"]),
    ("export", &["style", "out_dir", "output", "per", "split", "dedup", "redact", "dry_run"]),
    ("continue", &["agent", "cwd", "run", "dry_run", "json"]),
    ("append", &["text", "role", "after", "new"]),
    ("undo", &["dry_run", "json"]),
    ("clean", &["dry_run", "json"]),
];

/// Arranges the help of all commands. `long` states whether the long help is wanted: groups have
/// their headings there only.
pub fn arranged(program: Command, long: bool) -> Command {
    let names: Vec<String> =
        program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let mut program = program;
    for name in &names {
        program = program.mut_subcommand(name, |command| of_command(command, long));
    }
    let text = overview(&program, long);
    program.override_help(text)
}

fn of_command(command: Command, long: bool) -> Command {
    let name = command.get_name().to_owned();
    let short = SHORT.iter().find(|(command, _)| *command == name).map(|(_, options)| *options);
    let command = command.mut_args(|arg| {
        let id = arg.get_id().as_str().to_owned();
        let of = |group: &&(&str, &[&str])| long && group.1.contains(&&*id);
        let arg = match GROUPS.iter().find(of) {
            Some((heading, _)) if !arg.is_positional() => arg.help_heading(*heading),
            _ => arg,
        };
        let hidden = short.is_some_and(|short| !arg.is_positional() && !short.contains(&&*id));
        let arg = if short.is_some() { without_values(arg, long) } else { arg };
        if hidden { arg.hide_short_help(true) } else { arg }
    });
    let first = examples::first(&name).map(|typed| format!("Example: copyist {typed}"));
    let more = short.map(|_| format!("All options, with examples: copyist {name} --help"));
    let end: Vec<String> = first.into_iter().chain(more).collect();
    let command = match examples::of(&name) {
        Some(examples) => command.after_long_help(examples),
        None => command,
    };
    command.after_help(end.join("\n"))
}

/// Hides the notes about values in the short help, where each option has one line.
fn without_values(arg: Arg, long: bool) -> Arg {
    if long || !arg.get_action().takes_values() {
        return arg;
    }
    arg.hide_possible_values(true).hide_default_value(true).hide_env(true)
}

/// Returns the help of the program itself.
fn overview(program: &Command, long: bool) -> String {
    let mut text = String::new();
    let about = program.get_about().map(ToString::to_string).unwrap_or_default();
    let about = about.trim_end_matches('.');
    let mut line = |line: std::fmt::Arguments<'_>| {
        // A `String` takes every text.
        let _ = writeln!(text, "{line}");
    };
    line(format_args!("{about}\n\nUsage: copyist <COMMAND> [OPTIONS] [PATH]...\n"));
    for (typed, what) in JOBS {
        line(format_args!("  copyist {typed:<38}{what}"));
    }
    line(format_args!("\nCommands:"));
    for (task, names) in COMMANDS {
        let known = names.iter().filter_map(|name| program.find_subcommand(name));
        if !long {
            let names: Vec<&str> = known.map(Command::get_name).collect();
            line(format_args!("  {task:<17}{}", names.join(", ")));
            continue;
        }
        line(format_args!("\n  {task}"));
        for command in known {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            line(format_args!("    {:<13}{about}", command.get_name()));
        }
    }
    if long {
        let codes = program.get_long_about().map(ToString::to_string).unwrap_or_default();
        let codes = codes.split_once("\n\n").map(|(_, codes)| codes).unwrap_or_default();
        line(format_args!("\n{}", textwrap::fill(codes, 80)));
    }
    let end = "`copyist COMMAND -h` prints the options of a command, `--help` all of them.";
    line(format_args!("\n{end}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::program;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_is_in_the_overview_once() {
        let program = program(true);
        let known: BTreeSet<_> = program.get_subcommands().map(Command::get_name).collect();
        let listed: Vec<_> = COMMANDS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed.len(), listed.iter().collect::<BTreeSet<_>>().len());
        assert_eq!(known, listed.into_iter().collect());
    }

    #[test]
    fn every_option_of_a_table_exists() {
        let program = program(true);
        let ids = |command: &Command| -> BTreeSet<String> {
            command.get_arguments().map(|arg| arg.get_id().to_string()).collect()
        };
        for (name, options) in SHORT {
            let command = program.find_subcommand(name).unwrap_or_else(|| panic!("{name}"));
            let own = ids(command);
            options.iter().for_each(|option| assert!(own.contains(*option), "{name}: {option}"));
        }
        let all: BTreeSet<String> = program.get_subcommands().flat_map(ids).collect();
        for (group, options) in GROUPS {
            options.iter().for_each(|option| assert!(all.contains(*option), "{group}: {option}"));
        }
    }

    #[test]
    fn short_help_fits_a_screen() {
        let mut program = program(false).term_width(80);
        let names: Vec<String> =
            program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let lines = program.render_help().to_string().lines().count();
        assert!(lines <= 24, "copyist: {lines} lines");
        program.build();
        for name in names {
            let command = program.find_subcommand_mut(&name).expect("it is there");
            let help = command.clone().term_width(80).render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 24, "{name}: {lines} lines\n{help}");
        }
    }
}
