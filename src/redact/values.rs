//! Judgement of values with secret names: a secret, or a reference to one, code, a word.

use super::names::{PASSWORD, Sense, Word};
use super::shapes::API_KEY;

/// Values that describe a secret, or its type, in small letters.
const DESCRIPTIONS: &[&str] = &[
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "int",
    "integer",
    "number",
    "bool",
    "boolean",
    "bytes",
    "object",
    "array",
    "any",
    "dict",
    "list",
    "optional",
    "required",
    "redacted",
    "masked",
    "hidden",
    "void",
    "unknown",
    "never",
    "self",
    "here",
    "text",
    "value",
    "password",
    "pass",
    "passwort",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "key",
    "test",
    "inherit",
    "include",
    "omit",
    "same-origin",
    "basic",
    "bearer",
    "http",
    "https",
    "env",
    "enabled",
    "disabled",
    "yes",
    "no",
    "on",
    "off",
    "default",
    "auto",
    "missing",
    "invalid",
    "expired",
    "empty",
    "write",
    "read",
    "admin",
    "user",
    "file",
    "get",
    "post",
    "format",
    "varchar",
    "char",
    "prompt",
];

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Between quotes.
    Quoted,
    /// Behind a name in capital letters, as in the environment.
    Environment,
    /// The rest of a line, directly behind its name.
    Line,
    /// The rest of a line, behind an equals sign with spaces.
    Assignment,
    /// Among other words or code.
    Plain,
    /// Behind "is", in a sentence.
    Sentence,
}

/// Whether the value of a secret name is a secret, and not a reference to one or code.
pub(super) fn is_secret(value: &str, word: Word, sense: Sense, way: Way) -> bool {
    let small = value.to_ascii_lowercase();
    let count = |test: fn(&u8) -> bool| value.bytes().filter(test).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let password = sense.kind == PASSWORD;
    if value.len() < 3 || digits + letters == 0 || is_one_character(&small) {
        return false;
    }
    if is_reference(value) || is_code(value) || DESCRIPTIONS.contains(&small.as_str()) {
        return false;
    }
    if sense.kind == API_KEY && digits == value.len() && digits >= 10 && way != Way::Plain {
        return true;
    }
    if is_number(value) && (!password || sense.weak || letters > 0 || way == Way::Plain) {
        return false;
    }
    // A secret key of AWS has 40 characters and can begin with a slash.
    let path = value.len() != 40 && PATHS.iter().any(|beginning| value.starts_with(beginning));
    if small.starts_with("your") || path && !(password && way == Way::Quoted) {
        return false;
    }
    let letters_only = |text: &str| text.replace(['_', '-'], "");
    let own = letters_only(&small).contains(&letters_only(word.text));
    if value.chars().any(char::is_whitespace) {
        return password && !sense.weak && way == Way::Quoted && !own && is_phrase(value);
    }
    let (mixed, length) = (digits > 0 && letters > 0, value.len());
    let brackets = value.bytes().any(|b| b"()[]{}*!?".contains(&b));
    match way {
        Way::Environment if !sense.weak => true,
        Way::Environment if password => length >= 5,
        // Constants such as `CRAM-MD5` are no secrets.
        Way::Environment => {
            let small_letters = value.bytes().any(|byte| byte.is_ascii_lowercase());
            mixed && (length >= 16 || length >= 8 && small_letters)
        }
        Way::Quoted if password && !sense.weak => {
            length >= 4 && (mixed || !own && !is_label(value))
        }
        Way::Quoted if sense.weak && !password => length >= 12 && mixed,
        Way::Quoted => length >= 6 && mixed,
        _ if own => false,
        Way::Line if sense.weak => length >= 8 && mixed && !brackets,
        Way::Line => {
            let word = !brackets && !value.starts_with(|c: char| c.is_ascii_uppercase());
            length >= 6 && (mixed || password && word)
        }
        Way::Assignment => length >= 8 && mixed && !brackets,
        Way::Plain if sense.weak => length >= 12 && mixed && digits >= 2 && !brackets,
        Way::Plain => length >= 8 && mixed && digits >= 2 && !brackets && !is_constant(value),
        Way::Sentence => !sense.weak && !brackets && value.split(['-', '/']).any(is_random),
    }
}

