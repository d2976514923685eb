//! Whole sessions of agents that keep one session in several files of a folder that all sessions
//! share.

use super::identity::identity;
use super::inputs::{Job, JobSource, Whole, stem};
use super::names::plain;
use crate::format::{Format, Member};
use crate::formats::FORMATS;
use crate::store::{Among, Copies, Input, plain_name};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// Selection of the inputs that are read as whole sessions.
#[derive(Clone, Debug, Default)]
pub struct Gather {
    /// Whether files that the user named are also read as whole sessions.
    pub whole: bool,
    /// The identifier of the only session that is read, or its number in a file of several.
    pub session: Option<String>,
}

/// Replaces all files of a session by one job. This applies to files that were found in folders,
/// and to named files if `gather` requests it. If only one session is wanted, all other jobs are
/// dropped.
pub fn group(jobs: Vec<Job>, gather: &Gather) -> Vec<Job> {
    let mut sessions = Sessions::default();
    let one = gather.session.is_some();
    let (mut text, mut others) = (String::new(), Vec::new());
    for job in jobs {
        // A named file that all sessions share is not a session by itself.
        let alone =
            |placed: &Placed| job.named && !gather.whole && !one && placed.member.session.is_some();
        let path = job.path().filter(|_| job.passed_over.is_none());
        let placed = path.and_then(|path| Placed::of(path, &mut text));
        match placed.filter(|placed| !alone(placed)) {
            Some(placed) if job.named => sessions.named(&placed, job),
            Some(placed) => {
                let home = placed.above(&job.relative);
                sessions.add(placed, job, &home);
            }
            None if gather.session.as_deref().is_some_and(|id| !bears(&job, id)) => {
                others.push(job)
            }
            None => sessions.order.push(Slot::Job(job)),
        }
    }
    let found = sessions.jobs(gather);
    match &gather.session {
        // A file that was renamed keeps its header; names alone are looked at first, because a
        // folder has many files.
        Some(id) if found.is_empty() => {
            let is_called =
                |job: &Job| identity(job, |_| true).is_some_and(|identity| identity.id == *id);
            others.into_iter().filter(is_called).collect()
        }
        _ => found,
    }
}

/// Removes the files with the name of the wanted session that are only beside it, in the folder of all
/// sessions.
fn drop_beside(jobs: &mut Vec<Job>) {
    let home = |job: &Job| match &job.source {
        JobSource::Whole(whole) => Some(whole.among.home.clone()),
        _ => None,
    };
    let homes: Vec<PathBuf> = jobs.iter().filter_map(home).collect();
    let is_beside = |path: &Path| homes.iter().any(|home| path.starts_with(home));
    jobs.retain(|job| job.named || !job.path().is_some_and(|path| is_beside(path)));
}

/// Whether a file's name contains this session's identifier: the name is the identifier, or ends
/// with it. A session between others of a file has its number for one.
fn bears(job: &Job, id: &str) -> bool {
    if let JobSource::Between(between) = &job.source {
        return id == between.number.to_string();
    }
    let name = job.path().and_then(|path| path.file_name()).unwrap_or_default().to_string_lossy();
    stem(plain_name(&name))
        .strip_suffix(id)
        .is_some_and(|before| before.is_empty() || before.ends_with('_'))
}

