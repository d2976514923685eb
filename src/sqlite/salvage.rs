//! Whole rows of a database that SQLite no longer reads, in a database of their own.
//!
//! SQLite's own extension for this is not in the library that copyist is built with.

use super::pages::{own_rows_of, statement_of};
use super::{Database, LOG, MAGIC, Row};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::parts::Parts;
use std::io::Read;

/// A table whose rows are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its name.
    pub table: &'static str,
    /// Beginning of the texts in its first column, which distinguishes its rows from others.
    pub prefix: &'static str,
    /// Its first columns, in case the statement that made it is lost.
    pub columns: &'static [&'static str],
}

impl Database {
    /// Makes a database in memory of the whole rows that are found in the pages of a damaged one and
    /// of the log beside it. Tables of which nothing is found are empty.
    ///
    /// # Errors
    /// If the files cannot be read, or there is no room.
    pub fn salvaged(parts: &mut dyn Parts, name: &str, wanted: &[Wanted]) -> Result<Self> {
        let mut image = bytes(parts, name)?;
        let log = format!("{name}{LOG}");
        if parts.names().contains(&log) {
            overlay(&mut image, &bytes(parts, &log)?);
        }
        // The page size is behind these bytes.
        if let Some(head) = image.get_mut(..MAGIC.len()) {
            head.copy_from_slice(MAGIC);
        }
        let db = Self::create("PRAGMA foreign_keys = OFF")?;
        for Wanted { table, prefix, columns } in wanted {
            let made = statement_of(&image, table).is_some_and(|sql| db.run(&sql).is_ok());
            if !(made && db.has(table)) {
                db.run(&format!("CREATE TABLE {table} ({})", columns.join(", ")))?;
            }
            let own = db.table(table)?;
            let names = own.columns();
            let is_own = |values: &[Json]| {
                let first = values.first().and_then(Json::text);
                values.len() <= names.len() && first.is_some_and(|first| first.starts_with(prefix))
            };
            for row in own_rows_of(&image, table, &is_own) {
                let row = Row(names.iter().cloned().zip(row.values).collect());
                // A row that breaks a rule of the table is not one of it.
                let _ = own.add(&row);
            }
        }
        Ok(db)
    }
}

fn bytes(parts: &mut dyn Parts, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = parts.open(name)?.read_to_end(&mut bytes);
    read.map_err(|error| Error::io("cannot read", error))?;
    Ok(bytes)
}

/// Puts the pages of a log in their places, up to its last whole change.
/// <https://sqlite.org/fileformat2.html#the_write_ahead_log>
fn overlay(image: &mut Vec<u8>, log: &[u8]) {
    const HEAD: usize = 32;
    const FRAME: usize = 24;
    let number = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let Some((size, salt)) = log.get(8..12).map(number).zip(log.get(16..24)) else { return };
    if !size.is_power_of_two() || !(512..=1 << 16).contains(&size) {
        return;
    }
    let frames: Vec<_> = log
        .get(HEAD..)
        .unwrap_or_default()
        .chunks_exact(FRAME + size)
        .take_while(|frame| frame.get(8..16) == Some(salt))
        .collect();
    let is_last = |frame: &&[u8]| frame.get(4..8).is_some_and(|count| number(count) > 0);
    let Some(last) = frames.iter().rposition(is_last) else { return };
    // A page of a damaged log may not make the image larger than both files.
    let most = image.len() + log.len();
    for frame in frames.iter().take(last + 1) {
        let at = frame.get(..4).map(number).and_then(|page| page.checked_sub(1)?.checked_mul(size));
        let (Some(at), Some(page)) = (at.filter(|at| at + size <= most), frame.get(FRAME..)) else {
            continue;
        };
        if image.len() < at + size {
            image.resize(at + size, 0);
        }
        image.get_mut(at..at + size).into_iter().for_each(|place| place.copy_from_slice(page));
    }
}
