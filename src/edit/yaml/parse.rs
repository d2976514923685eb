//! Parsing of a document into its tree.

use super::items::Items;
use super::lines::Lines;
use super::meaning::{Hash, scalar};
use super::tree::{Entry, Id, Kind, Node, Tree};
use crate::yaml::Text;
use crate::yaml::read::{Event, Events, Layout, Limits, Node as Given, ScalarStyle, What};
use std::collections::HashMap;

/// A character that moves the places that the parser reports.
const MOVES_PLACES: &str = "\u{3a2}";

/// Parses a text; `None` if it is not YAML.
pub fn parse(text: &[u8]) -> Option<Tree<'_>> {
    if memchr::memmem::find(text, MOVES_PLACES.as_bytes()).is_some() {
        return None;
    }
    let mut builder = Builder::of(text);
    let mut events = Events::new(text, Limits::default());
    let mut documents = 0;
    while let Some(event) = events.next().ok()? {
        documents += usize::from(event.what == What::DocumentStart);
        if documents == 1 {
            builder.event(event)?;
        }
    }
    Some(builder.tree)
}

/// A collection that was begun.
struct Open {
    id: Id,
    mapping: bool,
    flow: bool,
    /// The key whose value comes next, and the begin of its entry.
    key: Option<(Id, usize)>,
}

struct Builder<'t> {
    tree: Tree<'t>,
    lines: Lines<'t>,
    /// End of what was read.
    at: usize,
    open: Vec<Open>,
    /// Nodes by the numbers of their anchors.
    anchors: HashMap<usize, Id>,
}

/// Part that a node has in the collection around it.
enum Role {
    Root,
    Item { start: usize, head: usize },
    Key { start: usize },
    Value { key: Id, start: usize, head: usize },
}

impl<'t> Builder<'t> {
    fn of(text: &'t [u8]) -> Self {
        let tree = Tree { text, ..Tree::default() };
        Self { tree, lines: Lines(text), at: 0, open: Vec::new(), anchors: HashMap::new() }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.lines.0.get(at).copied()
    }

    fn event(&mut self, event: Event) -> Option<()> {
        match event.what {
            What::DocumentStart => self.begin_document(),
            What::DocumentEnd | What::Comment { .. } => {}
            What::MappingEnd | What::SequenceEnd => self.end(&event),
            What::MappingStart(layout, node) => {
                self.begin(Kind::Mapping(layout), layout == Layout::Flow, &node)?;
            }
            What::SequenceStart(layout, node) => {
                self.begin(Kind::Sequence(layout), layout == Layout::Flow, &node)?;
            }
            What::Alias(anchor) => {
                let target = *self.anchors.get(&anchor)?;
                let role = self.role();
                let id = self.add(Kind::Alias(target), &Given::default());
                let (hash, loose) = (self.tree.node(target).hash, self.tree.node(target).loose);
                let node = self.tree.nodes.get_mut(id)?;
                (node.hash, node.loose, node.end) = (hash, loose, event.end.byte as usize);
                node.irregular = false;
                self.at = node.end;
                self.tree.aliases.push(id);
                self.enter(role, id);
            }
            What::Scalar(text, style, given) => {
                let role = self.role();
                let id = self.add(Kind::Scalar(style), &given);
                self.scalar(id, text, style, &given, event.end.byte as usize)?;
                self.enter(role, id);
            }
        }
        Some(())
    }

    fn begin_document(&mut self) {
        loop {
            self.at = self.lines.behind_blank(self.at);
            match self.lines.0.get(self.at..).unwrap_or_default() {
                [b'%', ..] if self.at == self.lines.start(self.at) => {
                    self.at = self.lines.end(self.at);
                }
                [b'-', b'-', b'-', rest @ ..]
                    if matches!(rest.first(), None | Some(b' ' | b'\t' | b'\n' | b'\r')) =>
                {
                    self.at += 3;
                    self.tree.head = self.at;
                    return;
                }
                _ => {
                    self.at = 0;
                    return;
                }
            }
        }
    }

