//! The tables about formats in the documentation are those of the code. `UPDATE=1` writes them.

use crate::common::{converted, own_inputs, read, recognise, session};
use copyist::diagnostic::FieldOutcome;
use copyist::format::{Format, Interface, OnError, Options, Version};
use copyist::formats::{FORMATS, Spec, canonical, written};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

const END: &str = "<!-- end -->";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(name: &str) -> String {
    String::from_utf8(read(&root().join(name))).expect("UTF-8")
}

/// The formats in the order of the manual, the most used first, with their titles.
fn ordered() -> Vec<(String, &'static Format)> {
    let summary = text("docs/SUMMARY.md");
    let mut formats = Vec::new();
    for line in summary.lines().filter(|line| line.contains("](formats/")) {
        let (title, rest) = line.split_once("](formats/").expect("a link");
        let name = rest.trim_end_matches(".md)");
        let format = FORMATS.iter().find(|format| format.name == name).expect(name);
        formats.push((title.trim_start_matches(['-', ' ', '[']).to_owned(), *format));
    }
    assert_eq!(formats.len(), FORMATS.len(), "docs/SUMMARY.md names the page of every format");
    formats
}

fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn usual(format: &'static Format) -> &'static Version {
    Spec { format, version: None }.version()
}

/// Folders in which the agent keeps sessions, without variables that name others.
fn places(format: &Format) -> String {
    let home = |name: &str| (name == "HOME").then(|| "~".to_owned());
    let home = format.files.home.and_then(|place| place(&home));
    let archives = format.files.archives.iter().filter_map(|archive| {
        let above = home.as_deref()?.rsplit_once('/')?.0;
        Some(format!("{above}/{}", archive.strip_prefix("../")?))
    });
    let folders: Vec<_> = home.iter().cloned().chain(archives).collect();
    let projects = quoted(format.files.in_projects.iter().copied());
    match (folders.as_slice(), projects.as_str()) {
        ([], "") => "anywhere".to_owned(),
        ([], projects) => format!("{projects} in the folder of a project"),
        (folders, _) => quoted(folders.iter().map(String::as_str)),
    }
}

fn migration(format: &Format, version: &Version) -> String {
    let step = format.steps.iter().find(|step| step.from == version.number);
    step.map_or("–".to_owned(), |step| format!("to `{}`: {}", format.at(step.to), step.summary))
}

fn resumed(format: &Format) -> Option<String> {
    Some(format!("`{}`", format.agent.command?("ID", "FILE").join(" ")))
}

fn moves(format: &Format) -> bool {
    format.files.home.is_some() || !format.files.in_projects.is_empty()
}

fn versions(format: &'static Format) -> String {
    let mut table = "| version | contents | branches | `migrate` |\n|---|---|---|---|\n".to_owned();
    for version in format.versions {
        let name = format.at(version.number);
        let written = match format.versions.len() > 1 && version.number == usual(format).number {
            true => ", written if no version is named",
            false => "",
        };
        let branches = if version.tree { "yes" } else { "no" };
        let (summary, step) = (version.summary, migration(format, version));
        let _ = writeln!(table, "| `{name}`{written} | {summary} | {branches} | {step} |");
    }
    table
}

fn reads(format: &Format) -> &'static str {
    if format.reads_only { "read, validate" } else { "yes" }
}

fn abilities(format: &'static Format) -> String {
    let aliases = format.aliases.iter().copied();
    let lines = format.plane.is_some() || format.append.is_some();
    let rows = [
        ("names", quoted(std::iter::once(format.name).chain(aliases))),
        ("taken from", format.source.to_owned()),
        ("file names end in", quoted(format.extensions.iter().copied())),
        ("place", places(format)),
        ("read, write, validate, repair", reads(format).to_owned()),
        ("`migrate` in place", {
            let steps = !format.steps.is_empty();
            let there = format.plane.is_some() || format.migrates_in_place;
            let by_name = "no: the other version is another kind of file, which `--to` names";
            match (steps, there) {
                (false, _) => "there is one version".to_owned(),
                (_, true) => "yes".to_owned(),
                _ => by_name.to_owned(),
            }
        }),
        ("`continue` into it", {
            resumed(format).unwrap_or_else(|| format!("no: {}", format.agent.unresumable))
        }),
        ("`append`", {
            let how =
                if lines { "adds lines" } else { "changes the files where the message belongs" };
            how.to_owned()
        }),
        ("`move`", if moves(format) { "yes" } else { "no: no agent keeps such files" }.to_owned()),
        ("a model's interface", {
            let name = match format.agent.interface {
                Interface::AnthropicMessages => "Anthropic's Messages",
                Interface::OpenAiResponses => "OpenAI's Responses",
                Interface::ChatCompletions => "Chat Completions",
            };
            name.to_owned()
        }),
    ];
    let mut table = "| | |\n|---|---|\n".to_owned();
    for (name, value) in rows {
        let _ = writeln!(table, "| {name} | {value} |");
    }
    table
}

