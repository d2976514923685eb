//! Migration from version 1 to 2 to 3, line by line.
//!
//! Each step is a function of one line, of the line's numbers and of the session; it never uses
//! another line. It returns the changes, and everything else stays as it is, byte for byte. pi
//! instead parses and rewrites every line, which changes long integers and the order of members. It
//! does so in place, so that a crash destroys the file.
//!
//! Source: `migrateV1ToV2` and `migrateV2ToV3` of pi's `session-manager.ts`, the same in every
//! release from 0.35 to 1.5.2. Where ours differs on purpose, [`to_v2`] gives the reason.

use super::lineage::{IndexMeaning, Lineage, quoted};
use super::migrated::{self, MIGRATED};
use super::reader::{NOT_A_HEADER, further_header, not_an_object, unknown_version};
use super::repair::entry::marks_of;
use super::version::{NEWEST, Named, TREE};
use super::{NAME, dialect, wire};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{ByteLines, Cx, Plane, Step, Target, no_header};
use crate::json::edit::Edits;
use crate::json::{Json, text};
use crate::lines::{Line, utf8};
use crate::members::{self, Member, Scan};
use crate::tree;

/// Steps of migration, with a summary for the user.
pub const STEPS: &[Step] = &[
    Step {
        from: 1,
        to: 2,
        summary: "the list becomes a tree: entries get `id` and `parentId`, `firstKeptEntryIndex` becomes `firstKeptEntryId`",
    },
    Step { from: 2, to: 3, summary: "messages of role `hookMessage` get the role `custom`" },
];

/// Maximum number of entries that are watched for missing parents: 24 bytes each, so that migration
/// stays within its memory. `validate` watches all entries.
const WATCHED: usize = 400_000;

/// Migration of single lines.
pub const BY_LINES: ByteLines =
    ByteLines { check, many: Some(members::of_lines), leads: dialect::is_slot, open };

fn check(line: &Line<'_>, scan: &mut Scan) -> Result<bool> {
    utf8(line)?;
    scan.walk(line.bytes).map_err(|fault| Error::json(fault, line.bytes, line.at))
}

/// Opens the byte plane on a session's first line.
///
/// # Errors
/// If the line is not a header, or the target cannot be reached from its version.
fn open<'a>(line: &Line<'_>, target: Target, cx: &'a Cx<'a>) -> Result<Box<dyn Plane + 'a>> {
    let mut scan = Scan::default();
    let object = check(line, &mut scan)?;
    let scan = Some(scan).filter(|scan| object && scan.is(line.bytes, "session"));
    let id = scan.and_then(|scan| scan.id).map(|id| id.value.of(line.bytes));
    let (Some(scan), Some(id)) = (scan, id.filter(|id| text::decoded(id).is_some())) else {
        return Err(no_header(line, NOT_A_HEADER));
    };
    let named = Named::of(scan.version.map(|version| version.value.of(line.bytes)));
    let to = reachable(named, target, line, cx)?;
    Ok(Box::new(Migration {
        cx,
        from: named.read_as(),
        to,
        lineage: Lineage::new(id, cx),
        first: true,
        edits: Edits::default(),
        shape: tree::Shape::within(cx.options.index_memory),
    }))
}

/// Returns the version that the session will have.
fn reachable(named: Named, target: Target, line: &Line<'_>, cx: &Cx<'_>) -> Result<u32> {
    let from = named.read_as();
    if let Some(found) = unknown_version(named) {
        let mut found = found.at(line.at).showing(line.bytes, 0);
        let newer = matches!(named, Named::Newer(_));
        if newer && target != Target::Same && !cx.options.force_version {
            found.code = Code::VersionRefused;
            return Err(Error::unfit(found));
        }
        cx.report(found);
    }
    match target {
        Target::Same => Ok(from),
        Target::Version(to) if to >= from => Ok(to),
        Target::Version(to) => {
            let message = format!(
                "the file is {NAME}@{from}, and migration does not go back to {NAME}@{to}; `copyist convert -t {NAME}@{to}` does"
            );
            Err(Error::request(Code::WrongVersion, message))
        }
    }
}

struct Migration<'a> {
    cx: &'a Cx<'a>,
    from: u32,
    to: u32,
    lineage: Lineage,
    /// Whether the header is still to come.
    first: bool,
    edits: Edits,
    shape: tree::Shape,
}

impl Plane for Migration<'_> {
    fn from(&self) -> u32 {
        self.from
    }

    fn changes(&self) -> bool {
        self.from != self.to
    }

    fn line(&mut self, line: &Line<'_>, scan: Option<&Scan>, out: &mut Vec<u8>) -> Result<()> {
        let bytes = line.bytes;
        let Some(scan) = scan else {
            self.lineage.other();
            return Err(not_an_object(line));
        };
        if scan.is(bytes, "session") {
            self.header(line, scan);
        } else if self.changes() {
            self.entry(line, scan);
        } else if self.from >= TREE {
            self.watch(line, scan);
        }
        if self.edits.is_empty() {
            out.extend_from_slice(bytes);
        } else {
            self.edits.apply(bytes, scan.close, scan.members == 0, out);
            self.edits.clear();
        }
        Ok(())
    }

    fn finish(&mut self) {
        let whole = self.shape.len() < WATCHED;
        let tree = std::mem::take(&mut self.shape).finish();
        // Of a longer session the last entries were not watched.
        let unreached = tree.unreached().filter(|_| whole);
        for found in tree.findings().chain(unreached) {
            self.cx.report(found);
        }
    }
}

