//! Merges of large documents in little memory: members and items that are the same before and
//! after the edit are left out, a word in their place.
//!
//! An item takes 40 bytes of memory in each of the three indexes; only what differs is read and
//! parsed.

use super::index::{Item, Member, Open, index};
use super::meaning::short;
use super::merged;
use crate::alignment::hunks;
use crate::error::{Cannot, Error, Result};
use std::io::{Read, Write};
use std::ops::Range;

/// Writes the source with the changes that lead from `before` to `after`, as [`merged`] returns it;
/// returns false if a change has no place there, and then nothing was written. The texts are read
/// several times, at places that rise.
pub fn merge(
    source: Open<'_>,
    before: Open<'_>,
    after: Open<'_>,
    out: &mut dyn Write,
) -> Result<bool> {
    let mut cuts = Cuts::default();
    let members = (index(source)?, index(before)?, index(after)?);
    if let (Some(own), Some(old), Some(new)) = members {
        cuts.members(&own, &old, &new);
    }
    let own = reduced(source, &cuts.own, &cuts)?;
    let old = reduced(before, &cuts.old, &cuts)?;
    let new = reduced(after, &cuts.new, &cuts)?;
    let Some(merged) = merged(&own, &old, &new) else { return Ok(false) };
    let Some(words) = cuts.find(&merged) else { return Ok(false) };
    let mut put = |bytes: &[u8]| out.write_all(bytes).map_err(|e| Error::io("cannot write", e));
    let mut at = 0;
    for (word, cut) in words.iter().zip(&cuts.own) {
        put(merged.get(at..word.start).unwrap_or_default())?;
        copy(source, cut.start, cut.end, &mut put)?;
        at = word.end;
    }
    put(merged.get(at..).unwrap_or_default())?;
    Ok(true)
}

/// Parts that are left out of the three texts, in order.
#[derive(Debug, Default)]
struct Cuts {
    own: Vec<Range<u64>>,
    old: Vec<Range<u64>>,
    new: Vec<Range<u64>>,
    kinds: Vec<Kind>,
    mark: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Items,
    Members,
}

impl Cuts {
    /// Finds what can be left out.
    fn members(&mut self, own: &[Member], old: &[Member], new: &[Member]) {
        let mut hasher = blake3::Hasher::new();
        for member in own.iter().chain(old).chain(new) {
            hasher.update(&member.whole.hash);
        }
        let mark = hasher.finalize().to_hex();
        self.mark = format!("same-{}", mark.get(..24).unwrap_or_default());
        // Members that changed their places stay.
        let keys = |members: &[Member]| members.iter().map(|m| m.key.1).collect::<Vec<_>>();
        let keys = (keys(own), keys(old), keys(new));
        let olds = counterparts(&hunks(&keys.0, &keys.1), keys.0.len(), keys.1.len(), false);
        let news = counterparts(&hunks(&keys.1, &keys.2), keys.1.len(), keys.2.len(), false);
        for (own, at) in own.iter().zip(olds) {
            let old_at = at as usize;
            let new_at = news.get(old_at).copied().unwrap_or(NONE) as usize;
            let (Some(old), Some(new)) = (old.get(old_at), new.get(new_at)) else { continue };
            if old.key.0 != new.key.0 {
                continue;
            }
            let kinds = [own.mapping, old.mapping, new.mapping];
            if old.whole.hash == new.whole.hash {
                let items = [own.whole, old.whole, new.whole];
                self.add(Kind::Members, items.map(|item| item.start..item.end));
            } else if let [Some(mapping), Some(b), Some(c)] = kinds
                && mapping == b
                && b == c
            {
                let kind = if mapping { Kind::Members } else { Kind::Items };
                self.items(kind, [&own.items, &old.items, &new.items]);
            }
        }
    }

    fn add(&mut self, kind: Kind, [own, old, new]: [Range<u64>; 3]) {
        self.own.push(own);
        self.old.push(old);
        self.new.push(new);
        self.kinds.push(kind);
    }

