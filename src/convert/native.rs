//! Places where the target's own software keeps sessions.

use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::Result;
use crate::format::{Cx, Named, NativeFn, Sink};
use crate::formats::Spec;
use crate::json::Json;
use crate::record::{Field, Node, block};
use crate::stage::Stage;

/// How the software of a version names its files.
#[derive(Clone, Copy)]
pub struct Native {
    named: NativeFn,
    version: u32,
}

impl Native {
    /// Returns the naming of the target's software, where outputs are named by it.
    pub fn of(to: Spec, is_native: bool) -> Option<Self> {
        let named = to.format.files.native.filter(|_| is_native)?;
        Some(Self { named, version: to.version().number })
    }

    /// Returns the folder of the sessions that were held in this working folder: the same for all,
    /// where the software has no folder for each project.
    pub fn folder_of(&self, cwd: &str) -> String {
        let session = Node::default().with(Field::Cwd, Json::string(cwd));
        let named = Named {
            session: &session,
            question: None,
            stem: "",
            version: self.version,
            nth: 1,
            home: None,
        };
        let path = (self.named)(&named);
        path.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned())
    }

    /// Reports where a session goes that names no project, if users do not look for it there.
    fn no_project(&self, format: &str, cx: &Cx<'_>) {
        let folder = self.folder_of("");
        if folder == self.folder_of("/x") {
            return;
        }
        let message = format!(
            "the session names no project folder: it is written to `{}`, and {format} lists it only for the project `/`",
            folder.trim_start_matches('/'),
        );
        cx.report(Diagnostic::new(Code::NoProject, message));
    }
}

/// Returns where the target's software would keep the session, and its ending. If another session
/// of the run is kept there, the name gets a number.
///
/// # Errors
/// If what was written cannot be read.
pub fn native(
    to: Spec,
    named: Option<NativeFn>,
    stage: &mut Stage<'_>,
    cx: &Cx<'_>,
) -> Result<Option<(String, &'static str)>> {
    let Some(named) = named else { return Ok(None) };
    let version = to.version().number;
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let (mut session, mut question) = (Node::default(), None);
    for item in to.format.records(&mut stage.parts(), &quiet)? {
        let node = item?.value.node;
        if session.is_empty() {
            session = node;
        } else if node.is(Field::Role, "user") {
            question = block::message_text(&node).and_then(|text| text.text());
            break;
        }
    }
    if session.text(Field::Cwd).is_none_or(|cwd| cwd.is_empty()) {
        Native { named, version }.no_project(to.format.name, cx);
    }
    let stem = stage.stem().unwrap_or_default();
    let ending = to.format.extensions[0];
    let question = question.as_deref();
    let home = cx.options.home.as_deref();
    let at = |nth| named(&Named { session: &session, question, stem: &stem, version, nth, home });
    let first = at(1);
    let path = |nth| match at(nth) {
        path if nth > 1 && path == first => format!("{path}-{nth}"),
        path => path,
    };
    let nth = stage.take(&|nth| path(nth) + ending)?;
    Ok(Some((path(nth), ending)))
}
