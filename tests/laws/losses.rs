//! What a conversion says that it changes is what differs afterwards.

use crate::common::{converted, files_of, options, own_inputs, parts, recognise, session};
use crate::pairs::targets;
use copyist::diagnostic::{Differences, Log};
use copyist::diff::{self, Request, Side};
use copyist::format::{Cx, OnError, Options};
use copyist::ids::Choice;

fn asking(origin: bool) -> Options {
    Options { compare: true, origin, ..options(OnError::Keep, Choice::Derived) }
}

/// What `diff` finds between two sessions.
fn differences(a: &[u8], b: &[u8]) -> Differences {
    let (options, log) = (options(OnError::Keep, Choice::Derived), Log::default());
    let cx = &Cx { options: &options, log: &log };
    let format = |text| recognise(text).expect("a known format").0;
    let (parts_a, parts_b) = (&mut parts(a), &mut parts(b));
    let a = Side { format: format(a), parts: parts_a, cx, quiet: cx };
    let b = Side { format: format(b), parts: parts_b, cx, quiet: cx };
    let mut found = Differences::default();
    let done = diff::run(a, b, Request::default(), &mut |change| {
        diff::count(&change, &mut found);
        Ok(())
    });
    done.expect("both can be read");
    found
}

#[test]
fn what_a_conversion_changes_is_what_differs_afterwards() {
    let (mut compared, mut others) = (0, Vec::new());
    for path in own_inputs() {
        let source = session(&path);
        let (format, version) = recognise(&source).expect("a known format");
        for to in targets().iter().map(String::as_str).chain(["canonical"]) {
            for origin in [true, false] {
                let done = converted(&source, format, version, to, &asking(origin));
                // A copy or a migration changes no record.
                let (Ok(out), Some(told)) = (done.0, done.1.differences) else { continue };
                // A reader of one file cannot know which of several it would have to be.
                if files_of(&out).iter().all(|(_, bytes)| recognise(bytes).is_none()) {
                    continue;
                }
                let what = format!("{} to {to}, origin {origin}", path.display());
                let found = differences(&source, &out);
                if told != found {
                    others.push(format!("{what}: told {told:?}, found {found:?}"));
                }
                compared += 1;
                if to == "canonical" {
                    assert_eq!(told, Differences::default(), "{what}");
                }
            }
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
    println!("{compared} conversions say what differs afterwards");
    assert!(compared > 200, "{compared}");
}
