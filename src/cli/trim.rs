//! The command `copyist trim`.

use super::changing::{Changing, name_journal};
use super::go_on::stopped;
use super::machine::{self, Among, resume, words};
use super::text::{number, printable, size};
use super::{Stop, print};
use crate::batch::ReportedPath;
use crate::diagnostic::plural;
use crate::home::{Limits, Listed, Size, TrimmedPlace, Trimming, trim};
use crate::store::Undertaking;
use crate::trim::Step;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Make a session smaller, so that its agent can resume it
///
/// Old output of tools, images and the like are cut, and a line that states how much takes the place
/// of each; no model is asked. Calls keep their results, and the newest turns stay as they are. The
/// whole session is kept in `NAME.origin` beside the file: `copyist convert` to the session's own
/// format writes it again, with the turns that came after. `-n` prints what weighs how much.
///
/// The kinds are cut in the order of the table that is printed, and of each kind the oldest first,
/// until the session is within the limit. Without a limit everything is cut that may be.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, an identifier, six or more characters of one, or `latest`
    #[arg(value_name = "SESSION")]
    session: PathBuf,
    /// Cut until a model gets at most so many tokens: 120k
    #[arg(long, value_name = "TOKENS", value_parser = amount)]
    to: Option<u64>,
    /// Cut until the files have at most so many bytes: 20M
    #[arg(long, value_name = "SIZE", value_parser = amount)]
    bytes: Option<u64>,
    /// Leave so many of the newest turns alone
    #[arg(long, value_name = "N", default_value_t = 10)]
    keep_turns: usize,
    /// Cut only these kinds, such as images,results
    ///
    /// The kinds are progress, branches, copies, images, thinking and results.
    #[arg(
        long,
        value_name = "KINDS",
        value_delimiter = ',',
        value_enum,
        hide_possible_values = true
    )]
    drop: Vec<Step>,
    /// Write the trimmed session to this file
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    output: Option<PathBuf>,
    /// Trim the session's own files
    #[arg(long)]
    in_place: bool,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    changing: Changing,
}

impl ValueEnum for Step {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.summary()))
    }
}

/// Reads a number with `k`, `M` or `G` behind it.
fn amount(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let number: f64 = digits.parse().map_err(|_| "a number such as 120k or 20M".to_owned())?;
    let all = number * f64::from(unit);
    if all.is_finite() && all >= 1.0 { Ok(all as u64) } else { Err("a number above 0".to_owned()) }
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        if self.output.is_none() && !self.in_place && !self.changing.dry_run {
            return Err(Stop::usage(
                "name the output with `-o FILE`, or trim the session's own files with `--in-place`; `-n` prints what weighs how much",
            ));
        }
        let among = Among { only: None, target: None, interactive: false };
        let session = machine::one(Some(&self.session), among)?;
        let limits = Limits {
            tokens: self.to,
            bytes: self.bytes,
            keep_turns: self.keep_turns,
            drop: self.drop.clone(),
        };
        let place = match &self.output {
            _ if self.changing.dry_run => TrimmedPlace::Nowhere,
            Some(file) => TrimmedPlace::File(file.clone(), self.force),
            None => TrimmedPlace::InPlace,
        };
        let plan =
            || trim(&session, &limits, &place).map_err(|failed| stopped(&session.path, &failed));
        let settings = session.path.to_string_lossy();
        let what = Undertaking { command: "trim", settings: &settings, outcome: "trimmed" };
        let begin = |journal: &Path| name_journal("undo     ", journal, self.json);
        let (done, journal) = self.changing.carry_out(&what, plan, |done| &done.writes, begin)?;
        let printed = Printed { args: &self, session: &session, done: &done, journal };
        let text = if self.json { printed.json() } else { printed.text() };
        print(text.as_bytes())?;
        if done.fits { Ok(0) } else { Err(self.too_big(&session, &done)) }
    }

    /// Returns the error for a session that cannot be brought within the limit.
    fn too_big(&self, session: &Listed, done: &Trimming) -> Stop {
        let least = match self.to {
            Some(_) => plural(done.weights.tokens_of(done.after.text), "token"),
            None => plural(done.after.bytes, "byte"),
        };
        let more = match (self.keep_turns, self.drop.is_empty()) {
            (0, true) => "",
            (0, false) => "; more kinds may help",
            _ => "; fewer turns that stay as they are may help: `--keep-turns N`",
        };
        let path = session.path.display();
        let message = format!("{path}: the smallest size is {least}, and nothing is written{more}");
        Stop { code: 3, message: printable(&message) }
    }
}

