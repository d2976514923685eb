//! Rows in the pages of a database that SQLite no longer reads, such as one whose end is missing.
//!
//! The rows of a table are in leaves of a tree of pages. If a page between the root and a leaf is
//! missing, the leaf is found all the same: it is a page to which no other one leads, and which is
//! not free. Rows whose bytes are not all there, and tables without row numbers, are not found.
//!
//! Source: <https://sqlite.org/fileformat2.html>.

use super::MAGIC;
use crate::json::Json;
use std::collections::{BTreeMap, HashSet};

/// Row that was found in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// Number of the row in its table, which is the value of an `INTEGER PRIMARY KEY`.
    pub number: i64,
    /// Values of the columns in their order; the column of the number has `null`. Columns that were
    /// added to the table after the row was written are missing.
    pub values: Vec<Json>,
}

/// Returns the rows of a table in the order of their numbers, and of pages that may be its own.
/// Rows with a value that is neither text nor a number are left out.
#[must_use]
pub fn rows_of(image: &[u8], table: &str) -> Vec<PageRow> {
    own_rows_of(image, table, &|_| true)
}

/// Returns the rows of [`rows_of`] whose values are those of a row of the table's own, so that rows of
/// other tables do not take their numbers.
#[must_use]
pub fn own_rows_of(image: &[u8], table: &str, own_row: &dyn Fn(&[Json]) -> bool) -> Vec<PageRow> {
    let Some(pages) = Pages::of(image) else { return Vec::new() };
    let mut search = Search { pages, rows: BTreeMap::new(), budget: image.len(), own_row };
    let (mut own, mut other) = (HashSet::new(), pages.free());
    pages.walk(SCHEMA, &mut other);
    for (name, root, _) in pages.tables() {
        let named = name.eq_ignore_ascii_case(table);
        pages.walk(root, if named { &mut own } else { &mut other });
    }
    let mut of_own: Vec<_> = own.iter().copied().collect();
    of_own.sort_unstable();
    let lost = (1..=pages.count()).filter(|page| !own.contains(page) && !other.contains(page));
    of_own.into_iter().chain(lost).for_each(|page| search.leaf(page));
    search.rows.into_values().collect()
}

/// Returns the statement that made a table, if it is found.
#[must_use]
pub fn statement_of(image: &[u8], table: &str) -> Option<String> {
    let tables = Pages::of(image)?.tables().into_iter();
    let mut named = tables.filter(|(name, ..)| name.eq_ignore_ascii_case(table));
    named.find_map(|(_, _, statement)| statement.starts_with("CREATE TABLE").then_some(statement))
}

/// Root of the table that describes all others.
const SCHEMA: usize = 1;

/// First bytes of pages of tables: of a leaf, and of a page that leads to others.
const LEAF: u8 = 13;
const INNER: u8 = 5;

struct Search<'a> {
    pages: Pages<'a>,
    rows: BTreeMap<i64, PageRow>,
    /// Number of bytes that rows may still have: each byte belongs to one row.
    budget: usize,
    /// Whether the values are those of a row of the table.
    own_row: &'a dyn Fn(&[Json]) -> bool,
}

impl Search<'_> {
    /// Takes the rows of a leaf. A number that was found already stays as it is: pages of the
    /// table's own tree come first.
    fn leaf(&mut self, page: usize) {
        let Self { pages, rows, budget, own_row } = self;
        pages.leaf(page, budget, &mut |row| {
            if own_row(&row.values) {
                rows.entry(row.number).or_insert(row);
            }
        });
    }
}

/// Pages of a database, the last of which may be cut.
#[derive(Clone, Copy)]
struct Pages<'a> {
    image: &'a [u8],
    size: usize,
    /// Number of bytes of a page that contain data.
    usable: usize,
}

impl<'a> Pages<'a> {
    fn of(image: &'a [u8]) -> Option<Self> {
        let size = match number(image.get(16..18)?) {
            1 => 1 << 16,
            size => size,
        };
        let usable = size.checked_sub(usize::from(*image.get(20)?))?;
        let in_utf_8 = number(image.get(56..60)?) == 1;
        let fits = size.is_power_of_two() && size >= 512 && usable >= 480;
        (image.starts_with(MAGIC) && in_utf_8 && fits).then_some(Self { image, size, usable })
    }

