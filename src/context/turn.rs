//! Context at a turn: entries behind its question do not count, whether compactions or messages.

use super::route::{Route, Walk};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::Cx;
use crate::json::Json;
use crate::record::Field;
use crate::session::Session;
use crate::user_words::UserWords;

/// Returns the route up to the question of this turn, counted from 1, and the question's
/// identifier.
///
/// # Errors
/// If there is no such turn on the route, or the session cannot be read.
pub fn up_to(
    session: &mut Session<'_>,
    route: Route,
    wanted: u64,
    quiet: &Cx<'_>,
) -> Result<(Route, Option<Json>)> {
    if wanted == 0 {
        return Err(Error::request(Code::NoContext, "there is no turn 0; the first one is 1"));
    }
    let history = session.history();
    let earlier = route.newest && history.len() > route.path.len();
    let all = if earlier { Route { path: history, ..route } } else { route };
    let mut user_words = UserWords::of(session.format());
    user_words.note(session.header());
    let mut walk = Walk::over(session.records(quiet)?, all);
    let (mut questions, mut last, mut found) = (0, 0, None);
    for item in walk.by_ref() {
        let (position, located) = item?;
        if !user_words.is_question(&located.value) {
            continue;
        }
        questions += 1;
        let node = &located.value.node;
        // Files that number their turns may begin with a later one.
        let numbered = node.json(Field::Turn).and_then(Json::float);
        last = numbered.map_or(questions, |turn| turn as u64);
        if last == wanted && found.is_none() {
            found = Some((position, node.json(Field::Id).cloned()));
        }
    }
    let Some((position, id)) = found else {
        let message = format!("there is no turn {wanted}; the last one is {last}");
        return Err(Error::request(Code::NoContext, message));
    };
    let route = walk.into_route();
    // Turns before a compaction are not on the way from the root to the leaf.
    let (path, position) = match id.as_ref().filter(|_| earlier) {
        Some(id) => {
            let path = session.path(Some(id))?;
            let last = (path.len() as u32).saturating_sub(1);
            (path, last)
        }
        None => (route.path, position),
    };
    let until = (!route.lost_leaf).then_some(position);
    Ok((Route { path, until, ..route }, id))
}
