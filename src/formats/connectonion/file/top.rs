//! Members of the top, except `turns` and `messages`.

use super::super::NAME;
use super::turn::{self, Table};
use crate::diagnostic::{Code, Log};
use crate::json::{Json, text as json};
use crate::mapping::{Extra, Object, misfit};
use crate::position::Position;
use crate::record::{Field, Kind, Node, Record};
use crate::yaml::json::{Scalars, emit};
use crate::yaml::write::{Emitter, Style};
use std::collections::HashSet;

/// Description of one kind of file.
#[derive(Debug)]
pub struct Shape {
    /// The version.
    pub version: u32,
    /// The layout of the session record as JSON, for a version that has files of several kinds.
    pub layout: Option<&'static str>,
    /// Members of the top in the order of the real writer, with the fields of the session record
    /// that hold them.
    members: &'static [(&'static str, Field)],
    /// Members of a turn.
    pub turns: &'static Table,
    /// Turn members that the real software gives every turn. The last turn of a file that was cut
    /// may lack them.
    pub needs: &'static [&'static str],
    /// Place of the messages.
    pub lists: Lists,
    /// Diagnostic that the reader reports for every file of this kind.
    pub finding: Option<Code>,
}

/// Place of the messages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// Each turn has a list as a text.
    Within,
    /// The lists of all turns are behind the turns.
    Behind,
    /// The messages are in other files, or there are none.
    Elsewhere,
}

/// Version 1.
pub static DATED: Shape = Shape {
    version: 1,
    layout: None,
    members: &[("name", Field::Agent), ("timestamp", Field::Created)],
    turns: &turn::DATED,
    needs: &["messages", "result", "tools_called"],
    lists: Lists::Within,
    finding: None,
};

/// Version 2.
pub static KEYED: Shape = Shape {
    version: 2,
    layout: None,
    members: &[
        ("name", Field::Agent),
        ("session_id", Field::Id),
        ("created", Field::Created),
        ("updated", Field::Updated),
        ("total_cost", Field::Totals),
        ("total_tokens", Field::Totals),
        ("system_prompt", Field::SystemPrompt),
    ],
    turns: &turn::KEYED,
    needs: &[],
    lists: Lists::Behind,
    finding: None,
};

/// A summary of runs, of version 3.
pub static INDEX: Shape = Shape {
    version: 3,
    layout: Some("\"index\""),
    members: &[
        ("name", Field::Name),
        ("created", Field::Created),
        ("updated", Field::Updated),
        ("runs", Field::Totals),
        ("model", Field::Model),
    ],
    turns: &turn::INDEX,
    needs: &["history"],
    lists: Lists::Elsewhere,
    finding: Some(Code::RunSummary),
};

/// Evaluations that users write for the software's own evaluation, which adds its results.
pub static AUTHORED: Shape = Shape {
    version: 3,
    layout: Some("\"authored\""),
    members: &[("name", Field::Name), ("agent", Field::Agent), ("model", Field::Model)],
    turns: &turn::INDEX,
    needs: &[],
    lists: Lists::Elsewhere,
    finding: Some(Code::AuthoredEval),
};

/// Members of the top that are not yet in a record.
pub struct Top {
    shape: &'static Shape,
    node: Node,
    totals: Extra,
    extra: Extra,
    names: HashSet<String>,
    /// Position of the first member.
    pub at: Option<Position>,
}

impl Top {
    /// Makes a top without members.
    pub fn new(shape: &'static Shape) -> Self {
        Self {
            shape,
            node: Node::default(),
            totals: Extra::default(),
            extra: Extra::default(),
            names: HashSet::new(),
            at: None,
        }
    }

    /// Adds a member; it replaces a member of the same name.
    pub fn add(&mut self, name: &str, value: Json) {
        if !self.names.insert(name.to_owned()) {
            self.remove(name);
        }
        let mut quoted = Vec::new();
        json::quote(name, &mut quoted);
        let first = value.as_bytes().first().copied().unwrap_or_default();
        let field = self.shape.field(name);
        match field.filter(|field| field.shape().admits(first) && self.node.get(*field).is_none()) {
            Some(Field::Totals) => self.totals.add(&quoted, value.as_bytes()),
            Some(field) => self.node.set(field, value),
            None => self.extra.add(&quoted, value.as_bytes()),
        }
    }

