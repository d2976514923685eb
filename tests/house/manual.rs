//! The manual: its examples print what the pages show, and its links lead somewhere.

use crate::common::{all_files, read};
use crate::machine::Machine;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Pages of the project as paths from its root, with their texts.
pub fn pages() -> Vec<(PathBuf, String)> {
    let docs = all_files(&root().join("docs")).into_iter();
    let docs = docs.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let others = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "python/README.md"];
    let all = others.iter().map(|name| root().join(name)).chain(docs);
    let text = |path: PathBuf| {
        let text = String::from_utf8(read(&path)).expect("UTF-8");
        (path.strip_prefix(root()).expect("below").to_owned(), text)
    };
    all.map(text).collect()
}

/// A line in the place of any number of lines.
const ANY: &str = "…";

/// A command of an example and what it prints.
struct Step {
    command: String,
    shown: String,
}

/// The steps of a block: a command begins with `$ ` and continues in lines that begin with `> `.
fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), shown: String::new() });
        } else if let (Some(more), Some(step)) = (line.strip_prefix("> "), steps.last_mut())
            && step.shown.is_empty()
        {
            step.command += &format!("\n{more}");
        } else if let Some(step) = steps.last_mut() {
            step.shown += &format!("{line}\n");
        }
    }
    steps
}

/// Whether a text is the shown one, in which a line may stand for any lines.
fn fits(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&ANY, rest)) => (0..=printed.len()).any(|begin| fits(rest, &printed[begin..])),
        Some((line, rest)) => printed.first() == Some(line) && fits(rest, &printed[1..]),
    }
}

/// Leaves out the pace, which a result line has if the run took longer than a second.
fn without_pace(printed: &str) -> String {
    let pace = regex::Regex::new(r", [0-9.]+ \w+ in [0-9.]+ s, [0-9.]+ \w+/s").expect("a pattern");
    pace.replace_all(printed, "").into_owned()
}

/// The page with what its examples print, and the commands that print something else.
fn played(page: &str) -> (String, Vec<String>) {
    const OPEN: &str = "```console\n";
    let comment = |name: &str| {
        let rest = page.split_once(&format!("<!-- {name}: "))?.1;
        Some(rest.split_once(" -->").expect("an end of the comment").0)
    };
    let lacks = |program: &&str| Command::new(program).arg("--version").output().is_err();
    if let Some(program) = comment("needs").into_iter().flat_map(str::split_whitespace).find(lacks)
    {
        eprintln!("SKIP examples: no {program}");
        return (page.to_owned(), Vec::new());
    }
    let blocks: Vec<Vec<Step>> = page
        .split(OPEN)
        .skip(1)
        .map(|rest| steps(rest.split_once("```").expect("an end of the block").0))
        .collect();
    let commands: Vec<_> = blocks.iter().flatten().map(|step| step.command.clone()).collect();
    if commands.is_empty() {
        return (page.to_owned(), Vec::new());
    }
    let machine = Machine::new(comment("files").unwrap_or_default());
    let mut printed = machine.run(&commands, "never").into_iter();
    let (mut played, mut wrong) = (String::new(), Vec::new());
    for (number, piece) in page.split(OPEN).enumerate() {
        let Some(block) = number.checked_sub(1).map(|number| &blocks[number]) else {
            played += piece;
            continue;
        };
        played += OPEN;
        for Step { command, shown } in block {
            let said = without_pace(&printed.next().unwrap_or_default());
            played += &format!("$ {}\n", command.replace('\n', "\n> "));
            let lines = |text| str::lines(text).collect::<Vec<_>>();
            if fits(&lines(shown), &lines(&said)) {
                played += shown;
            } else {
                wrong.push(format!("$ {command}\n{said}"));
                played += &said;
            }
        }
        played += "```";
        played += piece.split_once("```").expect("an end of the block").1;
    }
    (played, wrong)
}

#[test]
fn result_line_is_compared_without_its_pace() {
    let slow = without_pace("4 migrated; 186 records, 1.3 GB in 3.2 s, 412 MB/s, nothing written");
    assert_eq!(slow, "4 migrated; 186 records, nothing written");
}

