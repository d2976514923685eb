//! The command line: one file for each command, and their shared parts.

mod append;
mod args;
mod changes;
mod changing;
mod clean;
mod completions;
mod config;
mod context;
mod convert;
mod dataset;
mod detect;
mod diff;
mod documents;
mod drawing;
mod examples;
mod explain;
mod export;
mod formats;
mod go_on;
mod help;
mod ids;
mod index;
mod inputs;
mod inspect;
mod interrupt;
mod journal;
mod journaled;
mod list;
mod list_named;
mod list_table;
mod machine;
mod man;
mod migrate;
mod names;
mod pack;
mod pager;
mod pick;
mod progress;
mod reading;
mod regions;
mod relocate;
mod repair;
mod repairs;
mod result;
mod run;
mod sarif;
mod schema;
mod selecting;
mod sessions;
mod show;
mod split;
mod status;
mod style;
mod succession;
mod telling;
mod text;
mod trim;
mod turn_changes;
mod turn_table;
mod undo;
mod unpack;
mod usage;
mod validate;
mod view;

use crate::error::Error;
use crate::format::Sink;
use crate::store::{Destination, Output, Policy, narrowest};
use clap::builder::Resettable;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Migrate, convert, check and repair the session files of AI coding agents.
///
/// Exit codes: 0 success; 1 findings (an invalid, refused or unreadable session, a session that
/// needs repair, data read only in part, or what --fail-on names); 2 wrong usage; 3 at least one
/// input gave no output; 4 copyist itself cannot continue; 130 and 143 interrupted before all
/// inputs were begun.
#[derive(Debug, Parser)]
#[command(name = "copyist", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Migrate(migrate::Args),
    Convert(convert::Args),
    Repair(repair::Args),
    Undo(undo::Args),
    Clean(clean::Args),
    Show(view::Args),
    Inspect(inspect::Args),
    Diff(diff::Args),
    Context(context::Args),
    Append(append::Append),
    Fork(append::Fork),
    Label(append::Label),
    Status(status::Args),
    Result(result::Args),
    List(list::Args),
    Continue(go_on::Args),
    Trim(trim::Args),
    Move(relocate::Args),
    Pack(pack::Args),
    Unpack(unpack::Args),
    Usage(usage::Args),
    Export(export::Args),
    Validate(validate::Args),
    Detect(detect::Args),
    Formats(formats::Args),
    Schema(schema::Args),
    Explain(explain::Args),
    Completions(completions::Args),
    Man(man::Args),
    Config(config::Args),
}

/// The reason why a command cannot be carried out, with its exit code.
struct Stop {
    code: u8,
    message: String,
}

impl Stop {
    fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    fn broken(message: impl Into<String>) -> Self {
        Self { code: 4, message: message.into() }
    }

    fn no_threads(error: impl std::fmt::Display) -> Self {
        Self::broken(format!("cannot start threads: {error}"))
    }
}

/// Prints the output of a command. A closed pipe is not a failure.
fn print(text: &[u8]) -> Result<u8, Stop> {
    match std::io::stdout().write_all(text).and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Stop::broken(format!("cannot write: {error}")))
        }
        _ => Ok(0),
    }
}

/// Writes a file that appears as a whole or not at all.
fn save(path: &Path, text: &[u8], force: bool, like: &[&Path]) -> Result<(), Stop> {
    let policy = Policy { force, ..Policy::default() };
    let output = Output::prepare(Destination::from(path), vec![], policy, Arc::default());
    let written = output.and_then(|output| {
        let mut output = output.permitted(narrowest(like.iter().copied()));
        let written = output.create("")?.write_all(text);
        written.map_err(|error| Error::io("cannot write", error))?;
        output.commit()
    });
    let path = text::printable(&path.to_string_lossy());
    written.map_err(|error| Stop::broken(format!("{path}: {error}")))
}

