//! Moves sessions to another folder, for `--map-path`.

use super::native::Native;
use crate::format::Map;
use crate::json::{Json, text};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Node, Record, Value};

/// Paths that move, and their new places.
pub struct Moves<'m> {
    /// Maps of old to new paths; the first that fits counts.
    pub maps: &'m [Map],
    /// Names of members whose values are folders or files, in data for which the model has no
    /// fields.
    pub names: Vec<&'static str>,
    /// Naming of project folders by the target's software, if outputs are written to such folders.
    pub native: Option<Native>,
}

/// Fields for data of a session, a run or a state beyond the model's other fields.
const UNMODELLED: [Field; 4] = [Field::Extra, Field::Meta, Field::Context, Field::Runtime];

/// Maximum depth at which folders are searched for.
const DEEPEST: usize = 16;

impl Moves<'_> {
    /// Rewrites the paths by which a session is found: its folder, the folders of its runs, of its
    /// turns, of its lines and of its stored state, and the file of the session from which it was
    /// made. The contents of messages stay unchanged.
    pub fn record(&self, record: &mut Record) {
        let stored = record.kind == Kind::Snapshot;
        // Settings of a turn name the folder that it was held in.
        let settings = matches!(record.kind, Kind::ModelChange | Kind::Notice);
        let node = &mut record.node;
        if !stored && !settings && !matches!(record.kind, Kind::Session | Kind::Run) {
            // Each line of a session may name the folder.
            for field in [Field::Extra, Field::Data] {
                let new = node.json(field).and_then(|value| self.inside(value, false, 1));
                node.put(field, new);
            }
            return;
        }
        let old = node.text(Field::Cwd);
        let moved = self.path(node, Field::Cwd);
        let cwds = old.zip(node.text(Field::Cwd)).filter(|_| moved);
        if let Some(Value::Node(parent)) = node.get_mut(Field::ParentSession) {
            self.path(parent, Field::Path);
            cwds.iter().for_each(|(old, new)| self.beside(parent, old, new));
        }
        for field in UNMODELLED {
            // A format may contain more folders than the model knows. The members of a state
            // include the contents of messages, too.
            let any = field == Field::Extra && !stored && !settings;
            let new = node.json(field).and_then(|value| self.inside(value, any, DEEPEST));
            node.put(field, new);
        }
    }

    /// Moves a parent session in the folder of the session's own project into the new folder of
    /// that project.
    fn beside(&self, parent: &mut Node, old: &str, new: &str) {
        let moved = self.native.and_then(|native| {
            let path = parent.text(Field::Path)?;
            renamed(&path, &native.folder_of(old), &native.folder_of(new))
        });
        moved.iter().for_each(|path| parent.set(Field::Path, Json::string(path)));
    }

    fn path(&self, node: &mut Node, field: Field) -> bool {
        let new = node.text(field).and_then(|old| moved(&old, self.maps));
        new.iter().for_each(|new| node.set(field, Json::string(new)));
        new.is_some()
    }

    /// Returns a value with its paths moved; `None` if it contains none. In the outermost object,
    /// with `any`, each member may be a path; otherwise only members with one of the known names.
    fn inside(&self, value: &Json, any: bool, depth: usize) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        let mut changed = false;
        let mut new = |spelled: &[u8], is_path: bool| {
            let text = text::decode(spelled).filter(|_| is_path);
            let path = text.and_then(|old| moved(&old, self.maps));
            let new = path.map(|path| Json::string(&path)).or_else(|| {
                // The items of a list under such a name are paths, too.
                let lists = is_path && spelled.starts_with(b"[");
                self.inside(&Json::trusted(value.bytes().slice_ref(spelled)), lists, depth)
            });
            changed |= new.is_some();
            new.map_or_else(|| spelled.to_vec(), |new| new.as_bytes().to_vec())
        };
        let out = match value.as_bytes().first() {
            Some(b'{') => {
                let mut out = Extra::default();
                for (key, member) in value.members() {
                    let named = any || self.names.iter().any(|name| text::is(key, name));
                    out.add(key, &new(member, named));
                }
                out.finish()
            }
            Some(b'[') => Some(Json::list(value.elements().map(|item| new(item.as_bytes(), any)))),
            _ => None,
        };
        out.filter(|_| changed)
    }
}

/// Returns the path of a file whose folder is called `old`, where that is renamed to `new`; both
/// names begin with a `/`.
fn renamed(path: &str, old: &str, new: &str) -> Option<String> {
    let name = |folder| str::strip_prefix(folder, '/').filter(|name: &&str| !name.is_empty());
    let (old, new) = (name(old)?, name(new)?);
    let at = path.rfind(['/', '\\'])?;
    let (folder, file) = path.split_at(at);
    let above = folder.strip_suffix(old).filter(|above| above.ends_with(['/', '\\']))?;
    (old != new).then(|| format!("{above}{new}{file}"))
}

/// Returns the path below the new folder, if it is the old folder or below it. The first map
/// counts.
#[must_use]
pub fn moved(path: &str, maps: &[Map]) -> Option<String> {
    maps.iter().find_map(|map| map.moved(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pieces_of_a_path_move() {
        let maps = [Map::new("/home/ada", "/users/ada/")];
        for (old, new) in [
            ("/home/ada", Some("/users/ada")),
            ("/home/ada/src", Some("/users/ada/src")),
            ("/home/adam", None),
            ("see /home/ada", None),
        ] {
            assert_eq!(moved(old, &maps).as_deref(), new, "{old}");
        }
    }

    #[test]
    fn only_the_folder_of_a_file_gets_another_name() {
        for (path, new) in [
            ("/s/--a--/f", Some("/s/--b--/f")),
            ("C:\\s\\--a--\\f", Some("C:\\s\\--b--\\f")),
            ("/--a--/s/f", None),
            ("/s/x--a--/f", None),
            ("--a--", None),
        ] {
            assert_eq!(renamed(path, "/--a--", "/--b--").as_deref(), new, "{path}");
        }
        assert_eq!(renamed("/evals/f", "", ""), None);
    }
}
