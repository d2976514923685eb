//! Texts for the terminal: sizes, numbers and widths, and messages beside the results.

pub use crate::diagnostic::printable;
use std::io::Write;
use textwrap::core::display_width;

/// Returns the number of columns that the user wants, else the terminal's width.
pub fn width(wanted: Option<u16>) -> usize {
    let terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(w), _)| w);
    wanted.or_else(terminal).unwrap_or(80).into()
}

/// Formats a number of bytes in a suitable unit.
pub fn size(mut bytes: f64) -> String {
    for unit in ["B", "kB", "MB", "GB"] {
        if bytes < 999.5 {
            let digits = usize::from(bytes < 9.95 && unit != "B");
            return format!("{bytes:.digits$} {unit}");
        }
        bytes /= 1000.0;
    }
    format!("{bytes:.1} TB")
}

/// Formats a number with thousands separators.
pub fn number(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Crops a text to `room` columns.
pub fn cropped(text: &str, room: usize) -> String {
    if display_width(text) <= room {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        let mut utf8 = [0; 4];
        used += display_width(c.encode_utf8(&mut utf8));
        if used > room {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// Prints a message to standard error, beside the answer.
pub fn aside(text: &str) {
    // With a closed stderr the message is lost.
    let _ = writeln!(std::io::stderr(), "copyist: {}", printable(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_each_magnitude_have_a_fitting_unit() {
        let sizes = [0.0, 999.0, 1_000.0, 9_960.0, 412e6, 999.6e6, 1.34e9, 2.5e12].map(size);
        assert_eq!(
            sizes,
            ["0 B", "999 B", "1.0 kB", "10 kB", "412 MB", "1.0 GB", "1.3 GB", "2.5 TB"]
        );
    }

    #[test]
    fn texts_are_cropped_to_columns() {
        assert_eq!(cropped("abcdef", 6), "abcdef");
        assert_eq!(cropped("abcdef", 4), "abc…");
        assert_eq!(cropped("日本語", 5), "日本…");
        assert_eq!(cropped("abc", 0), "…");
        assert_eq!(number(1234567.0), "1,234,567");
        assert_eq!(number(123.0), "123");
    }
}