/// `UPDATE=1` writes what the examples print into the pages.
#[test]
#[cfg(unix)]
fn examples_print_what_their_pages_show() {
    let update = std::env::var_os("UPDATE").is_some();
    let runs: Vec<_> = pages()
        .into_iter()
        .filter(|(path, _)| !path.starts_with("python"))
        .map(|(path, text)| std::thread::spawn(move || (path, played(&text), text)))
        .collect();
    let mut wrong = Vec::new();
    for run in runs {
        let (path, (played, differ), text) = run.join().expect("examples run");
        if update && played != text {
            std::fs::write(root().join(&path), played).expect("a page");
        } else {
            wrong.extend(differ.iter().map(|step| format!("{} prints:\n{step}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "`UPDATE=1` writes this into the pages:\n{}", wrong.join("\n"));
}

/// A page without its code.
fn prose(page: &str) -> String {
    let fenced = page.split("```").step_by(2).collect::<String>();
    fenced.split('`').step_by(2).collect()
}

/// The targets of the links in a page.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    let inline = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let sources = prose.split("src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    inline.chain(sources).map(|(target, _)| target.to_owned()).collect()
}

/// The anchors of a page's headings.
fn anchors(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut anchors = Vec::new();
    for line in page.lines() {
        inside ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if inside || heading == line || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        anchors.push(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    anchors
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut lost = Vec::new();
    for (path, text) in pages() {
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = root().join(&path).parent().expect("a folder").to_owned();
            let target = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            let there = target.exists()
                && (anchor.is_empty() || {
                    let page = String::from_utf8(read(&target)).expect("UTF-8");
                    anchors(&page).iter().any(|known| known == anchor)
                });
            // A book of the manual has only its own pages.
            let outside = path.starts_with("docs")
                && target
                    .canonicalize()
                    .is_ok_and(|target| !target.starts_with(root().join("docs")));
            lost.extend((!there || outside).then(|| format!("{}: {link}", path.display())));
        }
    }
    assert!(lost.is_empty(), "these links lead nowhere:\n{}", lost.join("\n"));
}

#[test]
fn every_page_of_the_manual_is_in_its_summary() {
    let summary = String::from_utf8(read(&root().join("docs/SUMMARY.md"))).expect("UTF-8");
    let listed = links(&summary);
    for (path, _) in pages() {
        let Ok(page) = path.strip_prefix("docs") else { continue };
        let named = listed.iter().filter(|link| Path::new(link) == page).count();
        let expected = usize::from(page != Path::new("SUMMARY.md"));
        assert_eq!(named, expected, "{} in docs/SUMMARY.md", page.display());
    }
}

fn help(command: &str) -> Option<String> {
    let mut help = Command::new(env!("CARGO_BIN_EXE_copyist"));
    let done = help.args([command, "--help"]).output().expect("the program runs");
    done.status.success().then(|| String::from_utf8(done.stdout).expect("UTF-8"))
}

/// Commands in the text and in blocks for a shell, each as its words.
fn commands(page: &str) -> Vec<Vec<String>> {
    let mut commands: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    for block in page.split("```").skip(1).step_by(2) {
        commands.extend(block.strip_prefix("sh\n").into_iter().flat_map(str::lines));
        commands.extend(block.lines().filter_map(|line| line.strip_prefix("$ ")));
    }
    let commands = commands.into_iter().filter_map(|text| text.trim().strip_prefix("copyist "));
    let before =
        |text: &str| text.split([';', '|', '>', '#']).next().unwrap_or_default().to_owned();
    commands.map(|text| before(text).split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn commands_in_the_pages_have_these_options() {
    let mut known = std::collections::HashMap::new();
    let mut wrong = Vec::new();
    for (path, text) in pages().into_iter().filter(|(path, _)| *path != Path::new("CHANGELOG.md")) {
        for words in commands(&text) {
            let name = words[0].clone();
            if name.starts_with('-') || name.chars().all(char::is_uppercase) {
                continue;
            }
            let help = known.entry(name.clone()).or_insert_with(|| help(&name));
            let options = words.iter().filter(|word| word.starts_with("--"));
            let has = |option: &str| {
                let option = option.split('=').next().unwrap_or_default();
                help.as_deref().is_some_and(|help| {
                    help.split([' ', ',', '\n', '`']).any(|word| word == option)
                })
            };
            let lacks = options.clone().any(|option| !has(option));
            if help.is_none() || lacks {
                wrong.push(format!("{}: copyist {}", path.display(), words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "no such command or option:\n{}", wrong.join("\n"));
}

#[test]
fn every_command_has_a_row_and_a_page() {
    let table = String::from_utf8(read(&root().join("docs/commands.md"))).expect("UTF-8");
    let listed: Vec<_> = table.split('`').skip(1).step_by(2).collect();
    let done = Command::new(env!("CARGO_BIN_EXE_copyist")).output().expect("the program runs");
    let help = String::from_utf8(done.stdout).expect("UTF-8");
    let (_, groups) = help.split_once("Commands:\n").expect("groups of commands");
    for group in groups.lines().take_while(|line| line.starts_with("  ")) {
        let names = group.trim().split_once("  ").expect("names").1;
        for name in names.split(',').map(str::trim) {
            assert!(listed.contains(&name), "docs/commands.md does not list `{name}`");
        }
    }
}
