//! Rows of tables that were checked.

use super::{Database, failed, unusable};
use crate::error::Result;
use crate::json::Json;

/// Columns of a row by name, each value as JSON.
#[derive(Clone, Debug, Default)]
pub struct Row(pub Vec<(String, Json)>);

impl Row {
    /// Returns the value of a column.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(column, _)| column == name).map(|(_, value)| value)
    }

    /// Returns the text in a column; empty if it contains none.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        self.value(name).and_then(Json::text).unwrap_or_default()
    }
}

/// Ordinary table of a database.
pub struct Table<'d> {
    db: &'d Database,
    name: String,
    columns: Vec<String>,
}

impl<'d> Table<'d> {
    pub(super) fn of(db: &'d Database, name: &str) -> Result<Self> {
        let mut kind = None;
        let text = "SELECT type, sql FROM sqlite_schema WHERE name = ?1";
        db.query(text, &[Json::string(name)], &mut |row| {
            kind.get_or_insert(row);
        })?;
        let Some(kind) = kind else {
            return Err(unusable(&format_args!("it has no table {name}")));
        };
        let [kind, sql] = [0, 1].map(|at| kind.get(at).and_then(Json::text).unwrap_or_default());
        if kind != "table" || sql.to_ascii_uppercase().starts_with("CREATE VIRTUAL") {
            return Err(unusable(&format_args!("{name} is not a real table")));
        }
        let mut query =
            db.db.prepare("SELECT name, hidden FROM pragma_table_xinfo(?1)").map_err(failed)?;
        let pairs = query.query_map([name], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)));
        let pairs: Vec<_> = pairs.and_then(Iterator::collect).map_err(failed)?;
        if pairs.iter().any(|(_, hidden)| *hidden != 0) {
            return Err(unusable(&format_args!("{name} has columns that are computed")));
        }
        let columns = pairs.into_iter().map(|(name, _)| name).collect();
        Ok(Self { db, name: name.to_owned(), columns })
    }

    /// Whether the table has a column of this name.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// Returns the names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Reads a column of the rows for which the end of the query is fulfilled, and keeps nothing.
    ///
    /// # Errors
    /// If the database is damaged there.
    pub fn check(&self, column: &str, end: &str, parameters: &[Json]) -> Result<()> {
        let (column, table) = (quoted(column), quoted(&self.name));
        let text = format!("SELECT total(length({column})) FROM {table} {end}");
        self.db.query(&text, parameters, &mut |_| {})
    }

    /// Returns the rows, with all their columns, for which the end of the query is fulfilled; its
    /// parameters are `?1` and so on.
    ///
    /// # Errors
    /// If the database is damaged, or a value is neither text nor a number.
    pub fn rows(&self, end: &str, parameters: &[Json]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        self.db.query(&self.select(end), parameters, &mut |row| rows.push(self.named(row)))?;
        Ok(rows)
    }

    /// Returns the texts in a column, in the rows for which the end of the query is fulfilled.
    ///
    /// # Errors
    /// The errors of [`rows`](Self::rows).
    pub fn texts(&self, column: &str, end: &str) -> Result<Vec<String>> {
        let text = format!("SELECT {} FROM {} {end}", quoted(column), quoted(&self.name));
        let mut texts = Vec::new();
        self.db.query(&text, &[], &mut |row| texts.extend(row.first().and_then(Json::text)))?;
        Ok(texts)
    }

    /// Writes a row, in the place of the one with the same first column if there is one.
    ///
    /// # Errors
    /// If the database refuses it.
    pub fn put(&self, row: &Row) -> Result<()> {
        let Some((key, id)) = row.0.first() else { return Ok(()) };
        let same = format!("WHERE {} = ?1", quoted(key));
        let table = quoted(&self.name);
        let mut there = false;
        let text = format!("SELECT 1 FROM {table} {same} LIMIT 1");
        self.db.query(&text, std::slice::from_ref(id), &mut |_| there = true)?;
        let names: Vec<_> = row.0.iter().map(|(name, _)| quoted(name)).collect();
        let marks: Vec<_> = (1..=names.len()).map(|n| format!("?{n}")).collect();
        let text = if there {
            let sets = names.iter().zip(&marks).map(|(name, mark)| format!("{name} = {mark}"));
            format!("UPDATE {table} SET {} {same}", sets.collect::<Vec<_>>().join(", "))
        } else {
            format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "))
        };
        let values: Vec<_> = row.0.iter().map(|(_, value)| value.clone()).collect();
        self.db.execute(&text, &values).map(drop)
    }

    /// Adds a row, with those of its columns that the table has. Returns false if the table has
    /// another row of its key.
    ///
    /// # Errors
    /// If the database refuses it.
    pub fn add(&self, row: &Row) -> Result<bool> {
        let known = row.0.iter().filter(|(name, _)| self.has(name));
        let (names, values): (Vec<_>, Vec<_>) =
            known.map(|(name, value)| (quoted(name), value.clone())).unzip();
        let marks: Vec<_> = (1..=names.len()).map(|n| format!("?{n}")).collect();
        let (table, names, marks) = (quoted(&self.name), names.join(", "), marks.join(", "));
        let text = format!("INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING");
        self.db.execute(&text, &values).map(|count| count > 0)
    }

    fn select(&self, end: &str) -> String {
        let names: Vec<_> = self.columns.iter().map(|name| quoted(name)).collect();
        format!("SELECT {} FROM {} {end}", names.join(", "), quoted(&self.name))
    }

    fn named(&self, values: Vec<Json>) -> Row {
        Row(self.columns.iter().cloned().zip(values).collect())
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Rows of a table in the order of a column that has a different value in each, one by one: the
/// memory is that of the longest row.
pub struct Rows {
    db: Database,
    table: String,
    /// Column that orders the rows.
    key: String,
    condition: String,
    /// Parameter of the condition, and the last key.
    parameters: Vec<Json>,
    over: bool,
}

impl Rows {
    /// Begins with the first row for which a condition on the parameter `?1` is fulfilled.
    ///
    /// # Errors
    /// The errors of [`Database::table`].
    pub fn of(db: Database, table: &str, key: &str, on: &str, parameter: Json) -> Result<Self> {
        db.table(table)?;
        let (table, key) = (table.to_owned(), key.to_owned());
        let condition = format!("WHERE ({on})");
        Ok(Self { db, table, key, condition, parameters: vec![parameter], over: false })
    }

    fn step(&mut self) -> Result<Option<Row>> {
        let key = quoted(&self.key);
        let behind =
            if self.parameters.len() > 1 { format!(" AND {key} > ?2") } else { String::new() };
        let end = format!("{}{behind} ORDER BY {key} LIMIT 1", self.condition);
        let row = self.db.table(&self.table)?.rows(&end, &self.parameters)?.pop();
        self.parameters.truncate(1);
        self.parameters.extend(row.iter().filter_map(|row| row.value(&self.key)).cloned());
        Ok(row)
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let row = self.step().transpose();
        self.over = !matches!(row, Some(Ok(_)));
        row
    }
}
