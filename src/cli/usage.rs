//! The command `copyist usage`.

use super::list_table::short;
use super::machine::{at, folders, surveyed};
use super::pager::page;
use super::selecting::folders_of;
use super::text::{aside, cropped, printable, width};
use super::{Stop, names, print};
use crate::diagnostic::plural;
use crate::formats::Spec;
use crate::home::{By, Days, Group, Prices, SessionPlace, count_once, spending};
use crate::times;
use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::json;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use textwrap::core::display_width;

/// Add up the tokens and cost of sessions
///
/// Counted are the tokens that sessions contain, each answer once, and the cost where the agent
/// stores it. With prices, a cost is estimated for all tokens. Days are those of the machine's zone.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files and folders with sessions; the default is the folders of all agents
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Choose the groups; of several, each divides the one before it: `project,model`
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',', default_value = "day")]
    by: Vec<Groups>,
    /// Count only sessions of this agent, which is the name of a format
    #[arg(long, value_name = "NAME", value_parser = names::format(), hide_possible_values = true)]
    agent: Option<Spec>,
    /// Count only sessions of this project folder, and of folders below it
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Count only days since then: an age such as 12h, 7d or 2w, or a date
    #[arg(long, value_name = "WHEN", value_parser = at)]
    since: Option<Timestamp>,
    /// Count only days until then, and that day: an age or a date
    #[arg(long, value_name = "WHEN", value_parser = at)]
    until: Option<Timestamp>,
    /// Estimate the cost with the prices in this file of JSON or YAML
    ///
    /// Its members are names of models, or beginnings of names; each has `input`, `output`,
    /// `cache_read` and `cache_write` in US dollars for a million tokens.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Print one line of JSON for each group
    #[arg(long)]
    json: bool,
}

/// Values of `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Groups {
    /// Day
    Day,
    /// Month
    Month,
    /// Model
    Model,
    /// Folder of the project
    Project,
    /// Agent
    Agent,
    /// Session
    Session,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let prices = self.prices.as_deref().map(read).transpose()?;
        let format = self.agent.map(|agent| agent.format);
        let places = match self.paths.is_empty() {
            true => folders(format)?,
            false => self.paths.iter().cloned().map(SessionPlace::named).collect(),
        };
        let sessions = surveyed(&places, self.paths.is_empty(), format);
        let selection = crate::home::Selection {
            format,
            projects: self.project.as_deref().map(folders_of).unwrap_or_default(),
            since: self.since,
            ..Default::default()
        };
        let mut sessions = selection.of(sessions);
        count_once(&mut sessions);
        let by: Vec<By> = self.by.iter().map(|by| (*by).into()).collect();
        let day = |time: Option<Timestamp>| time.map(times::local_day);
        let days = Days { first: day(self.since), last: day(self.until) };
        let groups = spending(&sessions, &by, &days, prices.as_ref());
        if self.json {
            let lines: String =
                groups.iter().map(|group| format!("{}\n", object(group, &by))).collect();
            return print(lines.as_bytes());
        }
        if groups.is_empty() {
            aside("the sessions contain no counts of tokens");
            return Ok(0);
        }
        page(&table(&groups, &by, std::io::stdout().is_terminal()))
    }
}

impl From<Groups> for By {
    fn from(by: Groups) -> Self {
        match by {
            Groups::Day => Self::Day,
            Groups::Month => Self::Month,
            Groups::Model => Self::Model,
            Groups::Project => Self::Project,
            Groups::Agent => Self::Agent,
            Groups::Session => Self::Session,
        }
    }
}

/// Reads the user's prices.
fn read(path: &Path) -> Result<Prices, Stop> {
    let failed =
        |why: String| Stop::usage(printable(&format!("`--prices {}`: {why}", path.display())));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    serde_yaml::from_str(&text).map_err(|error| failed(error.to_string()))
}

fn title(by: By) -> &'static str {
    match by {
        By::Day => "day",
        By::Month => "month",
        By::Model => "model",
        By::Project => "project",
        By::Agent => "agent",
        By::Session => "session",
    }
}