impl Migration<'_> {
    fn header(&mut self, line: &Line<'_>, scan: &Scan) {
        if !std::mem::take(&mut self.first) {
            self.lineage.header();
            self.cx.report(further_header(line));
        }
        if self.changes() {
            let version = scan.version.map(|version| version.value);
            self.edits.set(version, "version", self.to.to_string().as_bytes());
        }
    }

    fn entry(&mut self, line: &Line<'_>, scan: &Scan) {
        if self.from < TREE {
            let index = scan.kept_index.filter(|_| scan.is(line.bytes, "compaction"));
            to_v2(line, scan, index, &mut self.lineage, &mut self.edits, self.cx);
        } else {
            self.watch(line, scan);
        }
        if self.to >= NEWEST {
            to_v3(line.bytes, scan, &mut self.edits);
        }
    }

    /// Notes the entry for the findings about the tree.
    fn watch(&mut self, line: &Line<'_>, scan: &Scan) {
        if self.shape.len() >= WATCHED {
            return;
        }
        let json = |member: Option<Member>| {
            let value = member?.value.of(line.bytes);
            Some(Json::trusted(value.to_vec().into()))
        };
        match json(scan.id) {
            Some(id) => {
                self.shape.node(&id, json(scan.parent).as_ref(), line.at);
                let kind = scan.kind.map_or(&b""[..], |kind| kind.value.of(line.bytes));
                self.shape.is(&id, marks_of(kind, line.bytes, scan));
            }
            None => self.shape.node_without_id(line.at),
        }
        for (member, kept) in [(scan.target, false), (scan.kept_id, true)] {
            if let Some(target) = json(member).filter(|target| !target.is_null()) {
                self.shape.reference(&target, kept, line.at);
            }
        }
    }
}

/// Migrates an entry from version 1 to 2: the entry gets an identifier and a parent, and a
/// compaction names the first entry that it keeps by identifier.
///
/// Two things differ from pi's own step. Identifiers cannot collide. And an index that pointed at a
/// header, from which on version 1 kept everything, now points at the entry behind it; pi drops
/// it, and with it all that came before the compaction.
fn to_v2(
    line: &Line<'_>,
    scan: &Scan,
    index: Option<Member>,
    lineage: &mut Lineage,
    edits: &mut Edits,
    cx: &Cx<'_>,
) {
    let (id, before) = lineage.entry();
    for (member, name) in [(scan.id, "id"), (scan.parent, "parentId")] {
        member.into_iter().for_each(|member| replaced(line, member, name, cx));
    }
    edits.set(scan.id.map(|id| id.value), "id", &quoted(id));
    let parent = scan.parent.map(|parent| parent.value);
    match before {
        Some(before) => edits.set(parent, "parentId", &quoted(before)),
        None => edits.set(parent, "parentId", b"null"),
    }
    if let Some(index) = index {
        first_kept(line, scan, index, lineage, edits, cx);
    }
}

/// Reports that an identifier is replaced, which hardly any entry has.
#[cold]
fn replaced(line: &Line<'_>, Member { value, .. }: Member, name: &str, cx: &Cx<'_>) {
    let old = String::from_utf8_lossy(value.of(line.bytes)).into_owned();
    let found = Diagnostic::new(Code::IdReplaced, format!("{name} {old} replaced"));
    cx.report(found.at(line.at.plus(value.start)));
}

fn first_kept(
    line: &Line<'_>,
    scan: &Scan,
    index: Member,
    lineage: &Lineage,
    edits: &mut Edits,
    cx: &Cx<'_>,
) {
    let spelling = index.value.of(line.bytes);
    let shown = String::from_utf8_lossy(spelling);
    let meant = lineage.first_kept(spelling);
    let (kept, code) = match meant {
        IndexMeaning::Entry(id, _) => (Some(id), None),
        IndexMeaning::Header(id, _) => (Some(id), Some(Code::KeptFromHeader)),
        IndexMeaning::Behind(id, _) => (Some(id), Some(Code::KeptBehind)),
        IndexMeaning::Itself(id, _) => (Some(id), Some(Code::KeptSelf)),
        IndexMeaning::Nowhere => (None, Some(Code::KeptNowhere)),
        IndexMeaning::NoNumber => (None, Some(Code::KeptNoNumber)),
    };
    if let Some(code) = code {
        let message = format!("{} `{shown}`: {}", wire::FIRST_KEPT_INDEX, code.title());
        cx.report(Diagnostic::new(code, message).at(line.at.plus(index.value.start)));
    }
    if code == Some(Code::KeptNoNumber) {
        return;
    }
    edits.replace(index.with_comma(line.bytes, scan.members), b"");
    if let Some(id) = kept {
        let old = scan.kept_id.into_iter();
        old.for_each(|old| replaced(line, old, wire::FIRST_KEPT_ID, cx));
        edits.set(scan.kept_id.map(|kept| kept.value), wire::FIRST_KEPT_ID, &quoted(id));
    }
    if code.is_some() {
        let index = format!("{{\"{}\":{shown}}}", wire::FIRST_KEPT_INDEX);
        migrated::note(line.bytes, scan.note, MIGRATED, &index, edits);
    }
}

/// Migrates a line from version 2 to 3: the role `hookMessage` becomes `custom`.
fn to_v3(line: &[u8], scan: &Scan, edits: &mut Edits) {
    let role = scan.role.filter(|role| text::is(role.of(line), "hookMessage"));
    if let Some(role) = role.filter(|_| scan.is(line, "message")) {
        edits.replace(role, b"\"custom\"");
    }
}
