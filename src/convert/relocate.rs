//! `--map-path`: sessions that move to another folder.

use crate::json::{Json, text};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Node, Record, Value};

/// An old path and the new one.
pub type Map = (String, String);

/// Rewrites the paths by which a session is found: its folder, that of a run, and the file of the
/// session that it was made from. What was said stays as it was said.
pub fn record(record: &mut Record, maps: &[Map]) {
    if !matches!(record.kind, Kind::Session | Kind::Run) {
        return;
    }
    path(&mut record.node, Field::Cwd, maps);
    if let Some(Value::Node(parent)) = record.node.get_mut(Field::ParentSession) {
        path(parent, Field::Path, maps);
    }
    // Where a format tells of more folders than the model knows.
    if let Some(extra) = record.node.json(Field::Extra).cloned() {
        let mut new = Extra::default();
        for (key, value) in extra.members() {
            match text::decode(value).and_then(|old| moved(&old, maps)) {
                Some(moved) => new.add(key, Json::string(&moved).as_bytes()),
                None => new.add(key, value),
            }
        }
        new.finish().into_iter().for_each(|new| record.node.set(Field::Extra, new));
    }
}

fn path(node: &mut Node, field: Field, maps: &[Map]) {
    if let Some(moved) = node.text(field).and_then(|old| moved(&old, maps)) {
        node.set(field, Json::string(&moved));
    }
}

/// The path below the new folder, if it is the old one or stands below it. The first map counts.
fn moved(path: &str, maps: &[Map]) -> Option<String> {
    maps.iter().find_map(|(old, new)| {
        let rest = path.strip_prefix(old.trim_end_matches(['/', '\\']))?;
        let whole = rest.is_empty() || rest.starts_with(['/', '\\']);
        whole.then(|| format!("{}{rest}", new.trim_end_matches(['/', '\\'])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pieces_of_a_path_move() {
        let maps = [("/home/ada".to_owned(), "/users/ada/".to_owned())];
        for (old, new) in [
            ("/home/ada", Some("/users/ada")),
            ("/home/ada/src", Some("/users/ada/src")),
            ("/home/adam", None),
            ("see /home/ada", None),
        ] {
            assert_eq!(moved(old, &maps).as_deref(), new, "{old}");
        }
    }
}
