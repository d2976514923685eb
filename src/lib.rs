//! copyist reads the session files of AI coding agents as one stream of records, and writes any
//! of its formats from that stream.
//!
//! # A tour
//!
//! A program that reads or continues a session needs only [`Session`]:
//!
//! ```no_run
//! let mut session = copyist::Session::open("session.jsonl")?;
//! for message in session.messages()? {
//!     println!("{}: {}", message["role"], message["content"]);
//! }
//! session.append_message(serde_json::json!({"role": "user", "content": "Go on."}))?;
//! copyist::convert_file("session.jsonl", "codex", "out/")?;
//! # Ok::<(), copyist::error::Error>(())
//! ```
//!
//! [`manager::Work`] does the work of the command on folders. A program that has its own command line
//! leaves out the feature `cli`, and with it clap and what draws on terminals.
//!
//! Everything below works on sessions of any size, record by record. A [`format::Format`] is a row
//! of the table in [`formats`]. Its reader turns a session's
//! [parts](format::Parts) into [records](record::Record), its writer turns records into parts:
//!
//! ```
//! use copyist::diagnostic::Log;
//! use copyist::format::{Cx, Options};
//! use copyist::formats::{Spec, pi};
//! use copyist::memory::{Bytes, Buffer};
//! use copyist::record::{Field, Kind};
//!
//! let file = concat!(
//!     r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#, "\n",
//!     r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"Hello"}}"#, "\n",
//! );
//! let (options, log) = (Options::default(), Log::default());
//! let cx = Cx { options: &options, log: &log };
//!
//! // Look at the records …
//! let mut parts = Bytes::new(file);
//! let records: Vec<_> = (pi::FORMAT.read)(&mut parts, &cx)?.collect::<Result<_, _>>()?;
//! assert_eq!(records[1].value.kind, Kind::Message);
//! assert_eq!(records[1].value.node.text(Field::Content).as_deref(), Some("Hello"));
//!
//! // … or convert the session whole, there and back.
//! let mut stream = Buffer::default();
//! let canonical = Spec::parse("canonical").unwrap();
//! copyist::convert::run(&pi::FORMAT, 3, canonical, &mut parts, &mut stream, &cx)?;
//! let mut back = Buffer::default();
//! let to = Spec::parse("pi@3").unwrap();
//! let mut parts = Bytes::new(stream.main());
//! copyist::convert::run(canonical.format, 1, to, &mut parts, &mut back, &cx)?;
//! assert_eq!(back.main(), file.as_bytes());
//! # Ok::<(), copyist::error::Error>(())
//! ```
//!
//! Conversions inside one format work on the bytes: [`migrate`] changes the few that must change
//! and checks the rest. [`validate`] reports the defects of a session, [`detect`] finds its format.
//!
//! Modules that this page does not list are the parts of these; they are no interface for other
//! programs, and change without notice.
//!
//! # Direction
//!
//! Each module imports only modules that this list names before it: `position`, `json`, `times`,
//! `ids`, `alignment`, `threads`, `record`, `redact`, `diagnostic`, `error`, `lines`, `members`,
//! `yaml`, `mapping`, `cuts`, `parts`, `sqlite`, `format`, `framing`, `memory`, `stage`, `edit`, `named`,
//! `tree`, `context_rules`, `dialect`, `foreign`, `repair`, `document`, `formats`, `usage`,
//! `detect`, `session`, `context`, `origin`, `turns`, the operations (`migrate`, `diff`, `convert`,
//! `join`, `validate`, `inspect`, `show`, `trim`), and then the modules that access the system: `store`,
//! `batch`, `home`, `manager`, `cli`. All modules before `store` take bytes and return records.
//! They use no paths, clock or terminal, and no threads but those that [`migrate`] borrows for a
//! large input.

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod position;

pub mod json;

#[cfg_attr(doc, doc(hidden))]
pub mod alignment;
pub mod ids;
pub mod record;
#[cfg_attr(doc, doc(hidden))]
pub mod redact;
#[cfg_attr(doc, doc(hidden))]
pub mod threads;
#[cfg_attr(doc, doc(hidden))]
pub mod times;

pub mod diagnostic;
pub mod error;

#[cfg_attr(doc, doc(hidden))]
pub mod cuts;
#[cfg_attr(doc, doc(hidden))]
pub mod lines;
#[cfg_attr(doc, doc(hidden))]
pub mod mapping;
#[cfg_attr(doc, doc(hidden))]
pub mod members;
#[cfg_attr(doc, doc(hidden))]
pub mod yaml;

#[cfg_attr(doc, doc(hidden))]
pub mod parts;
#[cfg_attr(doc, doc(hidden))]
pub mod sqlite;

#[cfg_attr(doc, doc(hidden))]
pub mod context_rules;
#[cfg_attr(doc, doc(hidden))]
pub mod dialect;
#[cfg_attr(doc, doc(hidden))]
pub mod document;
#[cfg_attr(doc, doc(hidden))]
pub mod edit;
#[cfg_attr(doc, doc(hidden))]
pub mod foreign;
pub mod format;
#[cfg_attr(doc, doc(hidden))]
pub mod framing;
pub mod memory;
#[cfg_attr(doc, doc(hidden))]
pub mod named;
pub mod repair;
#[cfg_attr(doc, doc(hidden))]
pub mod stage;
#[cfg_attr(doc, doc(hidden))]
pub mod tree;

pub mod formats;

pub mod usage;
pub mod user_words;

pub mod detect;
pub mod session;

pub mod context;
#[cfg_attr(doc, doc(hidden))]
pub mod origin;
#[cfg_attr(doc, doc(hidden))]
pub mod turns;

pub mod convert;
pub mod diff;
pub mod export;
pub mod inspect;
pub mod join;
pub mod migrate;
pub mod show;
#[cfg_attr(doc, doc(hidden))]
pub mod trim;
pub mod validate;

#[cfg_attr(doc, doc(hidden))]
pub mod store;

#[cfg_attr(doc, doc(hidden))]
pub mod batch;

#[cfg_attr(doc, doc(hidden))]
pub mod home;

pub mod manager;

pub use manager::{Session, convert_file};

#[cfg(feature = "cli")]
#[cfg_attr(doc, doc(hidden))]
pub mod cli;
