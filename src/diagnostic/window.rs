//! The text around the place of a finding.

/// A piece of a line, cropped around a byte: lines reach megabytes, and text far from the place may
/// be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The text; bytes that are not UTF-8 are shown as U+FFFD.
    pub text: String,
    /// Offset of the byte in `text`, in characters.
    pub caret: usize,
    /// Whether the line continues to the left and to the right of the text.
    pub cropped: (bool, bool),
}

impl Window {
    /// Number of bytes that are shown on either side.
    const REACH: usize = 60;

    /// Crops a line around a byte.
    pub(super) fn around(line: &[u8], offset: usize) -> Self {
        let offset = offset.min(line.len());
        let boundary = |i: &usize| line.get(*i).is_none_or(|b| *b & 0xc0 != 0x80);
        let from = (offset.saturating_sub(Self::REACH)..=offset).find(boundary).unwrap_or(offset);
        let to = (offset..line.len().min(offset + Self::REACH)).rfind(boundary).unwrap_or(offset);
        let to = if line.len() <= offset + Self::REACH { line.len() } else { to };
        let show = |range| String::from_utf8_lossy(line.get(range).unwrap_or_default());
        let (left, right) = (show(from..offset), show(offset..to));
        Self {
            caret: left.chars().count(),
            text: format!("{left}{right}"),
            cropped: (from > 0, to < line.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_never_splits_a_character() {
        let line = "é".repeat(200);
        for offset in 0..line.len() {
            let window = Window::around(line.as_bytes(), offset);
            let splits = offset % 2 == 1;
            assert_eq!(window.text.contains('\u{fffd}'), splits, "offset {offset}");
        }
    }
}
