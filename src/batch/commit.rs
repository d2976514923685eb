//! Outputs that wait for each other, so that many are put in their places after a single wait for
//! the disk.

use super::account::Account;
use super::inputs::Job;
use super::report::{FailOn, FileReport, Outcome};
use crate::error::Error;
use crate::store::{Entry, Placed, Sealed, make_room, put, spare_files};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Number of files that wait for each worker at first. Few enough that their data stays in the
/// processor's cache.
const FIRST_FILES: u64 = 64;

/// Maximum number of files that wait for each worker, where the disk is slow. A killed run loses
/// the work on these files.
const MOST_FILES: u64 = 1024;

/// Maximum number of bytes that wait for all workers together: no more than the disk writes in a
/// moment.
const MOST_BYTES: u64 = 256 << 20;

/// The result for an input, before its output is put in its place.
#[derive(Debug)]
pub struct Done {
    /// The report on the input.
    pub report: FileReport,
    /// The output; empty if there is none.
    pub sealed: Sealed,
}

/// Reports on inputs whose work is done, with the numbers of the inputs.
pub type Over = Vec<(usize, FileReport)>;

/// Collects outputs, and puts them in their places when there are enough of them.
#[derive(Debug)]
pub struct Commit<'a> {
    account: Option<&'a Account>,
    fail_on: Option<FailOn>,
    most: Most,
    /// The outputs that wait for each worker. The thread that allocated memory also frees it, and
    /// no worker waits for another one to do so.
    waiting: Vec<Mutex<Waiting>>,
}

/// Maximum amount that waits for one worker.
#[derive(Clone, Copy, Debug)]
struct Most {
    files: u64,
    bytes: u64,
}

impl Most {
    /// Returns the limits in a run with `workers` workers.
    fn of(workers: usize) -> Self {
        let all = workers.max(1) as u64;
        let files = (spare_files(all) / all).clamp(1, MOST_FILES);
        Self { files, bytes: MOST_BYTES / all }
    }
}

/// The outputs that wait for one worker.
#[derive(Debug)]
struct Waiting {
    group: Group,
    /// Number of files at which the group is put in place.
    room: u64,
    /// Time at which the last group was in its place.
    since: Instant,
}

#[derive(Debug, Default)]
struct Group {
    members: Vec<Member>,
    files: u64,
    bytes: u64,
    urgent: bool,
}

#[derive(Debug)]
struct Member {
    place: usize,
    report: FileReport,
    sealed: Sealed,
    /// The journal entry, and the hashes of the outputs.
    entry: Option<(Entry, Vec<String>)>,
}

impl<'a> Commit<'a> {
    /// Creates a commit for a run with `workers` workers that records its entries in `account`.
    pub fn new(account: Option<&'a Account>, fail_on: Option<FailOn>, workers: usize) -> Self {
        let most = Most::of(workers);
        let waiting = (0..workers.max(1)).map(|_| Mutex::new(Waiting::new(most))).collect();
        Self { account, fail_on, most, waiting }
    }

    /// Reserves room for the open files that wait in a run with `workers` workers. This takes much
    /// longer once there are threads.
    pub fn make_room(workers: usize) {
        make_room(Most::of(workers).files * workers as u64);
    }

    /// Takes the result for input number `place`. Returns all reports that are final after that.
    pub fn push(&self, place: usize, job: &Job, mut done: Done) -> Over {
        let entry = self.account.and_then(|account| self.entry(account, job, &mut done));
        let Done { report, sealed } = done;
        if sealed.is_empty() && entry.is_none() {
            return vec![(place, report)];
        }
        let mut waiting = self.waiting();
        waiting.group.add(Member { place, report, sealed, entry });
        if !waiting.is_full(self.most) {
            return Vec::new();
        }
        let (members, since) = (waiting.take(), waiting.since);
        drop(waiting);
        let begun = Instant::now();
        let over = self.put(members);
        self.waiting().learn(begun - since, begun.elapsed(), self.most);
        over
    }

    /// Puts all outputs that still wait for the calling worker in their places.
    pub fn finish(&self) -> Over {
        let members = self.waiting().take();
        self.put(members)
    }

