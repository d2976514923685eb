//! The command `copyist move`.

use super::changing::{Changing, name_journal};
use super::pager::page;
use super::text::printable;
use super::{Stop, config};
use crate::batch::ReportedPath;
use crate::diagnostic::plural;
use crate::format::{Map, is_of_windows};
use crate::formats::FORMATS;
use crate::home::{Relocation, Row, places, relocation};
use crate::store::Undertaking;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Move the sessions of a project whose folder was moved or renamed
///
/// The folder itself must be moved before. In the sessions of all agents and in the agents' lists of
/// projects, the path OLD and the paths below it become NEW; messages are not changed. Where an
/// agent has a folder for the sessions of each project, the files move to the new one. Everything
/// else stays, byte for byte, and what names OLD and cannot be changed is printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder's path before
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The folder's path now
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Print one line of JSON for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    changing: Changing,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let (old, new) = (absolute(&self.old)?, absolute(&self.new)?);
        if old == "/" || old == new {
            return Err(Stop::usage("OLD and NEW are paths of two different folders"));
        }
        let homes = FORMATS.iter().map(|format| Ok((*format, config::home(format)?)));
        let homes = homes.collect::<Result<Vec<_>, Stop>>()?;
        let home = |format: &'static crate::format::Format| {
            homes.iter().find(|(own, _)| *own == format).and_then(|(_, home)| home.clone())
        };
        // Some agents keep sessions in the project's folder, which moved already.
        let all = places(&home, Some(Path::new(&new)), None);
        let failed =
            |error: crate::error::Error| Stop { code: 3, message: printable(error.message()) };
        let settings = format!("{old} → {new}");
        let what = Undertaking { command: "move", settings: &settings, outcome: "moved" };
        let maps = Map::new(&old, &new).with_twin();
        let plan = || relocation(&all, &maps).map_err(failed);
        let begin = |journal: &Path| name_journal("undo:", journal, self.json);
        let (found, _) = self.changing.carry_out(&what, plan, |found| &found.writes, begin)?;
        let text = if self.json { lines(&found) } else { self.table(&found, (&old, &new)) };
        page(&text)
    }

    fn table(&self, found: &Relocation, (old, new): (&str, &str)) -> String {
        let mut out = String::new();
        for row in found.rows.iter().filter(|_| self.changing.dry_run) {
            out.push_str(&line(row));
        }
        for (path, why) in &found.unchanged {
            out.push_str(&printable(&format!("stays: {}: {why}", path.display())));
            out.push('\n');
        }
        let paths: u64 = found.rows.iter().map(|row| row.paths).sum();
        let moved = found.rows.iter().filter(|row| row.to.is_some()).count() as u64;
        let edited = found.rows.iter().filter(|row| row.paths > 0).count() as u64;
        let would = if self.changing.dry_run { "would be " } else { "" };
        let total = match found.rows.is_empty() {
            true if !found.leaves_sessions => {
                format!("no session names {old} or a folder below it")
            }
            true => format!("nothing {would}changed: {old} → {new}"),
            false => format!(
                "{} {would}changed in {}, {} {would}moved: {old} → {new}",
                plural(paths, "path"),
                plural(edited, "file"),
                plural(moved, "file")
            ),
        };
        out.push_str(&printable(&total));
        out.push('\n');
        let foreign = is_foreign(Path::new(new));
        if !foreign && !Path::new(new).is_dir() && !found.rows.is_empty() {
            out.push_str(&printable(&format!("note: there is no folder {new} on this machine")));
            out.push('\n');
        }
        out
    }
}

/// Whether a path is an absolute one of another system, as in sessions that were made there.
pub fn is_foreign(path: &Path) -> bool {
    let text = path.to_string_lossy();
    let of_linux = text.starts_with('/') && !text.starts_with("//");
    if cfg!(windows) { of_linux } else { is_of_windows(&text) }
}

/// Returns the absolute path of a folder, which need not exist, without links in the part that
/// exists; that of another system as it is written.
fn absolute(path: &Path) -> Result<String, Stop> {
    if is_foreign(path) {
        return Ok(path.to_string_lossy().trim_end_matches(['/', '\\']).to_owned());
    }
    let full = std::path::absolute(path).map_err(|error| Stop::usage(error.to_string()))?;
    let text = full.to_str().ok_or_else(|| Stop::usage("a path is not UTF-8"))?;
    let plain = text.trim_end_matches('/');
    Ok(if plain.is_empty() { "/".to_owned() } else { plain.to_owned() })
}

/// Describes a file in a line, and its new place in another one.
fn line(row: &Row) -> String {
    let paths = if row.paths > 0 { plural(row.paths, "path") } else { String::new() };
    let first = format!("{:<18}  {paths:>9}  {}", row.agent, row.path.display());
    let to = row.to.as_ref().map(|to| format!("{:<29}→ {}", "", to.display()));
    let lines = std::iter::once(first).chain(to);
    lines.map(|line| format!("{}\n", printable(&line))).collect()
}

/// Formats each file as a line of JSON.
fn lines(found: &Relocation) -> String {
    let changed = found.rows.iter().map(|row| {
        json!({
            "agent": row.agent,
            "path": ReportedPath::from(row.path.as_path()),
            "to": row.to.as_deref().map(ReportedPath::from),
            "paths": row.paths,
        })
    });
    let unchanged = found
        .unchanged
        .iter()
        .map(|(path, why)| json!({"path": ReportedPath::from(path.as_path()), "stays": why}));
    changed.chain(unchanged).map(|object| format!("{object}\n")).collect()
}
