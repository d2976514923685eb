//! Words at drawn places of converted sessions: an edit of one comes back as that edit and nothing
//! else, or is refused, and is never lost in silence.

use crate::common::{
    alone, beside_origin, converted, corpus, files_of, options, own_inputs, recognise, session,
};
use crate::pairs::targets;
use crate::words::{other, reserved, undamaged};
use copyist::diagnostic::{Code, FieldOutcome};
use copyist::format::{Format, OnError};
use copyist::formats::{FORMATS, written};
use copyist::ids::{Choice, hash};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::PathBuf;

/// Result of an edit in another format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// The word was edited in the source, and nothing else.
    Exact,
    /// The conversion was refused, and nothing written.
    Refused,
    /// The edit is not in the source, and a finding says so.
    Reported,
    /// The source changed in other ways, too.
    Otherwise,
    /// The source came back as it was, and nothing was said.
    Silent,
}

/// A session: its file, its text, and its version.
type Source = (PathBuf, Vec<u8>, u32);

/// A converted session, and the places of words in it; nothing if it cannot be converted.
type Away = Option<(Vec<u8>, Vec<(usize, usize)>)>;

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = hash(&self.0.to_le_bytes());
        (self.0 % end.max(1) as u64) as usize
    }
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// The places of words that are in no schema.
fn places(text: &[u8], reserved: &BTreeSet<String>) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    let mut start = 0;
    for end in 0..=text.len() {
        if text.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let word = &text[start..end];
        let plain = (5..12).contains(&word.len()) && word.iter().all(u8::is_ascii_lowercase);
        // A letter behind a backslash is none of a word.
        let escaped = start > 0 && text[start - 1] == b'\\';
        let word = std::str::from_utf8(word).unwrap_or_default();
        if plain && !escaped && !reserved.iter().any(|own| own.contains(word)) {
            places.push((start, end));
        }
        start = end + 1;
    }
    places
}

/// The places of the files in a text, without those that are not text.
fn inside(text: &[u8]) -> Vec<Range<usize>> {
    let (mut all, mut end) = (Vec::new(), 0);
    for (_, file) in files_of(text) {
        let start = memchr::memmem::find(&text[end..], &file).map_or(end, |place| end + place);
        end = start + file.len();
        if !file.contains(&0) {
            all.push(start..end);
        }
    }
    all
}

/// The name of the member in which a place is.
fn member(text: &[u8], place: usize) -> String {
    let before = String::from_utf8_lossy(&text[place.saturating_sub(4000)..place]).into_owned();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let ends = ["\":", "\\\":", ": "].iter().filter_map(|end| before.rfind(end));
    let Some(end) = ends.max() else { return String::new() };
    let name = before[..end].trim_end_matches(['"', '\\']);
    let start = name.rfind(|c| !is_name(c)).map_or(0, |place| place + 1);
    name[start..].to_owned()
}

