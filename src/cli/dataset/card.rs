//! The description of a data set.

use crate::diagnostic::plural;
use crate::export::{Choices, Counts, Per, Reasoning, Row};
use crate::home::Summary;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Sessions and rows of one source.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    sessions: u64,
    rows: u64,
}

/// Contents of a data set, and what was omitted from it.
pub struct Card {
    choices: Choices,
    /// Rows of each part.
    rows: BTreeMap<String, u64>,
    messages: u64,
    bytes: u64,
    sessions: u64,
    tokens: u64,
    agents: BTreeMap<String, Source>,
    models: BTreeMap<String, Source>,
    changes: Counts,
    masked: BTreeMap<String, u64>,
    omitted: BTreeMap<&'static str, u64>,
    failed: Vec<(String, String)>,
}

impl Card {
    /// Begins the card of a data set.
    pub fn new(choices: &Choices) -> Self {
        Self {
            choices: *choices,
            rows: BTreeMap::new(),
            messages: 0,
            bytes: 0,
            sessions: 0,
            tokens: 0,
            agents: BTreeMap::new(),
            models: BTreeMap::new(),
            changes: Counts::default(),
            masked: BTreeMap::new(),
            omitted: BTreeMap::new(),
            failed: Vec::new(),
        }
    }

    /// Counts a row that was written.
    pub fn row(&mut self, part: &str, row: &Row) {
        *self.rows.entry(part.to_owned()).or_default() += 1;
        self.messages += row.marks.len() as u64;
        self.bytes += row.text.len() as u64 + 1;
    }

    /// Counts a session of which rows were written.
    pub fn session(
        &mut self,
        summary: &Summary,
        rows: u64,
        changes: &Counts,
        masked: Option<BTreeMap<String, u64>>,
    ) {
        self.sessions += 1;
        self.tokens += summary.tokens.unwrap_or(0);
        let count = |source: &mut Source| {
            source.sessions += 1;
            source.rows += rows;
        };
        count(self.agents.entry(summary.agent.clone()).or_default());
        let mut models: Vec<&str> =
            summary.spent.iter().map(|spent| spent.model.as_str()).collect();
        models.sort_unstable();
        models.dedup();
        for model in models.into_iter().filter(|model| !model.is_empty()) {
            count(self.models.entry(model.to_owned()).or_default());
        }
        self.changes.merge(changes);
        for (kind, number) in masked.unwrap_or_default() {
            *self.masked.entry(kind).or_default() += number;
        }
    }

    /// Counts a row, or a session without one, that was left out.
    pub fn omit(&mut self, why: &'static str) {
        *self.omitted.entry(why).or_default() += 1;
    }

    /// Notes a session that could not be read.
    pub fn fail(&mut self, path: &str, why: &str) {
        self.failed.push((path.to_owned(), why.to_owned()));
    }

    /// Returns the number of sessions that could not be read.
    pub fn failed(&self) -> usize {
        self.failed.len()
    }

    fn all_rows(&self) -> u64 {
        self.rows.values().sum()
    }

    /// Describes the data set in a few lines.
    pub fn lines(&self) -> Vec<String> {
        let mut text =
            format!("{} of {}", plural(self.all_rows(), "row"), plural(self.sessions, "session"));
        for (why, number) in &self.omitted {
            let _ = write!(text, "; left out: {why} ({number})");
        }
        if !self.failed.is_empty() {
            let _ = write!(text, "; {} failed", self.failed.len());
        }
        let mut lines = vec![text];
        let changes: Vec<_> =
            self.changes.iter().map(|(kind, number)| format!("{kind} ({number})")).collect();
        if !changes.is_empty() {
            lines.push(format!("not in the rows as in the sessions: {}", changes.join(", ")));
        }
        if !self.masked.is_empty() {
            let masked: Vec<_> =
                self.masked.iter().map(|(kind, number)| plural(*number, kind)).collect();
            lines.push(format!("masked: {}", masked.join(", ")));
        }
        lines
    }

