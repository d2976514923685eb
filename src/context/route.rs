//! The entries that a context is built from, in their order.

use crate::error::Result;
use crate::format::Reader;
use crate::json::Json;
use crate::position::Located;
use crate::record::Record;
use crate::session::{Session, is_entry};
use crate::tree::{InOrder, Path};

/// Which entries of a session count.
#[derive(Debug)]
pub struct Route {
    /// The path from the root to the leaf.
    pub path: Path,
    /// Whether the last entry cannot be found by its identifier, and is the context alone.
    pub lost_leaf: bool,
    /// The place of the last entry that counts, if those behind it do not.
    pub until: Option<u32>,
    /// Whether the route leads to the session's own leaf.
    pub newest: bool,
}

impl Route {
    /// Returns the route to this entry, or to the session's leaf.
    ///
    /// # Errors
    /// The errors of [`Session::path`].
    pub fn of(session: &Session<'_>, leaf: Option<&str>) -> Result<Self> {
        let path = session.path(leaf.map(Json::string).as_ref())?;
        let empty = |id: &Json| id.as_bytes() == b"\"\"";
        let lost = leaf.is_none() && session.leaf().is_none_or(empty);
        let lost_leaf = lost && session.entries() > 0;
        Ok(Self { path, lost_leaf, until: None, newest: leaf.is_none() })
    }

    /// Returns the route to the last entry that has an identifier, where the session's last entry
    /// has none, or where the session has no leaf.
    ///
    /// # Errors
    /// The errors of [`Session::path`].
    pub fn to_last_named(session: &Session<'_>) -> Result<Self> {
        let stands = session.leaf().is_some_and(|leaf| session.tree().ordinal(leaf).is_some());
        let last = || session.tree().path(None).filter(|path| path.cycle().is_none());
        let path = if stands { session.path(None)? } else { last().unwrap_or_default() };
        Ok(Self { path, lost_leaf: false, until: None, newest: true })
    }
}

/// A place on the route, and the record there.
type Step = (u32, Located<Record>);

/// Position of an entry that alone is the context; it is known only at the end of the file.
const LAST: u32 = u32::MAX;

/// Returns the records of a route in the order of the route.
pub struct Walk<'a> {
    reader: Reader<'a>,
    /// The route.
    pub route: Route,
    /// The ordinal of the next node.
    ordinal: u32,
    order: InOrder<Located<Record>>,
}

impl<'a> Walk<'a> {
    /// Begins a walk over the records of the reader.
    pub fn over(reader: Reader<'a>, route: Route) -> Self {
        Self { reader, route, ordinal: 0, order: InOrder::default() }
    }

    /// Ends the walk.
    pub fn into_route(self) -> Route {
        self.route
    }

    /// Returns the position of a record on the route.
    fn position(&mut self, record: &Record) -> Option<u32> {
        if self.route.lost_leaf {
            // The last entry takes the place of those before it.
            return is_entry(record).then_some(LAST);
        }
        if !record.is_node() {
            return None;
        }
        self.ordinal += 1;
        let position = self.route.path.position(self.ordinal - 1)?;
        self.route.until.is_none_or(|until| position <= until).then_some(position)
    }
}

impl Walk<'_> {
    /// Returns the next record of the route; shows the records of the session up to it to `pass`, if
    /// the route has all of the session's newest context.
    pub fn next_past(&mut self, pass: &mut dyn FnMut(&Record)) -> Option<Result<Step>> {
        let newest = self.route.newest && self.route.until.is_none();
        loop {
            if let Some(step) = self.order.next() {
                return Some(Ok(step));
            }
            match self.reader.next() {
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(located)) => {
                    if newest {
                        pass(&located.value);
                    }
                    if let Some(position) = self.position(&located.value) {
                        self.order.add(position, located);
                    }
                }
                None => {
                    let (position, last) = self.order.rest()?;
                    return Some(Ok((if self.route.lost_leaf { 0 } else { position }, last)));
                }
            }
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Step>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_past(&mut |_| {})
    }
}
