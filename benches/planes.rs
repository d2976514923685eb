//! Speed of both planes, beside what one pass of serde_json over the same lines takes.

use copyist::convert;
use copyist::diagnostic::Log;
use copyist::error::Result;
use copyist::format::{Change, Cx, Format, Options, Sink, Spool, Target};
use copyist::formats::{Spec, canonical, pi};
use copyist::json::{Cursor, text};
use copyist::memory::{Buffer, Bytes};
use copyist::migrate;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use serde::de::IgnoredAny;
use std::io::Write;
use std::sync::LazyLock;

fn main() {
    divan::main();
}

#[divan::bench]
fn yardstick(bencher: Bencher) {
    let lines = lines(&V1);
    over(bencher, &V1, |_| {
        for line in &lines {
            let value: IgnoredAny = serde_json::from_slice(line).expect("made here");
            black_box(value);
        }
    });
}

#[divan::bench]
fn scan(bencher: Bencher) {
    let lines = lines(&V1);
    over(bencher, &V1, |_| {
        for line in &lines {
            let mut cursor = Cursor::new(line);
            black_box(cursor.skip_value().expect("made here"));
            cursor.end().expect("made here");
        }
    });
}

#[divan::bench]
fn migrate_v1_to_v3(bencher: Bencher) {
    over(bencher, &V1, |session| {
        migrated(session, Target::Version(3), &mut std::io::sink());
    });
}

#[divan::bench]
fn copy_v3(bencher: Bencher) {
    over(bencher, &V3, |session| {
        migrated(session, Target::Same, &mut std::io::sink());
    });
}

#[divan::bench]
fn to_canonical(bencher: Bencher) {
    let session = Bytes::new(&*V1);
    over(bencher, &V1, |_| {
        converted(&pi::FORMAT, 1, CANONICAL, session.clone(), &mut Nowhere);
    });
}

#[divan::bench]
fn from_canonical(bencher: Bencher) {
    let stream = Bytes::new(&*STREAM);
    over(bencher, &STREAM, |_| {
        converted(&canonical::FORMAT, 1, PI, stream.clone(), &mut Nowhere);
    });
}

fn over(bencher: Bencher, session: &[u8], work: impl Fn(&[u8])) {
    let bytes = BytesCount::of_slice(session);
    bencher.counter(bytes).bench_local(|| work(session));
}

/// The lines, found beforehand: finding them is no part of the yardstick.
fn lines(session: &[u8]) -> Vec<&[u8]> {
    session.split_inclusive(|b| *b == b'\n').collect()
}

fn migrated(session: &[u8], target: Target, output: &mut dyn Write) {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let done = migrate::run(&pi::FORMAT, Box::new(session), output, target, &cx);
    black_box(done.expect("made here"));
}

const CANONICAL: Spec = Spec { format: &canonical::FORMAT, version: None };

const PI: Spec = Spec { format: &pi::FORMAT, version: None };

fn converted(
    from: &'static Format,
    version: u32,
    to: Spec,
    mut session: Bytes,
    sink: &mut dyn Sink,
) {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let done = convert::run(from, version, to, &mut session, sink, &cx);
    black_box(done.expect("made here"));
}

/// Takes output and keeps nothing of it.
struct Nowhere;

impl Sink for Nowhere {
    fn create(&mut self, _name: &str) -> Result<Box<dyn Write>> {
        Ok(Box::new(std::io::sink()))
    }

    fn change(&mut self, _name: &str, change: Box<dyn Change>) -> Result<()> {
        change.make(None, true).map(drop)
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn stem(&self) -> Option<String> {
        None
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        Ok(Box::new(std::io::Cursor::new(Vec::new())))
    }
}

/// A session of version 1.
static V1: LazyLock<Vec<u8>> = LazyLock::new(|| Session::new().grown_to(16 << 20));

/// The same in version 3.
static V3: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut session = Vec::new();
    migrated(&V1, Target::Version(3), &mut session);
    session
});

/// What version 3 is read as.
static STREAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut stream = Buffer::default();
    converted(&pi::FORMAT, 3, CANONICAL, Bytes::new(&*V3), &mut stream);
    stream.main().to_vec()
});

/// Writes entries as pi 0.30 did; the same ones in every run.
struct Session {
    out: Vec<u8>,
    dice: Dice,
    time: u64,
}

impl Session {
    fn new() -> Self {
        Self { out: HEADER.into(), dice: Dice(30), time: 1_764_583_200_000 }
    }

    fn grown_to(mut self, size: usize) -> Vec<u8> {
        while self.out.len() < size {
            match self.dice.below(20) {
                0 => self.thinking_change(),
                1 => self.model_change(),
                2..5 => self.user(),
                5..13 => self.assistant(),
                _ => self.tool_result(),
            }
        }
        self.out
    }