    fn remove(&mut self, name: &str) {
        self.extra.remove(name);
        match self.shape.field(name) {
            Some(Field::Totals) => self.totals.remove(name),
            Some(field) => drop(self.node.take(field)),
            None => {}
        }
    }

    /// Returns the session record that the members make up.
    pub fn record(self) -> Record {
        let mut record = Record { kind: Kind::Session, node: self.node };
        record.node.put(Field::Totals, self.totals.finish());
        self.extra.put(&mut record.node);
        record
    }
}

impl Shape {
    /// Returns the value of [`Field::Source`] for such a file.
    pub fn source(&self) -> String {
        format!("{NAME}@{}", self.version)
    }

    fn field(&self, name: &str) -> Option<Field> {
        self.members.iter().find(|(member, _)| *member == name).map(|(_, field)| *field)
    }

    /// Returns how the reader takes the scalars of a member.
    pub fn scalars_of(&self, name: &str) -> Scalars {
        match self.field(name) {
            Some(field) if field != Field::Totals => Scalars::Text,
            _ => Scalars::Typed,
        }
    }

    /// Whether a field of the session record has a place in this kind of file. Members that users
    /// added have a place only if the file is the format's `own`.
    pub fn holds(&self, field: Field, own: bool) -> bool {
        let about_the_file = [Field::Source, Field::File, Field::Layout];
        match field {
            Field::Extra => own,
            Field::Totals if !own => false,
            _ => {
                about_the_file.contains(&field)
                    || self.members.iter().any(|(_, held)| *held == field)
            }
        }
    }

    /// Counts the fields of a session record that have no place here and are not `moved` to another
    /// place.
    pub fn losses(&self, node: &Node, own: bool, moved: &dyn Fn(Field) -> bool, log: &Log) {
        let encoded = |file: &Node| file.json(Field::Encoding).is_some();
        if !own && node.node(Field::File).is_some_and(encoded) {
            log.lost("session.file.encoding");
        }
        log.count_lost("session", node, |field| self.holds(field, own) || moved(field));
    }

    /// Writes the members that a session record represents, as JSON; false if there are none.
    pub fn write(&self, node: &Node, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let mut object = Object::open(out);
        let inside = |field, name| node.json(field).and_then(|object: &Json| object.member(name));
        let mut rest = node.json(Field::Extra).cloned();
        for (name, field) in self.members {
            let value = match field {
                Field::Totals => inside(Field::Totals, name),
                _ => node.json(*field).cloned(),
            };
            let misfit = misfit(&mut rest, name, field.shape(), value.is_some());
            let value = value.or(misfit);
            value.into_iter().for_each(|value| object.member(name, value.as_bytes()));
        }
        rest.into_iter().for_each(|rest| object.members_of(&rest));
        object.close();
        out.len() > start + 2
    }

    /// Returns the members that a session record represents as YAML.
    pub fn text(&self, node: &Node, style: Style) -> Vec<u8> {
        let mut json = Vec::new();
        if !self.write(node, &mut json) {
            return Vec::new();
        }
        let mut yaml = Emitter::new(style);
        put(&json, &mut yaml);
        yaml.finish()
    }
}

/// Removes the prompt from the top if a later session record has one: a file has one prompt, and
/// the later one counts. Returns whether there was one; a prompt with other content is counted as
/// dropped.
pub fn superseded(top: &mut Node, later: &Node, log: &Log) -> bool {
    let Some(now) = later.get(Field::SystemPrompt) else { return false };
    let Some(before) = top.take(Field::SystemPrompt) else { return false };
    if before != *now {
        log.lost("session.system_prompt");
    }
    true
}

/// Writes JSON that the record model produced.
pub fn put(json: &[u8], yaml: &mut Emitter) {
    let written = emit(json, yaml);
    debug_assert!(written.is_ok(), "{written:?}");
}
