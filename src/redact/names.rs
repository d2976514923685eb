//! Names whose values are secret: `DB_PASSWORD`, `clientSecret`, `X-Api-Key`.

use super::shapes::API_KEY;

/// Word of names whose values are secret.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word, in small letters.
    pub text: &'static str,
    /// Kind of the value.
    pub kind: &'static str,
    /// Whether it means other things, too: then it must be the last word of the name, and the value
    /// must look random.
    pub weak: bool,
}

const fn word(text: &'static str, kind: &'static str) -> Word {
    Word { text, kind, weak: false }
}

const fn weak(text: &'static str, kind: &'static str) -> Word {
    Word { text, kind, weak: true }
}

/// Words of names whose values are secret.
pub const WORDS: &[Word] = &[
    word("passw", PASSWORD),
    word("passphrase", PASSWORD),
    word("pwd", PASSWORD),
    weak("pass", PASSWORD),
    weak("pw", PASSWORD),
    word("secret", SECRET),
    word("secretkey", SECRET),
    word("token", TOKEN),
    word("credential", SECRET),
    word("api_key", API_KEY),
    word("apikey", API_KEY),
    word("api-key", API_KEY),
    word("access_key", API_KEY),
    word("accesskey", API_KEY),
    word("access-key", API_KEY),
    word("account_key", API_KEY),
    word("accountkey", API_KEY),
    word("private_key", SECRET),
    word("privatekey", SECRET),
    word("private-key", SECRET),
    word("client-key-data", SECRET),
    word("auth_key", API_KEY),
    word("authkey", API_KEY),
    word("encryption_key", SECRET),
    word("encryptionkey", SECRET),
    word("signing_key", SECRET),
    word("signingkey", SECRET),
    word("master_key", SECRET),
    word(KEY, API_KEY),
    weak("auth", SECRET),
];

/// Last word of names in capital letters.
const KEY: &str = "_key";

/// Kind of values that are passwords.
pub const PASSWORD: &str = "password";
const SECRET: &str = "secret";
/// Kind of tokens that only their names show.
pub const TOKEN: &str = "token";
const AWS: &str = "AWS secret key";

/// Maximum length of a name.
pub const LONGEST: usize = 64;

/// Last words of names whose values describe a secret and are none.
const DESCRIBES: &[&str] = &[
    "file",
    "path",
    "dir",
    "url",
    "uri",
    "endpoint",
    "name",
    "names",
    "id",
    "ids",
    "type",
    "count",
    "counts",
    "limit",
    "limits",
    "size",
    "length",
    "len",
    "ttl",
    "expiry",
    "expires",
    "expiration",
    "timeout",
    "header",
    "headers",
    "prefix",
    "suffix",
    "usage",
    "budget",
    "provider",
    "field",
    "env",
    "var",
    "param",
    "index",
    "hint",
    "label",
    "title",
    "text",
    "error",
    "errors",
    "message",
    "policy",
    "rule",
    "rules",
    "required",
    "enabled",
    "manager",
    "store",
    "source",
    "kind",
    "format",
    "regex",
    "pattern",
    "version",
    "ring",
    "rotation",
    "reset",
    "input",
    "placeholder",
    "arn",
    "map",
    "list",
    "class",
    "style",
    "color",
    "ratio",
    "price",
    "cost",
    "rate",
    "max",
    "min",
    "total",
    "used",
    "at",
    "date",
    "days",
    "hours",
    "minutes",
    "seconds",
    "algorithm",
    "scheme",
    "mode",
    "status",
    "valid",
];

/// Names that contain such a word and are no secrets.
const HARMLESS: &[&str] = &[
    "pwd",
    "oldpwd",
    "primary_key",
    "foreign_key",
    "public_key",
    "sort_key",
    "cache_key",
    "partition_key",
    "csrf_token_name",
    "session_key",
    "registry_key",
    "unique_key",
    "group_key",
    "row_key",
    "object_key",
    "route_key",
    "s3_key",
    "dedupe_key",
    "idempotency_key",
    "storage_key",
    "hot_key",
    "shortcut_key",
    "modifier_key",
    "arrow_key",
    "no_key",
    "translation_key",
    "query_key",
];

/// Sense of a name whose value can be secret.
#[derive(Clone, Copy, Debug)]
pub struct Sense {
    /// Kind of the value.
    pub kind: &'static str,
    /// Whether the value must look random.
    pub weak: bool,
}

/// Returns the sense of a name with a secret word at this place; `None` if the name means another
/// thing.
pub fn sense(name: &str, at: usize, word: Word) -> Option<Sense> {
    let small = name.to_ascii_lowercase();
    let (before, rest) = (name.get(..at)?, name.get(at..)?);
    let rest = rest.get(word.text.len()..)?;
    let rest = match word.text {
        "passw" => ["ord", "d", "ort"].iter().find_map(|end| strip(rest, end))?,
        _ => rest,
    };
    if HARMLESS.contains(&small.as_str()) || HARMLESS.iter().any(|name| ends(&small, name)) {
        return None;
    }
    // A key without a further word is mostly the key of a table.
    if word.text == KEY && !(rest.is_empty() && is_environment(name) && !before.is_empty()) {
        return None;
    }
    if word.weak && !(is_last(rest) && begins(before, name, at)) {
        return None;
    }
    let capitals = name.bytes().all(|b| !b.is_ascii_lowercase());
    let goes_on = |c: char| if capitals { c.is_ascii_uppercase() } else { c.is_ascii_lowercase() };
    let several = strip(rest, "s").filter(|rest| !rest.starts_with(goes_on));
    let rest = several.unwrap_or(rest);
    if rest.starts_with(goes_on) {
        return None;
    }
    let last = last_word(rest);
    if DESCRIBES.contains(&last.as_str()) {
        return None;
    }
    let aws = small.contains("aws") && small.contains("secret");
    Some(Sense { kind: if aws { AWS } else { word.kind }, weak: word.weak || several.is_some() })
}

/// Whether nothing but a number follows the word of a name.
fn is_last(rest: &str) -> bool {
    rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// Whether a word begins at this place of a name: at its beginning, behind a separator, or with a
/// capital behind a small letter.
fn begins(before: &str, name: &str, at: usize) -> bool {
    let capital = name.get(at..).is_some_and(|word| word.starts_with(|c: char| c.is_uppercase()));
    match before.bytes().last() {
        None | Some(b'_' | b'-' | b'.') => true,
        Some(last) => capital && last.is_ascii_lowercase(),
    }
}

fn strip<'t>(text: &'t str, beginning: &str) -> Option<&'t str> {
    let there = text.get(..beginning.len())?;
    there.eq_ignore_ascii_case(beginning).then(|| text.get(beginning.len()..)).flatten()
}

/// Whether a name ends with these whole words.
fn ends(name: &str, words: &str) -> bool {
    words.contains('_') && name.strip_suffix(words).is_some_and(|before| before.ends_with('_'))
}

/// Returns the last word of a part of a name, in small letters.
fn last_word(part: &str) -> String {
    let part = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_' || c == '-');
    let capital = part.rfind(|c: char| c.is_ascii_uppercase()).filter(|at| {
        // In a name of capitals, each is one.
        part.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    let at = part.rfind(['_', '-', '.']).map(|at| at + 1).max(capital).unwrap_or(0);
    part.get(at..).unwrap_or_default().to_ascii_lowercase()
}

/// Whether a name has only capital letters, as in the environment.
pub fn is_environment(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Returns the kinds of values that names show.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|word| word.kind).chain([AWS])
}
