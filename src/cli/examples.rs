//! Examples at the end of each command's help.

/// The examples by the command's name: the command line, and its effect.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "migrate",
        &[
            ("migrate --out-dir new ~/.pi/agent/sessions", "all sessions, into a new folder"),
            ("migrate --in-place session.jsonl", "in place; the original stays as *.bak"),
            ("migrate -n ~/.pi/agent/sessions", "print what would happen, and write nothing"),
        ],
    ),
    (
        "convert",
        &[
            ("convert -t connectonion@2 -o session.yaml session.jsonl", "to another agent"),
            (
                "convert -t pi -o back.jsonl session.yaml",
                "and back, with the edits that were made meanwhile",
            ),
            (
                "convert --redact -t claude-code -o shared.jsonl session.jsonl",
                "to share: without keys, passwords, addresses and names",
            ),
        ],
    ),
    (
        "repair",
        &[
            ("repair -n ~/.pi/agent/sessions", "what is damaged, and what would be restored"),
            ("repair --in-place session.jsonl", "repair in place; the original stays as *.bak"),
            (
                "repair --resumable -o new.jsonl session.jsonl",
                "also repair what a model's interface refuses",
            ),
        ],
    ),
    (
        "continue",
        &[
            ("continue --in codex", "the newest session of this folder, in Codex"),
            ("continue 1a2b3c4d --in claude-code", "and back: new messages go to the original"),
            ("continue latest --in pi --run", "and start pi with it"),
        ],
    ),
    (
        "move",
        &[
            ("move -n ~/tides ~/harbour/tides", "which files of which agents would change"),
            ("move ~/tides ~/harbour/tides", "after `mv ~/tides ~/harbour/tides`"),
        ],
    ),
    (
        "trim",
        &[
            ("trim -n latest", "what weighs how much in the newest session"),
            ("trim --to 120k --in-place 1a2b3c4d", "until a model gets 120,000 tokens"),
            ("trim --drop images -o small.jsonl big.jsonl", "without old images"),
        ],
    ),
    (
        "pack",
        &[
            ("pack latest -o session.pack", "the newest session, for another machine"),
            ("pack --project ~/tides -o tides.pack", "all sessions of a project"),
            ("pack --redact 1a2b3c4d -o shared.pack", "to share: without keys and names"),
        ],
    ),
    (
        "unpack",
        &[
            ("unpack -n tides.pack", "what is in it, and where it would go"),
            (
                "unpack --map-path /home/ada/tides=/srv/tides tides.pack",
                "to the project's folder here",
            ),
        ],
    ),
    (
        "usage",
        &[
            ("usage --since 7d", "tokens and stored cost of each day"),
            ("usage --by model --prices prices.yaml", "with the cost by prices of your own"),
        ],
    ),
    (
        "export",
        &[
            ("export --as trl --out-dir rows", "all sessions, as a data set for TRL"),
            (
                "export --as openai --redact -o rows.jsonl.zst sessions",
                "those of a folder in one file, without keys, passwords, addresses and names",
            ),
            (
                "export --as sharegpt --split train=0.9,test=0.1 --dedup --out-dir rows",
                "in two parts, without copies",
            ),
        ],
    ),
    (
        "undo",
        &[
            ("migrate --in-place --journal run.log sessions", "a run that can be undone"),
            ("undo -n run.log", "print what would be restored"),
            ("undo run.log", "restore all originals"),
        ],
    ),
    (
        "clean",
        &[
            ("clean -n run.log", "print which originals would be removed"),
            ("clean run.log", "remove the originals that a good run kept"),
        ],
    ),
    (
        "show",
        &[
            ("show latest", "read the newest session, page by page"),
            ("show --turns 3-7 --tools full session.jsonl", "five turns with all calls of tools"),
            ("show --as html -o session.html session.jsonl", "a page for others to read"),
        ],
    ),
    (
        "inspect",
        &[
            ("inspect session.jsonl", "counts, tree, turns, tokens, cost"),
            ("inspect --turns --width 120 session.jsonl", "every turn, with all kinds of tokens"),
            (
                "inspect --session 019e453d-751e-7dbd-b023-2d1b72265502",
                "find the session by its identifier",
            ),
        ],
    ),
    (
        "diff",
        &[
            (
                "diff --ignore ids,time old.jsonl new.yaml",
                "compare records and fields, without identifiers and times",
            ),
            ("diff --context old.jsonl new.yaml", "compare what a model would get"),
            (
                "diff --by turn before.yaml after.yaml",
                "tools, results, tokens and cost of two runs, by question",
            ),
        ],
    ),
    (
        "context",
        &[
            ("context session.jsonl", "what would be sent to a model"),
            ("context --as openai session.jsonl", "as a Chat Completions request"),
            ("context --run ID --seq 3 run.jsonl", "what one request of a run sent"),
        ],
    ),
    (
        "append",
        &[
            ("append --text Continue session.jsonl", "one message of the user"),
            ("append session.jsonl", "messages of a program, one JSON object on each line"),
            ("append --new pi --text Hello new.jsonl", "the first message of a new session"),
        ],
    ),
    (
        "fork",
        &[
            ("fork session.jsonl", "the current branch"),
            ("fork --at 1a2b3c4d session.jsonl", "the branch up to an entry"),
        ],
    ),
    (
        "label",
        &[
            ("label session.jsonl 1a2b3c4d important", "add a label"),
            ("label session.jsonl 1a2b3c4d", "remove the label"),
        ],
    ),
    (
        "status",
        &[
            ("status builder", "whether the session is running"),
            ("status --why builder", "and the rule that decided"),
        ],
    ),
    (
        "result",
        &[
            ("result builder", "the result of the session"),
            ("result --sessions-dir DIR builder", "of a session in another folder"),
        ],
    ),
    (
        "list",
        &[
            ("list --project . --since 7d", "the sessions of this folder in the last week"),
            ("list --grep tides --json", "as JSON for programs, by what was said"),
            (
                "list --agent agent-orchestrator --sessions-dir DIR",
                "a folder as ao-list-sessions lists it",
            ),
        ],
    ),
    (
        "validate",
        &[
            ("validate session.jsonl", "check one session"),
            ("validate --include '2025-*' sessions", "check only files with these names"),
            ("validate --sarif sessions", "findings for editors and code hosts"),
        ],
    ),
    (
        "detect",
        &[
            ("detect session.jsonl", "print the format and version of the file"),
            ("detect -0 --files-from list", "files of a list that `find -print0` wrote"),
        ],
    ),
    (
        "formats",
        &[
            ("formats", "names, versions and sources"),
            ("formats --json", "the same as JSON for programs"),
        ],
    ),
    (
        "schema",
        &[
            ("schema pi@3", "the records of pi@3"),
            ("schema json", "the lines that `--json` prints"),
            ("schema --all schemas", "all schemas, as files"),
        ],
    ),
    (
        "explain",
        &[
            ("explain CY0103", "the meaning of the code, and what to do"),
            ("explain", "a list of all codes"),
        ],
    ),
    (
        "config",
        &[
            ("config", "each setting and its source"),
            ("config --schema", "a schema for editors of config.yaml"),
        ],
    ),
    (
        "completions",
        &[("completions bash", "completions for bash"), ("completions zsh", "completions for zsh")],
    ),
    (
        "man",
        &[
            ("man ~/.local/share/man/man1", "where `man copyist` finds them"),
            ("man --force pages", "replace older pages"),
        ],
    ),
];

/// Returns the examples at the end of a command's help.
pub fn of(command: &str) -> Option<String> {
    known(command).map(page)
}

/// Returns the first example of a command.
pub fn first(command: &str) -> Option<&'static str> {
    known(command)?.first().map(|(typed, _)| *typed)
}

fn known(command: &str) -> Option<&'static [(&'static str, &'static str)]> {
    EXAMPLES.iter().find(|(name, _)| *name == command).map(|(_, examples)| *examples)
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
        let program = program(true);
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
