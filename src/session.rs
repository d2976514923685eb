//! A session that can be queried: its header, the links of its entries, and its records, which are
//! read again when they are requested.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options, Parts, Reader};
use crate::formats;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Record};
use crate::tree::{Path, Shape, Tree};
use crate::user_words::UserWords;
use std::collections::HashMap;
use std::fmt;

/// A session that was walked once, and of which 24 bytes an entry were kept, in memory or in a
/// temporary file.
///
/// ```
/// use copyist::diagnostic::Log;
/// use copyist::format::{Cx, Options};
/// use copyist::{formats::pi, json::Json, memory::Bytes, record::Field, session::Session};
/// let file = concat!(
///     r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#, "\n",
///     r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"Hello"}}"#, "\n",
///     r#"{"type":"label","id":"b","parentId":"a","timestamp":"t","targetId":"a","label":"start"}"#, "\n",
/// );
/// let (options, log) = (Options::default(), Log::default());
/// let mut parts = Bytes::new(file);
/// let cx = Cx { options: &options, log: &log };
/// let mut session = Session::open(&pi::FORMAT, &mut parts, &cx)?;
/// assert_eq!(session.header().node.text(Field::Cwd).as_deref(), Some("/w"));
/// assert_eq!(session.leaf(), Some(&Json::string("b")));
/// assert_eq!(session.path(None)?.len(), 2);
/// let (_, label) = session.labels().next().expect("a label");
/// assert_eq!(label.text().as_deref(), Some("start"));
/// let a = session.records(&cx)?.nth(1).expect("a record")?;
/// assert_eq!(a.value.node.text(Field::Content).as_deref(), Some("Hello"));
/// # Ok::<(), copyist::error::Error>(())
/// ```
pub struct Session<'s> {
    format: &'static Format,
    parts: &'s mut dyn Parts,
    options: Options,
    header: Record,
    tree: Tree,
    entries: u64,
    leaf: Option<Json>,
    name: Option<Json>,
    labels: HashMap<Json, Json>,
}

/// Visitor of a session that is read twice: to be opened, and once more.
pub trait Visitor {
    /// Takes a record of the walk that opens the session.
    fn record(&mut self, located: &Located<Record>);

    /// Reads the records once more, and takes each of them on its way to another reader.
    ///
    /// # Errors
    /// If the session cannot be read any more.
    fn again<'a, 's: 'a>(&'a mut self, session: Session<'s>, cx: &'a Cx<'a>) -> Result<Reader<'a>>;
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Session");
        shown.field("format", &self.format.name).field("entries", &self.entries);
        shown.field("leaf", &self.leaf).finish_non_exhaustive()
    }
}

impl<'s> Session<'s> {
    /// Walks over a session. Defects of the session are reported in the log of `cx`, once.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged and the options do not tolerate that.
    pub fn open(format: &'static Format, parts: &'s mut dyn Parts, cx: &Cx<'_>) -> Result<Self> {
        Self::open_showing(format, parts, cx, &mut |_| {})
    }

