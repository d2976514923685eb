//! The command `copyist formats`.

use super::{Stop, print};
use crate::formats::FORMATS;
use serde_json::json;
use std::io::Write;

/// List the formats and their versions
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let mut out = Vec::new();
        for format in FORMATS {
            for version in format.versions {
                let name = format.at(version.number);
                let step = format.steps.iter().find(|step| step.to == version.number);
                if self.json {
                    let row = json!({
                        "name": name,
                        "format": format.name,
                        "version": version.number,
                        "aliases": format.aliases,
                        "summary": version.summary,
                        "tree": version.tree,
                        "extension": format.extensions.first(),
                        "source": format.source,
                        "migration": step.map(|step| step.summary),
                    });
                    let _ = writeln!(out, "{row}");
                } else {
                    let _ = writeln!(out, "{name:<20} {}", version.summary);
                }
            }
            if !self.json {
                let (summary, source) = (format.summary, format.source);
                let aliases = format.aliases.join(", ");
                let aliases =
                    if aliases.is_empty() { aliases } else { format!("; also {aliases}") };
                let _ = writeln!(out, "{:<20} {summary}{aliases}; source: {source}", "");
            }
        }
        print(&out)
    }
}
