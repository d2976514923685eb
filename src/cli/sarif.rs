//! Findings as SARIF 2.1.0, the interchange format of static analysis that editors and code hosts
//! read.

use super::regions::{Region, regions};
use crate::batch::{FileReport, ReportedPath};
use crate::diagnostic::{Code, Diagnostic};
use crate::store::Packing;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

/// A log in SARIF that is written piece by piece: it keeps codes, but no findings.
#[derive(Debug, Default)]
pub struct Sarif {
    begun: bool,
    /// The folder that relative paths begin at.
    folder: PathBuf,
    /// The codes of the results.
    codes: BTreeSet<Code>,
    /// Findings that are only counted, by code.
    counted: BTreeMap<Code, u64>,
}

/// The members of the log up to its first result.
const HEAD: &str = concat!(
    r#"{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","#,
    r#""runs":[{"columnKind":"unicodeCodePoints","#,
    r#""originalUriBaseIds":{"%SRCROOT%":{"description":{"text":"The folder in which copyist ran."}}},"#,
    "\"results\":[",
);

impl Sarif {
    /// Creates a log without results.
    pub fn new() -> Self {
        Self { folder: std::env::current_dir().unwrap_or_default(), ..Self::default() }
    }

    /// Returns the next piece of the log: the findings about one input.
    pub fn results(&mut self, report: &FileReport) -> String {
        let mut text = String::new();
        let found = &report.findings.diagnostics;
        for (finding, region) in found.iter().zip(regions_of(report)) {
            let head = if self.begun { "," } else { HEAD };
            self.begun = true;
            self.codes.insert(finding.code);
            let _ = write!(text, "{head}\n{}", self.result(report, finding, region));
        }
        for (code, count) in &report.findings.counts {
            let shown = found.iter().filter(|finding| finding.code == *code).count() as u64;
            if *count > shown {
                *self.counted.entry(*code).or_default() += count - shown;
            }
        }
        text
    }

    fn result(&self, report: &FileReport, finding: &Diagnostic, region: Option<Region>) -> Value {
        let mut place = json!({ "artifactLocation": self.location(part(report, finding)) });
        if let (Some(region), Some(object)) = (region, place.as_object_mut()) {
            object.insert("region".to_owned(), object_of(&region));
        }
        json!({
            "ruleId": finding.code.name(),
            "level": finding.severity().to_string(),
            "message": { "text": finding.message },
            "locations": [{ "physicalLocation": place }],
        })
    }

    /// Returns the location of a file: relative to the folder in which the program runs, if the
    /// file is below it.
    fn location(&self, path: &ReportedPath) -> Value {
        if &**path == "-" {
            return json!({ "description": { "text": "standard input" } });
        }
        let path = path.path();
        let path = path.strip_prefix(&self.folder).unwrap_or(path);
        let path = path.strip_prefix(".").unwrap_or(path);
        if path.is_absolute() {
            return json!({ "uri": format!("file://{}", encoded(path)) });
        }
        match path.components().any(|step| step == Component::ParentDir) {
            true => json!({ "uri": encoded(path) }),
            false => json!({ "uri": encoded(path), "uriBaseId": "%SRCROOT%" }),
        }
    }

    /// Returns the last piece of the log. `complete` states whether every input was checked.
    pub fn end(&self, complete: bool) -> String {
        let rules: Vec<_> = self.codes.iter().map(|code| rule(*code)).collect();
        let version = env!("CARGO_PKG_VERSION");
        let tool = json!({ "driver": {
            "name": "copyist", "version": version, "semanticVersion": version, "rules": rules,
        }});
        let left_out = self.counted.iter().map(|(code, count)| {
            let text = format!("{} further findings of {} are only counted", count, code.name());
            json!({ "level": "warning", "message": { "text": text } })
        });
        let invocation = json!({
            "executionSuccessful": complete,
            "toolExecutionNotifications": left_out.collect::<Vec<_>>(),
        });
        let head = if self.begun { "" } else { HEAD };
        format!("{head}\n],\"tool\":{tool},\"invocations\":[{invocation}]}}]}}")
    }
}

/// Returns the description of a kind of finding, with the help that `explain` prints.
fn rule(code: Code) -> Value {
    json!({
        "id": code.name(),
        "name": format!("{code:?}"),
        "shortDescription": { "text": code.title() },
        "fullDescription": { "text": code.explanation() },
        "help": { "text": code.explanation() },
        "defaultConfiguration": { "level": code.severity().to_string() },
    })
}

fn object_of(region: &Region) -> Value {
    match region.bytes {
        None => json!({ "startLine": region.line }),
        Some(bytes) => json!({
            "startLine": region.line,
            "startColumn": bytes.column,
            "byteOffset": bytes.offset,
            "byteLength": bytes.length,
        }),
    }
}

/// Returns the file of the part that a finding is about.
fn part<'r>(report: &'r FileReport, finding: &Diagnostic) -> &'r ReportedPath {
    let part = finding.at.map_or(0, |at| at.part);
    report.parts.get(part as usize).unwrap_or(&report.path)
}

/// Returns the region of each finding of an input. Files are read again to determine columns, up to
/// the last finding; of a compressed file, or one that is not there any more, only lines are known.
fn regions_of(report: &FileReport) -> Vec<Option<Region>> {
    let found = &report.findings.diagnostics;
    let mut all: Vec<Option<Region>> = vec![None; found.len()];
    let mut by_part: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (n, at) in found.iter().enumerate().filter_map(|(n, found)| Some((n, found.at?))) {
        if at.line > 0 {
            by_part.entry(at.part).or_default().push(n);
        }
    }
    for numbers in by_part.into_values() {
        let places = numbers.iter().filter_map(|n| found.get(*n)?.at).collect::<Vec<_>>();
        let path = numbers.first().and_then(|n| found.get(*n)).map(|found| part(report, found));
        let path = path.map(ReportedPath::path).filter(|path| Packing::of_name(path).is_none());
        let file = path.filter(|path| path.is_file()).and_then(|path| File::open(path).ok());
        for (n, region) in numbers.into_iter().zip(regions(file, &places)) {
            all.iter_mut().skip(n).take(1).for_each(|place| *place = Some(region));
        }
    }
    all
}

/// Encodes a path for a URI.
fn encoded(path: &Path) -> String {
    let mut uri = String::new();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri
}