    /// Walks over a session, and shows every record on the way.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn open_showing(
        format: &'static Format,
        parts: &'s mut dyn Parts,
        cx: &Cx<'_>,
        show: &mut dyn FnMut(&Located<Record>),
    ) -> Result<Self> {
        parts.keep()?;
        let shape = Shape::within(cx.options.index_memory);
        let mut first = Gathering::new(shape, UserWords::of(format));
        for item in formats::records(format, parts, cx)? {
            let located = item?;
            show(&located);
            first.record(&located);
        }
        let tree = first.shape.finish();
        let reorders = |header: &Record| formats::ruling(format, &header.node).agent.reorders;
        let reorders = first.header.as_ref().is_some_and(reorders);
        let counts = |code| code != Code::Cycle && !(reorders && code == Code::ForwardParent);
        tree.findings().filter(|found| counts(found.code)).for_each(|found| cx.report(found));
        tree.unreached()
            .filter(|_| format.agent.ends_at_last)
            .into_iter()
            .for_each(|found| cx.report(found));
        let mut labels = first.labels;
        labels.retain(|target, _| tree.ordinal(target).is_some());
        let header = first.header.unwrap_or_else(|| Record::new(Kind::Session));
        let leaf = header.node.json(Field::Leaf).cloned().or(first.last);
        Ok(Self {
            format,
            parts,
            options: cx.options.clone(),
            header,
            tree,
            entries: first.entries,
            leaf,
            name: first.name,
            labels,
        })
    }

    /// Reports the entries that are their own ancestors. A session with such entries can be opened,
    /// as long as the path that leads through them is not needed.
    pub fn report_cycles(&self, cx: &Cx<'_>) {
        let cycles = self.tree.findings().filter(|found| found.code == Code::Cycle);
        cycles.for_each(|cycle| cx.report(cycle));
    }

    /// Returns the format of the session.
    #[must_use]
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Returns the options with which the session is read.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the parts of the session.
    pub fn parts(&mut self) -> &mut dyn Parts {
        self.parts
    }

    /// Returns the session record, with the additions and changes of later session records.
    #[must_use]
    pub fn header(&self) -> &Record {
        &self.header
    }

    /// Returns how many entries there are, those without an identifier included.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the identifier of the session's leaf.
    #[must_use]
    pub fn leaf(&self) -> Option<&Json> {
        self.leaf.as_ref()
    }

    /// Returns the session's name, from its last `session_info`, or else from its header.
    #[must_use]
    pub fn name(&self) -> Option<&Json> {
        self.name.as_ref().or(self.header.node.json(Field::Name))
    }

    /// Returns all labels, by their entries, in no order.
    pub fn labels(&self) -> impl Iterator<Item = (&Json, &Json)> {
        self.labels.iter()
    }

    /// Returns the links between the entries.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Reads all records again, in source order.
    ///
    /// # Errors
    /// If the session cannot be read any more.
    pub fn records<'a>(&'a mut self, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
        formats::records(self.format, self.parts, cx)
    }

    /// Reads all records for the last time; the session is consumed.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub fn into_records<'a>(self, cx: &'a Cx<'a>) -> Result<Reader<'a>>
    where
        's: 'a,
    {
        formats::records(self.format, self.parts, cx)
    }

    /// Returns the tree with all labels, for a walk from the roots, and the records, to be read for
    /// the last time; the session is consumed.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub fn into_tree_labels_records<'a>(
        self,
        cx: &'a Cx<'a>,
    ) -> Result<(Tree, HashMap<Json, Json>, Reader<'a>)>
    where
        's: 'a,
    {
        let records = formats::records(self.format, self.parts, cx)?;
        Ok((self.tree, self.labels, records))
    }

    /// Returns the conversation up to the leaf, with what came before compactions; empty where it is
    /// its own ancestor, or the leaf has no identifier.
    #[must_use]
    pub fn history(&self) -> Path {
        let path = self.tree.history(self.leaf.as_ref());
        path.filter(|path| path.cycle().is_none())
            .or_else(|| self.path(None).ok())
            .unwrap_or_default()
    }

    /// Returns the path from the root to an entry, or to the leaf. Empty where the leaf has no
    /// identifier.
    ///
    /// # Errors
    /// If there is no such entry, or entries on the way are their own ancestors.
    pub fn path(&self, to: Option<&Json>) -> Result<Path> {
        match (self.tree.path(to.or(self.leaf.as_ref())), to) {
            (Some(path), _) => path.cycle().map_or(Ok(path), |found| Err(Error::unfit(found))),
            (None, None) => Ok(Path::default()),
            (None, Some(id)) => {
                let message = format!("no entry has the identifier {id:?}");
                Err(Error::request(Code::NoContext, message))
            }
        }
    }
}

/// Whether a record is an entry of the session, not a header, a blank line or a damaged line.
#[must_use]
pub fn is_entry(record: &Record) -> bool {
    let node = &record.node;
    let line = node.json(Field::Text).is_some() || node.json(Field::Base64).is_some();
    match record.kind {
        Kind::Session | Kind::Notice => false,
        Kind::Opaque => !line,
        _ => true,
    }
}

/// Results of the first walk.
struct Gathering {
    shape: Shape,
    user_words: UserWords,
    header: Option<Record>,
    entries: u64,
    last: Option<Json>,
    name: Option<Json>,
    labels: HashMap<Json, Json>,
}

impl Gathering {
    fn new(shape: Shape, user_words: UserWords) -> Self {
        Self {
            shape,
            user_words,
            header: None,
            entries: 0,
            last: None,
            name: None,
            labels: HashMap::new(),
        }
    }

    fn record(&mut self, located: &Located<Record>) {
        let node = &located.value.node;
        self.shape.record(located);
        self.user_words.note(&located.value);
        if located.value.is_node()
            && let Some(before) = self.user_words.continued(&located.value)
        {
            self.shape.continues(&before);
        }
        if is_entry(&located.value) {
            self.entries += 1;
            // Playback that has no place in the tree is beside it.
            let beside = located.value.kind == Kind::Event && !located.value.is_node();
            if located.value.kind.is_node() && !beside {
                self.last = node.json(Field::Id).cloned();
            }
        }
        let has_text = |text: &&Json| text.as_bytes() != b"\"\"";
        match located.value.kind {
            Kind::Session => self.session(&located.value),
            Kind::SessionInfo => self.name = node.json(Field::Name).filter(has_text).cloned(),
            Kind::Label => {
                let label = node.json(Field::Label).filter(has_text);
                match (node.json(Field::Target), label) {
                    (Some(target), Some(label)) => {
                        self.labels.insert(target.clone(), label.clone());
                    }
                    (Some(target), None) => drop(self.labels.remove(target)),
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }

    /// Notes a session record, which adds to those before it, or replaces their values.
    fn session(&mut self, record: &Record) {
        match &mut self.header {
            None => self.header = Some(record.clone()),
            Some(header) => {
                for (field, value) in record.node.iter() {
                    header.node.set(field, value.clone());
                }
            }
        }
    }
}
