//! Names and places of sessions.
//!
//! A project's folder is called by the last name of its path. If two projects have the same name,
//! the program gives one of them a number: its list of projects and a file in the folder show which.

use crate::format::{Home, Named};
use crate::ids::{is_uuid, uuid_of};
use crate::json::Json;
use crate::record::{Field, Node, identity};
use crate::times;

/// Returns the folder in which the program keeps all sessions.
pub fn home(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let own = || set("HOME").or_else(|| set("USERPROFILE"));
    let home = set("GEMINI_CLI_HOME").or_else(own)?;
    Some(format!("{home}/.gemini/tmp"))
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
    let id = session_id(named.session, named.question);
    format!("/{}/chats/session-{minute}-{id}", project(&folder, &named.home))
}

/// Returns the name of a project's folder: the one that the program has given it, or else the one
/// that it would give it now, as `ProjectRegistry.claimNewSlug` does.
fn project(path: &str, home: &Home<'_>) -> String {
    let list = home.read("../projects.json").and_then(|text| Json::read(&text.into()).ok());
    let given = list.and_then(|list| list.member("projects")).unwrap_or_default();
    let mine = |name: &str| {
        ["", "../history/"].iter().all(|folder| {
            let owner = home.read(&format!("{folder}{name}/.project_root"));
            owner.is_none_or(|owner| owner.trim() == path)
        })
    };
    if let Some(own) = given.member(path).and_then(|own| own.text()).filter(|own| mine(own)) {
        return own;
    }
    let taken: Vec<String> = given.pairs().iter().filter_map(|(_, own)| own.text()).collect();
    let name = slug(path);
    let numbered = (1..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered).take(MOST);
    names.find(|name| !taken.contains(name) && mine(name)).unwrap_or(name)
}

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

/// Returns the identifier of a session if it is a UUID, or else one that follows from the session.
pub fn session_id(session: &Node, question: Option<&str>) -> String {
    let own = session.text(Field::Id).filter(|id| is_uuid(id));
    own.unwrap_or_else(|| uuid_of(&identity(session, question)))
}
