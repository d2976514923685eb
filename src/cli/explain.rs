//! The command `copyist explain`.

use super::{Stop, names, print};
use crate::diagnostic::{Code, Severity};
use std::io::Write;

/// Explain a code such as CY0103, or list them all
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Code to explain
    #[arg(value_parser = names::code(), hide_possible_values = true)]
    code: Option<String>,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let mut out = Vec::new();
        match self.code {
            None => {
                for code in Code::ALL {
                    let severity = severity(*code).to_string();
                    let _ = writeln!(out, "{} {severity:<8} {}", code.name(), code.title());
                }
            }
            Some(name) => {
                let Some(code) = Code::named(&name) else {
                    let message = format!("no code {name:?}; `copyist explain` lists them");
                    return Err(Stop::usage(message));
                };
                let _ = writeln!(out, "{}: {} ({})\n", code.name(), code.title(), severity(code));
                let _ = writeln!(out, "{}", code.explanation());
            }
        }
        print(&out)
    }
}

/// Returns how grave a finding of this kind is where sessions are checked: what makes a session
/// invalid is an error.
fn severity(code: Code) -> Severity {
    if code.is_invalid() { Severity::Error } else { code.severity() }
}