/// Whether a word of a sentence looks like a password: names such as `sha256` are shorter.
fn is_random(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let capital = word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    word.len() >= 8 && letters && (digits >= 2 || digits == 1 && capital)
}

/// Words of labels and messages, which no password of several words has.
const SENTENCE: &[&str] = &[
    "a",
    "an",
    "the",
    "your",
    "my",
    "is",
    "are",
    "was",
    "to",
    "of",
    "for",
    "in",
    "on",
    "and",
    "or",
    "not",
    "no",
    "must",
    "be",
    "been",
    "has",
    "have",
    "can",
    "with",
    "at",
    "least",
    "from",
    "this",
    "that",
    "if",
    "it",
    "as",
    "by",
    "enter",
    "please",
    "new",
    "old",
    "current",
    "reset",
    "forgot",
    "change",
    "set",
    "min",
    "max",
    "characters",
    "chars",
    "length",
    "user",
    "string",
    "field",
    "login",
    "key",
    "secret",
    "token",
    "value",
    "input",
    "type",
    "invalid",
    "required",
    "optional",
];

/// Whether a text is a password of several words, and no label or message.
fn is_phrase(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let plain = |word: &&str| {
        let small = word.to_ascii_lowercase();
        word.chars().all(|c| c.is_alphanumeric() || "-_!$%&+#".contains(c))
            && !SENTENCE.contains(&small.as_str())
    };
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    let label = value.starts_with(char::is_uppercase) && !digits;
    (2..=8).contains(&words.len()) && value.len() >= 8 && words.iter().all(plain) && !label
}

/// Beginnings of values that are paths or addresses.
const PATHS: [&str; 5] = ["/", "./", "~", "http:", "https:"];

/// Whether the argument of an option that accepts a password is one, and not a reference or a word
/// such as `password`.
pub(super) fn is_given(value: &str) -> bool {
    let small = value.to_ascii_lowercase();
    let word = DESCRIPTIONS.contains(&small.as_str()) || small.starts_with("your");
    value.len() >= 3 && !word && !is_reference(value) && !is_one_character(&small)
}

/// Whether a text is long enough for the value of a header, and has the digits or the length of
/// one.
pub(super) fn is_credential(value: &str, least: usize) -> bool {
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    let long = value.len() >= 24 && value.bytes().any(|byte| byte.is_ascii_uppercase());
    let page = value.starts_with("http");
    value.len() >= least && (digits || long) && !page && !is_reference(value) && !is_code(value)
}

/// Whether a value is a number, also one with a type as in Rust, or a color.
fn is_number(value: &str) -> bool {
    let number = value.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = number.strip_suffix(['u', 'i', 'f']).unwrap_or(value);
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b"._-+".contains(&b));
    let hex = value.strip_prefix('#').or(value.strip_prefix("0x"));
    plain || hex.is_some_and(|hex| hex.len() <= 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether a value is a name of code: a path, a call, a member.
fn is_code(value: &str) -> bool {
    let name = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = part.len() - letters.len();
        !letters.is_empty()
            && number <= 5
            && letters.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
    };
    let before = value.split('(').next().unwrap_or_default();
    let call = before.len() < value.len() && before.split('.').all(name);
    value.contains("::") || call || value.contains('.') && value.split('.').all(name)
}

/// Whether a value is the name of a constant or a type of code.
fn is_constant(value: &str) -> bool {
    let capitals = value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    value.starts_with('_') || capitals && value.contains('_')
}

/// Whether a text is one character again and again, as in `xxxx`.
fn is_one_character(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next();
    bytes.all(|byte| Some(byte) == first)
}

/// Whether a value is in another place: a variable, a template, a call.
fn is_reference(value: &str) -> bool {
    let begins =
        ["$", "<", "{", "[", "(", "%(", "%{", "%s", "@", "process.", "os.", "env.", "secrets."];
    let holds = ["${", "{{", "<%", "***", "...", "…", "getenv", "environ"];
    let at = |beginning: &&str| value.starts_with(*beginning);
    begins.iter().any(at) || holds.iter().any(|part| value.contains(part))
}

/// Whether a value is a word of the user interface, which begins with a capital.
fn is_label(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(char::is_uppercase)
        && chars.all(|c| c.is_lowercase() || ":.!?*-".contains(c))
}
