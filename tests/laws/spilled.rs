//! An index that goes on in temporary files gives what one in memory gives.

use crate::common::{
    context, converted, inputs_below, options, own_inputs, parts, recognise, session, testdata,
};
use copyist::context::Request;
use copyist::diagnostic::Log;
use copyist::format::{Cx, OnError, Options, RepairOptions};
use copyist::formats::written;
use copyist::ids::Choice;
use copyist::inspect;
use copyist::memory::Buffer;
use copyist::repair;
use copyist::validate::{self, Schema};
use std::path::{Path, PathBuf};

/// Sizes of the memory for an index: nearly nothing, so that all tables are in files, and enough for
/// a part of them.
const SIZES: [usize; 2] = [0, 1 << 10];

/// Compares what `work` gives with each size of memory.
fn same(file: &Path, what: &str, work: impl Fn(&Options) -> String) {
    let in_memory = options(OnError::Keep, Choice::Derived);
    let expected = work(&in_memory);
    for index_memory in SIZES {
        let ours = work(&Options { index_memory, ..in_memory.clone() });
        assert_eq!(ours, expected, "{what} of {} with {index_memory} bytes", file.display());
    }
}

fn damaged() -> Vec<PathBuf> {
    inputs_below(&testdata().join("damaged"))
}

#[test]
fn index_in_files_gives_the_same_findings_and_contexts() {
    for file in own_inputs().into_iter().chain(damaged()) {
        let source = session(&file);
        let Some((format, version)) = recognise(&source) else { continue };
        let Some(version) = format.version(version) else { continue };
        let schema = Schema::of(version).expect("a schema");
        same(&file, "findings", |options| {
            let log = Log::default();
            let cx = Cx { options, log: &log };
            let done = validate::run(format, &schema, &mut parts(&source), 9, &cx);
            format!("{done:?} {:?}", log.into_findings())
        });
        same(&file, "inspection", |options| {
            let log = Log::default();
            let cx = Cx { options, log: &log };
            let request = inspect::Request { full: true, rows: 1000 };
            let done = inspect::run(format, &mut parts(&source), request, &cx);
            format!("{done:?} {:?}", log.into_findings())
        });
        same(&file, "context", |options| {
            format!(
                "{:?}",
                context(&source, &Request { details: true, ..Request::default() }, options)
            )
        });
    }
}

#[test]
fn index_in_files_gives_the_same_repairs() {
    for file in own_inputs().into_iter().chain(damaged()) {
        let source = session(&file);
        let Some((format, _)) = recognise(&source) else { continue };
        for resumable in [false, true] {
            same(&file, "repair", |options| {
                let log = Log::default();
                let cx = Cx { options, log: &log };
                let wanted = RepairOptions { resumable, ..RepairOptions::default() };
                let mut out = Buffer::default();
                let done = repair::run(format, &mut parts(&source), &mut out, &wanted, &cx);
                let written: Vec<_> =
                    out.names().map(|name| (name.to_owned(), out.part(name))).collect();
                format!("{done:?} {written:?} {:?}", log.into_findings())
            });
        }
    }
}

#[test]
fn index_in_files_gives_the_same_conversions() {
    for file in own_inputs().into_iter().chain(damaged()) {
        let source = session(&file);
        let Some((format, version)) = recognise(&source) else { continue };
        for target in written() {
            same(&file, target.name, |options| {
                format!("{:?}", converted(&source, format, version, target.name, options))
            });
        }
    }
}
