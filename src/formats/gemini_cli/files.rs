//! Names and places of sessions.
//!
//! A project's folder is called by the last name of its path. If two projects have the same name,
//! the program gives one of them a number: its list of projects and a file in the folder show which.

use crate::format::{Home, Named, Variables, own_folder};
use crate::json::{Json, member, text};
use crate::record::{Field, session_uuid};
use crate::times;

/// Returns the folder in which the program keeps all sessions.
pub fn home(variables: Variables<'_>) -> Option<String> {
    let home = variables("GEMINI_CLI_HOME").filter(|home| !home.is_empty());
    Some(format!("{}/.gemini/tmp", home.or_else(|| own_folder(variables))?))
}

/// Returns the path `<project>/chats/session-<minute>-<identifier>`.
///
/// The program's own names end with eight digits of the identifier. It begins a file without messages
/// beside a session that it resumes, and when it starts again it removes that one together with
/// all files whose names end with the same digits. It finds a session of any other name, too, and
/// leaves it alone.
pub fn native(named: &Named<'_>) -> String {
    let folder = named.session.text(Field::Cwd).unwrap_or_default();
    let time = named.session.json(Field::Created).and_then(times::read).unwrap_or_default();
    let spelled = times::with_seconds(time);
    let minute = spelled.get(..16).unwrap_or_default().replace(':', "-");
    let id = session_uuid(named.session, named.question);
    let project = project(&folder, named.home);
    // A session of the program keeps its name.
    match named.stem == format!("session-{minute}-{}", id.get(..8).unwrap_or_default()) {
        true => format!("/{project}/chats/{}", named.stem),
        false => format!("/{project}/chats/session-{minute}-{id}"),
    }
}

/// Returns the name of a project's folder: the one that the program has given it, or else the one
/// that it would give it now, as `ProjectRegistry` does.
fn project(path: &str, home: Option<&dyn Home>) -> String {
    let path = path.strip_suffix('/').unwrap_or(path);
    let Some(home) = home else { return slug(path) };
    let owner = |folder: &str, name: &str| {
        home.read(&format!("{folder}{name}/.project_root")).map(|owner| owner.trim().to_owned())
    };
    let is_free = |name: &str| {
        FOLDERS.iter().all(|folder| owner(folder, name).is_none_or(|owner| owner == path))
    };
    let list = home.read("../projects.json").and_then(|text| Json::read(&text.into()).ok());
    let given = list.and_then(|list| list.member("projects")).unwrap_or_default();
    if let Some(own) = given.text_of(path).filter(|own| is_free(own)) {
        return own;
    }
    let known = |folder: &&str| {
        home.names(folder).into_iter().find(|name| owner(folder, name).is_some_and(|it| it == path))
    };
    if let Some(own) = FOLDERS.iter().find_map(known) {
        return own;
    }
    let taken: Vec<String> = given.pairs().iter().filter_map(|(_, own)| own.text()).collect();
    let name = slug(path);
    let numbered = (1..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered).take(MOST);
    let fits =
        |name: &String| !taken.contains(name) && is_free(name) && !is_of_other(home, name, path);
    names.find(fits).unwrap_or(name)
}

/// Folders in which each project has one, as paths from that of the sessions.
const FOLDERS: [&str; 2] = ["", "../history/"];

/// Whether a folder that the program does not know yet has sessions of another project.
fn is_of_other(home: &dyn Home, name: &str, path: &str) -> bool {
    let folder = format!("{name}/chats");
    let logs = home.names(&folder).into_iter().filter(|name| name.ends_with(".jsonl"));
    let named = |log: String| {
        let text = home.read(&format!("{folder}/{log}"))?;
        member(text.lines().next()?.as_bytes(), "cwd").and_then(text::decode)
    };
    logs.take(LOGS).find_map(named).is_some_and(|owner| owner != path)
}

/// Maximum number of logs of which the headers are read.
const LOGS: usize = 16;

/// Maximum number of projects of one name.
const MOST: usize = 1000;

/// Returns the name of a project's folder, as `ProjectRegistry.slugify` makes it.
fn slug(folder: &str) -> String {
    let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
    let words = name.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "project".to_owned() } else { words.join("-") }
}

/// Returns the file with the path of a session's project.
pub fn index(path: &str) -> Option<String> {
    let (project, _) = path.rsplit_once("/chats/")?;
    Some(format!("{project}/.project_root"))
}
