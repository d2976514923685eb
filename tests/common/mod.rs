//! What the tests share: the corpus, the testdata, and conversions in memory.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod codex;
pub mod rollout;

use copyist::context::{self, Request};
use copyist::diagnostic::{Findings, Log};
use copyist::error::Error;
use copyist::format::{Cx, Format, Head, OnError, Options, Target};
use copyist::formats::{FORMATS, Spec};
use copyist::ids::Choice;
use copyist::memory::{Buffer, Bytes};
use copyist::{convert, detect, migrate};
use std::path::{Path, PathBuf};

/// The corpus beside the project, or where `COPYIST_CORPUS` says, or `None` after saying aloud
/// that `test` is skipped.
pub fn corpus(test: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let path = std::env::var_os("COPYIST_CORPUS").map_or(beside, PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIP {test}: no corpus at {}", path.display());
    None
}

/// The project's own test data.
pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// The folders of the project's own test data without its round trips, in which the same sessions
/// occur many times.
pub fn session_folders() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(testdata()).expect("a folder");
    let mut folders: Vec<_> = entries.map(|entry| entry.expect("a folder").path()).collect();
    folders.retain(|folder| !folder.ends_with("roundtrip"));
    folders.sort();
    folders
}

/// Files below a folder, sorted, without origins.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = all_files(folder);
    files.retain(|file| file.extension().is_none_or(|ending| ending != "origin"));
    files
}

/// Files below a folder, sorted.
pub fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name();
    let entries = entries.into_iter().map(|entry| entry.expect("a readable folder"));
    entries.filter(|e| e.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

/// The inputs of every undamaged case of our own; of several files of a session, the main one.
pub fn own_inputs() -> Vec<PathBuf> {
    let damaged = testdata().join("damaged");
    inputs_below(&testdata()).into_iter().filter(|path| !path.starts_with(&damaged)).collect()
}

/// [`own_inputs`] of formats that are also written.
pub fn written_inputs() -> Vec<PathBuf> {
    let only_read = FORMATS.iter().filter(|format| format.reads_only);
    let folders: Vec<_> = only_read.map(|format| testdata().join(format.name)).collect();
    let is_written = |path: &PathBuf| !folders.iter().any(|folder| path.starts_with(folder));
    own_inputs().into_iter().filter(is_written).collect()
}

/// The inputs of the cases below a folder.
pub fn inputs_below(folder: &Path) -> Vec<PathBuf> {
    let inputs = files(folder).into_iter();
    inputs.filter(|path| in_folder(path, "in") && main_of(path).is_none()).collect()
}

/// The main file of a session, if this is another one of it.
fn main_of(path: &Path) -> Option<PathBuf> {
    let name = name(path);
    let main = |format: &Format| {
        let (first, others) = format.files.beside.split_first()?;
        let stem = others.iter().find_map(|ending| name.strip_suffix(ending))?;
        Some(path.with_file_name(format!("{stem}{first}"))).filter(|main| main.is_file())
    };
    FORMATS.iter().find_map(|format| main(format))
}

/// What begins several files that go as one text through tests which know nothing of them: each
/// follows with its part's name and length on a line.
const SEVERAL: &[u8] = b"\0several files\n";

/// A session with the files beside its main one.
pub fn session(path: &Path) -> Vec<u8> {
    let mut all = vec![(String::new(), read(path))];
    let name = name(path);
    for format in FORMATS.iter().filter(|format| !format.files.beside.is_empty()) {
        let endings = format.files.beside.split_first().expect("endings").1;
        if let Some(ending) = endings.iter().find(|ending| name.ends_with(**ending)) {
            all[0].0 = (*ending).to_owned();
        }
        let Some(stem) = name.strip_suffix(format.files.beside[0]) else { continue };
        for ending in endings {
            let file = path.with_file_name(format!("{stem}{ending}"));
            all.extend(file.is_file().then(|| ((*ending).to_owned(), read(&file))));
        }
    }
    let mut inner = Vec::new();
    for format in FORMATS.iter().filter(|format| !format.files.below.is_empty()) {
        let Some(stem) = name.strip_suffix(format.extensions[0]) else { continue };
        let stem = path.with_file_name(stem);
        for folder in format.files.below.iter().map(|below| stem.join(below)).filter(|f| f.is_dir())
        {
            let part =
                |file: &Path| format!("/{}", file.strip_prefix(&stem).expect("below").display());
            inner.extend(files(&folder).iter().map(|file| (part(file), read(file))));
        }
    }
    // Outputs in memory are sorted by the names of their parts.
    inner.sort();
    all.extend(inner);
    several(all)
}

/// Parts as one text; the main one alone is itself.
pub fn several(parts: Vec<(String, Vec<u8>)>) -> Vec<u8> {
    if let [(name, bytes)] = parts.as_slice()
        && name.is_empty()
    {
        return bytes.clone();
    }
    let mut text = SEVERAL.to_vec();
    for (name, bytes) in parts {
        text.extend_from_slice(format!("{name} {}\n", bytes.len()).as_bytes());
        text.extend_from_slice(&bytes);
    }
    text
}

/// The parts of such a text.
pub fn files_of(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    let Some(mut rest) = text.strip_prefix(SEVERAL) else {
        return vec![(String::new(), text.to_vec())];
    };
    let mut parts = Vec::new();
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let (name, length) = head.rsplit_once(' ').expect("name and length");
        let (bytes, behind) = rest[end + 1..].split_at(length.parse().expect("a length"));
        parts.push((name.to_owned(), bytes.to_vec()));
        rest = behind;
    }
    parts
}