    /// Returns the names of tables and indexes, their roots, and the statements that made them.
    fn tables(&self) -> Vec<(String, usize, String)> {
        let mut schema = HashSet::new();
        self.walk(SCHEMA, &mut schema);
        let (mut tables, mut budget) = (Vec::new(), self.image.len());
        for page in schema {
            self.leaf(page, &mut budget, &mut |PageRow { values, .. }| {
                let text = |at: usize| values.get(at).and_then(Json::text).unwrap_or_default();
                let root = values.get(3).and_then(Json::float).unwrap_or_default() as usize;
                tables.push((text(1), root, text(4)));
            });
        }
        tables
    }

    fn count(&self) -> usize {
        self.image.len().div_ceil(self.size)
    }

    /// Returns a page by its number, which begins with 1, as far as it is there.
    fn page(&self, number: usize) -> Option<&'a [u8]> {
        let rest = self.image.get(number.checked_sub(1)?.checked_mul(self.size)?..)?;
        rest.get(..self.size.min(rest.len()))
    }

    /// Returns where the cells of a page of a table begin, if it has this first byte. The cells of
    /// the first page are behind the header of the database.
    fn cells(&self, number: usize, kind: u8) -> Option<(&'a [u8], Vec<usize>)> {
        let page = self.page(number)?;
        let start = if number == SCHEMA { 100 } else { 0 };
        let head = page.get(start..)?;
        let (count, length) = (self::number(head.get(3..5)?), if kind == LEAF { 8 } else { 12 });
        let places = head.get(length..)?.chunks_exact(2).take(count).map(self::number);
        (*head.first()? == kind).then(|| (page, places.collect()))
    }

    /// Adds the pages of the tree with this root.
    fn walk(&self, root: usize, found: &mut HashSet<usize>) {
        let mut next = vec![root];
        while let Some(page) = next.pop() {
            if !(1..=self.count()).contains(&page) || !found.insert(page) {
                continue;
            }
            let Some((bytes, cells)) = self.cells(page, INNER) else { continue };
            let start = if page == SCHEMA { 100 } else { 0 };
            let children = cells.into_iter().chain([start + 8]);
            next.extend(children.filter_map(|at| bytes.get(at..at + 4)).map(number));
        }
    }

    /// Returns the pages that are free, whose rows were deleted.
    fn free(&self) -> HashSet<usize> {
        let mut found = HashSet::new();
        let mut next = self.image.get(32..36).map(number).unwrap_or_default();
        while let Some(page) = self.page(next).filter(|page| page.len() >= 8) {
            if !found.insert(next) {
                break;
            }
            let mut words = page.chunks_exact(4).map(number);
            next = words.next().unwrap_or_default();
            let count = words.next().unwrap_or_default();
            found.extend(words.take(count));
        }
        found
    }

    /// Passes the rows of a leaf on.
    fn leaf(&self, page: usize, budget: &mut usize, each: &mut dyn FnMut(PageRow)) {
        let Some((bytes, cells)) = self.cells(page, LEAF) else { return };
        for at in cells {
            bytes
                .get(at..)
                .and_then(|cell| self.row(cell, budget))
                .into_iter()
                .for_each(&mut *each);
        }
    }

    /// Reads the row with which the bytes begin.
    fn row(&self, mut cell: &[u8], budget: &mut usize) -> Option<PageRow> {
        let length = usize::try_from(varint(&mut cell)?).ok()?;
        let number = varint(&mut cell)?;
        *budget = budget.checked_sub(length)?;
        // Sizes of the piece in the leaf, as the format defines them.
        let (most, least) = (self.usable - 35, (self.usable - 12) * 32 / 255 - 23);
        let here = match length {
            _ if length <= most => length,
            _ => {
                let here = least + (length - least) % (self.usable - 4);
                if here <= most { here } else { least }
            }
        };
        let (first, rest) = cell.split_at_checked(here)?;
        let mut payload = first.to_vec();
        let mut next = rest.get(..4).map(self::number);
        while payload.len() < length {
            let page = self.page(next?)?;
            let wanted = (length - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(page.get(4..4 + wanted)?);
            next = page.get(..4).map(self::number);
        }
        Some(PageRow { number, values: values(&payload)? })
    }
}

