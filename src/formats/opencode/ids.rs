//! Identifiers: a prefix, twelve digits that ascend with the time, and fourteen characters that
//! distinguish sessions.
//!
//! The twelve digits are the low 48 bits of the time in milliseconds, times 4096, and of a counter;
//! those of sessions are the complement, so that newer sessions come first. Source: `id.ts` of
//! opencode, and documents of its releases.

use super::wire::time_of;
use crate::format::Cx;
use crate::ids::hash;
use crate::json::Json;
use crate::record::{Field, Node, identity};
use crate::times;

/// Identifiers and times of a session that is written.
#[derive(Debug, Default)]
pub struct Ids {
    /// Identifier of the session.
    pub session: String,
    /// Time of the last message, in milliseconds.
    pub time: i64,
    /// Time at which the session began.
    pub began: i64,
    /// Latest time that a message may have.
    latest: Option<i64>,
    /// Identifier of the last message.
    last: String,
    key: u64,
    count: u64,
}

/// Digits in the order of their codes, as the program compares identifiers.
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns the last `length` digits of a number.
fn digits(mut number: u64, length: usize) -> String {
    let mut digits = vec![b'0'; length];
    for place in digits.iter_mut().rev() {
        *place = DIGITS.get((number % 62) as usize).copied().unwrap_or(b'0');
        number /= 62;
    }
    digits.into_iter().map(char::from).collect()
}

const BITS: u64 = (1 << 48) - 1;

impl Ids {
    /// Begins a session: one of the program's own keeps its identifier.
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        let key = hash(&identity(session, cx.options.question.as_deref()));
        let created = session.json(Field::Created).or(session.json(Field::Updated));
        let latest = cx.options.latest;
        let began = created.and_then(times::of).map_or(0, |time| time.as_millisecond());
        let began = latest.map_or(began, |latest| began.min(latest)).max(0);
        let own = session.text(Field::Id).filter(|id| id.starts_with("ses_"));
        let made = || {
            let stamp = !(began as u64).wrapping_mul(4096) & BITS;
            format!("ses_{stamp:012x}{}", digits(key, 14))
        };
        let session = own.unwrap_or_else(made);
        let key = hash(session.as_bytes());
        Self { session, time: began, began, latest, last: String::new(), key, count: 0 }
    }

    /// Passes a message that has an identifier and a time.
    pub fn pass(&mut self, message: &Node) {
        let time = message.json(Field::Time).and_then(times::read);
        self.time = time.map_or(self.time, |time| time.as_millisecond());
        self.last = message.text(Field::Id).unwrap_or_default();
    }

    /// Gives a message the next identifier, and a time that is neither before the last message's
    /// nor later than now: the program never ends a prompt behind a message of the future.
    pub fn name(&mut self, message: &mut Node) {
        let given = message.json(Field::Time).and_then(times::of);
        let time = given.map_or(self.time, |time| time.as_millisecond());
        let time = self.latest.map_or(time, |latest| time.min(latest)).max(self.time);
        if self.began == 0 {
            // The session names no time.
            self.began = time;
        }
        self.count += 1;
        let stamp = (time as u64).wrapping_mul(4096).wrapping_add(self.count & 4095) & BITS;
        let made = format!("msg_{stamp:012x}{}{}", digits(self.count, 4), digits(self.key, 10));
        // Behind a message of the same time, only the identifier decides.
        let id = match self.time == time && made <= self.last {
            true => format!("{}0", self.last),
            false => made,
        };
        message.put(Field::Time, time_of(&Json::trusted(time.to_string().into_bytes().into())));
        message.set(Field::Id, Json::string(&id));
        (self.time, self.last) = (time, id);
    }
}