    /// Returns the contents of `card.json`.
    pub fn json(&self, files: &[PathBuf]) -> String {
        let sources = |sources: &BTreeMap<String, Source>| {
            let source =
                |source: &Source| json!({"sessions": source.sessions, "rows": source.rows});
            sources.iter().map(|(name, one)| (name.clone(), source(one))).collect::<Value>()
        };
        let failed: Vec<Value> =
            self.failed.iter().map(|(path, why)| json!({"path": path, "error": why})).collect();
        let card = json!({
            "copyist": env!("CARGO_PKG_VERSION"),
            "style": self.choices.style.name(),
            "choices": {
                "per": self.per(),
                "reasoning": self.reasoning(),
                "images": if self.choices.images { "keep" } else { "drop" },
                "tool_results": self.choices.tool_results,
                "system": if self.choices.system { "keep" } else { "drop" },
            },
            "files": names(files),
            "rows": self.rows,
            "messages": self.messages,
            "bytes": self.bytes,
            "sessions": self.sessions,
            "tokens": self.tokens,
            "agents": sources(&self.agents),
            "models": sources(&self.models),
            "changes": self.changes.iter().collect::<BTreeMap<_, _>>(),
            "masked": self.masked,
            "left_out": self.omitted,
            "failed": failed,
        });
        format!("{card:#}\n")
    }

    fn per(&self) -> &'static str {
        match self.choices.per {
            Per::Session => "session",
            Per::Branch => "branch",
            Per::Turn => "turn",
        }
    }

    fn reasoning(&self) -> &'static str {
        match self.choices.reasoning {
            Reasoning::Keep => "keep",
            Reasoning::Move => "move",
            Reasoning::Drop => "drop",
        }
    }

    /// Returns the contents of `README.md`: its header names the files to programs that load data
    /// sets.
    pub fn readme(&self, files: &[PathBuf]) -> String {
        let mut text = String::from("---\nconfigs:\n- config_name: default\n  data_files:\n");
        let ending = files.first().map_or("jsonl", |file| {
            let name = file.to_str().unwrap_or_default();
            name.split_once(".jsonl").map_or("jsonl", |(_, packed)| match packed {
                ".zst" => "jsonl.zst",
                ".gz" => "jsonl.gz",
                _ => "jsonl",
            })
        });
        for part in self.rows.keys() {
            let _ = write!(text, "  - split: {part}\n    path: \"{part}-*.{ending}\"\n");
        }
        let rows: Vec<_> = self.rows.iter().map(|(part, rows)| format!("{part}: {rows}")).collect();
        let _ = write!(
            text,
            "---\n\n# Sessions of AI coding agents\n\n{} in the style `{}`, from {}, written by \
             copyist {}.\n\n| | |\n|---|---|\n| rows | {} |\n| messages | {} |\n| tokens by the \
             sessions' own counts | {} |\n",
            plural(self.all_rows(), "row"),
            self.choices.style.name(),
            plural(self.sessions, "session"),
            env!("CARGO_PKG_VERSION"),
            rows.join(", "),
            self.messages,
            self.tokens,
        );
        for (agent, source) in &self.agents {
            let sessions = plural(source.sessions, "session");
            let _ = writeln!(text, "| {agent} | {sessions}, {} |", plural(source.rows, "row"));
        }
        for (kind, number) in self.changes.iter() {
            let _ = writeln!(text, "| not as in the sessions: {kind} | {number} |");
        }
        for (why, number) in &self.omitted {
            let _ = writeln!(text, "| left out: {why} | {number} |");
        }
        for (kind, number) in &self.masked {
            let _ = writeln!(text, "| masked: {kind} | {number} |");
        }
        text.push_str("\n`card.json` has all counts.\n");
        text
    }
}

fn names(files: &[PathBuf]) -> Vec<String> {
    let name = |file: &PathBuf| Some(file.file_name()?.to_string_lossy().into_owned());
    files.iter().filter_map(name).collect()
}
