//! The command `copyist explain`.

use super::{Stop, names, print};
use crate::diagnostic::{Code, Severity};
use serde_json::json;
use std::io::Write;

/// Explain a code such as CY0103, or list them all
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Code to explain
    #[arg(value_parser = names::code(), hide_possible_values = true)]
    code: Option<String>,
    /// Print one line of JSON for each code
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let mut out = Vec::new();
        if self.json {
            let known = self.code.as_deref().map(named).transpose()?;
            let codes = Code::ALL.iter().filter(|code| known.is_none_or(|known| known == **code));
            for code in codes {
                let (severity, title) = (severity(*code).to_string(), code.title());
                let line = json!({
                    "code": code.name(), "severity": severity, "title": title,
                    "explanation": code.explanation(),
                });
                let _ = writeln!(out, "{line}");
            }
            return print(&out);
        }
        match self.code {
            None => {
                for code in Code::ALL {
                    let severity = severity(*code).to_string();
                    let _ = writeln!(out, "{} {severity:<8} {}", code.name(), code.title());
                }
            }
            Some(name) => {
                let code = named(&name)?;
                let _ = writeln!(out, "{}: {} ({})\n", code.name(), code.title(), severity(code));
                let _ = writeln!(out, "{}", code.explanation());
            }
        }
        print(&out)
    }
}

/// Returns the code with this name.
fn named(name: &str) -> Result<Code, Stop> {
    let none = || Stop::usage(format!("no code {name:?}; `copyist explain` lists them"));
    Code::named(name).ok_or_else(none)
}

/// Returns how grave a finding of this kind is where sessions are checked: what makes a session
/// invalid is an error.
fn severity(code: Code) -> Severity {
    if code.is_invalid() { Severity::Error } else { code.severity() }
}
