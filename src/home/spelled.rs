//! Files that can contain a text at all, by their bytes: most files of a home need not be read as
//! sessions to search for a text.

use crate::store::text_of;
use aho_corasick::AhoCorasick;
use std::path::Path;

/// Search for the longest word of a text in the bytes of files, in all ways in which JSON and YAML
/// can spell it.
#[derive(Clone, Debug)]
pub struct Spelled {
    /// Search for the word, and for what can be a part of it in another spelling.
    signs: AhoCorasick,
}

/// Minimum length of a word whose search saves the reading of most files.
const LEAST: usize = 3;

/// First bytes of a database, whose pages can cut a word.
const DATABASE: &str = "SQLite format 3\0";

impl Spelled {
    /// Creates the search; `None` for a text without a word of ASCII letters and digits, which are
    /// never cut by the end of a line.
    pub fn of(text: &str, any_case: bool) -> Option<Self> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let word = words.max_by_key(|word| word.len()).filter(|word| word.len() >= LEAST)?;
        let mut signs = vec![word.to_owned(), DATABASE.to_owned(), "\\\n".to_owned()];
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters.dedup();
        for letter in letters {
            let cases = [letter, letter.to_ascii_uppercase()];
            let cases = cases.iter().take(if any_case { 2 } else { 1 });
            let codes = cases.map(|letter| u32::from(*letter)).chain(equal(letter, any_case));
            for code in codes {
                signs.push(format!("\\u{code:04x}"));
                signs.push(format!("\\u{code:08x}"));
                signs.push(format!("\\x{code:02x}"));
                signs.extend(char::from_u32(code).filter(|c| !c.is_ascii()).map(String::from));
            }
        }
        let mut builder = AhoCorasick::builder();
        Some(Self { signs: builder.ascii_case_insensitive(true).build(signs).ok()? })
    }

    /// Whether a file can contain the text. A file that cannot be read can.
    pub fn may_be_in(&self, path: &Path) -> bool {
        let found = || {
            let mut text = text_of(path)?;
            let mut start = [0; 2];
            let read = std::io::Read::read(&mut text, &mut start)?;
            let start = start.get(..read).unwrap_or_default();
            // The beginning of a text of two bytes for each character.
            let wide = start.iter().any(|byte| !(b'\t'..0x80).contains(byte));
            let rest = std::io::Read::chain(start, text);
            let first =
                self.signs.try_stream_find_iter(rest).map_err(std::io::Error::other)?.next();
            Ok::<_, std::io::Error>(wide || first.transpose()?.is_some())
        };
        found().unwrap_or(true)
    }
}

/// Returns the character beyond ASCII whose small letter is, or begins with, this letter.
fn equal(letter: char, any_case: bool) -> Option<u32> {
    match letter {
        'k' => Some(0x212a),
        'i' => Some(0x130),
        _ => None,
    }
    .filter(|_| any_case)
}

#[cfg(test)]
mod tests {
    use super::Spelled;
    use std::io::Write;

    fn finds(word: &str, any_case: bool, bytes: &[u8]) -> bool {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        Spelled::of(word, any_case).expect("a word").may_be_in(file.path())
    }

    #[test]
    fn words_are_found_however_they_are_spelled() {
        for text in [
            "a lamp Kite b",
            "a \\u004bite",
            "a K\\u0069te",
            "a \"K\\x69te\"",
            "a K\\U00000069te",
            "a Ki\\\n  te",
        ] {
            assert!(finds("red Kite.", false, text.as_bytes()), "{text}");
            assert!(finds("red kite.", true, text.as_bytes()), "{text}");
        }
        assert!(finds("kite", true, "\u{212a}ite and k\u{130}te".as_bytes()));
        assert!(finds("kite", true, b"\xff\xfek\0i\0t\0e\0"));
        assert!(finds("kite", true, b"SQLite format 3\0 pages"));
        assert!(!finds("kite", true, b"kit e and k-ite, \\u001b[0m"));
    }

    #[test]
    fn texts_without_a_word_are_not_searched_by_bytes() {
        for text in ["", "a-b c", "\u{e9}\u{e9}\u{e9}\u{e9}"] {
            assert!(Spelled::of(text, true).is_none(), "{text}");
        }
    }

    #[test]
    fn files_that_cannot_be_read_can_contain_a_text() {
        let word = Spelled::of("kite", true).expect("a word");
        assert!(word.may_be_in(std::path::Path::new("/no/such/file")));
    }
}
