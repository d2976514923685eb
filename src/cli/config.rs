//! `copyist config`, and the settings file that it shows.
//!
//! The file gives options their defaults: a flag wins over a variable, a variable over the file,
//! and the file over the program's own default. An unknown name in it is an error.

use super::text::printable;
use super::{Stop, print};
use crate::formats::FORMATS;
use crate::redact::{Custom, Pattern, Rules};
use clap::Command;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Show the effective settings, and the source of each
///
/// The settings file is `copyist/config.yaml` below XDG_CONFIG_HOME, or below `~/.config`;
/// COPYIST_CONFIG names another file. An option on the command line overrides an environment
/// variable, and a variable overrides the file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
    /// Print the JSON Schema of the file, for editors
    #[arg(long, conflicts_with = "json")]
    schema: bool,
}

/// Contents of the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    /// Folders in which agents keep their sessions, by the name of their format.
    homes: BTreeMap<String, PathBuf>,
    /// Defaults of options.
    defaults: Defaults,
    /// `OLD=NEW` for each folder that moved, as `--map-path` takes it.
    map_path: Vec<String>,
    /// Further secrets that `--redact` masks.
    redact: Redact,
}

/// Further secrets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Redact {
    /// Regular expressions, each with the kind of what it finds.
    patterns: Vec<Named>,
    /// Words that are masked wherever they occur.
    words: Vec<String>,
    /// Names of users.
    users: Vec<String>,
}

/// A regular expression with a name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    regex: String,
}

/// Defaults of options, by their names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Defaults {
    jobs: Option<u32>,
    max_line: Option<u64>,
    index_memory: Option<u64>,
    encoding: Option<String>,
    width: Option<u32>,
    progress: Option<String>,
    color: Option<String>,
}

const SCHEMA: &str = include_str!("../../schemas/config.schema.json");

/// Options that the file gives defaults, each with the variable that wins over it, and the
/// program's own default.
const OPTIONS: &[(&str, Option<&str>, &str)] = &[
    ("jobs", Some("COPYIST_JOBS"), "0"),
    ("max-line", Some("COPYIST_MAX_LINE"), "1073741824"),
    ("index-memory", Some("COPYIST_INDEX_MEMORY"), "268435456"),
    ("encoding", Some("COPYIST_ENCODING"), ""),
    ("width", Some("COPYIST_WIDTH"), ""),
    ("progress", Some("COPYIST_PROGRESS"), "auto"),
    ("color", Some("COPYIST_COLOR"), "auto"),
    ("map-path", None, ""),
];

impl Settings {
    /// Values that the file gives an option.
    fn values(&self, option: &str) -> Vec<String> {
        let Defaults { jobs, max_line, index_memory, encoding, width, progress, color } =
            &self.defaults;
        let one = match option {
            "jobs" => jobs.map(|jobs| jobs.to_string()),
            "max-line" => max_line.map(|bytes| bytes.to_string()),
            "index-memory" => index_memory.map(|bytes| bytes.to_string()),
            "encoding" => encoding.clone(),
            "width" => width.map(|columns| columns.to_string()),
            "progress" => progress.clone(),
            "color" => color.clone(),
            _ => return self.map_path.clone(),
        };
        one.into_iter().collect()
    }

    /// Folder of an agent's sessions according to the file, with `~` as the user's own folder.
    pub fn home(&self, format: &str) -> Option<PathBuf> {
        let named = self.homes.get(format)?;
        let own = own_folder();
        match (named.strip_prefix("~"), own) {
            (Ok(rest), Some(own)) => Some(own.join(rest)),
            _ => Some(named.clone()),
        }
    }

    /// Rules by which secrets are masked.
    pub fn rules(&self) -> Result<Arc<Rules>, Stop> {
        let Redact { patterns, words, users } = &self.redact;
        let pattern =
            |Named { name, regex }: &Named| Pattern { name: name.clone(), regex: regex.clone() };
        let patterns = patterns.iter().map(pattern).collect();
        let custom = Custom { patterns, words: words.clone(), users: users.clone() };
        let failed = |error| {
            let path = place().unwrap_or_default();
            Stop::usage(format!("{}: redact: {error}", printable(&path.to_string_lossy())))
        };
        Rules::of(&custom).map(Arc::new).map_err(failed)
    }

    /// Whether every format that it names is known.
    fn check(&self) -> Result<(), String> {
        let known = |name: &String| FORMATS.iter().any(|format| format.name == name);
        match self.homes.keys().find(|name| !known(name)) {
            Some(name) => {
                let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
                Err(format!("homes: no format is called `{name}`; there are {}", names.join(", ")))
            }
            None => Ok(()),
        }
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the user's own folder.
pub fn own_folder() -> Option<PathBuf> {
    variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from)
}

/// Returns the folder that an XDG variable names, or else one in the user's own folder.
pub fn folder_in(named: &str, usual: &str) -> Option<PathBuf> {
    // The specification has relative paths ignored.
    let path = variable(named).map(PathBuf::from).filter(|path| path.is_absolute());
    path.or_else(|| Some(own_folder()?.join(usual)))
}

/// Returns the path of the settings file, if there is one.
fn place() -> Option<PathBuf> {
    if let Some(named) = variable("COPYIST_CONFIG") {
        return Some(named.into());
    }
    let folder = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(own_folder()?.join(".config")))?;
    Some(folder.join("copyist").join("config.yaml"))
}

/// Errors that mean that there is no file.
const ABSENT: &[ErrorKind] =
    &[ErrorKind::NotFound, ErrorKind::PermissionDenied, ErrorKind::NotADirectory];