/// The same to be read.
pub fn parts(text: &[u8]) -> Bytes {
    let all = files_of(text).into_iter();
    all.fold(Bytes::default(), |parts, (name, bytes)| match name.as_str() {
        ORIGIN => parts.with_origin(bytes),
        _ => parts.with(&name, bytes),
    })
}

/// The name of the origin among the parts of a text.
const ORIGIN: &str = ".origin";

/// A text of several files without its origin.
pub fn alone(text: &[u8]) -> Vec<u8> {
    several(files_of(text).into_iter().filter(|(name, _)| name != ORIGIN).collect())
}

/// A changed session with the origin of what it was.
pub fn beside_origin(changed: Vec<u8>, was: &[u8]) -> Vec<u8> {
    let origin = files_of(was).into_iter().filter(|(name, _)| name == ORIGIN);
    several(files_of(&changed).into_iter().chain(origin).collect())
}

/// What was written, as one text.
pub fn written(buffer: &Buffer) -> Vec<u8> {
    let part = |name: &str| (name.to_owned(), buffer.part(name).unwrap_or_default());
    let origin = buffer.origin().map(|origin| (ORIGIN.to_owned(), origin));
    several(buffer.names().map(part).chain(origin).collect())
}

/// A session cut at every byte, one file at a time, with the place of the cut.
pub fn cuts(text: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    let all = files_of(text);
    let places =
        all.iter().enumerate().flat_map(|(i, (_, bytes))| (0..bytes.len()).map(move |n| (i, n)));
    let places: Vec<_> = places.collect();
    places.into_iter().map(move |(i, cut)| {
        let mut torn = all.clone();
        torn[i].1.truncate(cut);
        (cut, several(torn))
    })
}

/// Whether a file stands directly in a folder of this name.
pub fn in_folder(path: &Path, name: &str) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|folder| folder == name)
}

/// A file's name without its folder.
pub fn name(path: &Path) -> String {
    path.file_name().expect("a file name").to_string_lossy().into_owned()
}

/// A file's contents.
pub fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Options with what most tests want to vary.
pub fn options(on_error: OnError, ids: Choice) -> Options {
    Options { on_error, ids, ..Options::default() }
}

/// The format and version of some bytes.
pub fn recognise(bytes: &[u8]) -> Option<(&'static Format, u32)> {
    files_of(bytes).iter().find_map(|(_, bytes)| {
        let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let head = Head { name: "", bytes: text, whole: true, encoding: None };
        let (format, sniffed) = detect::detect(&head)?;
        let settled = format.settle.and_then(|settle| settle(&mut parts(text), usize::MAX).ok());
        Some((format, settled.unwrap_or(sniffed.version)))
    })
}

/// Output, and what was said on the way.
pub type Done = (Result<Vec<u8>, Error>, Findings);

/// Migrates in memory.
pub fn migrated(bytes: &[u8], to: &str, options: &Options) -> Done {
    let spec = Spec::parse(to).expect("a format");
    if spec.format.plane.is_none() {
        let version = recognise(bytes).map_or(spec.version().number, |(_, version)| version);
        return converted(bytes, spec.format, version, to, options);
    }
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut out = Vec::new();
    let target = Target::Version(spec.version().number);
    let done = migrate::run(spec.format, Box::new(bytes), &mut out, target, &cx);
    (done.map(|_| out), log.into_findings())
}

