//! What the library promises to programs, beyond what the program does.

use copyist::diagnostic::{Code, Log};
use copyist::format::{Cx, Options, Target};
use copyist::formats::{canonical, pi};
use copyist::json::Json;
use copyist::memory::Bytes;
use copyist::session::Session;
use copyist::validate::Schema;
use copyist::{diff, migrate, validate};
use std::path::Path;

const FILE: &str = concat!(
    r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"Hello"}}"#,
    "\n",
);

#[test]
fn no_migration_leads_to_a_version_that_does_not_exist() {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    for (format, file) in [(&pi::FORMAT, FILE), (&canonical::FORMAT, "{\"kind\":\"session\"}\n")] {
        for number in [0, 4, 99] {
            let (mut out, target) = (Vec::new(), Target::Version(number));
            let done = migrate::run(format, Box::new(file.as_bytes()), &mut out, target, &cx);
            let error = done.expect_err("there is no such version");
            assert_eq!(error.code(), Code::WrongVersion);
            let told = error.into_diagnostic().message;
            assert!(told.contains(&format!("has no version `{number}`; it has")), "{told}");
            assert!(out.is_empty(), "{format:?}");
        }
    }
}

#[test]
fn validation_reports_everything_with_default_options() {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let file = FILE.replace('\n', "\n{\"type\":\n");
    let schema = Schema::of(&pi::FORMAT.versions[2]).expect("a schema");
    let done = validate::run(&pi::FORMAT, &schema, &mut Bytes::new(file), 10, &cx);
    assert!(done.is_ok(), "{done:?}");
    let damaged: u64 = log.into_findings().counts.values().sum();
    assert_eq!(damaged, 2);
}

#[test]
fn what_the_library_gives_is_an_error_or_can_be_printed() {
    fn is_error<E: std::error::Error>(error: &E) -> String {
        error.to_string()
    }
    let fault = "{\"a\":".parse::<Json>().expect_err("it is cut");
    assert_eq!(is_error(&fault), "byte 5: unexpected end of the record");
    assert!("1 2".parse::<Json>().is_err());
    let error = copyist::error::Error::request(Code::Io, "no part");
    assert_eq!(is_error(&diff::Failed::A(error)), "the first session: no part (CY0705)");
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let mut parts = Bytes::new(FILE);
    let session = Session::open(&pi::FORMAT, &mut parts, &cx).expect("a session");
    assert!(format!("{session:?}").starts_with("Session { format: \"pi\", entries: 1"));
}

/// The packages beside this one are built with their own lock files, which must name every
/// dependency of this one: `--locked` refuses them otherwise.
#[test]
fn lock_files_of_the_other_packages_have_every_dependency() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let manifest = read("Cargo.toml");
    let section = manifest.split("\n[dependencies]\n").nth(1).expect("dependencies");
    let section = section.split("\n[").next().expect("a section");
    let needed: Vec<&str> = section
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("optional"))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .filter(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)))
        .collect();
    assert!(needed.len() > 10, "{needed:?}");
    for lock in ["fuzz/Cargo.lock", "python/Cargo.lock"] {
        let text = read(lock);
        let own =
            text.split("[[package]]").find(|package| package.contains("name = \"copyist\"\n"));
        let own = own.expect("this package");
        let missing: Vec<_> =
            needed.iter().filter(|name| !own.contains(&format!("\"{name}"))).collect();
        assert!(missing.is_empty(), "{lock} lacks {missing:?}: run `cargo update -w` beside it");
    }
}

#[test]
fn one_call_converts_a_file_as_the_command_does() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("s.jsonl"), FILE).expect("a file");
    let folder = format!("{}/", path("out").display());
    let report = copyist::convert_file(path("s.jsonl"), "codex", folder).expect("converted");
    let made = report.output.expect("an output").to_string();
    assert!(Path::new(&made).starts_with(path("out")) && Path::new(&made).is_file(), "{made}");
    assert!(Path::new(&format!("{made}.origin")).is_file());
    // Back to a file, which is the first one again; it is not replaced afterwards.
    let back = || copyist::convert_file(&made, "pi", path("back.jsonl"));
    back().expect("converted");
    assert_eq!(std::fs::read(path("back.jsonl")).expect("a file"), FILE.as_bytes());
    assert_eq!(back().expect_err("it exists").code(), Code::Exists);
    let unknown = copyist::convert_file(&made, "nothing", path("x")).expect_err("no format");
    assert_eq!(unknown.code(), Code::WrongFormat);
}
