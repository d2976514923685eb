//! A session, opened so that its rules see the route in the same reading, where that is possible: in
//! a session that is one straight path.

use crate::error::Result;
use crate::format::{Context, Cx, Format, Parts};
use crate::formats::ruling;
use crate::position::Located;
use crate::record::{Field, Kind, Record};
use crate::session::Session;
use crate::tree::{Place, Straight};

/// A session that was opened.
pub struct Opened<'s> {
    /// The session.
    pub session: Session<'s>,
    /// The rules, if they saw the whole route to the session's leaf.
    pub context: Option<Box<dyn Context>>,
}

impl<'s> Opened<'s> {
    /// Opens a session, and shows every record on the way.
    ///
    /// # Errors
    /// The errors of [`Session::open`].
    pub fn of(
        format: &'static Format,
        parts: &'s mut dyn Parts,
        cx: &Cx<'_>,
        show: &mut dyn FnMut(&Located<Record>),
    ) -> Result<Self> {
        let mut ahead = Ahead { format, rules: None, goes_on: true, straight: Straight::default() };
        let session = Session::open_showing(format, parts, cx, &mut |located| {
            show(located);
            ahead.goes_on = ahead.goes_on && ahead.record(located);
        })?;
        let context = ahead.finish(&session);
        Ok(Self { session, context })
    }
}

/// Fields of later session records that rules do not depend on.
const LATE: &[Field] = &[Field::Leaf, Field::Name, Field::Client, Field::Updated];

struct Ahead {
    format: &'static Format,
    /// The rules, once the session's record came.
    rules: Option<Box<dyn Context>>,
    /// Whether the session may still be one straight path.
    goes_on: bool,
    straight: Straight,
}

impl Ahead {
    /// Shows a record to the rules; returns whether the session may be one straight path.
    fn record(&mut self, located: &Located<Record>) -> bool {
        let Record { kind, node } = &located.value;
        if *kind == Kind::Session {
            if self.rules.is_none() {
                let open = ruling(self.format, node).agent.context;
                self.rules = open.map(|open| open(&located.value));
            } else if node.fields().any(|field| !LATE.contains(&field)) {
                return false;
            }
        }
        let Some(rules) = &mut self.rules else { return false };
        rules.pass(&located.value);
        if !located.value.is_node() {
            return true;
        }
        match self.straight.node(&located.value) {
            Place::On(place) => rules.look(place, located).is_ok(),
            Place::Beside => true,
            Place::Elsewhere => false,
        }
    }

    fn finish(self, session: &Session<'_>) -> Option<Box<dyn Context>> {
        let last = self.straight.last();
        let ends = last.is_some() && session.leaf() == last;
        let path = session.path(None).ok().filter(|_| self.goes_on && ends)?;
        self.rules.filter(|_| self.straight.is(&path))
    }
}