/// Converts in memory.
pub fn converted(
    bytes: &[u8],
    from: &'static Format,
    version: u32,
    to: &str,
    options: &Options,
) -> Done {
    let spec = Spec::parse(to).expect("a format");
    let log = Log::default();
    // A stream is compared alone, without its origin.
    let origin = options.origin && to != "canonical";
    let options = Options { origin, ..options.clone() };
    let cx = Cx { options: &options, log: &log };
    let mut out = Buffer::default();
    let done = convert::run(from, version, spec, &mut parts(bytes), &mut out, &cx);
    (done.map(|_| written(&out)), log.into_findings())
}

/// What a model would get; the format must be known.
pub fn context(bytes: &[u8], request: &Request, options: &Options) -> Done {
    let (format, _) = recognise(bytes).expect("a known format");
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut out = Vec::new();
    let done = context::run(format, &mut parts(bytes), request, &cx, &mut out);
    (done.map(|_| out), log.into_findings())
}

/// To the canonical stream; the input must be readable.
pub fn to_canonical(bytes: &[u8], options: &Options) -> Vec<u8> {
    let (format, version) = recognise(bytes).expect("a known format");
    let (done, _) = converted(bytes, format, version, "canonical", options);
    done.expect("a readable session")
}

/// From the canonical stream, without the origin beside it.
pub fn from_canonical(stream: &[u8], to: &str, options: &Options) -> Vec<u8> {
    let (canonical, version) = recognise(stream).expect("a stream");
    let (done, _) = converted(stream, canonical, version, to, options);
    alone(&done.expect("a readable stream"))
}

/// Through a canonical stream with its origin, and back; `edit` changes the stream on the way.
pub fn through_a_stream(
    bytes: &[u8],
    edit: &dyn Fn(String) -> String,
    options: &Options,
) -> (Vec<u8>, Findings) {
    let (format, version) = recognise(bytes).expect("a known format");
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut stream = Buffer::default();
    let to = Spec::parse("canonical").expect("a format");
    convert::run(format, version, to, &mut parts(bytes), &mut stream, &cx).expect("readable");
    let written = written(&stream);
    let said = String::from_utf8(alone(&written)).expect("UTF-8");
    let edited = beside_origin(edit(said).into_bytes(), &written);
    let canonical = &copyist::formats::canonical::FORMAT;
    let (done, found) = converted(&edited, canonical, 1, &format.at(version), options);
    (alone(&done.expect("a stream with its origin")), found)
}

/// Through a canonical stream with its origin, and back.
pub fn returned(bytes: &[u8], options: &Options) -> Vec<u8> {
    through_a_stream(bytes, &|stream| stream, options).0
}

/// Fails with the first line that differs.
pub fn assert_same(ours: &[u8], theirs: &[u8], what: &str) {
    if ours == theirs {
        return;
    }
    let (mut a, mut b) = (ours.split(|b| *b == b'\n'), theirs.split(|b| *b == b'\n'));
    for line in 1.. {
        let (a, b) = (a.next(), b.next());
        if a != b {
            let show = |line: Option<&[u8]>| {
                line.map(|line| String::from_utf8_lossy(&line[..line.len().min(2000)]).into_owned())
            };
            panic!("{what}: line {line} differs\n  ours:   {:?}\n  theirs: {:?}", show(a), show(b));
        }
        if a.is_none() {
            return;
        }
    }
}