/// Brings an edited target back.
fn fate(source: &[u8], of: (&'static Format, u32), away: &[u8], place: (usize, usize)) -> Fate {
    let keep = options(OnError::Keep, Choice::Derived);
    let mut edited = alone(away);
    let word = String::from_utf8_lossy(&edited[place.0..place.1]).into_owned();
    let new = other(&word);
    edited[place.0..place.1].copy_from_slice(new.as_bytes());
    let edited = beside_origin(edited, away);
    let Some((format, version)) = recognise(&edited) else { return Fate::Refused };
    let (back, found) = converted(&edited, format, version, &of.0.at(of.1), &keep);
    let Ok(back) = back else { return Fate::Refused };
    let back = alone(&back);
    if back == source {
        const SAYS: &[Code] = &[Code::Dropped, Code::OriginEdited, Code::OriginDeleted];
        let said = found.diagnostics.iter().any(|found| SAYS.contains(&found.code));
        let lost = found.losses.keys().any(|(outcome, _)| *outcome == FieldOutcome::Dropped);
        return if said || lost { Fate::Reported } else { Fate::Silent };
    }
    let without = |text: &[u8]| String::from_utf8_lossy(text).replace(&new, &word);
    if without(&back) == without(source) { Fate::Exact } else { Fate::Otherwise }
}

#[test]
#[ignore = "two hundred edits of each pair of formats"]
fn a_drawn_word_comes_back_or_is_refused() {
    let (seed, count) = (setting("COPYIST_SEED", 1), setting("COPYIST_EDITS", 200));
    let mut inputs = own_inputs();
    if let Some(root) = corpus("drawn words") {
        inputs.extend(undamaged(&root, 17));
    }
    let mut sources: BTreeMap<&str, Vec<Source>> = BTreeMap::new();
    for path in inputs {
        let text = session(&path);
        let Some((format, version)) = recognise(&text).filter(|_| text.len() < 200_000) else {
            continue;
        };
        sources.entry(format.name).or_default().push((path, text, version));
    }
    let (reserved, mut silent) = (reserved(), Vec::new());
    println!("| source | target | exact | refused | reported | otherwise | silent |");
    println!("|---|---|---|---|---|---|---|");
    let mut others: BTreeMap<(&str, &str, String), (usize, String)> = BTreeMap::new();
    for (name, files) in &sources {
        let format = FORMATS.iter().find(|format| format.name == *name).expect("it is known");
        for target in written().filter(|target| ![*name, "canonical"].contains(&target.name)) {
            let own = |to: &String| to.split('@').next() == Some(target.name);
            let versions: Vec<_> = targets().into_iter().filter(own).collect();
            let mut dice = Dice(hash(format!("{seed} {name} {}", target.name).as_bytes()));
            let mut tally: BTreeMap<Fate, usize> = BTreeMap::new();
            let mut made: HashMap<(usize, usize), Away> = HashMap::new();
            let mut tried = 0;
            while tally.values().sum::<usize>() < count as usize && tried < 10 * count {
                tried += 1;
                let (file, to) = (dice.below(files.len()), dice.below(versions.len()));
                let (path, source, version) = &files[file];
                let away = made.entry((file, to)).or_insert_with(|| {
                    let keep = options(OnError::Keep, Choice::Derived);
                    let done = converted(source, format, *version, &versions[to], &keep);
                    let away = done.0.ok()?;
                    let text = alone(&away);
                    let mut all = places(&text, &reserved);
                    let inside = inside(&text);
                    all.retain(|(start, _)| inside.iter().any(|file| file.contains(start)));
                    Some((away, all))
                });
                let Some((away, places)) = away.as_ref().filter(|(_, all)| !all.is_empty()) else {
                    continue;
                };
                let place = places[dice.below(places.len())];
                let fate = fate(&alone(source), (format, *version), away, place);
                *tally.entry(fate).or_default() += 1;
                let text = alone(away);
                let key = member(&text, place.0);
                let word = String::from_utf8_lossy(&text[place.0..place.1]).into_owned();
                let example = format!("{} to {}: {word}", path.display(), versions[to]);
                match fate {
                    Fate::Silent => silent.push(format!("{example} in {key}")),
                    Fate::Otherwise => {
                        let entry = others.entry((name, target.name, key)).or_default();
                        *entry = (entry.0 + 1, example);
                    }
                    _ => {}
                }
            }
            let of = |fate| tally.get(&fate).copied().unwrap_or_default();
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} |",
                target.name,
                of(Fate::Exact),
                of(Fate::Refused),
                of(Fate::Reported),
                of(Fate::Otherwise),
                of(Fate::Silent)
            );
        }
    }
    for ((from, to, key), (count, example)) in &others {
        println!("changed otherwise: {from} to {to}, `{key}`: {count}, such as {example}");
    }
    silent.truncate(300);
    assert!(silent.is_empty(), "{} lost in silence: {silent:#?}", silent.len());
}