/// Reads the file.
///
/// # Errors
/// With what is wrong in it and where, or why it cannot be read. A file that no variable names may
/// be missing.
fn read() -> Result<Settings, String> {
    let Some(path) = place() else { return Ok(Settings::default()) };
    let named = variable("COPYIST_CONFIG").is_some();
    let shown = printable(&path.to_string_lossy());
    let text = match std::fs::read_to_string(&path) {
        // Another user's folder may not be looked into.
        Err(error) if !named && ABSENT.contains(&error.kind()) => return Ok(Settings::default()),
        read => read.map_err(|error| format!("{shown}: cannot read: {error}"))?,
    };
    if text.lines().all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Settings::default());
    }
    let settings: Settings =
        serde_yaml::from_str(&text).map_err(|error| format!("{shown}: {error}"))?;
    settings.check().map_err(|error| format!("{shown}: {error}"))?;
    Ok(settings)
}

/// Settings of this run, read once.
pub fn settings() -> Result<&'static Settings, Stop> {
    static SETTINGS: OnceLock<Result<Settings, String>> = OnceLock::new();
    SETTINGS.get_or_init(read).as_ref().map_err(|error| Stop::usage(error.clone()))
}

/// Gives options of all commands the defaults that the file names.
pub fn with_defaults(mut program: Command, settings: &Settings) -> Result<Command, Stop> {
    for (option, ..) in OPTIONS {
        let values = settings.values(option);
        if values.is_empty() {
            continue;
        }
        for value in &values {
            check(&program, option, value)?;
        }
        program = program.mut_subcommands(|command| {
            command.mut_args(|arg| match arg.get_long() == Some(option) {
                true => arg.default_values(values.iter().map(OsString::from)),
                false => arg,
            })
        });
    }
    Ok(program)
}

/// Whether a command that has this option takes the value.
fn check(program: &Command, option: &str, value: &str) -> Result<(), Stop> {
    let has =
        |command: &&Command| command.get_arguments().any(|arg| arg.get_long() == Some(option));
    let Some(command) = program.get_subcommands().find(has) else { return Ok(()) };
    let words = ["copyist", command.get_name(), "--to=pi", &format!("--{option}={value}")];
    let words = words.map(str::to_owned).into_iter().filter(|word| {
        *word != "--to=pi" || command.get_arguments().any(|arg| arg.get_long() == Some("to"))
    });
    match program.clone().try_get_matches_from(words) {
        Err(error) if error.kind() == clap::error::ErrorKind::ValueValidation => {
            bad(option, &error)
        }
        Err(error) if error.kind() == clap::error::ErrorKind::InvalidValue => bad(option, &error),
        _ => Ok(()),
    }
}

fn bad(option: &str, error: &clap::Error) -> Result<(), Stop> {
    let path = place().unwrap_or_default();
    let message = error.to_string();
    let message =
        message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let shown = printable(&path.to_string_lossy());
    Err(Stop::usage(format!("{shown}: {option}: {message}")))
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        if self.schema {
            return print(SCHEMA.as_bytes());
        }
        let settings = settings()?;
        let place = place().unwrap_or_default();
        let there = place.is_file();
        let mut out = Vec::new();
        let file = place.to_string_lossy().into_owned();
        if !self.json {
            let state = if there { "" } else { " (not there)" };
            let _ = writeln!(out, "file      {}{state}", printable(&file));
        }
        for (name, value, from) in rows(settings, &file) {
            if self.json {
                let _ = writeln!(out, "{}", json!({"setting": name, "value": value, "from": from}));
            } else {
                let value = match &value {
                    Value::String(text) => printable(text),
                    Value::Null => "—".to_owned(),
                    value => value.to_string(),
                };
                let _ = writeln!(out, "{name:<28} {value:<28} {}", printable(&from));
            }
        }
        print(&out)
    }
}

/// Settings with their values, and where each comes from.
fn rows(settings: &Settings, file: &str) -> Vec<(String, Value, String)> {
    let mut rows = Vec::new();
    for (option, name, own) in OPTIONS {
        let set = name.and_then(|name| Some((name, variable(name)?)));
        let values = settings.values(option);
        let (value, from) = match (set, values.as_slice()) {
            (Some((name, value)), _) => (json!(value.to_string_lossy()), name.to_owned()),
            (None, []) if own.is_empty() => (Value::Null, "default".to_owned()),
            (None, []) => (json!(own), "default".to_owned()),
            (None, [value]) => (json!(value), file.to_owned()),
            (None, values) => (json!(values), file.to_owned()),
        };
        rows.push(((*option).to_owned(), value, from));
    }
    let of = |name: &str| std::env::var(name).ok();
    for format in FORMATS {
        let named = settings.home(format.name);
        let own = || format.files.home.and_then(|home| home(&of)).map(PathBuf::from);
        let from = if named.is_some() { file } else { "default" };
        if let Some(home) = named.or_else(own) {
            let home = json!(home.to_string_lossy());
            rows.push((format!("homes.{}", format.name), home, from.to_owned()));
        }
    }
    rows
}

/// Folder of a format's sessions: by the file, else by the variables of its software.
pub fn home(format: &crate::format::Format) -> Result<Option<PathBuf>, Stop> {
    if let Some(named) = settings()?.home(format.name) {
        return Ok(Some(named));
    }
    let of = |name: &str| std::env::var(name).ok();
    Ok(format.files.home.and_then(|home| home(&of)).map(PathBuf::from))
}

/// Whether the command of these arguments uses the settings. The other commands also work with a
/// bad file.
pub fn is_needed(mut words: impl Iterator<Item = OsString>) -> bool {
    let apart = ["explain", "formats", "schema", "help", "man", "completions"].map(OsStr::new);
    words.nth(1).is_some_and(|command| !apart.contains(&command.as_os_str()))
}
