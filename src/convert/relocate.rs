//! `--map-path`: sessions that move to another folder.

use super::native::Native;
use crate::format::Map;
use crate::json::{Json, text};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Node, Record, Value};

/// What moves, and where to.
pub struct Moves<'m> {
    /// The first that fits counts.
    pub maps: &'m [Map],
    /// Members that are folders or files in what the model has no fields for.
    pub names: Vec<&'static str>,
    /// How the target's software names the folders of projects, where outputs stand in such.
    pub native: Option<Native>,
}

/// What a format tells of a session, a run or a state beyond the model's fields.
const TOLD: [Field; 4] = [Field::Extra, Field::Meta, Field::Context, Field::Runtime];

/// So deep is looked for folders.
const DEEPEST: usize = 16;

impl Moves<'_> {
    /// Rewrites the paths by which a session is found: its folder, those of its runs and of what is
    /// stored of its state, and the file of the session that it was made from. What was said stays
    /// as it was said.
    pub fn record(&self, record: &mut Record) {
        let stored = record.kind == Kind::Snapshot;
        if !stored && !matches!(record.kind, Kind::Session | Kind::Run) {
            return;
        }
        let node = &mut record.node;
        let old = node.text(Field::Cwd);
        let mut changed = self.path(node, Field::Cwd);
        let cwds = old.zip(node.text(Field::Cwd)).filter(|_| changed);
        if let Some(Value::Node(parent)) = node.get_mut(Field::ParentSession) {
            changed |= self.path(parent, Field::Path);
            changed |= cwds.is_some_and(|(old, new)| self.beside(parent, &old, &new));
        }
        for field in TOLD {
            // Where a format tells of more folders than the model knows. Beside a state stands what
            // was said, too.
            let any = field == Field::Extra && !stored;
            let new = node.json(field).and_then(|told| self.inside(told, any, DEEPEST));
            changed |= new.is_some();
            new.into_iter().for_each(|new| node.set(field, new));
        }
        if changed && !stored {
            // It spells the old folders; that of a state is the text of its messages.
            node.take(Field::Raw);
        }
    }

    /// A parent that stands in the folder of the session's own project goes on to do so where that
    /// folder gets another name.
    fn beside(&self, parent: &mut Node, old: &str, new: &str) -> bool {
        let moved = self.native.and_then(|native| {
            let path = parent.text(Field::Path)?;
            renamed(&path, &native.folder_of(old), &native.folder_of(new))
        });
        moved.iter().for_each(|path| parent.set(Field::Path, Json::string(path)));
        moved.is_some()
    }

    fn path(&self, node: &mut Node, field: Field) -> bool {
        let new = node.text(field).and_then(|old| moved(&old, self.maps));
        new.iter().for_each(|new| node.set(field, Json::string(new)));
        new.is_some()
    }

    /// A value with what moves in it; `None` if nothing does. Of the outermost object `any` member
    /// may be a path, else only those that are called so.
    fn inside(&self, value: &Json, any: bool, depth: usize) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        let mut changed = false;
        let mut new = |spelled: &[u8], is_path: bool| {
            let text = text::decode(spelled).filter(|_| is_path);
            let path = text.and_then(|old| moved(&old, self.maps));
            let new = path.map(|path| Json::string(&path)).or_else(|| {
                self.inside(&Json::checked(value.bytes().slice_ref(spelled)), false, depth)
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
            Some(b'[') => {
                let items: Vec<_> =
                    value.elements().map(|item| new(item.as_bytes(), false)).collect();
                Some(Json::checked([b"[", items.join(&b","[..]).as_slice(), b"]"].concat().into()))
            }
            _ => None,
        };
        out.filter(|_| changed)
    }
}

/// The path of a file whose folder is called `old`, where that is called `new`; both with a `/`
/// before them.
fn renamed(path: &str, old: &str, new: &str) -> Option<String> {
    let name = |folder| str::strip_prefix(folder, '/').filter(|name: &&str| !name.is_empty());
    let (old, new) = (name(old)?, name(new)?);
    let at = path.rfind(['/', '\\'])?;
    let (folder, file) = path.split_at(at);
    let above = folder.strip_suffix(old).filter(|above| above.ends_with(['/', '\\']))?;
    (old != new).then(|| format!("{above}{new}{file}"))
}

/// The path below the new folder, if it is the old one or stands below it. The first map counts.
fn moved(path: &str, maps: &[Map]) -> Option<String> {
    maps.iter().find_map(|map| {
        let rest = path.strip_prefix(map.old.trim_end_matches(['/', '\\']))?;
        let whole = rest.is_empty() || rest.starts_with(['/', '\\']);
        whole.then(|| {
            map.meet();
            format!("{}{rest}", map.new.trim_end_matches(['/', '\\']))
        })
    })
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
