//! Messages that the software does not reach, where a session continues at its last entry.

use super::marked::marks;
use super::{ABSENT, Bits, MISSING, Tree};
use crate::diagnostic::{Code, Diagnostic};
use crate::json::text;

/// Maximum number of entries behind the last message whose identifiers are kept.
const MOST_NAMED: usize = 64;

/// Repairs that link an entry to the leaf, although other entries may follow that leaf.
const LINKS_TO_LEAF: [Code; 3] = [Code::LeafLinked, Code::EmptyTail, Code::OrphanResult];

/// Whether a record's notes show that a repair linked it to the end of the conversation, or to the
/// entry before a removed end. Its parent is the leaf, though another branch may follow it.
pub fn links_to_leaf(notes: &[u8]) -> bool {
    LINKS_TO_LEAF.iter().any(|code| memchr::memmem::find(notes, code.name().as_bytes()).is_some())
}

/// The last message of a file and the entries behind it, by the names that a user needs to link
/// them.
#[derive(Debug, Default)]
pub struct Tail {
    tip: Option<u32>,
    name: Vec<u8>,
    behind: Vec<(u32, Vec<u8>)>,
}

impl Tail {
    /// Notes an entry, in the order of the file, with the JSON spelling of its identifier.
    pub fn note(&mut self, ordinal: u32, id: &[u8], marks: u32) {
        if marks & marks::MESSAGE != 0 {
            self.tip = Some(ordinal);
            self.name.clear();
            self.name.extend_from_slice(id);
            self.behind.clear();
        } else if self.behind.len() < MOST_NAMED {
            self.behind.push((ordinal, id.to_vec()));
        }
    }

    /// Returns the finding that the last entry continues an older branch. `top` is the first entry
    /// behind the last message that leads to it, and `count` is the number of newer messages that
    /// are not reached.
    pub fn old_branch(&self, top: u32, count: u64) -> Diagnostic {
        let top = self.behind.iter().find(|(ordinal, _)| *ordinal == top);
        let name = |id: &[u8]| text::decode(id).unwrap_or_default();
        let link = top.map_or_else(String::new, |(_, top)| {
            format!("; `copyist repair --relink {}={}` links it", name(top), name(&self.name))
        });
        let code = Code::OldBranch;
        Diagnostic::new(code, format!("{}: {count} are not reached{link}", code.title()))
    }
}

/// Sorts of the nodes of a tree.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    messages: Bits,
    aside: Bits,
    /// Number of messages.
    count: u64,
    /// The last node that does not merely describe the session.
    end: Option<u32>,
    tail: Tail,
    /// Whether the session names its leaf, which then is not the last entry.
    pub leaf_named: bool,
}

impl Nodes {
    pub fn note(&mut self, ordinal: u32, id: &[u8], marks: u32) {
        if marks & marks::MESSAGE != 0 {
            self.messages.insert(ordinal);
            self.count += 1;
        }
        if marks & marks::ASIDE != 0 {
            self.aside.insert(ordinal);
        } else {
            self.end = Some(ordinal);
        }
        self.tail.note(ordinal, id, marks);
    }
}

/// The way from the last entry to its root.
struct Way {
    nodes: Bits,
    /// The root.
    root: u32,
    /// Number of messages on the way.
    messages: u64,
    /// The last message on the way.
    last: Option<u32>,
}

impl Tree {
    /// Returns the finding about messages that the software does not reach from the last entry, if
    /// it continues there: an entry has lost its parent, or the last entry is on an older branch.
    pub fn unreached(&self) -> Option<Diagnostic> {
        if self.nodes.leaf_named {
            return None;
        }
        let leaf = self.entries.get(self.find(self.leaf?)?)?.ordinal;
        let way = self.way(leaf)?;
        self.lost(&way).or_else(|| self.aside(leaf, &way))
    }

    fn way(&self, leaf: u32) -> Option<Way> {
        let nodes = Bits::with_room(self.entries.len());
        let mut way = Way { nodes, root: leaf, messages: 0, last: None };
        for ordinal in std::iter::successors(Some(leaf), |ordinal| self.parent_of(*ordinal)) {
            if !way.nodes.insert(ordinal) {
                return None;
            }
            if self.nodes.messages.contains(ordinal) {
                way.messages += 1;
                way.last.get_or_insert(ordinal);
            }
            way.root = ordinal;
        }
        Some(way)
    }