type Losses = BTreeMap<(&'static str, &'static str), BTreeSet<String>>;

/// Fields of the canonical stream that are lost between each two formats without an origin, in the
/// sessions of `testdata/`.
fn losses() -> Losses {
    let options = Options { origin: false, on_error: OnError::Keep, ..Options::default() };
    let mut losses = Losses::new();
    for path in own_inputs() {
        let source = session(&path);
        let Some((from, version)) = recognise(&source) else { continue };
        for to in written().filter(|to| *to != from) {
            let found = converted(&source, from, version, to.name, &options).1;
            let lost = losses.entry((from.name, to.name)).or_default();
            let dropped = found.losses.into_keys().filter(|(o, _)| *o == FieldOutcome::Dropped);
            let fields = dropped.map(|(_, field)| field.replace(".*", ""));
            lost.extend(fields.filter(|field| is_shown(field)));
        }
    }
    losses
}

/// Whether the table names a field: not data of one agent alone, records of other branches, and
/// how the text is laid out.
fn is_shown(field: &str) -> bool {
    const LAYOUT: &[&str] = &["group", "id_made", "layout", "synthesized"];
    let (kind, member) = field.split_once('.').unwrap_or((field, ""));
    let own = kind == "opaque" || field.ends_with(".extra");
    let text = LAYOUT.contains(&member) || member.starts_with("file.");
    !(own || text || kind.contains(' '))
}

/// Records that are lost whole, and fields of others.
fn joined(names: &BTreeSet<String>) -> String {
    let (fields, records): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(|name| name.contains('.'));
    let whole = (!records.is_empty()).then(|| format!("records: {}", quoted(records)));
    let parts = (!fields.is_empty()).then(|| format!("fields: {}", quoted(fields)));
    let lists: Vec<_> = whole.into_iter().chain(parts).collect();
    if lists.is_empty() { "nothing".to_owned() } else { lists.join("; ") }
}

fn lost(format: &'static Format, losses: &Losses) -> String {
    let mut table =
        "| format | lost on the way to it | lost on the way from it |\n|---|---|---|\n".to_owned();
    for (title, other) in ordered()
        .into_iter()
        .filter(|(_, other)| *other != format && other.name != canonical::FORMAT.name)
    {
        let way = |from: &'static Format, to: &'static Format| {
            losses.get(&(from.name, to.name)).map_or("–".to_owned(), joined)
        };
        let (to, from) = (way(format, other), way(other, format));
        let _ = writeln!(table, "| {title} | {to} | {from} |");
    }
    table
}

/// Rows for the README, and for the page of all formats.
fn overview(folder: &str) -> String {
    let mut table = "| format | sessions of | read, write, repair | migrate | continue | move |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    for (_, format) in ordered() {
        let name = format.name;
        let numbers: Vec<_> = format.versions.iter().map(|v| v.number.to_string()).collect();
        let migrates = match format.steps {
            [] => "–".to_owned(),
            _ => numbers.join(" → "),
        };
        let resumed = resumed(format).unwrap_or_else(|| "–".to_owned());
        let moved = if moves(format) { "yes" } else { "–" };
        let (source, reads) = (format.source, reads(format));
        let _ = writeln!(
            table,
            "| [`{name}`]({folder}formats/{name}.md) | {source} | {reads} | {migrates} | {resumed} | {moved} |"
        );
    }
    table
}

/// Writes the text into the page behind the comment of this name, or fails if another one is there.
fn check(page: &str, name: &str, made: &str) {
    let text = text(page);
    let begin = format!("<!-- {name}, made from the code -->\n");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page}: no {begin}"));
    let (there, after) = rest.split_once(END).expect("an end of what is made");
    if std::env::var_os("UPDATE").is_some() {
        let text = format!("{before}{begin}\n{made}\n{END}{after}");
        std::fs::write(root().join(page), text).expect("a page");
    } else {
        assert_eq!(there.trim(), made.trim(), "{page}: `UPDATE=1` writes the {name} again");
    }
}

#[test]
fn pages_of_formats_have_the_tables_of_the_code() {
    let losses = losses();
    for (title, format) in ordered() {
        let page = format!("docs/formats/{}.md", format.name);
        assert!(text(&page).starts_with(&format!("# {title}\n")), "{page} has the title {title}");
        check(&page, "versions", &versions(format));
        check(&page, "abilities", &abilities(format));
        if format.name != canonical::FORMAT.name {
            check(&page, "losses", &lost(format, &losses));
        }
    }
}

#[test]
fn overviews_of_formats_are_those_of_the_code() {
    check("README.md", "formats", &overview("docs/"));
    check("docs/formats.md", "formats", &overview(""));
}