fn object(group: &Group, by: &[By]) -> serde_json::Value {
    let usage = &group.usage;
    let whole = |number: f64| number as u64;
    let mut object: serde_json::Map<_, _> = by
        .iter()
        .zip(&group.names)
        .map(|(by, name)| (title(*by).to_owned(), json!(name)))
        .collect();
    let numbers = json!({
        "sessions": group.sessions,
        "input": whole(usage.input),
        "output": whole(usage.output),
        "cache_read": whole(usage.cache_read),
        "cache_write": whole(usage.cache_write),
        "total": whole(usage.all()),
        "cost": Some(usage.cost).filter(|cost| *cost > 0.0),
        "estimate": group.estimate,
    });
    object.extend(numbers.as_object().cloned().unwrap_or_default());
    object.into()
}

/// Longest name of a group in a table.
const LONGEST: usize = 40;

/// Longest bar.
const BAR: usize = 30;

fn table(groups: &[Group], by: &[By], bars: bool) -> String {
    let names = ["input", "output", "cache read", "cache write", "total", "cost", "estimate"];
    let mut sum = Group { names: vec!["total".to_owned()], ..Group::default() };
    for group in groups {
        sum.usage.join(group.usage);
        if let Some(estimate) = group.estimate {
            *sum.estimate.get_or_insert(0.0) += estimate;
        }
        sum.unpriced += group.unpriced;
    }
    let all: Vec<_> = groups.iter().chain([&sum]).collect();
    let titles = by.iter().map(|by| title(*by).to_owned()).collect();
    let labels = labels(titles, &all);
    let all: Vec<_> = all.into_iter().map(cells).collect();
    let used = |column: usize| all.iter().any(|cells| !cells[column].is_empty());
    let columns: Vec<usize> = (0..names.len()).filter(|column| used(*column)).collect();
    let wide = |column: usize| {
        let cells = all.iter().map(|cells| display_width(&cells[column]));
        cells.max().unwrap_or(0).max(names[column].len())
    };
    let mut out = labels[0].clone();
    columns
        .iter()
        .for_each(|column| out.push_str(&format!("  {:>1$}", names[*column], wide(*column))));
    out.push('\n');
    let most = groups.iter().map(|group| group.usage.all()).fold(0.0, f64::max);
    let room = width(None).saturating_sub(display_width(out.trim_end()) + 2).min(BAR);
    for (place, (label, cells)) in labels[1..].iter().zip(&all).enumerate() {
        out.push_str(label);
        for column in &columns {
            out.push_str(&format!("  {:>1$}", cells[*column], wide(*column)));
        }
        let share =
            groups.get(place).filter(|_| bars && most > 0.0).map(|group| group.usage.all() / most);
        let length = share.map_or(0, |share| (share * room as f64).round() as usize);
        if length > 0 {
            out.push_str(&format!("  {}", "▇".repeat(length)));
        }
        out.push('\n');
    }
    if sum.unpriced > 0.0 {
        let tokens = plural(sum.unpriced as u64, "token");
        out.push_str(&format!("the estimate lacks {tokens} of models without a price\n"));
    }
    out
}

/// Returns the titles and the names of groups as columns of the same width, line by line.
fn labels(titles: Vec<String>, groups: &[&Group]) -> Vec<String> {
    let columns = titles.len();
    let shown = |name: &String| {
        let name = if name.is_empty() { "(not known)" } else { name };
        cropped(&printable(name), LONGEST)
    };
    let names = groups.iter().map(|group| group.names.iter().map(shown).collect());
    let lines: Vec<Vec<String>> = std::iter::once(titles).chain(names).collect();
    let wide = |column: usize| {
        lines.iter().filter_map(|line| Some(display_width(line.get(column)?))).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let label = |line: &Vec<String>| {
        let cell = |(column, width): (usize, &usize)| {
            let name = line.get(column).map_or("", String::as_str);
            format!("{name}{}", " ".repeat(width - display_width(name)))
        };
        widths.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
    };
    lines.iter().map(label).collect()
}

fn cells(group: &Group) -> [String; 7] {
    let usage = &group.usage;
    let count = |count: f64| if count > 0.0 { short(count as u64) } else { String::new() };
    let cost = |cost: f64| if cost > 0.0 { format!("{cost:.2}") } else { String::new() };
    [
        count(usage.input),
        count(usage.output),
        count(usage.cache_read),
        count(usage.cache_write),
        count(usage.all()),
        cost(usage.cost),
        group.estimate.map(|cost| format!("{cost:.2}")).unwrap_or_default(),
    ]
}