/// Report on a trimmed session.
struct Printed<'t> {
    args: &'t Args,
    session: &'t Listed,
    done: &'t Trimming,
    journal: Option<PathBuf>,
}

impl Printed<'_> {
    fn text(&self) -> String {
        let Self { session, done, .. } = self;
        let weights = &done.weights;
        let mut out = String::new();
        let mut line = |text: String| {
            out.push_str(&printable(&text));
            out.push('\n');
        };
        line(format!("session   {}  ({})", session.path.display(), done.format.name));
        line(format!("before    {}", self.size_of(done.before)));
        line(format!(
            "{:<9} {:>8} {:>9} {:>9} {:>6} {:>9} {:>9}",
            "kind", "records", "size", "tokens", "share", "cut", "tokens"
        ));
        for (step, (all, cut)) in Step::ALL.iter().zip(weights.all.iter().zip(&done.cut)) {
            let share = all.context as f64 * 100.0 / (weights.text.max(1) as f64);
            line(format!(
                "{:<9} {:>8} {:>9} {:>9} {:>5.0}% {:>9} {:>9}",
                step.name(),
                number(all.records as f64),
                size(all.bytes as f64),
                number(weights.tokens_of(all.context) as f64),
                share,
                size(cut.bytes as f64),
                number(weights.tokens_of(cut.context) as f64),
            ));
        }
        if done.after == done.before {
            line("after     nothing is cut".to_owned());
        } else {
            line(format!("after     {}", self.size_of(done.after)));
        }
        if !done.writes.is_empty() {
            line(format!("written   {}", done.path.display()));
            let words = words(done.format, &session.summary.id, &done.path);
            if self.args.in_place && !words.is_empty() {
                let project = session.summary.project.as_deref();
                line(format!("resume    {}", resume(project, &words)));
            }
        }
        out
    }

    /// Describes a size in words.
    fn size_of(&self, of: Size) -> String {
        let weights = &self.done.weights;
        let tokens = number(weights.tokens_of(of.text) as f64);
        let bytes = size(of.bytes as f64);
        match weights.tokens {
            Some(_) => format!("{tokens} tokens by the session's own counts, {bytes}"),
            None => format!("about {tokens} tokens, estimated from the text, {bytes}"),
        }
    }

    fn json(&self) -> String {
        let Self { session, done, journal, .. } = self;
        let weights = &done.weights;
        let of = |now: Size| json!({ "tokens": weights.tokens_of(now.text), "bytes": now.bytes });
        let kinds =
            Step::ALL.iter().zip(weights.all.iter().zip(&done.cut)).map(|(step, (all, cut))| {
                json!({
                    "kind": step.name(),
                    "records": all.records,
                    "bytes": all.bytes,
                    "tokens": weights.tokens_of(all.context),
                    "cut": {
                        "records": cut.records,
                        "bytes": cut.bytes,
                        "tokens": weights.tokens_of(cut.context),
                    },
                })
            });
        let written = (!done.writes.is_empty()).then(|| ReportedPath::from(done.path.as_path()));
        let object = json!({
            "agent": done.format.name,
            "id": session.summary.id,
            "source": ReportedPath::from(&session.path),
            "path": written,
            "counted": weights.tokens.is_some(),
            "before": of(done.before),
            "after": of(done.after),
            "fits": done.fits,
            "kinds": kinds.collect::<Vec<_>>(),
            "journal": journal.as_deref().map(ReportedPath::from),
        });
        format!("{object}\n")
    }
}
