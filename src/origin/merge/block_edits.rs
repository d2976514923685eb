//! Blocks of an edited message, merged one by one. An unchanged block stays as the source has it. A
//! changed block takes the content of the file, and keeps what only the source contains.

use crate::json::Json;
use crate::mapping::Object;
use crate::origin::matching::align::shown_blocks;
use crate::record::{Field, Node, Value, block};

/// Blocks of an edited message.
#[derive(Default)]
pub struct Met {
    /// All blocks of the message.
    pub blocks: Vec<Node>,
    /// Blocks that come from the source, edited or not.
    pub held: Vec<Node>,
    /// Number of signatures that were removed: a provider accepts none for words that it does not
    /// sign.
    pub unsigned: usize,
}

impl Met {
    /// Adds a block of the source.
    fn hold(&mut self, block: Node) {
        self.held.push(block.clone());
        self.blocks.push(block);
    }
}

/// Merges the source's blocks with the blocks of the file.
pub fn met(own: &[Node], file: &[Node]) -> Met {
    let mut pairs = Pairs::of(own, file);
    pairs.pair(&|own, file| !own.hash.is_empty() && own.hash == file.hash);
    pairs.pair(&|own, file| {
        [Field::Id, Field::Call]
            .iter()
            .any(|field| own.node.json(*field).is_some_and(|id| file.node.json(*field) == Some(id)))
    });
    pairs.join();
    pairs.pair(&is_alike);
    pairs.met()
}

/// Returns the blocks of a message or of a tool result, whether it holds a list or a text.
pub fn of(content: Option<&Value>) -> Vec<Node> {
    match content {
        Some(Value::Nodes(blocks)) => blocks.clone(),
        Some(Value::Json(text)) if !text.is_null() => vec![block::text(text.clone())],
        _ => Vec::new(),
    }
}

/// Converts blocks to the form of the content that they replace: a text that stays one text is a
/// text.
pub fn like(old: &Value, blocks: Vec<Node>) -> Value {
    let text = match (old, blocks.as_slice()) {
        (Value::Json(_), [block]) if block.is(Field::Type, block::TEXT) => {
            block.json(Field::Text).filter(|_| block.fields().count() == 2).cloned()
        }
        _ => None,
    };
    text.map_or(Value::Nodes(blocks), Value::Json)
}

/// Block with its content.
struct Block<'b> {
    node: &'b Node,
    hash: Vec<u8>,
    /// Whether the block has a counterpart on the other side.
    paired: bool,
}

impl<'b> Block<'b> {
    fn of(node: &'b Node) -> Self {
        let mut hash = node.json(Field::Thinking).map(Json::normal).unwrap_or_default();
        let alone = Node::default().with(Field::Content, vec![node.clone()]);
        shown_blocks(&alone).into_iter().for_each(|shown| hash.extend(shown));
        Self { node, hash, paired: false }
    }

    fn is(&self, kind: &str) -> bool {
        self.node.is(Field::Type, kind)
    }
}

/// Whether one block may be the other one, edited: a call that shares neither its name nor its
/// arguments with another one is another call.
fn is_alike(own: &Block<'_>, file: &Block<'_>) -> bool {
    let one_type = own.node.json(Field::Type) == file.node.json(Field::Type);
    let arguments = |block: &Block<'_>| block::arguments(block.node).0.normal();
    one_type
        && (!own.is(block::TOOL_CALL)
            || own.node.json(Field::Name) == file.node.json(Field::Name)
            || arguments(own) == arguments(file))
}

/// Pairs of the source's blocks and the file's blocks.
struct Pairs<'b> {
    own: Vec<Block<'b>>,
    file: Vec<Block<'b>>,
    /// Place of the file's block for each block of the source.
    by: Vec<Option<usize>>,
    /// Whether each block of the source stays as it is: the file has no place for it, or has joined
    /// it with others.
    unchanged: Vec<bool>,
    /// A text that was edited where the file has joined it with others, and its place.
    joined: Option<(usize, Node)>,
}

