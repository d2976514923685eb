//! The command as it is run: arguments, exit codes, files on disk, signals.

mod accepted;
mod append;
mod append_races;
mod batch;
mod branches;
mod cli;
#[path = "../common/mod.rs"]
mod common;
mod config;
mod context;
mod folders;
mod foreign;
mod interrupt;
mod journal;
mod kill;
mod list;
mod look;
mod manager;
mod meanwhile;
mod native;
mod onward;
mod packed;
mod pick;
mod pipes;
mod readings;
mod refused;
mod relocate;
mod report;
mod result_line;
mod resume;
mod rollouts;
mod safety;
mod scarce;
mod shares;
mod sweep;
mod usage;