    /// Returns the finding about an entry without its parent, behind which the way ends.
    fn lost(&self, way: &Way) -> Option<Diagnostic> {
        let ordinal = way.root;
        // Nothing follows the parent of a root, unless that parent is missing.
        let parent = self.links.jump(ordinal)?;
        let parent = if parent > MISSING { MISSING } else { parent };
        let count = self.nodes.count;
        // In a list no entry has a parent.
        let tree = || self.entries.iter().any(|entry| entry.parent != ABSENT);
        let lost = matches!(parent, ABSENT | MISSING) && ordinal > 0 && way.messages < count;
        if !lost || !tree() {
            return None;
        }
        let at = self.places.at(ordinal);
        let why =
            if parent == ABSENT { "has no parent" } else { "has a parent that is not in the file" };
        let reached = way.messages;
        let message = format!(
            "{reached} of {count} messages are reached: the entry on line {} {why}",
            at.line
        );
        Some(Diagnostic::new(Code::Unreached, message).at(at))
    }

    /// Returns the finding about a last entry that follows an older message than the newest one.
    fn aside(&self, leaf: u32, way: &Way) -> Option<Diagnostic> {
        let tip = self.nodes.tail.tip?;
        if way.nodes.contains(tip) || way.last.is_some_and(|last| last > tip) {
            return None;
        }
        let newer =
            |ordinal: &u32| self.nodes.messages.contains(*ordinal) && !way.nodes.contains(*ordinal);
        let count = (way.last.unwrap_or(0)..=tip).filter(newer).count() as u64;
        let at = self.places.at(leaf);
        let end = self.nodes.end.filter(|end| !way.nodes.contains(*end));
        if self.nodes.aside.contains(leaf) && end.is_some() {
            let code = Code::LeafAside;
            let message = format!("{}: {count} newer ones are not reached", code.title());
            return Some(Diagnostic::new(code, message).at(at));
        }
        let top = (tip..=leaf).find(|ordinal| way.nodes.contains(*ordinal))?;
        Some(self.nodes.tail.old_branch(top, count).at(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Shape;
    use super::*;
    use crate::json::Json;
    use crate::position::Position;

    /// Nodes by identifier, parent (`-` for none, empty for a root) and marks.
    fn found(nodes: &[(&str, &str, u32)]) -> Option<(Code, String)> {
        let mut shape = Shape::default();
        for (i, (id, parent, marks)) in nodes.iter().enumerate() {
            let parent = match *parent {
                "-" => None,
                "" => Some(Json::constant("null")),
                parent => Some(Json::string(parent)),
            };
            let at = Position { line: i as u64 + 2, ..Position::default() };
            shape.node(&Json::string(id), parent.as_ref(), at);
            shape.is(&Json::string(id), *marks);
        }
        shape.finish().unreached().map(|found| (found.code, found.message))
    }

    #[test]
    fn entries_that_lost_their_parent_hide_what_precedes_them() {
        const M: u32 = marks::MESSAGE;
        assert_eq!(found(&[("a", "", M), ("b", "a", M), ("c", "a", M)]), None);
        assert_eq!(found(&[("a", "-", M), ("b", "a", M)]), None);
        assert_eq!(found(&[("a", "gone", M), ("b", "a", M)]), None);
        assert_eq!(found(&[("a", "-", M), ("b", "-", M)]), None, "a list");
        assert_eq!(found(&[("a", "", M), ("b", "", M)]), None, "a user went back");
        for lost in ["-", "gone"] {
            let (code, message) =
                found(&[("a", "", M), ("b", lost, M), ("c", "b", 0)]).expect(lost);
            assert_eq!(code, Code::Unreached);
            assert!(
                message.starts_with("1 of 2 messages are reached: the entry on line 3"),
                "{message}"
            );
        }
    }

    #[test]
    fn bookkeeping_on_an_older_branch_is_reported() {
        const M: u32 = marks::MESSAGE;
        let base = [("a", "", M), ("b", "a", M), ("c", "b", M)];
        let with = |more: &[(&'static str, &'static str, u32)]| found(&[&base, more].concat());
        assert_eq!(with(&[("d", "c", 0), ("e", "d", 0)]), None);
        assert_eq!(with(&[("d", "a", 0), ("e", "d", M)]), None, "the user went back");
        let (code, message) = with(&[("d", "a", 0), ("e", "d", 0)]).expect("an older branch");
        assert_eq!(code, Code::OldBranch);
        assert!(
            message.ends_with(": 2 are not reached; `copyist repair --relink d=c` links it"),
            "{message}"
        );
        let (code, _) = with(&[("d", "b", marks::ASIDE)]).expect("a label");
        assert_eq!(code, Code::LeafAside);
    }
}