impl<'b> Pairs<'b> {
    fn of(own: &'b [Node], file: &'b [Node]) -> Self {
        let own: Vec<_> = own.iter().map(Block::of).collect();
        let file: Vec<_> = file.iter().map(Block::of).collect();
        // A file that shows thoughts shows all.
        let thinks = file.iter().any(|block| block.is(block::THINKING));
        let unsaid = |b: &Block<'_>| b.hash.is_empty() || (b.is(block::THINKING) && !thinks);
        let unchanged = own.iter().map(unsaid).collect();
        Self { by: vec![None; own.len()], own, file, unchanged, joined: None }
    }

    /// Pairs blocks that are alike and not paired yet, in their order.
    fn pair(&mut self, alike: &dyn Fn(&Block<'_>, &Block<'_>) -> bool) {
        let blocks = self.own.iter_mut().zip(&mut self.by).zip(&self.unchanged);
        for ((own, by), _) in blocks.filter(|((own, _), unchanged)| !own.paired && !**unchanged) {
            let found = self.file.iter().position(|file| !file.paired && alike(own, file));
            if let Some(file) = found.and_then(|place| self.file.get_mut(place)) {
                (own.paired, file.paired, *by) = (true, true, found);
            }
        }
    }

    /// Keeps texts that the file has joined into one, if the joined text is unchanged or was edited
    /// within one of them.
    fn join(&mut self) {
        let is_free = |block: &Block<'_>| !block.paired && block.is(block::TEXT);
        let places = |list: &[Block<'_>]| -> Vec<usize> {
            list.iter().enumerate().filter(|(_, b)| is_free(b)).map(|(n, _)| n).collect()
        };
        let (several, one) = (places(&self.own), places(&self.file));
        let ([first, _, ..], [one]) = (several.as_slice(), one.as_slice()) else { return };
        let texts: Vec<_> =
            self.own.iter().filter(|b| is_free(b)).map(|b| b.node.clone()).collect();
        let joined = block::all_text(&texts).map(|text| text.normal());
        let Some(file) = self.file.get_mut(*one) else { return };
        if joined != file.node.json(Field::Text).map(Json::normal) {
            let Some((nth, text)) = edited_part(&texts, file.node) else { return };
            let place = several.get(nth).copied().unwrap_or_default();
            let Some(mut node) = texts.get(nth).cloned() else { return };
            node.set(Field::Text, Json::string(&text));
            self.joined = Some((place, node));
        }
        file.paired = true;
        self.by.get_mut(*first).into_iter().for_each(|by| *by = Some(*one));
        for place in several {
            self.own.get_mut(place).into_iter().for_each(|own| own.paired = true);
            self.unchanged.get_mut(place).into_iter().for_each(|unchanged| *unchanged = true);
        }
    }

    fn met(&self) -> Met {
        let (mut met, mut begun) = (Met::default(), false);
        let all = self.own.iter().zip(&self.by).zip(&self.unchanged);
        for (place, ((own, by), unchanged)) in all.enumerate() {
            if by.is_some() && !begun {
                begun = true;
                self.put_new(0, &mut met.blocks);
            }
            let joined = self.joined.as_ref().filter(|(joined, _)| *joined == place);
            match by.and_then(|by| self.file.get(by)) {
                _ if joined.is_some() => {
                    let node = joined.map(|(_, node)| node.clone()).unwrap_or_default();
                    let signed = own.node.get(Field::Signature).is_some();
                    met.unsigned += usize::from(signed);
                    met.hold(unsigned(node));
                }
                Some(file) if !*unchanged && own.hash != file.hash => {
                    let edited = edited(own.node, file.node, &mut met.unsigned);
                    met.hold(edited);
                }
                None if !*unchanged => met.unsigned += usize::from(self.is_swallowed(own)),
                _ => met.hold(own.node.clone()),
            }
            by.iter().for_each(|by| self.put_new(by + 1, &mut met.blocks));
        }
        if !begun {
            self.put_new(0, &mut met.blocks);
        }
        met
    }

