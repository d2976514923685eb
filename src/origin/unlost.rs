//! Restoring a damaged session from its origin, for repair.

use super::damage::{Damage, healed, is_cut, is_emptied};
use super::file_records::FileRecords;
use super::record_store::RecordStore;
use super::restore::{WriteFn, base_of, is_of, is_of_one_session, opened, stream_of};
use crate::diagnostic::{Code, Log};
use crate::error::Result;
use crate::format::{Cx, Format, OnError, Options, Parts, RepairOptions, Sink};
use crate::formats::Spec;
use crate::repair;
use crate::stage::{Stage, Staged};

/// Source from which a damaged session is restored.
pub enum Unlost {
    /// The parts of the session as they were written.
    Written(Staged),
    /// The session with the records that it lost, as a canonical stream, and the format and version
    /// in which it was written if nothing of it was left.
    Records(Staged, Option<Spec>),
}

/// Returns a damaged session with the records that it lost; `None` if it has no origin that can be
/// used, or lost nothing. Other damage is left to repair.
pub fn unlost(
    from: &'static Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    write: WriteFn,
    cx: &Cx<'_>,
) -> Result<Option<Unlost>> {
    let quietly = Log::default();
    let options = Options { on_error: OnError::Keep, ..cx.options.clone() };
    let quiet = Cx { options: &options, log: &quietly };
    let origin = match opened(from, parts, &quiet) {
        // Repair goes on without an origin that was not named.
        Err(error) if error.code() == Code::OriginUnreadable && !cx.options.require_origin => None,
        origin => origin?,
    };
    let Some((origin, target, digests)) = origin else { return Ok(None) };
    // No writer makes a file that two agents continued by turns.
    if is_of(&origin, &digests) || origin.header.by_turns {
        return Ok(None);
    }
    let (header, Ok(mut source)) = (&origin.header, origin.source(sink)?) else { return Ok(None) };
    let mut stream = stream_of((&mut source, header), sink, &quiet)?;
    let (mut base, mut written) =
        base_of((&mut stream, header, target), None, sink, write, &quiet)?;
    let found = Log::default();
    let finding = Cx { options: &options, log: &found };
    let store = RecordStore::new(sink.spool()?);
    let read = FileRecords::of(from, parts, store, &finding);
    let stores = [RecordStore::new(sink.spool()?), RecordStore::new(sink.spool()?)];
    if is_cut(&mut written, parts)? {
        let mut now = match read {
            Ok(now) => now,
            Err(_) => FileRecords::on(RecordStore::new(sink.spool()?)),
        };
        let healed = healed((&mut base, &mut now), &Damage::Anywhere, from, stores, cx)?;
        return Ok(healed.map(|_| Unlost::Written(written)));
    }
    // A trial repair shows damage that a reader passes over.
    let mut stage = Stage::trial(sink);
    let done = repair::run(from, parts, &mut stage, &RepairOptions::default(), &finding);
    let mended = match done {
        Ok(done) if done.changed => Some(stage.whole()?),
        _ => None,
    };
    drop(stage);
    let is_damaged = mended.is_some();
    let (mut now, damage) = match (read, mended) {
        (Ok(now), _) => (now, Damage::repaired(&found)),
        (Err(_), Some(mut mended)) => {
            let store = RecordStore::new(sink.spool()?);
            (FileRecords::of(from, &mut mended, store, &quiet)?, Damage::Anywhere)
        }
        (Err(_), None) => return Ok(None),
    };
    let is_lost = is_emptied(&base, &mut now)?;
    if !(is_lost || is_damaged && is_of_one_session(&mut base, &mut now)?) {
        return Ok(None);
    }
    let damage = if is_lost { Damage::Anywhere } else { damage };
    let Some(mut healed) = healed((&mut base, &mut now), &damage, from, stores, cx)? else {
        return Ok(None);
    };
    Ok(Some(Unlost::Records(healed.store.parts()?, is_lost.then_some(target))))
}
