//! Judgement of values with secret names: a secret, or a reference to one, code, a word.

use super::named::PASSWORD;

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
    /// As the rest of a line.
    Line,
    /// Among other words or code.
    Plain,
}

/// Whether the value of a secret name is a secret, and not a reference to one or code.
pub(super) fn is_secret(value: &str, word: &str, kind: &str, way: Way) -> bool {
    let small = value.to_ascii_lowercase();
    let count = |test: fn(&u8) -> bool| value.bytes().filter(test).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let password = kind == PASSWORD;
    let empty = value.len() < 3 || digits + letters == 0 || is_one_character(&small);
    if empty || is_reference(value) || DESCRIPTIONS.contains(&small.as_str()) {
        return false;
    }
    let number = letters == 0 && value.bytes().all(|b| b.is_ascii_digit() || b"._-+".contains(&b));
    if number && (!password || way == Way::Plain) {
        return false;
    }
    let spaces = value.chars().any(char::is_whitespace);
    let path = value.len() != 40
        && ["/", "./", "~", "http:", "https:"].iter().any(|p| value.starts_with(p));
    let mixed = digits > 0 && letters > 0;
    let long = value.len() >= 20
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=_-".contains(&b))
        && value.bytes().any(|b| b.is_ascii_lowercase())
        && value.bytes().any(|b| b.is_ascii_uppercase());
    let own = small.contains(word.trim_matches('_')) || small.contains("your");
    if spaces || is_names(value) {
        return false;
    }
    match way {
        Way::Environment => !path && !small.starts_with("your"),
        Way::Quoted if password => {
            value.len() >= 4 && !small.starts_with("your") && !is_label(value)
        }
        Way::Quoted => value.len() >= 6 && !path && (mixed || long) && !small.starts_with("your"),
        Way::Line => {
            let code = value.bytes().any(|b| b"()[]{}*!?".contains(&b))
                || value.starts_with(|c: char| c.is_ascii_uppercase());
            !path && !own && value.len() >= 6 && (mixed || password && !code)
        }
        Way::Plain => {
            let code = value.bytes().any(|b| b"()[]{}*".contains(&b));
            !path && !own && !code && value.len() >= 8 && (mixed && digits >= 2 || long)
        }
    }
}

/// Whether a token is long enough, and has the digits or the length of one.
pub(super) fn is_code(value: &str, least: usize) -> bool {
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    let long = value.len() >= 24 && value.bytes().any(|byte| byte.is_ascii_uppercase());
    value.len() >= least && (digits || long) && !is_reference(value)
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
    let call =
        value.find(['(', '[']).is_some_and(|at| at > 0 && value.ends_with([')', ']', '(', '[']));
    let at = |beginning: &&str| value.starts_with(*beginning);
    call || begins.iter().any(at) || holds.iter().any(|part| value.contains(part))
}

/// Whether a value consists of names that dots join, as in code.
fn is_names(value: &str) -> bool {
    let name =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    value.contains('.') && value.split('.').all(name)
}

/// Whether a value is a word of the user interface, which begins with a capital.
fn is_label(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(char::is_uppercase)
        && chars.all(|c| c.is_lowercase() || ":.!?*-".contains(c))
}
