//! The command `copyist explain`.

use super::{Stop, names, print};
use crate::diagnostic::Code;
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
                    let severity = code.severity().to_string();
                    let _ = writeln!(out, "{} {severity:<8} {}", code.name(), code.title());
                }
            }
            Some(name) => {
                let Some(code) = Code::named(&name) else {
                    let message = format!("no code {name:?}; `copyist explain` lists them");
                    return Err(Stop::usage(message));
                };
                let _ = writeln!(out, "{}: {} ({})\n", code.name(), code.title(), code.severity());
                let _ = writeln!(out, "{}", code.explanation());
            }
        }
        print(&out)
    }
}
