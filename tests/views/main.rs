//! Views: text, Markdown, pages, JSON and YAML, in memory, by the command, and in a browser.

#[path = "../common/mod.rs"]
mod common;
mod golden;
mod hostile;
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

/// The view of a session in memory.
fn view(session: &[u8], request: &Request) -> String {
    let (format, _) = common::recognise(session).expect("a known format");
    let options = Options { on_error: OnError::Keep, force_version: true, ..Options::default() };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let mut out = Vec::new();
    show::run(format, &mut common::parts(session), request, None, &cx, &mut out).expect("a view");
    String::from_utf8(out).expect("UTF-8")
}
