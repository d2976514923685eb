//! Classification of a line of a file of turns by its beginning.

/// Returns the name of the member that begins with this line, and the text behind the name.
pub fn member(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = !name.is_empty() && name.chars().all(plain);
    (fits && (rest.is_empty() || rest.starts_with(' '))).then_some((name, rest.trim()))
}

/// Returns the number of the turn whose messages follow, and the text behind the number.
pub fn key(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    let bare = name.trim_matches(['\'', '"']);
    let fits = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit());
    (fits && (rest.is_empty() || rest.starts_with(' '))).then_some((bare, rest.trim()))
}

/// Whether a line begins another document, or ends one.
pub fn is_document(line: &str) -> bool {
    matches!(line, "---" | "...") || line.starts_with("--- ")
}

/// Whether a turn begins here with the member that the software writes first; in files with sorted
/// members that is another member.
pub fn is_turn(bare: &str) -> bool {
    bare.starts_with("- input:") || bare.starts_with("- cost:")
}

/// Whether a message begins here.
pub fn is_message(bare: &str) -> bool {
    bare.starts_with("- role:")
}

/// Returns the place where a line lost its ending before or behind the name of a list.
pub fn glued(line: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(line).ok()?.trim_end();
    for name in ["turns:", "messages:"] {
        if let Some(rest) = text.strip_prefix(name) {
            let begins = rest.trim_start().starts_with("- ") || key(rest.trim_start()).is_some();
            return begins.then_some(name.len());
        }
        // A text without quotes does not end with a colon, and a quoted text ends with its quotes.
        let before = text.strip_suffix(name).filter(|before| {
            before.ends_with(['\'', '"']) || !before.starts_with(' ') && member(before).is_some()
        });
        if let Some(before) = before {
            return Some(before.len());
        }
    }
    None
}

/// Returns the indentation of a line.
pub fn spaces(line: &[u8]) -> usize {
    line.iter().take_while(|b| **b == b' ').count()
}

/// Whether the first line has the dash of an item.
pub fn begins_with_dash(bytes: &[u8]) -> bool {
    bytes.get(spaces(bytes)) == Some(&b'-')
}
