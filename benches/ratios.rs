//! ConnectOnion sessions beside yardsticks, all in one run: what is compared takes turns, and the
//! fastest of several rounds counts, so that a busy machine slows both sides alike.
//!
//! `cargo bench --bench ratios -- session.yaml run_1.yaml` measures files; without any, a session
//! of some 20 MB that is made here.

use copyist::convert;
use copyist::diagnostic::Log;
use copyist::error::Result;
use copyist::format::{Change, Cx, Format, Options, Sink, Spool};
use copyist::formats::{FORMATS, Spec};
use copyist::memory::{Buffer, Bytes};
use copyist::yaml::encoding::Decoder;
use copyist::yaml::read::{Events, Limits};
use serde::de::IgnoredAny;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const ROUNDS: usize = 21;

fn main() {
    let mut files = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let mut file = || files.next().map(|path| std::fs::read(path).expect("a file"));
    let canonical = made(20 << 20);
    let session =
        file().unwrap_or_else(|| converted("canonical", 1, "connectonion", 2, &canonical));
    let run = file().unwrap_or_else(|| converted("canonical", 1, "connectonion", 3, &canonical));
    let stream = converted("connectonion", 2, "canonical", 1, &session);
    let (messages, lines) = (messages(&run), lines(&stream));
    let into_nothing = |from, version, to, target, bytes: &Bytes| {
        convert_to(&mut Nowhere, from, version, to, target, bytes.clone());
    };
    let (yaml, records, run) = (Bytes::new(&session), Bytes::new(&stream), Bytes::new(&run));
    let mut work: [(&str, &dyn Fn()); 7] = [
        ("the parser's events alone", &|| drain(Events::parsed(decoded(&session), limits()))),
        ("the program's events alone", &|| drain(Events::new(decoded(&session), limits()))),
        ("@2 to canonical", &|| into_nothing("connectonion", 2, "canonical", 1, &yaml)),
        ("IgnoredAny, canonical", &|| ignore(&lines)),
        ("canonical to @2", &|| into_nothing("canonical", 1, "connectonion", 2, &records)),
        ("IgnoredAny, messages", &|| ignore(&messages)),
        ("@3 to canonical", &|| into_nothing("connectonion", 3, "canonical", 1, &run)),
    ];
    let mut best = [Duration::MAX; 7];
    for _ in 0..ROUNDS {
        for ((_, work), best) in work.iter_mut().zip(&mut best) {
            let start = Instant::now();
            work();
            *best = start.elapsed().min(*best);
        }
    }
    println!("{} bytes of @2, {} of canonical, best of {ROUNDS}", session.len(), stream.len());
    for ((name, _), best) in work.iter().zip(&best) {
        println!("{name:28} {:8.1} ms", best.as_secs_f64() * 1000.0);
    }
    for (name, of, yardstick) in [
        ("@2 to canonical : parser", 2, 0),
        ("canonical to @2 : IgnoredAny", 4, 3),
        ("@3 to canonical : IgnoredAny", 6, 5),
    ] {
        println!("{name:28} {:8.3}", best[yardstick].as_secs_f64() / best[of].as_secs_f64());
    }
}

fn limits() -> Limits {
    Limits::default()
}

/// The stream as the program feeds it.
fn decoded(session: &[u8]) -> Decoder<&[u8]> {
    Decoder::new(session, None)
}

fn drain<R: Read>(mut events: Events<R>) {
    while let Some(event) = events.next().expect("a good file") {
        black_box(&event);
    }
}

fn ignore(lines: &[&[u8]]) {
    for line in lines {
        let value: IgnoredAny = serde_json::from_slice(line).expect("JSON");
        black_box(value);
    }
}

fn lines(stream: &[u8]) -> Vec<&[u8]> {
    stream.split(|b| *b == b'\n').filter(|line| !line.is_empty()).collect()
}

/// The messages of a run, which stand on lines of their own.
fn messages(run: &[u8]) -> Vec<&[u8]> {
    let inside = |line: &&[u8]| line.starts_with(b"    {");
    lines(run)
        .into_iter()
        .filter(inside)
        .map(|line| line.strip_suffix(b",").unwrap_or(line))
        .collect()
}

fn format(name: &str) -> &'static Format {
    FORMATS.iter().copied().find(|format| format.name == name).expect("a format")
}

fn convert_to(
    sink: &mut dyn Sink,
    from: &str,
    version: u32,
    to: &str,
    target: u32,
    mut session: Bytes,
) {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let to = Spec { format: format(to), version: format(to).version(target) };
    let done = convert::run(format(from), version, to, &mut session, sink, &cx);
    black_box(done.expect("a good file"));
}

fn converted(from: &str, version: u32, to: &str, target: u32, session: &[u8]) -> Vec<u8> {
    let mut out = Buffer::default();
    convert_to(&mut out, from, version, to, target, Bytes::new(session));
    out.main()
}

/// Takes output and keeps nothing of it; spools are files, as the program lends them.
struct Nowhere;

impl Sink for Nowhere {
    fn change(&mut self, _name: &str, change: Box<dyn Change>) -> Result<()> {
        change.make(None, true).map(drop)
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn checkpoint(&mut self) -> bool {
        true
    }

    fn can_roll_back(&self) -> bool {
        true
    }

    fn stem(&self) -> Option<String> {
        None
    }

    fn create(&mut self, _name: &str) -> Result<Box<dyn Write>> {
        Ok(Box::new(std::io::sink()))
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        Ok(Box::new(tempfile::spooled_tempfile(1 << 20)))
    }
}

/// A canonical session of calls and their answers: source code, listings, prose, some colours.
fn made(size: usize) -> Vec<u8> {
    let source = include_str!("../src/json/cursor.rs");
    let code: Vec<&str> = source.lines().collect();
    let mut out = String::from(concat!(
        r#"{"kind":"session","source":"canonical","id":"s","agent":"oo","#,
        r#""created":"2025-12-03 10:12:44"}"#,
        "\n"
    ));
    let quote = |text: &str| serde_json::to_string(text).expect("a string");
    let mut number = 0;
    while out.len() < size {
        number += 1;
        let prose =
            "the agent reads: output # note \u{5199} don't {x} [y] & *z ".repeat(1 + number % 7);
        let start = number * 31 % (code.len() - 120);
        let lines = code[start..start + 5 + number % 110].join("\n");
        let said = match number % 10 {
            0 => format!("\u{1b}[31m{lines}"),
            1..5 => lines.clone(),
            5..8 => format!("-rw-r--r--  1 user staff 231821 Dec  3 10:00 file_{number}.py\n")
                .repeat(30),
            _ => prose.repeat(3),
        };
        let arguments =
            format!(r#"{{"command":"sed -n 1,200p f.py","content":{}}}"#, quote(&lines));
        let (asked, said, arguments) = (quote(prose.trim()), quote(&said), quote(&arguments));
        let written = write!(
            out,
            concat!(
                r#"{{"kind":"message","role":"user","content":{asked}}}"#,
                "\n",
                r#"{{"kind":"message","role":"assistant","content":[{{"type":"tool_call","id":"call_{n}","name":"run","arguments":{arguments}}}]}}"#,
                "\n",
                r#"{{"kind":"message","role":"tool","content":[{{"type":"tool_result","call":"call_{n}","content":{said}}}]}}"#,
                "\n",
                r#"{{"kind":"message","role":"assistant","content":{asked}}}"#,
                "\n",
            ),
            n = number,
            asked = asked,
            said = said,
            arguments = arguments,
        );
        written.expect("a string takes everything");
    }
    out.into_bytes()
}
