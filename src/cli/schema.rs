//! The command `copyist schema`.

use super::documents::{DOCUMENTS, Schema, parsed};
use super::text::printable;
use super::{Stop, names, print, save};
use crate::diagnostic::plural;
use crate::format::{Format, Version};
use crate::formats::FORMATS;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Print the JSON Schema of a format's records, or of what copyist prints
///
/// A schema of a format describes one record: a line of JSON Lines, or a part of a YAML file.
/// Editors apply a schema to a whole file, and so only that of the settings to files by their name.
/// `report` is the file that `--report` writes, `json` a line that a command prints with `--json`,
/// `config` the file of settings.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Format and version: `pi@3`, `canonical`; the default is the version that
    /// `convert` writes. Also: `report`, `json`, `config`
    #[arg(
        value_name = "FORMAT@V",
        value_parser = names::schema(),
        hide_possible_values = true,
        required_unless_present = "all"
    )]
    schema: Option<Schema>,
    /// Write all schemas below this folder, with a list of them as SchemaStore has it
    #[arg(long, value_name = "DIR", conflicts_with = "schema")]
    all: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "all")]
    force: bool,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        if let Some(folder) = &self.all {
            return write_all(folder, self.force);
        }
        match self.schema {
            Some(Schema::Records(spec)) => print(spec.version().schema.as_bytes()),
            Some(Schema::Document(document)) => print(document.alone()?.as_bytes()),
            None => Err(Stop::usage("name a format, or `--all DIR`")),
        }
    }
}

/// Writes every schema below a folder, and the list of them.
fn write_all(folder: &Path, force: bool) -> Result<u8, Stop> {
    let mut list = Vec::new();
    let versions = FORMATS.iter().flat_map(|format| {
        format
            .versions
            .iter()
            .map(move |version| (file_of(format, version), version.schema, &[][..]))
    });
    let documents = DOCUMENTS.iter();
    let documents =
        documents.map(|document| (document.file.to_owned(), document.text, document.matches));
    for (file, text, matches) in versions.chain(documents) {
        let path = folder.join(file);
        let above = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(above).map_err(|error| {
            Stop::broken(format!("{}: {error}", printable(&above.to_string_lossy())))
        })?;
        save(&path, text.as_bytes(), force, &[])?;
        list.push(entry(text, matches)?);
    }
    let count = list.len() as u64;
    let catalog = json!({
        "$schema": "https://json.schemastore.org/schema-catalog.json",
        "version": 1,
        "schemas": list,
    });
    save(&folder.join("schemastore.json"), format!("{catalog:#}\n").as_bytes(), force, &[])?;
    let folder = printable(&folder.to_string_lossy());
    print(
        format!("written: {} and schemastore.json in {folder}\n", plural(count, "schema"))
            .as_bytes(),
    )
}

/// Returns the path of a schema below the folder of all schemas.
fn file_of(format: &Format, version: &Version) -> String {
    match format.versions {
        [_] => format!("{}.schema.json", format.name),
        _ => format!("{}/v{}.schema.json", format.name, version.number),
    }
}

/// Returns the entry of a schema in the list of SchemaStore.
fn entry(text: &str, matches: &[&str]) -> Result<Value, Stop> {
    let schema = parsed(text)?;
    let mut entry = json!({
        "name": schema["title"],
        "description": schema["description"],
        "url": schema["$id"],
    });
    if !matches.is_empty() {
        entry["fileMatch"] = json!(matches);
    }
    Ok(entry)
}
