//! Header of a session that lost its header.
//!
//! Source: `newSession` and `getSessionFile` of pi's `session-manager.ts`: a file is in a folder
//! whose name is the working directory, `/` written as `-`, between `--` and `--`.

use super::super::dialect::FileName;
use super::super::version::{NEWEST, Named, TREE};
use crate::diagnostic::Code;
use crate::format::RepairOptions;
use crate::ids::fingerprint;
use crate::json::{Json, member, text};
use crate::members::Scan;
use crate::position::Position;
use crate::repair::Fixes;
use crate::tree::key_of;

/// The headers of a session.
#[derive(Debug, Default)]
pub struct Header {
    /// Bytes of the first header.
    pub own: Option<Vec<u8>>,
    /// Place of the first header.
    pub at: Position,
    /// Whether pi accepts it as a header.
    pub taken: bool,
    /// Whether the header can stay as it is.
    pub fits: bool,
    /// Whether the header lost the version of its entries.
    pub no_version: bool,
    /// Whether the header is the first record.
    pub in_place: bool,
    /// Remains of a torn header.
    pub torn: Option<Vec<u8>>,
    /// Numbers of the records that are headers.
    pub numbers: Vec<u64>,
    /// Header that is written.
    pub new: Vec<u8>,
}

impl Header {
    /// Whether the header stays where and as it is.
    pub fn is_kept(&self) -> bool {
        self.own.is_some() && self.fits && self.in_place
    }

    /// Whether the header names no version, as only headers of version 1 do.
    pub fn is_bare(&self) -> bool {
        let scan = self.own.as_deref().and_then(|own| Scan::of(own).ok()?);
        scan.is_some_and(|scan| scan.version.is_none())
    }

    /// Returns the repair of a header that does not stay as it is.
    pub fn fix(&self) -> Code {
        match (self.fits, self.taken) {
            (true, _) => Code::HeaderMoved,
            (false, true) if self.no_version => Code::VersionRestored,
            _ => Code::HeaderRebuilt,
        }
    }

    /// Whether the session is a list, by the header or its remains; `None` if neither shows it.
    pub fn list(&self) -> Option<bool> {
        if self.no_version {
            return Some(false);
        }
        let (own, torn) = (self.own.as_deref(), self.torn.as_deref());
        let scan = Scan::of(own.or(torn)?).ok()??;
        let version =
            scan.version.map(|version| version.value.of(own.or(torn).unwrap_or_default()));
        let known = own.is_some() || version.is_some();
        known.then(|| Named::of(version).read_as() < TREE)
    }
}

/// Properties of a session that its records contain, for a new header.
#[derive(Debug, Default)]
pub struct First {
    /// Whether entries have identifiers.
    pub tree: bool,
    /// Whether there is a message of version 2.
    pub hooks: bool,
    /// The first entry's time, in its JSON spelling.
    pub time: Option<Vec<u8>>,
    /// A hash of the first entry.
    pub content: u64,
    /// Whether an entry lacks an identifier or a parent.
    bare: bool,
    /// Whether an entry follows the one before it.
    linked: bool,
    /// The identifier of the last entry.
    last: u64,
}

impl First {
    /// Looks at the identifier of an entry and at its parent.
    pub fn link(&mut self, id: Option<&[u8]>, parent: Option<&[u8]>) {
        self.bare |= id.is_none() || parent.is_none();
        self.linked |= self.last != 0 && parent.map(key_of) == Some(self.last);
        self.last = id.map_or(0, key_of);
    }

    /// Whether the entries are those of a tree, whatever the header contains: version 1 has neither
    /// identifiers nor parents.
    pub fn is_tree(&self) -> bool {
        self.linked && !self.bare
    }
}

/// Whether the beginning of a record may be that of a header.
pub fn may_be_torn(bytes: &[u8]) -> bool {
    let Some(kind) = bytes.strip_prefix(b"{\"type\":\"") else { return true };
    let own = b"session\"";
    kind.get(..kind.len().min(own.len())).is_some_and(|kind| own.starts_with(kind))
}

/// Builds a header from the remains of the old one, from the names of the file and its folder, and
/// from the records.
pub fn rebuild(
    remaining: Option<&[u8]>,
    wanted: &RepairOptions,
    first: &First,
    code: Code,
) -> Vec<u8> {
    let base = remaining.unwrap_or(b"{\"type\":\"session\"}");
    let Ok(Some(scan)) = Scan::of(base) else { return base.to_vec() };
    let mut fixes = Fixes::default();
    let version = match (first.tree, first.hooks) {
        (false, _) => None,
        (true, true) => Some(TREE),
        (true, false) => Some(NEWEST),
    };
    if let (Some(version), None) = (version, scan.version) {
        fixes.edits.add("version", version.to_string().as_bytes());
    }
    let named = FileName::of(&wanted.name);
    let id = scan.id.map(|id| id.value);
    if id.is_none_or(|id| text::decode(id.of(base)).is_none_or(|id| id.is_empty())) {
        let new = match (&named, id.map(|id| id.of(base))) {
            (Some(named), _) => named.id.clone(),
            (None, Some(old)) if old.first().is_some_and(u8::is_ascii_digit) => {
                String::from_utf8_lossy(old).into_owned()
            }
            (None, _) => derived(first.content),
        };
        fixes.set(base, (id, "id"), &quoted(&new), code);
    } else {
        fixes.note(code, None);
    }
    if scan.time.is_none() {
        let time = named.and_then(|named| named.time).map(|time| quoted(&time));
        let time = time.or_else(|| first.time.clone());
        fixes.edits.add("timestamp", &time.unwrap_or_else(|| quoted("1970-01-01T00:00:00.000Z")));
    }
    if let (None, Some(folder)) =
        (remaining.and_then(|remaining| member(remaining, "cwd")), folder(&wanted.folder))
    {
        fixes.edits.add("cwd", &quoted(&folder));
    }
    let mut out = Vec::new();
    fixes.apply(base, &mut out);
    out
}

fn quoted(value: &str) -> Vec<u8> {
    Json::string(value).as_bytes().to_vec()
}

/// Returns the working directory that a folder's name most likely represents: `-` may have been any
/// of three characters, or itself.
fn folder(name: &str) -> Option<String> {
    let inner = name.strip_prefix("--")?.strip_suffix("--").filter(|inner| !inner.is_empty())?;
    Some(format!("/{}", inner.replace('-', "/")))
}

/// Builds an identifier in the shape of pi's own, from a hash.
fn derived(content: u64) -> String {
    let other = fingerprint(&content.to_le_bytes());
    let word = |number: u64, bits: u32| number & ((1 << bits) - 1);
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        word(content, 32),
        word(content >> 32, 16),
        word(content >> 48, 12),
        word(other >> 48, 12),
        word(other, 48)
    )
}
