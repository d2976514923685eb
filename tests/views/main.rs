//! Views: text, Markdown, pages, JSON and YAML, in memory, by the command, and in a browser.

mod browser;
#[path = "../common/mod.rs"]
mod common;
mod driver;
mod golden;
mod hostile;
mod masked;
mod program;
mod texts;

use copyist::diagnostic::Log;
use copyist::format::{Cx, OnError, Options};
use copyist::show::{self, Form, Request};

/// The forms of views, with the endings of their files.
const FORMS: &[(Form, &str)] = &[
    (Form::Text { width: 80, colors: false }, "txt"),
    (Form::Markdown, "md"),
    (Form::Html, "html"),
    (Form::Json, "json"),
    (Form::Yaml, "yaml"),
];

/// The view of a session in memory; `None` if the session cannot be opened.
fn try_view(session: &[u8], request: &Request) -> Option<String> {
    let (format, _) = common::recognise(session)?;
    let options = Options { on_error: OnError::Keep, force_version: true, ..Options::default() };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let mut out = Vec::new();
    show::run(format, &mut common::parts(session), request, &cx, &mut out).ok()?;
    Some(String::from_utf8(out).expect("UTF-8"))
}

/// The view of a session that can be opened.
fn view(session: &[u8], request: &Request) -> String {
    try_view(session, request).expect("a view")
}
