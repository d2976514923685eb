//! E-mail addresses, passwords in addresses of pages, and the folders of users.

use super::{Found, Search};

/// Kind of an e-mail address.
pub const EMAIL: &str = "e-mail";
/// Kind of a user's folder.
pub const HOME: &str = "home path";
/// Kind of a user name and a password in an address.
const CREDENTIALS: &str = "credential";

/// Maximum length of the part of an address before the `@`, as mail programs accept it.
const LONGEST_LOCAL: usize = 64;
/// Maximum length of a domain, and of what precedes the path in the address of a page.
const LONGEST_DOMAIN: usize = 255;

/// Names before the `@` that are no people: repositories over SSH, and what sends mail by itself.
const NO_PEOPLE: &[&[u8]] = &[b"git", b"noreply", b"no-reply"];

/// Endings of names that are no domains: files, units of a system.
const NO_DOMAINS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "js", "mjs", "cjs", "ts", "jsx", "tsx",
    "json", "lock", "html", "css", "yaml", "yml", "toml", "txt", "service", "socket", "timer",
    "target", "mount", "whl", "tgz", "gz", "zip", "jar", "dylib", "dll", "exe", "latest", "tar",
];

/// Searches for an e-mail address around an `@` of this length; it has six characters as an escape.
pub fn email(search: &mut Search<'_, '_>, at: usize, length: usize) {
    let bytes = search.text.as_bytes();
    let local = bytes.get(..at).unwrap_or_default().iter().rev().take(LONGEST_LOCAL + 1);
    let local = local.take_while(|b| b.is_ascii_alphanumeric() || b"._%+-".contains(b)).count();
    let mut start = at - local;
    if search.is_escape(start) {
        start += 1;
    }
    while start < at && !bytes.get(start).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        start += 1;
    }
    let local = bytes.get(start..at).unwrap_or_default();
    if local.is_empty() || local.len() > LONGEST_LOCAL || NO_PEOPLE.contains(&local) {
        return;
    }
    let domain = bytes.get(at + length..).unwrap_or_default();
    let end = domain.iter().take(LONGEST_DOMAIN);
    let end = end.take_while(|b| b.is_ascii_alphanumeric() || b".-".contains(b)).count();
    let domain = search.text.get(at + length..at + length + end).unwrap_or_default();
    let domain = domain.trim_end_matches(['.', '-']);
    let Some((before, last)) = domain.rsplit_once('.') else { return };
    let alphabetic = last.len() >= 2 && last.bytes().all(|byte| byte.is_ascii_alphabetic());
    let real = !NO_DOMAINS.contains(&last.to_ascii_lowercase().as_str());
    let labels = !before.is_empty() && before.split('.').all(|label| !label.is_empty());
    if alphabetic && real && labels && !before.starts_with('-') {
        search.add(Found { start, end: at + length + domain.len(), kind: EMAIL });
    }
}

/// Searches for a user name with a password in the address of a page, whose colon is at this place.
pub fn credentials(search: &mut Search<'_, '_>, colon: usize) {
    let bytes = search.text.as_bytes();
    if bytes.get(colon..colon + 3) != Some(b"://") {
        return;
    }
    let start = colon + 3;
    let rest = bytes.get(start..).unwrap_or_default().iter().take(LONGEST_DOMAIN);
    let ends =
        |b: &u8| b.is_ascii_whitespace() || b.is_ascii_control() || b"/?#\"'<>`\\|()".contains(b);
    let authority = rest.take_while(|b| !ends(b)).count();
    let authority = bytes.get(start..start + authority).unwrap_or_default();
    let Some(user) = memchr::memrchr(b'@', authority) else { return };
    let user = authority.get(..user).unwrap_or_default();
    let secret = match memchr::memchr(b':', user) {
        Some(at) => user.get(at + 1..).unwrap_or_default(),
        None if user.len() >= 20 && user.iter().any(u8::is_ascii_digit) => user,
        None => return,
    };
    let reference =
        secret.starts_with(b"$") || secret.starts_with(b"{") || secret.starts_with(b"%s");
    if !secret.is_empty() && !reference && secret.iter().any(u8::is_ascii_alphanumeric) {
        search.add(Found { start, end: start + user.len(), kind: CREDENTIALS });
    }
}