    /// Goes to the place of the next node.
    fn role(&mut self) -> Role {
        let Some(open) = self.open.last_mut() else { return Role::Root };
        let (mapping, flow, key) = (open.mapping, open.flow, open.key.take());
        let id = open.id;
        loop {
            self.at = self.lines.behind_blank(self.at);
            // The colon of a value follows no comma.
            if !(flow && key.is_none() && self.byte(self.at) == Some(b',')) {
                break;
            }
            self.at += 1;
        }
        let start = self.at;
        match key {
            Some((key, start)) => {
                let end = self.tree.node(key).end;
                if self.byte(self.at) == Some(b':') {
                    self.at += 1;
                } else {
                    self.at = end;
                    self.mark_irregular(id);
                }
                Role::Value { key, start, head: self.at }
            }
            None if mapping => {
                let next = self.byte(start + 1);
                if self.byte(start) == Some(b'?') && next.is_none_or(|b| b.is_ascii_whitespace()) {
                    self.at += 1;
                }
                Role::Key { start }
            }
            None => {
                self.at += usize::from(!flow);
                Role::Item { start, head: self.at }
            }
        }
    }

    fn mark_irregular(&mut self, id: Id) {
        self.tree.nodes.get_mut(id).into_iter().for_each(|node| node.irregular = true);
    }