    /// Whether a signed text may have become a part of the one that the file has in its place.
    fn is_swallowed(&self, own: &Block<'_>) -> bool {
        let edited = |((own, by), unchanged): ((&Block<'_>, &Option<usize>), &bool)| {
            let file = by.and_then(|by| self.file.get(by));
            own.is(block::TEXT) && !unchanged && file.is_some_and(|file| file.hash != own.hash)
        };
        let signed = own.is(block::TEXT) && own.node.get(Field::Signature).is_some();
        signed && self.own.iter().zip(&self.by).zip(&self.unchanged).any(edited)
    }

    /// Adds the new blocks of the file from this place on.
    fn put_new(&self, from: usize, blocks: &mut Vec<Node>) {
        let new = self.file.iter().skip(from).take_while(|block| !block.paired);
        blocks.extend(new.filter(|b| !b.hash.is_empty()).map(|b| b.node.clone()));
    }
}

/// Returns the only one of the texts that was edited, and how it reads now, where the file has all
/// of them joined. `None` if the edit is not within one of them.
fn edited_part(texts: &[Node], file: &Node) -> Option<(usize, String)> {
    let texts: Vec<_> =
        texts.iter().map(|text| text.json(Field::Text)?.text()).collect::<Option<_>>()?;
    let (was, is) = (texts.concat(), file.json(Field::Text)?.text()?);
    let pairs = was.char_indices().zip(is.chars());
    let start =
        pairs.take_while(|((_, was), is)| was == is).map(|((at, was), _)| at + was.len_utf8());
    let start = start.last().unwrap_or(0);
    let rest = was.get(start..)?.chars().rev().zip(is.get(start..)?.chars().rev());
    let end: usize = rest.take_while(|(was, is)| was == is).map(|(was, _)| was.len_utf8()).sum();
    let (mut from, behind) = (0, was.len() - end);
    for (nth, text) in texts.iter().enumerate() {
        let to = from + text.len();
        if from <= start && behind <= to {
            let parts =
                [was.get(from..start)?, is.get(start..is.len() - end)?, was.get(behind..to)?];
            return Some((nth, parts.concat()));
        }
        from = to;
    }
    None
}

/// Returns a block without its signature.
fn unsigned(mut block: Node) -> Node {
    block.take(Field::Signature);
    block
}

/// Returns a block of the source with the edits of the file.
fn edited(own: &Node, file: &Node, unsigned: &mut usize) -> Node {
    let mut node = own.clone();
    let same_call = block::arguments(own).0.normal() == block::arguments(file).0.normal();
    for (field, value) in file.iter() {
        match (field, value, own.get(field)) {
            (Field::Arguments, ..) if same_call => {}
            // A result that says nothing of an error is none.
            (Field::IsError, Value::Json(new), held)
                if new.as_bytes() == b"false" && !held.is_some_and(is_true) => {}
            (Field::Arguments, Value::Json(new), Some(Value::Json(held))) => {
                node.set(Field::Arguments, in_form_of(held, new));
            }
            (Field::Content, value, Some(held)) => {
                let inner = met(&of(Some(held)), &of(Some(value)));
                *unsigned += inner.unsigned;
                node.set(Field::Content, like(held, inner.blocks));
            }
            (Field::Extra, Value::Json(new), Some(Value::Json(held))) => {
                node.set(Field::Extra, together(held, new));
            }
            _ => node.set(field, value.clone()),
        }
    }
    if own.is(Field::Type, block::THINKING) && file.get(Field::Signature).is_none() {
        *unsigned += usize::from(node.take(Field::Signature).is_some());
    }
    node
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Json(json) if json.as_bytes() == b"true")
}

/// Returns arguments as a text where the source has a text, spelled as Python or JavaScript would
/// if the old text was; and as a value where the source has a value.
fn in_form_of(held: &Json, new: &Json) -> Json {
    let is_text = |json: &Json| json.is_string();
    match (is_text(held), is_text(new)) {
        (true, false) => {
            let (old, text) = (held.parsed().unwrap_or_default(), held.text().unwrap_or_default());
            let spelled = match text.as_bytes() {
                text if text == old.python() => new.python(),
                text if text == old.normal() => new.normal(),
                _ => new.as_bytes().to_vec(),
            };
            Json::string(&String::from_utf8_lossy(&spelled))
        }
        (false, true) => new.parsed().unwrap_or_else(|| new.clone()),
        _ => new.clone(),
    }
}

/// Joins the members of two objects; the second one's value counts where both have a member.
fn together(held: &Json, new: &Json) -> Json {
    Object::json(|object| {
        let named = new.pairs();
        let left = held.pairs().into_iter().filter(|(key, _)| named.iter().all(|(k, _)| k != key));
        for (key, value) in left.chain(named.iter().cloned()) {
            object.spelled(key.as_bytes(), value.as_bytes());
        }
    })
}
