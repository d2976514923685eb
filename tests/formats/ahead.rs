//! Lines that other threads check ahead, and output that they write behind: the same bytes, findings
//! and errors for any number of them.

use copyist::diagnostic::Log;
use copyist::format::{Cx, OnError, Options, Out, Target};
use copyist::formats::pi;
use copyist::migrate;
use copyist::threads::ThreadBudget;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::time::Duration;

const SIZE: usize = 6 << 20;

/// A session of version 1; `odd` is put between its lines now and then.
fn session(odd: &[&str]) -> String {
    let mut text = String::from(
        "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"2025-12-01T10:00:00.000Z\",\"cwd\":\"/w\"}\n",
    );
    let mut number = 0;
    while text.len() < SIZE {
        number += 1;
        let said = "a line of code\\n\\tand \\\"another\\\"\\n".repeat(1 + number * 7919 % 97);
        writeln!(
            text,
            r#"{{"type":"message","timestamp":"t","message":{{"role":"user","content":"{number} {said}"}}}}"#
        )
        .expect("memory");
        if number % 1009 == 0 {
            writeln!(
                text,
                r#"{{"type":"compaction","timestamp":"t","summary":"s","tokensBefore":1,"firstKeptEntryIndex":{}}}"#,
                number / 2
            )
            .expect("memory");
        }
        if let Some(odd) = odd.get(number % 1009) {
            text.push_str(odd);
        }
    }
    text
}

/// Gives a few bytes at a time, and not always as many.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 * 5 % 65_521;
        let n = (1 + self.1).min(self.0.len()).min(into.len());
        let (now, later) = self.0.split_at(n);
        into[..n].copy_from_slice(now);
        self.0 = later;
        Ok(n)
    }
}

/// Takes so many bytes at most, a few at a time.
struct Narrow<'a>(&'a mut Vec<u8>, usize);

impl Write for Narrow<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let n = from.len().min(70_001).min(self.1 - self.0.len());
        self.0.extend_from_slice(&from[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the threads that read may write, too.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Writes {
    One,
    Any,
}

fn migrated(
    text: &str,
    (threads, writes, room): (usize, Writes, usize),
    on_error: OnError,
) -> (String, Vec<u8>) {
    let thread_budget = ThreadBudget::new(threads);
    let options = Options { on_error, max_line: 1 << 20, thread_budget, ..Options::default() };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let _own = options.thread_budget.work();
    let mut out = Vec::new();
    let input = Box::new(Drip(text.as_bytes(), 7));
    let narrow = Box::new(Narrow(&mut out, room));
    let to = if writes == Writes::Any { Out::Anywhere(narrow) } else { Out::Here(narrow) };
    let done = migrate::run_to(&pi::FORMAT, input, to, Target::Version(3), &cx);
    let said = match done {
        Ok(done) => format!("{done:?} {:?}", log.into_findings()),
        // Of what an error leaves, nothing is of use.
        Err(error) => {
            out.clear();
            format!("{error:?}")
        }
    };
    (said, out)
}

fn same_for_any_number(text: &str, on_error: OnError) -> (String, Vec<u8>) {
    same_with_room(text, usize::MAX, on_error)
}

fn same_with_room(text: &str, room: usize, on_error: OnError) -> (String, Vec<u8>) {
    let alone = migrated(text, (1, Writes::One, room), on_error);
    for (threads, writes) in [2, 5].into_iter().flat_map(|n| [(n, Writes::One), (n, Writes::Any)]) {
        let together = migrated(text, (threads, writes, room), on_error);
        assert_eq!(together.0, alone.0, "{threads} threads, {writes:?} writes");
        assert!(together.1 == alone.1, "other bytes with {threads} threads, {writes:?} writes");
    }
    alone
}

/// Panics at the first bytes behind so many.
struct Fragile(usize);

impl Write for Fragile {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        assert!(self.0 > 0, "an output that breaks");
        let n = from.len().min(self.0);
        self.0 -= n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whoever waits for the thread that writes would wait for good.
#[test]
fn an_output_that_panics_ends_the_work_with_an_error() {
    let text = session(&[]);
    for threads in [1, 2, 5] {
        for room in [0, SIZE / 3, SIZE] {
            let text = text.clone();
            let (done, told) = mpsc::channel();
            std::thread::spawn(move || {
                let options =
                    Options { thread_budget: ThreadBudget::new(threads), ..Options::default() };
                let log = Log::default();
                let _own = options.thread_budget.work();
                let out = Out::Anywhere(Box::new(Fragile(room)));
                let input = Box::new(text.as_bytes());
                let cx = Cx { options: &options, log: &log };
                let said = migrate::run_to(&pi::FORMAT, input, out, Target::Version(3), &cx);
                drop(done.send(said.map(drop).map_err(|error| error.to_string())));
            });
            let said = told.recv_timeout(Duration::from_secs(60)).expect("an end");
            assert!(said.is_err_and(|error| error.contains("cannot write")), "{threads} {room}");
        }
    }
}

#[test]
fn an_output_that_is_full_is_reported_wherever_that_is() {
    let text = session(&[]);
    for room in [0, 1 << 20, 5 << 20, text.len()] {
        let (said, _) = same_with_room(&text, room, OnError::Stop);
        assert!(said.contains("cannot write"), "{room}: {said}");
    }
}

#[test]
fn a_good_session_comes_out_the_same() {
    let text = session(&[]);
    let (said, out) = same_for_any_number(&text, OnError::Stop);
    assert!(said.contains("changed: true"), "{said}");
    let lines = out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    assert_eq!(lines.count(), text.lines().count());
    assert!(out.ends_with(b"}\n"));
}

#[test]
fn damage_is_reported_at_its_place() {
    let long = format!("{{\"type\":\"x\",\"text\":\"{}\"}}\n", "y".repeat(1100 << 10));
    let odd = ["\n", "  \r\n", "{\"type\":\"message\",\"torn\n", &long, "[1]\n", "\"\\q\"\n"];
    let text = session(&odd);
    for on_error in [OnError::Stop, OnError::Skip] {
        let (said, out) = same_for_any_number(&text, on_error);
        assert_eq!(out.is_empty(), on_error == OnError::Stop, "{said}");
    }
    for one in 2..odd.len() {
        let text = session(&odd[one..=one]);
        let (said, _) = same_for_any_number(&text, OnError::Stop);
        let line = text.lines().position(|line| line == odd[one].trim_end()).expect("there");
        assert!(said.contains(&format!("line: {}", line + 1)), "{said}");
    }
}

#[test]
fn the_last_line_may_lack_its_ending() {
    let mut text = session(&[]);
    assert_eq!(text.pop(), Some('\n'));
    let (said, out) = same_for_any_number(&text, OnError::Stop);
    assert!(said.contains("NoFinalNewline") && out.ends_with(b"}\n"), "{said}");
}