/// A JSON value with its numbers as doubles, as JavaScript has them, and lone surrogates read as
/// U+FFFD.
pub fn as_javascript(line: &[u8]) -> serde_json::Value {
    fn doubles(value: serde_json::Value) -> serde_json::Value {
        match value {
            serde_json::Value::Number(n) => n.as_f64().map_or(serde_json::Value::Null, |n| {
                serde_json::Number::from_f64(n + 0.0).map_or(serde_json::Value::Null, Into::into)
            }),
            serde_json::Value::Array(list) => list.into_iter().map(doubles).collect(),
            serde_json::Value::Object(map) => {
                map.into_iter().map(|(key, value)| (key, doubles(value))).collect()
            }
            other => other,
        }
    }
    let text = String::from_utf8_lossy(line).replace("\\ud800", "\\ufffd");
    doubles(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

/// A text without what stands in it for blocks that its format does not know.
pub fn without_stand_ins(text: &str) -> String {
    let mut text = text.to_owned();
    for begin in [
        "[document",
        "[image",
        "[web search",
        "[server tool use",
        "[citation",
        "[other",
        "[content of another",
    ] {
        while let Some(start) = text.find(begin) {
            let end = text[start..].find(']').map_or(text.len(), |end| start + end + 1);
            text.replace_range(start..end, "");
        }
    }
    text
}

/// Messages without blocks that not every format knows, or what stands for them.
pub fn without_strange(mut messages: Vec<serde_json::Value>) -> Vec<serde_json::Value> {
    const KNOWN: &[&str] = &["text", "tool_call", "tool_result", "image", "document"];
    for message in &mut messages {
        let Some(blocks) = message["content"].as_array_mut() else { continue };
        blocks.retain(|block| block["type"].as_str().is_some_and(|kind| KNOWN.contains(&kind)));
        for block in blocks.iter_mut().filter(|block| block["type"] == "text") {
            block["text"] = without_stand_ins(block["text"].as_str().expect("a text")).into();
        }
        blocks.retain(|block| block["text"] != "");
    }
    messages.retain(|message| message["content"] != serde_json::json!([]));
    messages
}

/// The input of one of our own cases.
pub fn own(case: &str) -> Vec<u8> {
    read(&files(&testdata().join(case).join("in"))[0])
}

/// What a run said, without how fast it was, which only long runs tell.
pub fn untimed(said: &str) -> String {
    let cut = |line: &str| match line.split_once(" records, ") {
        Some((before, pace)) if pace.contains("/s") => format!("{before} records\n"),
        _ => format!("{line}\n"),
    };
    said.lines().map(cut).collect()
}

/// A folder of its own for one test, in which the program runs.
pub struct Dir(tempfile::TempDir);

impl Dir {
    /// An empty one.
    #[allow(clippy::new_without_default, reason = "a test wants a new folder, not a default")]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// An empty one in memory, where flushing costs nothing, if the system has a place for that.
    pub fn in_memory() -> Self {
        Self(tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder"))
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        self.0.path()
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A new file.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, bytes).expect("a file");
        path
    }

    /// A copy of one of our own files.
    pub fn copy(&self, case: &str, name: &str) -> PathBuf {
        self.write(name, &own(case))
    }

    /// Runs the program.
    pub fn run(&self, args: &[&str]) -> std::process::Output {
        std::process::Command::new(env!("CARGO_BIN_EXE_copyist"))
            .args(args)
            .current_dir(self.0.path())
            // The settings of whoever runs the tests are none of ours.
            .env("XDG_CONFIG_HOME", self.0.path())
            .env_remove("COPYIST_CONFIG")
            .output()
            .expect("the program runs")
    }

    /// Runs it and gives the exit code and standard error.
    pub fn exit(&self, args: &[&str]) -> (i32, String) {
        let done = self.run(args);
        (
            done.status.code().expect("an exit code"),
            String::from_utf8_lossy(&done.stderr).into_owned(),
        )
    }

    /// The names of all files below it.
    pub fn names(&self) -> Vec<String> {
        let below = files(self.0.path()).into_iter();
        below.map(|p| p.strip_prefix(self.0.path()).expect("below").display().to_string()).collect()
    }

    /// Runs it and gives the exit code and all that it said.
    pub fn said(&self, args: &[&str]) -> (i32, String) {
        let done = self.run(args);
        let said = [done.stdout, done.stderr].concat();
        let code = done.status.code().expect("an exit code");
        (code, String::from_utf8_lossy(&said).into_owned())
    }
}

/// A file system in memory, with little room. It takes root to make one.
pub struct Mount(PathBuf);

impl Mount {
    /// Of this size, as a folder of `dir`.
    pub fn new(dir: &Dir, name: &str, size: &str) -> Result<Self, String> {
        let folder = dir.path(name);
        std::fs::create_dir(&folder).expect("a folder");
        let size = format!("size={size}");
        let mut command = std::process::Command::new("mount");
        match command.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).output() {
            Ok(done) if done.status.success() => Ok(Self(folder)),
            Ok(done) => Err(format!("no mount: {}", String::from_utf8_lossy(&done.stderr).trim())),
            Err(error) => Err(format!("no mount: {error}")),
        }
    }

    /// Makes room.
    pub fn grow(&self, size: &str) {
        let size = format!("remount,size={size}");
        let done = std::process::Command::new("mount").args(["-o", &size]).arg(&self.0).status();
        assert!(done.is_ok_and(|done| done.success()), "no more room");
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let done = std::process::Command::new("umount").arg(&self.0).status();
        assert!(done.is_ok_and(|done| done.success()), "{} stays mounted", self.0.display());
    }
}