/// Parses the arguments of the program, its name first. A wish for help, or a mistake, is returned
/// as it is to be printed: a program that calls this one must not end by it.
fn parsed(args: Vec<OsString>) -> Result<Result<Cli, clap::Error>, Stop> {
    let args = if args.len() > 1 { args } else { vec!["copyist".into(), "-h".into()] };
    let long = args.iter().any(|arg| arg == "--help" || arg == "help");
    let mut command = in_any_case(without_empty(program(long)));
    if config::is_needed(args.iter().cloned()) {
        command = config::with_defaults(command, config::settings()?)?;
    }
    let args = with_known_command(args, &command);
    Ok(match command.try_get_matches_from_mut(args) {
        Ok(matches) => Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command)),
        Err(error) => Err(without_idle_tips(error)),
    })
}

/// Writes the name of the command in small letters, if it is a command then.
fn with_known_command(mut args: Vec<OsString>, program: &clap::Command) -> Vec<OsString> {
    let known = |name: &String| program.find_subcommand(name).is_some();
    let name = args.get(1).and_then(|name| name.to_str()).map(str::to_lowercase).filter(known);
    if let (Some(name), Some(given)) = (name, args.get_mut(1)) {
        *given = name.into();
    }
    args
}

/// Removes tips from an error that do not help: an unknown option is not meant as a path.
fn without_idle_tips(mut error: clap::Error) -> clap::Error {
    if error.kind() == clap::error::ErrorKind::UnknownArgument {
        error.remove(clap::error::ContextKind::Suggested);
    }
    error
}

/// Returns the definition of all commands with their help, as `--help` prints it or as `-h` does.
fn program(long: bool) -> clap::Command {
    help::arranged(Cli::command(), long)
}

/// Changes the command so that it ignores environment variables that are empty.
fn without_empty(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| match arg.get_env().is_some_and(is_empty) {
            true => arg.env(Resettable::Reset),
            false => arg,
        })
        .mut_subcommands(without_empty)
}

/// Changes the command so that values with names may be in capitals.
fn in_any_case(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.ignore_case(true),
            false => arg,
        })
        .mut_subcommands(in_any_case)
}

/// Runs the program. Its exit codes are listed in `copyist --help`.
pub fn main() -> ExitCode {
    ExitCode::from(match interrupt::outlive_size_limit() {
        Ok(()) => run(std::env::args_os().collect()),
        Err(error) => ended(Err(Stop::broken(format!("cannot wait for signals: {error}")))),
    })
}

/// Runs the program with these arguments, its name first; returns the exit code.
pub fn run(args: Vec<OsString>) -> u8 {
    ended(parsed(args).and_then(|cli| match cli {
        Ok(cli) => cli.run(),
        Err(error) => {
            // With a closed output the text is lost.
            let _ = error.print();
            Ok(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }))
}

impl Cli {
    fn run(self) -> Result<u8, Stop> {
        match self.command {
            Command::Migrate(args) => args.run(),
            Command::Convert(args) => args.run(),
            Command::Repair(args) => args.run(),
            Command::Undo(args) => args.run(),
            Command::Clean(args) => args.run(),
            Command::Show(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Diff(args) => args.run(),
            Command::Context(args) => args.run(),
            Command::Append(args) => args.run(),
            Command::Fork(args) => args.run(),
            Command::Label(args) => args.run(),
            Command::Status(args) => args.run(),
            Command::Result(args) => args.run(),
            Command::List(args) => args.run(),
            Command::Continue(args) => args.run(),
            Command::Move(args) => args.run(),
            Command::Pack(args) => args.run(),
            Command::Trim(args) => args.run(),
            Command::Unpack(args) => args.run(),
            Command::Usage(args) => args.run(),
            Command::Export(args) => args.run(),
            Command::Validate(args) => args.run(),
            Command::Detect(args) => args.run(),
            Command::Formats(args) => args.run(),
            Command::Schema(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Completions(args) => args.run(),
            Command::Man(args) => args.run(),
            Command::Config(args) => args.run(),
        }
    }
}

/// Prints why a command could not be carried out, if so; returns the exit code.
fn ended(done: Result<u8, Stop>) -> u8 {
    match done {
        Ok(code) => code,
        Err(stop) => {
            // With a closed stderr the message is lost.
            let _ = writeln!(std::io::stderr(), "copyist: {}", stop.message);
            stop.code
        }
    }
}