    fn entry(&mut self, kind: &str, rest: &str) {
        self.time += 1 + self.dice.below(60_000);
        let (minute, second) = (self.time / 60_000 % 60, self.time / 1000 % 60);
        let time = format!("2025-12-01T10:{minute:02}:{second:02}.417Z");
        let line = format!(r#"{{"type":"{kind}","timestamp":"{time}",{rest}}}"#);
        self.out.extend_from_slice(line.as_bytes());
        self.out.push(b'\n');
    }

    fn thinking_change(&mut self) {
        let level = self.dice.pick(&["off", "low", "medium", "high"]);
        self.entry("thinking_level_change", &format!(r#""thinkingLevel":"{level}""#));
    }

    fn model_change(&mut self) {
        let model = self.dice.pick(&["claude-opus-4-5", "claude-sonnet-4-5"]);
        self.entry("model_change", &format!(r#""provider":"anthropic","modelId":"{model}""#));
    }

    fn user(&mut self) {
        let length = self.dice.near(250);
        let text = self.dice.prose(length);
        let time = self.time;
        self.entry(
            "message",
            &format!(
                r#""message":{{"role":"user","content":[{{"type":"text","text":{text}}}],"timestamp":{time}}}"#
            ),
        );
    }

    fn assistant(&mut self) {
        let (thinking, said) = (self.dice.near(200), self.dice.near(150));
        let thinking = self.dice.prose(thinking);
        let said = self.dice.prose(said);
        let signature = self.dice.letters(120);
        let (call, path) = (self.dice.letters(24), self.dice.letters(12));
        let (input, output) = (self.dice.below(20_000), self.dice.below(2_000));
        let (total, time) = (input + output, self.time);
        self.entry(
            "message",
            &format!(
                r#""message":{{"role":"assistant","content":[{{"type":"thinking","thinking":{thinking},"thinkingSignature":"{signature}"}},{{"type":"text","text":{said}}},{{"type":"toolCall","id":"toolu_{call}","name":"read","arguments":{{"path":"src/{path}.rs","limit":200}}}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5","usage":{{"input":{input},"output":{output},"cacheRead":0,"cacheWrite":3622,"totalTokens":{total},"cost":{{"input":0.000045,"output":0.0009000000000000001,"cacheRead":0,"cacheWrite":0.0226375,"total":0.023582500000000003}}}},"stopReason":"toolUse","timestamp":{time}}}"#
            ),
        );
    }

    fn tool_result(&mut self) {
        let length = self.dice.near(2_700);
        let text = self.dice.code(length);
        let (call, time) = (self.dice.letters(24), self.time);
        self.entry(
            "message",
            &format!(
                r#""message":{{"role":"toolResult","toolCallId":"toolu_{call}","toolName":"read","content":[{{"type":"text","text":{text}}}],"isError":false,"timestamp":{time}}}"#
            ),
        );
    }
}

const HEADER: &str = concat!(
    r#"{"type":"session","id":"ceeacb34-8efc-4a5e-86c2-aec098c54003","#,
    r#""timestamp":"2025-12-01T10:00:00.000Z","cwd":"/home/ada/larder","#,
    r#""provider":"anthropic","modelId":"claude-opus-4-5","thinkingLevel":"low"}"#,
    "\n"
);

const WORDS: &[&str] = &[
    "the",
    "query",
    "runs",
    "once",
    "per",
    "row",
    "so",
    "move",
    "filter",
    "into",
    "SQL",
    "and",
    "“measure”",
    "again",
    "`make bench`",
    "\"shelf\"",
    "naïve",
    "→",
    "Größe",
    "it",
    "test",
];

const CODE: &[&str] = &[
    "    let rows = session.query(&item)?;",
    "    if shelf.is_none() {",
    "\tprintln!(\"{name}: {count}\\n\");",
    "    }",
    "}",
    "",
    "/// Whether the shelf's name is `name`.",
    "pub fn list_items(session: &Session, shelf: Option<&str>) -> Result<Vec<Item>> {",
];

/// Random numbers (splitmix64), and texts made of them.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) % limit
    }

    /// A number about `middle`, between half of it and one and a half.
    fn near(&mut self, middle: u64) -> usize {
        (middle / 2 + self.below(middle)) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len() as u64) as usize]
    }

    fn letters(&mut self, count: usize) -> String {
        let mut letter = || char::from(b'a' + self.below(26) as u8);
        (0..count).map(|_| letter()).collect()
    }

    /// Sentences as a JSON string.
    fn prose(&mut self, length: usize) -> String {
        self.joined(WORDS, " ", length)
    }

    /// Lines of a program as a JSON string.
    fn code(&mut self, length: usize) -> String {
        self.joined(CODE, "\n", length)
    }

    fn joined(&mut self, pieces: &[&str], between: &str, length: usize) -> String {
        let mut plain = String::new();
        while plain.len() < length {
            plain.push_str(self.pick(pieces));
            plain.push_str(between);
        }
        let mut quoted = Vec::new();
        text::quote(&plain, &mut quoted);
        String::from_utf8(quoted).expect("quoted text is text")
    }
}
