//! Examples at the end of each command's help.

use clap::Command;

/// The examples by the command's name: the command line, and its effect.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "migrate",
        &[
            ("migrate --out-dir new ~/.pi/agent/sessions", "all sessions, into a new folder"),
            ("migrate --in-place session.jsonl", "where it is; the original stays as *.bak"),
            ("migrate -n ~/.pi/agent/sessions", "only say what would happen"),
        ],
    ),
    (
        "convert",
        &[
            ("convert -t connectonion@2 -o session.yaml session.jsonl", "to another agent"),
            ("convert -t pi -o back.jsonl session.yaml", "and back, with what was edited between"),
            (
                "convert -t pi --layout native --map-path /home/ada=/users/ada --out-dir new old",
                "sessions of projects whose folders moved",
            ),
        ],
    ),
    (
        "repair",
        &[
            ("repair -n ~/.pi/agent/sessions", "what is damaged, and what would come back"),
            ("repair --in-place session.jsonl", "get it back; the original stays as *.bak"),
            ("repair --resumable -o new.jsonl session.jsonl", "and mend what a model refuses"),
        ],
    ),
    (
        "undo",
        &[
            ("migrate --in-place --journal run.log sessions", "a run that notes what it does"),
            ("undo -n run.log", "what would be put back"),
            ("undo run.log", "put all originals back"),
        ],
    ),
    (
        "inspect",
        &[
            ("inspect session.jsonl", "counts, tree, turns, tokens, cost"),
            ("inspect --session 019e453d-751e-7dbd-b023-2d1b72265502", "by its identifier"),
        ],
    ),
    (
        "diff",
        &[
            ("diff --ignore ids,time old.jsonl new.yaml", "by record and field"),
            ("diff --context old.jsonl new.yaml", "whether a model would get the same"),
        ],
    ),
    (
        "context",
        &[
            ("context session.jsonl", "what would be sent to a model"),
            ("context --as openai session.jsonl", "as a Chat Completions request"),
            ("context --run ID --seq 3 run.jsonl", "what one request of a run showed"),
        ],
    ),
    (
        "append",
        &[
            ("append --text Continue session.jsonl", "one message of the user"),
            ("append session.jsonl", "messages of a program, one JSON object a line"),
            ("append --new pi --text Hello new.jsonl", "the first message of a new session"),
        ],
    ),
    (
        "fork",
        &[
            ("fork session.jsonl", "the branch on which the session stands"),
            ("fork --at 1a2b3c4d session.jsonl", "the branch up to an entry"),
        ],
    ),
    (
        "label",
        &[
            ("label session.jsonl 1a2b3c4d important", "find it again later"),
            ("label session.jsonl 1a2b3c4d", "and take the label away"),
        ],
    ),
    (
        "status",
        &[
            ("status builder", "is it at work?"),
            ("status --why builder", "and by which rule is that said"),
        ],
    ),
    (
        "result",
        &[
            ("result builder", "what came of it"),
            ("result --sessions-dir DIR builder", "of a session in another folder"),
        ],
    ),
    (
        "list",
        &[
            ("list", "the sessions of this project"),
            ("list --json --sessions-dir DIR", "those of another folder, for programs"),
        ],
    ),
    (
        "validate",
        &[
            ("validate session.jsonl", "schema, identifiers, parents, cycles"),
            ("validate --include '2025-*' sessions", "only files of these names"),
        ],
    ),
    (
        "detect",
        &[
            ("detect session.jsonl", "what is this?"),
            ("detect -0 --files-from list", "names as `find -print0` writes them"),
        ],
    ),
    (
        "formats",
        &[("formats", "names, versions, where they come from"), ("formats --json", "for programs")],
    ),
    (
        "schema",
        &[("schema pi@3", "of a version"), ("schema canonical", "of the stream of records")],
    ),
    ("explain", &[("explain CY0103", "what it means, and what to do"), ("explain", "all codes")]),
    (
        "config",
        &[
            ("config", "what counts, and from where"),
            ("config --schema", "for an editor of config.yaml"),
        ],
    ),
    (
        "completions",
        &[("completions bash", "to be sourced"), ("completions zsh", "for another shell")],
    ),
    (
        "man",
        &[
            ("man ~/.local/share/man/man1", "where `man copyist` finds them"),
            ("man --force pages", "in place of older ones"),
        ],
    ),
];

/// Adds the examples to the help of each command.
pub fn with_examples(mut program: Command) -> Command {
    for (name, examples) in EXAMPLES {
        program = program.mut_subcommand(name, |command| command.after_help(page(examples)));
    }
    program
}

fn page(examples: &[(&str, &str)]) -> String {
    let lines = examples.iter().map(|(typed, what)| format!("\n  copyist {typed}\n      {what}"));
    format!("Examples:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::program;

    #[test]
    fn every_command_has_examples_that_it_takes() {
        let program = program();
        for command in program.get_subcommands() {
            let own = EXAMPLES.iter().find(|(name, _)| *name == command.get_name());
            let (name, examples) = own.unwrap_or_else(|| panic!("{}", command.get_name()));
            assert!((2..=3).contains(&examples.len()), "{name}");
            for (typed, _) in *examples {
                let words = typed.split(' ').map(|word| word.trim_matches('\''));
                let taken =
                    program.clone().try_get_matches_from(["copyist"].into_iter().chain(words));
                assert!(
                    taken.is_ok(),
                    "{typed}: {}",
                    taken.err().map(|e| e.to_string()).unwrap_or_default()
                );
            }
        }
    }
}