/// Reads the values of a row; `None` if they are not exactly as long as the row, or one of them is
/// neither text nor a number.
fn values(payload: &[u8]) -> Option<Vec<Json>> {
    let mut kinds = payload;
    let length = usize::try_from(varint(&mut kinds)?).ok()?;
    let (head, mut rest) = payload.split_at_checked(length)?;
    let mut kinds = head.get(payload.len() - kinds.len()..)?;
    let mut values = Vec::new();
    while !kinds.is_empty() {
        let kind = usize::try_from(varint(&mut kinds)?).ok()?;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            13.. if kind % 2 == 1 => (kind - 13) / 2,
            _ => return None,
        };
        let (bytes, behind) = rest.split_at_checked(length)?;
        rest = behind;
        values.push(match kind {
            0 => Json::constant("null"),
            7 => Json::from_f64(f64::from_be_bytes(bytes.try_into().ok()?)),
            13.. => Json::string(std::str::from_utf8(bytes).ok()?),
            8 | 9 => Json::number(kind as u64 - 8),
            _ => Json::trusted(integer(bytes).to_string().into_bytes().into()),
        });
    }
    rest.is_empty().then_some(values)
}

/// Reads a number without a sign, its most significant byte first.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// Reads a number with a sign.
fn integer(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(sign, |sum, byte| sum << 8 | i64::from(*byte))
}

/// Takes a number of one to nine bytes, each but the last with its highest bit set.
fn varint(bytes: &mut &[u8]) -> Option<i64> {
    let mut sum = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some(sum << 8 | i64::from(*byte));
        }
        sum = sum << 7 | i64::from(byte & 0x7f);
        if *byte < 0x80 {
            break;
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;

    /// Returns a database with this many rows of a table of talk, some of them long, and a second
    /// table, with some rows deleted.
    fn database(rows: i64) -> Vec<u8> {
        let mut db = Connection::open_in_memory().expect("memory");
        db.execute_batch(
            "PRAGMA page_size = 512; CREATE TABLE other (a TEXT, b TEXT);
             CREATE TABLE talk (id INTEGER PRIMARY KEY, text TEXT, number REAL);",
        )
        .expect("tables");
        for n in 1..=rows {
            let text = format!("{n} {}", "word ".repeat(if n % 7 == 0 { 300 } else { 9 }));
            db.execute("INSERT INTO talk VALUES (?1, ?2, ?3)", (n, text, n as f64 / 4.0))
                .expect("a row");
            db.execute("INSERT INTO other VALUES ('no', 'talk')", []).expect("a row");
        }
        db.execute_batch("DELETE FROM talk WHERE id % 11 = 3").expect("fewer rows");
        db.serialize("main").expect("bytes").to_vec()
    }

    #[test]
    fn rows_are_those_that_the_database_has() {
        let rows = rows_of(&database(400), "talk");
        let numbers: Vec<_> = rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, (1..=400).filter(|n| n % 11 != 3).collect::<Vec<_>>());
        assert!(rows.iter().all(|row| {
            let [id, text, number] = row.values.as_slice() else { return false };
            let text = text.text().expect("text");
            id.is_null()
                && text.starts_with(&format!("{} word", row.number))
                && number.float() == Some(row.number as f64 / 4.0)
        }));
    }

    #[test]
    fn rows_of_a_cut_database_are_whole_ones() {
        let image = database(60);
        let all = rows_of(&image, "talk");
        let mut before = 0;
        for cut in (0..image.len()).step_by(37) {
            let rows = rows_of(&image[..cut], "talk");
            let talk: Vec<_> = rows.iter().filter(|row| row.values.len() == 3).collect();
            assert!(talk.iter().all(|row| all.contains(row)), "cut at {cut}");
            assert!(talk.len() >= before, "cut at {cut}");
            before = talk.len();
        }
        assert!(before >= all.len() - 3);
    }

    #[test]
    fn hostile_databases_end() {
        let image = database(60);
        for seed in 0..2000_usize {
            let mut bad = image.clone();
            for n in 0..20 {
                let at = (seed * 7919 + n * 104_729) % bad.len();
                bad[at] = (seed * 31 + n * 17) as u8;
            }
            let rows = rows_of(&bad, "talk");
            let length: usize =
                rows.iter().flat_map(|row| &row.values).map(|value| value.as_bytes().len()).sum();
            assert!(length < 8 * bad.len());
        }
    }
}