    /// Adds the runs of items that are the same.
    fn items(&mut self, kind: Kind, [own, old, new]: [&[Item]; 3]) {
        let loose = |items: &[Item]| items.iter().map(|item| item.loose).collect::<Vec<_>>();
        let strict =
            |items: &[Item]| items.iter().map(|item| short(&item.hash)).collect::<Vec<_>>();
        let olds = hunks(&loose(own), &loose(old));
        let olds = counterparts(&olds, own.len(), old.len(), true);
        let news = hunks(&strict(old), &strict(new));
        let news = counterparts(&news, old.len(), new.len(), false);
        let mut last: Option<[u32; 3]> = None;
        for (at, (item, old_at)) in own.iter().zip(olds).enumerate() {
            let new_at = news.get(old_at as usize).copied().unwrap_or(NONE);
            let pair = (old.get(old_at as usize), new.get(new_at as usize));
            let (Some(before), Some(after)) = pair else { continue };
            if before.hash != after.hash {
                continue;
            }
            let here = [at as u32, old_at, new_at];
            if last.is_some_and(|last| last.map(|at| at + 1) == here) {
                let ends = [(&mut self.own, item), (&mut self.old, before), (&mut self.new, after)];
                for (cuts, item) in ends {
                    cuts.last_mut().into_iter().for_each(|cut| cut.end = item.end);
                }
            } else {
                self.add(kind, [item, before, after].map(|item| item.start..item.end));
            }
            last = Some(here);
        }
    }

    /// Returns what is in the place of something that was left out.
    fn word(&self, number: usize) -> String {
        let word = format!("{}-{number:08}", self.mark);
        match self.kinds.get(number) {
            Some(Kind::Members) => format!("{word}: {word}"),
            _ => format!("- {word}"),
        }
    }

    /// Returns the places of the words in a text; `None` if they are not all there once.
    fn find(&self, text: &[u8]) -> Option<Vec<Range<usize>>> {
        let mut places = Vec::with_capacity(self.own.len());
        let mut at = 0;
        for number in 0..self.own.len() {
            let word = self.word(number);
            let start = at + memchr::memmem::find(text.get(at..)?, word.as_bytes())?;
            at = start + word.len();
            places.push(start..at);
        }
        let marks = memchr::memmem::find_iter(text, &self.mark).count();
        let members = self.kinds.iter().filter(|kind| **kind == Kind::Members).count();
        let usual = self.own.is_empty() || marks == self.own.len() + members;
        usual.then_some(places)
    }
}

const NONE: u32 = u32::MAX;

/// Returns the place in the second list for each item of the first. Where lists differ by as many
/// items, these correspond in their order, if `all`.
fn counterparts(
    hunks: &[crate::alignment::Hunk],
    count: usize,
    others: usize,
    all: bool,
) -> Vec<u32> {
    let mut places = vec![NONE; count];
    let mut pair = |a: Range<u32>, b: Range<u32>| {
        for (a, b) in a.zip(b) {
            places.get_mut(a as usize).into_iter().for_each(|place| *place = b);
        }
    };
    let (mut a, mut b) = (0, 0);
    for hunk in hunks {
        pair(a..hunk.a.start, b..hunk.b.start);
        if all && hunk.a.len() == hunk.b.len() {
            pair(hunk.a.clone(), hunk.b.clone());
        }
        (a, b) = (hunk.a.end, hunk.b.end);
    }
    pair(a..count as u32, b..others as u32);
    places
}

/// Returns a text with words in the place of what is left out.
fn reduced(open: Open<'_>, ranges: &[Range<u64>], cuts: &Cuts) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut at = 0;
    for (number, range) in ranges.iter().enumerate() {
        copy(open, at, range.start, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })?;
        out.extend_from_slice(cuts.word(number).as_bytes());
        at = range.end;
    }
    open(at)?.read_to_end(&mut out).cannot("read")?;
    Ok(out)
}

/// Copies a part of a text.
fn copy(
    open: Open<'_>,
    from: u64,
    to: u64,
    put: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let mut rest = open(from)?.take(to - from);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = rest.read(&mut buffer).cannot("read")?;
        if read == 0 {
            return Ok(());
        }
        put(buffer.get(..read).unwrap_or_default())?;
    }
}
