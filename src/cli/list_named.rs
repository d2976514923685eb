//! The list of sessions of claude-agent-orchestrator, as its own scripts print it.

use super::sessions::{Folders, Where, names};
use super::text::aside;
use super::text::printable;
use super::{Stop, print};
use crate::lines::Lines;
use crate::named::{About, Counts};
use serde_json::json;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// Options of the list as ao-list-sessions prints it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options for claude-agent-orchestrator")]
pub struct Listing {
    /// Print the rule that decided on each status, and the results of older rules
    #[arg(long)]
    why: bool,
    #[command(flatten)]
    place: Where,
}

impl Listing {
    /// Whether an option was given that only this list has.
    pub fn is_wanted(&self) -> bool {
        self.why || self.place.is_given()
    }

    /// Prints the sessions of one folder with status, times, turns and cost. Errors in a session are
    /// reported, and the list continues.
    pub fn run(self, json: bool) -> Result<u8, Stop> {
        let folders = self.place.folders()?;
        let files = match names(&folders.sessions.path) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                aside(&format!("there is no folder {}", folders.sessions.path.display()));
                Vec::new()
            }
            Err(error) => {
                let path = printable(&folders.sessions.path.display().to_string());
                return Err(Stop::usage(format!("the sessions' folder {path}: {error}")));
            }
        };
        let ending = folders.named.metadata;
        let sessions: Vec<_> = files.iter().filter_map(|file| file.strip_suffix(ending)).collect();
        let mut rows = vec![HEAD.map(str::to_owned)];
        let mut lines = String::new();
        for name in &sessions {
            let session = Session::of(name, &folders);
            for fault in &session.about.faults {
                aside(&format!("{name}: {fault}"));
            }
            if json {
                lines.push_str(&format!("{}\n", session.json(&folders)));
            } else {
                rows.push(session.row());
                rows.extend(self.why.then(|| session.reasons()).into_iter().flatten());
            }
        }
        let log = folders.named.log;
        for name in files.iter().filter_map(|file| file.strip_suffix(log)) {
            if !sessions.contains(&name) {
                aside(&format!("{name}{log} has no {name}{ending}; ao-new would append to it"));
            }
        }
        print(if json { lines } else { table(&rows) }.as_bytes())
    }
}

const HEAD: [&str; 8] =
    ["name", "status", "created", "last resumed", "turns", "cost", "session id", "project"];

/// A session of the list.
struct Session {
    name: String,
    seen: super::sessions::Seen,
    about: About,
    counts: Counts,
}

impl Session {
    fn of(name: &str, folders: &Folders) -> Self {
        let about = contents(&folders.file(name, folders.named.metadata));
        let about = about
            .and_then(|text| (folders.named.about)(&text))
            .map_err(|why| format!("{name}{}: {why}", folders.named.metadata));
        let mut about = about.unwrap_or_else(|why| About { faults: vec![why], ..About::default() });
        let seen = folders.look(name);
        about.faults.extend(seen.fatal().map(str::to_owned));
        if let Some(other) = about.name.as_ref().filter(|other| *other != name) {
            about.faults.push(format!("its metadata contain the name {other:?}"));
        }
        if !(folders.named.is_name)(name) {
            about.faults.push(folders.named.rule.to_owned());
        }
        let mut counts = Counts::default();
        if let Err(why) = count(name, folders, &mut counts) {
            about.faults.push(why);
        }
        Self { name: name.to_owned(), seen, about, counts }
    }

    fn row(&self) -> [String; 8] {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let cost = self.counts.cost.map_or("-".to_owned(), |cost| format!("{cost:.4}"));
        [
            self.name.clone(),
            self.seen.status.name().to_owned(),
            text(&self.about.created),
            text(&self.about.resumed),
            self.counts.turns().to_string(),
            cost,
            text(&self.about.id),
            text(&self.about.project),
        ]
        .map(|text| printable(&text))
    }

    /// Returns the reasons for the status, as rows with one cell.
    fn reasons(&self) -> Vec<[String; 8]> {
        let row = |reason: String| {
            let mut row = [const { String::new() }; 8];
            row[7] = format!("  {reason}");
            row
        };
        self.seen.reasons().into_iter().map(row).collect()
    }

    fn json(&self, folders: &Folders) -> serde_json::Value {
        let About { id, agent, project, created, resumed, faults, .. } = &self.about;
        let mut answer = self.seen.json(&self.name, folders);
        let more = json!({
            "session_id": id,
            "project_dir": project,
            "agent": agent,
            "created_at": created,
            "last_resumed_at": resumed,
            "turns": self.counts.turns(),
            "total_cost_usd": self.counts.cost,
            "faults": faults,
        });
        if let (Some(answer), Some(more)) = (answer.as_object_mut(), more.as_object()) {
            answer.extend(more.clone());
        }
        answer
    }
}

/// Reads a regular file. Other files are refused, because opening a pipe would wait for a writer.
fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error| format!("cannot read: {error}");
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    std::fs::read(path).map_err(failed)
}

/// Counts over a session's log. The memory need is that of its longest line.
fn count(name: &str, folders: &Folders, counts: &mut Counts) -> Result<(), String> {
    let path = folders.file(name, folders.named.log);
    if !std::fs::metadata(&path).is_ok_and(|meta| meta.is_file()) {
        return Ok(());
    }
    let failed = |error: &dyn std::fmt::Display| format!("{name}{}: {error}", folders.named.log);
    let file = File::open(&path).map_err(|error| failed(&error))?;
    let mut lines = Lines::new(file, folders.max_line);
    lines.skip_bom().map_err(|error| failed(&error))?;
    loop {
        match lines.next() {
            Ok(Some(line)) => (folders.named.count)(line.bytes, counts),
            Ok(None) => return Ok(()),
            Err(error) if error.is_recoverable() => {}
            Err(error) => return Err(failed(&error)),
        }
    }
}

/// Formats rows as a table. A column is as wide as its widest cell. A row that has only its last
/// cell spans all columns.
fn table(rows: &[[String; 8]]) -> String {
    let mut widths = [0; 8];
    let is_note = |row: &[String; 8]| row[0].is_empty();
    for row in rows.iter().filter(|row| !is_note(row)) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        if is_note(row) {
            out.push_str(&row[7]);
        } else {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
            out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        out.push('\n');
    }
    out
}