    /// Returns the outputs that wait for the calling worker.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        let worker = rayon::current_thread_index().unwrap_or(0) % self.waiting.len();
        lock(&self.waiting[worker])
    }

    fn entry(&self, account: &Account, job: &Job, done: &mut Done) -> Option<(Entry, Vec<String>)> {
        let hashes = done.sealed.hashes().unwrap_or_else(|error| {
            let why = done.report.fail(error);
            done.report.findings.add(why);
            done.sealed = Sealed::default();
            Vec::new()
        });
        let exit = done.report.exit_code(self.fail_on);
        Some((account.entry(job, &done.report, exit, done.sealed.sources())?, hashes))
    }

    fn put(&self, members: Vec<Member>) -> Over {
        let mut outputs = Vec::with_capacity(members.len());
        let mut rest = Vec::with_capacity(members.len());
        for Member { place, report, sealed, entry } in members {
            // A file that sessions share has no entry that shows whether it was put in place.
            let later = sealed.is_urgent();
            outputs.push(sealed);
            rest.push((place, report, entry, later));
        }
        let mut late: Vec<Option<Entry>> = vec![None; rest.len()];
        let outcomes = put(outputs, |placed| {
            let Some(account) = self.account else { return Ok(()) };
            let mut now = Vec::new();
            for (((_, _, entry, later), placed), late) in rest.iter_mut().zip(placed).zip(&mut late)
            {
                let (Some((entry, hashes)), Some(placed)) = (entry.take(), placed) else {
                    continue;
                };
                let entry = with_outputs(account, entry, placed, hashes);
                *late = Some(entry.clone());
                if !*later {
                    now.push(entry);
                }
            }
            account.record(&now)
        });
        let mut over = Vec::with_capacity(rest.len());
        let mut after = Vec::new();
        for (((place, mut report, _, later), outcome), entry) in
            rest.into_iter().zip(outcomes).zip(late)
        {
            match outcome {
                Ok(()) => after.extend(entry.filter(|_| later)),
                Err(error) => {
                    after.extend(entry.map(failed));
                    withdraw(&mut report, error);
                }
            }
            over.push((place, report));
        }
        // A later run checks whether the entries came true, so a missing one does no harm.
        if let Some(account) = self.account {
            let _ = account.record(&after);
        }
        over
    }
}

impl Waiting {
    fn new(most: Most) -> Self {
        let room = FIRST_FILES.min(most.files);
        Self { group: Group::default(), room, since: Instant::now() }
    }

    fn is_full(&self, most: Most) -> bool {
        let Group { members, files, bytes, urgent } = &self.group;
        let count = (members.len() as u64).max(*files);
        *urgent || count >= self.room || *bytes >= most.bytes
    }

    fn take(&mut self) -> Vec<Member> {
        std::mem::take(&mut self.group).members
    }

    /// Adapts the group size to how long the work on a group took (`worked`) and how long it took
    /// to put it in place (`waited`). If the second time is long, later groups are larger.
    fn learn(&mut self, worked: Duration, waited: Duration, most: Most) {
        if waited > worked / 2 {
            self.room = (self.room * 2).min(most.files);
        }
        self.since = Instant::now();
    }
}

impl Group {
    fn add(&mut self, member: Member) {
        self.files += member.sealed.files() as u64;
        self.bytes += member.sealed.bytes();
        self.urgent |= member.sealed.is_urgent();
        self.members.push(member);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_outputs(account: &Account, entry: Entry, placed: &[Placed], hashes: Vec<String>) -> Entry {
    let outputs = placed.iter().zip(hashes).map(|(placed, hash)| account.output(placed, hash));
    Entry { outputs: outputs.collect(), ..entry }
}

fn failed(entry: Entry) -> Entry {
    Entry { outcome: Outcome::Failed.name().to_owned(), exit: 3, outputs: Vec::new(), ..entry }
}

/// Records in the report that the output was not put in its place.
fn withdraw(report: &mut FileReport, error: Error) {
    let why = report.fail(error);
    report.findings.add(why);
}