/// Identifier of a session: the format's name, the agent's folder, and the session's identifier.
type Key = (&'static str, PathBuf, String);

/// A file that belongs to a session, and the agent's folder that contains it.
struct Placed {
    format: &'static Format,
    path: Arc<Path>,
    home: PathBuf,
    member: Member,
}

impl Placed {
    /// Determines what a file is. `text` is a buffer for its path.
    fn of(path: &Path, text: &mut String) -> Option<Self> {
        text.clear();
        text.push('/');
        text.push_str(&path.to_string_lossy());
        if text.contains('\\') {
            *text = text.replace('\\', "/");
        }
        let mut head = || {
            let head = |mut input: Input| input.head().map(|(bytes, _)| bytes.to_vec());
            Input::file(path).and_then(head).unwrap_or_default()
        };
        FORMATS.iter().find_map(|&format| {
            let member = (format.files.shared?.member)(text, &mut head)?;
            let mut placed = Self { format, path: path.into(), home: PathBuf::new(), member };
            placed.home = placed.above(path);
            Some(placed)
        })
    }

    /// Returns the agent's folder for a path that ends as the file's path does.
    fn above(&self, path: &Path) -> PathBuf {
        let below = self.member.part.matches('/').count();
        path.ancestors().nth(below).unwrap_or(Path::new("")).to_owned()
    }
}

/// A position in the order of the inputs.
enum Slot {
    Job(Job),
    Session(Key),
    /// A file that all sessions of a folder share. It becomes a job of its own if there are no
    /// sessions.
    Shared(Job, &'static str, PathBuf),
}

/// The files that all sessions of a folder share.
struct Shared {
    format: &'static Format,
    files: Vec<(String, Arc<Path>)>,
    /// The path of the folder below an output folder.
    home: PathBuf,
    copies: Copies,
}

impl Shared {
    fn among(&self, home: &Path, session: String) -> Among {
        Among { home: home.to_owned(), session, copies: self.copies.clone() }
    }

    /// Returns the sessions that the shared files name, as far as the files can be read. Errors are
    /// reported later, when the sessions are read.
    fn roster(&self, home: &Path) -> Vec<String> {
        let input = Input::files(self.files.iter().cloned());
        let input = input.map(|input| input.among(self.among(home, String::new())));
        let roster = input.and_then(|mut input| {
            match self.format.files.shared.map(|shared| shared.roster) {
                Some(roster) => roster(&mut input),
                None => Ok(Vec::new()),
            }
        });
        roster.unwrap_or_default()
    }
}

/// The sessions that the files make up.
#[derive(Default)]
struct Sessions {
    order: Vec<Slot>,
    sessions: HashMap<Key, (Job, Whole)>,
    shared: HashMap<(&'static str, PathBuf), Shared>,
    /// The sessions of which the user named a file.
    named: HashSet<Key>,
    named_homes: HashSet<(&'static str, PathBuf)>,
    /// The folders that were searched because the user named a file in them.
    walked: HashSet<PathBuf>,
}

impl Sessions {
    /// Adds a file that the user named, and all files of its folder.
    fn named(&mut self, placed: &Placed, job: Job) {
        let home = &placed.home;
        match &placed.member.session {
            Some(id) => drop(self.named.insert((placed.format.name, home.clone(), id.clone()))),
            None => {
                self.named_homes.insert((placed.format.name, home.clone()));
                self.order.push(Slot::Shared(job, placed.format.name, home.clone()));
            }
        }
        if !self.walked.insert(home.clone()) {
            return;
        }
        let folder = if home.as_os_str().is_empty() { Path::new(".") } else { home };
        let mut text = String::new();
        for entry in WalkDir::new(folder).sort_by_file_name().into_iter().flatten() {
            let path = entry.path();
            let path = path.strip_prefix("./").unwrap_or(path);
            if let Some(found) =
                entry.file_type().is_file().then(|| Placed::of(path, &mut text)).flatten()
                && found.home == *home
            {
                let job = Job::found(path.to_owned(), PathBuf::new());
                self.add(found, job, Path::new(""));
            }
        }
    }

    /// Adds a file; `home` is the path of its folder below an output folder.
    fn add(&mut self, placed: Placed, job: Job, home: &Path) {
        let Placed { format, path, home: folder, member } = placed;
        let Some(id) = member.session else {
            let empty = || Shared {
                format,
                files: Vec::new(),
                home: home.to_owned(),
                copies: Copies::default(),
            };
            let shared = self.shared.entry((format.name, folder.clone())).or_insert_with(empty);
            shared.files.push((member.part, path));
            if !self.named_homes.contains(&(format.name, folder.clone())) {
                self.order.push(Slot::Shared(job, format.name, folder));
            }
            return;
        };
        let (_, whole) = self.session(format, folder, id, home);
        whole.version = whole.version.max(member.version);
        whole.files.push((member.part, path));
    }

    /// Returns the session with this identifier in a folder, and creates it if it is missing.
    fn session(
        &mut self,
        format: &'static Format,
        folder: PathBuf,
        id: String,
        home: &Path,
    ) -> &mut (Job, Whole) {
        let key = (format.name, folder.clone(), id.clone());
        self.sessions.entry(key.clone()).or_insert_with(|| {
            self.order.push(Slot::Session(key));
            let relative = home.join(plain(&id));
            let among = Among { home: folder, session: id, copies: Copies::default() };
            let whole = Whole { format, version: 0, among, files: vec![] };
            (Job::found(Path::new(""), relative), whole)
        })
    }

    /// Adds the sessions that exist only in the shared files.
    fn rest(&mut self) {
        let mut found: Vec<_> = self
            .shared
            .iter()
            .map(|((_, home), shared)| {
                (shared.format, home.clone(), shared.home.clone(), shared.roster(home))
            })
            .collect();
        found.sort_by(|(_, a, ..), (_, b, ..)| a.cmp(b));
        for (format, home, relative, roster) in found {
            for id in roster {
                let newest = format.versions.last().map_or(0, |version| version.number);
                let (_, whole) = self.session(format, home.clone(), id, &relative);
                whole.version = whole.version.max(newest);
            }
        }
    }

    /// Returns the jobs, in the order of the inputs.
    fn jobs(mut self, gather: &Gather) -> Vec<Job> {
        self.rest();
        let homes: HashSet<_> = self.sessions.keys().map(|key| (key.0, key.1.clone())).collect();
        let wanted = |key: &Key| match &gather.session {
            Some(id) => *id == key.2,
            None => {
                !self.walked.contains(&key.1)
                    || self.named.contains(key)
                    || self.named_homes.contains(&(key.0, key.1.clone()))
            }
        };
        let mut jobs = Vec::new();
        for slot in self.order {
            match slot {
                Slot::Job(job) => jobs.push(job),
                Slot::Shared(job, format, home) => {
                    if !homes.contains(&(format, home)) && gather.session.is_none() {
                        jobs.push(job);
                    }
                }
                Slot::Session(key) if wanted(&key) => {
                    let Some((mut job, mut whole)) = self.sessions.remove(&key) else { continue };
                    if let Some(shared) = self.shared.get(&(key.0, key.1)) {
                        whole.files.extend(shared.files.iter().cloned());
                        whole.among.copies = shared.copies.clone();
                    }
                    whole.files.sort();
                    job.source = JobSource::Whole(whole);
                    jobs.push(job);
                }
                Slot::Session(_) => {}
            }
        }
        if gather.session.is_some() {
            drop_beside(&mut jobs);
        }
        jobs
    }
}
