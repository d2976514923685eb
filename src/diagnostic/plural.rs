//! Numbers in messages.

/// Formats a number with a noun in singular or plural.
///
/// ```
/// use copyist::diagnostic::plural;
/// assert_eq!(plural(1, "byte"), "1 byte");
/// assert_eq!(plural(2, "entry"), "2 entries");
/// assert_eq!(plural(2, "API key"), "2 API keys");
/// ```
#[must_use]
pub fn plural(n: u64, what: &str) -> String {
    let ends_so = |stem: &&str| !stem.ends_with(['a', 'e', 'o', 'u']);
    match what.strip_suffix('y').filter(ends_so) {
        _ if n == 1 => format!("1 {what}"),
        Some(stem) => format!("{n} {stem}ies"),
        None => format!("{n} {what}s"),
    }
}
