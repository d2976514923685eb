//! Tables at a terminal.

use super::wrap::{Ink, Span, columns, lines};

/// A table: rows of cells, the head first.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    /// Begins a row.
    pub fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the last row.
    pub fn cell(&mut self, spans: Vec<Span>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(spans);
        }
    }

    /// Returns the lines of the table; cells of a table that is wider than `room` are broken.
    pub fn lines(&self, room: usize, ink: Ink) -> Vec<String> {
        let widths = self.widths(room);
        let mut out = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells: Vec<_> = widths
                .iter()
                .enumerate()
                .map(|(place, width)| {
                    let spans = row.get(place).map(Vec::as_slice).unwrap_or_default();
                    (lines(spans, *width, ink), lines(spans, *width, Ink(false)), *width)
                })
                .collect();
            let height = cells.iter().map(|(cell, ..)| cell.len()).max().unwrap_or(1);
            for line in 0..height {
                let shown = cells.iter().map(|(cell, plain, width)| {
                    let cell = cell.get(line).map(String::as_str).unwrap_or_default();
                    let used = plain.get(line).map_or(0, |plain| columns(plain));
                    format!("{cell}{}", " ".repeat(width.saturating_sub(used)))
                });
                out.push(shown.collect::<Vec<_>>().join(" │ ").trim_end().to_owned());
            }
            if number == 0 {
                let rules: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                out.push(ink.paint(Ink::FAINT, &rules.join("─┼─")));
            }
        }
        out
    }

    /// Returns the width of each column: the widest are narrowed until the table fits.
    fn widths(&self, room: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |place: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(place));
            let widths = cells.map(|cell| cell.iter().map(|span| columns(&span.text)).sum());
            widths.max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..count).map(width).collect();
        let fits = room.saturating_sub(3 * count.saturating_sub(1)).max(count);
        while widths.iter().sum::<usize>() > fits {
            let Some(widest) = widths.iter_mut().max() else { break };
            if *widest <= 4 {
                break;
            }
            *widest -= 1;
        }
        widths
    }
}