    /// Adds a node, behind its anchor and tag.
    fn add(&mut self, kind: Kind, given: &Given) -> Id {
        let id = self.tree.nodes.len();
        let (mut start, mut content) = (self.at, self.at);
        let count = usize::from(given.anchor.is_some()) + usize::from(given.tag.is_some());
        for number in 0..count {
            let at = self.lines.behind_blank(content);
            start = if number == 0 { at } else { start };
            let rest = self.lines.0.get(at..).unwrap_or_default();
            let ends = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b']' | b'}');
            let full = rest.starts_with(b"!<").then(|| rest.iter().position(|b| *b == b'>'));
            let length = full.flatten().map(|end| end + 1);
            let length = length.or_else(|| rest.iter().position(ends));
            content = at + length.unwrap_or(rest.len());
        }
        self.at = content;
        self.tree.nodes.push(Node {
            kind,
            start,
            content,
            end: content,
            anchored: given.anchor.is_some(),
            tag: given.tag.as_deref().map(Box::from),
            hash: Hash::default(),
            loose: 0,
            text: Text::default(),
            is_text: false,
            entries: Vec::new(),
            irregular: false,
            last: id,
        });
        if let Some(anchor) = given.anchor {
            self.anchors.insert(anchor, id);
        }
        if !matches!(kind, Kind::Scalar(ScalarStyle::Plain))
            && !self.tree.node(id).is_block_collection()
        {
            self.skip_to_content(id);
        }
        id
    }

    /// Moves the begin of a node's content behind white space and comments.
    fn skip_to_content(&mut self, id: Id) {
        let content = self.lines.behind_blank(self.at);
        if let Some(node) = self.tree.nodes.get_mut(id) {
            if node.start == node.content {
                node.start = content;
            }
            node.content = content;
            node.end = content;
        }
        self.at = content;
    }

    fn scalar(
        &mut self,
        id: Id,
        text: Text<'static>,
        style: ScalarStyle,
        given: &Given,
        end: usize,
    ) -> Option<()> {
        let meanings = scalar(text, style, given.tag.as_deref());
        let empty = style == ScalarStyle::Plain && meanings.text.as_bytes().is_empty();
        if !empty {
            self.skip_to_content(id);
        }
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let content = self.tree.node(id).content;
        let end = match (empty, block) {
            (true, _) => content,
            (_, true) => self.end_of_block(content, end, &meanings.text),
            _ => end,
        };
        let node = self.tree.nodes.get_mut(id)?;
        (node.hash, node.loose, node.is_text) = (meanings.hash, meanings.loose, meanings.is_text);
        (node.end, node.text) = (end, meanings.text);
        self.at = end;
        Some(())
    }

    /// Returns where the last line of a block of text ends, of which the parser reports as the end
    /// where the next node begins.
    fn end_of_block(&self, content: usize, end: usize, text: &Text<'_>) -> usize {
        let floor = self.lines.end(content);
        let header = self.lines.part(content, floor);
        let mut shown = text.as_bytes();
        while let [rest @ .., b'\n'] = shown {
            shown = rest;
        }
        // Lines of spaces at the end are empty, unless they may be text.
        let all = !matches!(shown.last(), Some(b' ' | b'\t'));
        let is_empty = |line: &[u8]| line.is_empty() || all && line.iter().all(|b| *b == b' ');
        let start = self.lines.start(end);
        let indentation = self.lines.part(start, end).iter().all(|b| *b == b' ');
        let mut end = if indentation { self.lines.before_break(start) } else { end };
        let keeps = header.iter().take(3).any(|b| *b == b'+');
        while !keeps && end > floor {
            let start = self.lines.start(end);
            if !is_empty(self.lines.part(start, end)) {
                break;
            }
            end = self.lines.before_break(start);
        }
        end.max(floor)
    }

    fn begin(&mut self, kind: Kind, flow: bool, given: &Given) -> Option<()> {
        let role = self.role();
        let id = self.add(kind, given);
        let mapping = matches!(kind, Kind::Mapping(_));
        if flow {
            let bracket = if mapping { b'{' } else { b'[' };
            if self.byte(self.at) == Some(bracket) {
                self.at += 1;
            } else {
                self.mark_irregular(id);
            }
        }
        self.enter(role, id);
        self.open.push(Open { id, mapping, flow, key: None });
        Some(())
    }

    /// Enters a node into the collection around it.
    fn enter(&mut self, role: Role, id: Id) {
        let start_of_node = self.tree.node(id).start;
        let entry = match role {
            Role::Root => {
                self.tree.root = Some(id);
                return;
            }
            Role::Item { start, head } => Entry { start, head, key: None, value: id },
            Role::Key { start } => {
                let start = start.min(start_of_node);
                if let Some(open) = self.open.last_mut() {
                    open.key = Some((id, start));
                    let around = open.id;
                    if !matches!(self.tree.node(id).kind, Kind::Scalar(_)) {
                        self.mark_irregular(around);
                    }
                }
                return;
            }
            Role::Value { key, start, head } => Entry { start, head, key: Some(key), value: id },
        };
        if let Some(open) = self.open.last() {
            let around = self.tree.nodes.get_mut(open.id);
            around.into_iter().for_each(|node| node.entries.push(entry));
        }
    }

    fn end(&mut self, event: &Event) {
        let Some(open) = self.open.pop() else { return };
        let node = self.tree.node(open.id);
        let last = node.entries.last().map(|entry| self.tree.end_of(entry));
        let end = match (open.flow && !is_bare(self.lines.0, node), last) {
            (true, _) => event.end.byte as usize,
            (_, last) => last.unwrap_or(node.content),
        };
        let (items, irregular) = Items::of(&self.tree, node);
        let (hash, loose) = items.hashes(node.tag.as_deref());
        let last = self.tree.nodes.len() - 1;
        if let Some(node) = self.tree.nodes.get_mut(open.id) {
            (node.end, node.last, node.hash, node.loose) = (end, last, hash, loose);
            node.irregular |= irregular;
        }
        self.at = self.at.max(end);
    }
}

/// Whether a mapping in a flow sequence has no braces.
fn is_bare(text: &[u8], node: &Node) -> bool {
    matches!(node.kind, Kind::Mapping(_)) && text.get(node.content) != Some(&b'{')
}