/// Ways to write the folder in which the folders of users are. The search ignores case, and a
/// folder does not.
pub const FOLDERS: &[&str] = &[
    "/home/",
    "/Users/",
    "\\Users\\",
    "\\/home\\/",
    "\\/Users\\/",
    "%2Fhome%2F",
    "%2FUsers%2F",
    "/home\\/",
    "/Users\\/",
];

/// Names below these folders that are no users.
const NO_USERS: &[&str] = &["Shared", "Public", "Default", "linuxbrew"];

/// Maximum length of a user's name.
const LONGEST_NAME: usize = 64;

/// Folders that can contain the folder of users.
const ABOVE: &[&[u8]] = &[b"/var", b"/usr", b"/export", b"/mnt/c", b"/mnt/d", b"/c", b"/d"];

/// Searches for a user's folder below a folder of users, which is at this place.
pub fn home(search: &mut Search<'_, '_>, at: usize, folder: &str) {
    let Some((start, end)) = home_at(search, at, folder) else { return };
    search.add(Found { start, end, kind: HOME });
}

fn home_at(search: &Search<'_, '_>, at: usize, folder: &str) -> Option<(usize, usize)> {
    let (text, bytes) = (search.text, search.text.as_bytes());
    let mut name = at + folder.len();
    (bytes.get(at..name)? == folder.as_bytes()).then_some(())?;
    let windows = folder.starts_with('\\') && folder.ends_with('\\');
    while windows && bytes.get(name) == Some(&b'\\') {
        name += 1;
    }
    let length = name_length(text.get(name..)?, windows);
    let user = text.get(name..name + length)?;
    let known = !user.is_empty() && !NO_USERS.contains(&user);
    known.then_some((beginning(search, at, windows)?, name + length))
}

/// Returns where a path begins that goes on with the folder of users at this place; `None` if that
/// folder is inside of another path.
fn beginning(search: &Search<'_, '_>, at: usize, windows: bool) -> Option<usize> {
    let before = search.text.as_bytes().get(..at)?;
    let before = if windows { before.strip_suffix(b"\\").unwrap_or(before) } else { before };
    if let [.., drive, b':'] = before
        && drive.is_ascii_alphabetic()
        && search.is_boundary(before.len() - 2)
    {
        return Some(before.len() - 2);
    }
    if windows {
        return None;
    }
    let above = ABOVE.iter().find_map(|above| before.strip_suffix(*above));
    let start = above.map_or(at, <[u8]>::len);
    let inside = |byte: &u8| b"._-~)}]*$/\\".contains(byte);
    let last = search.text.as_bytes().get(..start)?.last();
    let address = before.ends_with(b"://");
    let whole = search.is_boundary(start) && !last.is_some_and(inside);
    (whole || address).then_some(if address { at } else { start })
}

/// Returns the length of the user's name with which a text begins. On Windows it may contain spaces
/// if a folder follows it.
fn name_length(text: &str, windows: bool) -> usize {
    let part = |c: char| c.is_alphanumeric() || "._-+@".contains(c);
    let end = |wanted: &dyn Fn(char) -> bool| {
        let mut ends = text.char_indices().take(LONGEST_NAME + 1);
        ends.find(|(_, c)| !wanted(*c)).map_or(text.len(), |(at, _)| at)
    };
    let spaced = end(&|c| part(c) || c == ' ');
    let name = if windows && text.get(spaced..).is_some_and(|rest| rest.starts_with('\\')) {
        text.get(..spaced)
    } else {
        text.get(..end(&part))
    };
    let name = name.unwrap_or_default();
    if name.starts_with('.') || name.chars().count() > LONGEST_NAME {
        return 0;
    }
    name.trim_end_matches(['.', '-', '@', ' ']).len()
}

/// Returns the name of the user to whose folder a path leads.
pub fn user_of(path: &str) -> Option<&str> {
    let separated = |c| c == '/' || c == '\\';
    let mut parts = path.split(separated).filter(|part| !part.is_empty());
    parts.find(|part| matches!(*part, "home" | "Users"))?;
    let name = parts.next()?;
    (!NO_USERS.contains(&name)).then_some(name)
}

/// Returns the kinds that have numbered marks.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    [EMAIL, CREDENTIALS].into_iter()
}
