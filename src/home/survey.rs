//! Summaries of all sessions in folders, from the cache or from the files.

use super::cache::{Cache, Stamp};
use super::places::{SessionPlace, in_projects};
use super::summary::{self, Summary};
use crate::batch::{Filter, Gather, Job, JobSource, ReadOptions, Written, apart, expand, group};
use crate::error::Error;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::json::Json;
use crate::store::Input;
use crate::times;
use jiff::Timestamp;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session of the list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The session as an input.
    pub job: Job,
    /// The path of its file, or of the first of several.
    pub path: Arc<Path>,
    /// All its files, as far as they were read for the summary.
    pub files: Vec<PathBuf>,
    /// The summary.
    pub summary: Summary,
    /// The size of all files in bytes.
    pub size: u64,
    /// The last activity: the time of the last record, or else of the last change of a file.
    pub updated: Option<Timestamp>,
    /// The line with the text that is looked for.
    pub hit: Option<String>,
}

impl Listed {
    /// The time of the last message, else of the last activity.
    pub fn spoken(&self) -> Option<Timestamp> {
        let time = self.summary.spoken.as_ref();
        time.and_then(|time| times::read(&Json::string(time))).or(self.updated)
    }

    /// Whether the session's project is one of these folders.
    pub fn is_in(&self, folders: &[PathBuf]) -> bool {
        let project = self.summary.project.as_deref().map(Path::new);
        project.is_some_and(|project| folders.iter().any(|folder| folder == project))
    }
}

/// A file or group of files that may be a session.
struct Candidate<'p> {
    place: &'p SessionPlace,
    job: Job,
    /// The files of the job, and the files in the folder of the session.
    files: Vec<Arc<Path>>,
}

/// Returns the sessions in these places, and the paths that could not be read. Jobs that `wanted`
/// refuses are not looked at. New summaries are added to the cache.
pub fn survey(
    places: &[SessionPlace],
    wanted: &dyn Fn(&Job) -> bool,
    cache: &mut Cache,
) -> (Vec<Listed>, Vec<(PathBuf, Error)>) {
    let (mut candidates, mut errors) = (Vec::new(), Vec::new());
    for place in places {
        let paths = [place.path.clone()];
        let listed = expand(&paths, &Filter::default(), &Written::default());
        errors.extend(listed.errors);
        // Agents keep no such files, and their sessions are many.
        let jobs = match place.format.is_none() {
            true => apart(listed.jobs, ReadOptions::default()),
            false => listed.jobs,
        };
        let jobs = group(jobs, &Gather::default());
        candidates.extend(joined(place, jobs).into_iter().filter(|found| wanted(&found.job)));
    }
    let known = &*cache;
    // Sessions differ by orders of magnitude in size, so each is a piece of work of its own.
    let looked = candidates.into_par_iter().with_max_len(1).map(|found| look(found, known));
    let looked: Vec<_> = looked.collect();
    let mut sessions = Vec::new();
    for Looked { key, fresh, session } in looked {
        if let Some((stamps, summary)) = fresh {
            cache.add(&key, stamps, summary);
        } else {
            cache.keep(&key);
        }
        sessions.extend(session);
    }
    (sessions, errors)
}

/// Returns the sessions in these places, and in the folders of the projects that they name. `only` is
/// the format of the agent whose sessions are wanted.
pub fn survey_projects(
    places: &[SessionPlace],
    only: Option<&'static Format>,
    cache: &mut Cache,
) -> (Vec<Listed>, Vec<(PathBuf, Error)>) {
    let (mut sessions, mut errors) = survey(places, &|_| true, cache);
    let named = sessions.iter().filter_map(|session| session.summary.project.as_deref());
    let named: BTreeSet<_> = named.map(Path::new).filter(|path| path.is_absolute()).collect();
    let more = in_projects(named.into_iter(), places, only);
    let (others, failed) = survey(&more, &|_| true, cache);
    sessions.extend(others);
    errors.extend(failed);
    (sessions, errors)
}

/// Joins the files in a session's own folder to the session. Files of sub-agents and tools, and
/// files with further data about sessions, are no sessions.
fn joined(place: &SessionPlace, jobs: Vec<Job>) -> Vec<Candidate<'_>> {
    let jobs: Vec<_> = jobs.into_iter().filter(|job| job.passed_over.is_none()).collect();
    let mains: HashSet<_> = jobs.iter().filter_map(|job| job.path().cloned()).collect();
    let mut inner: HashMap<Arc<Path>, Vec<Arc<Path>>> = HashMap::new();
    let mut others = HashSet::new();
    for path in &mains {
        others.extend(index(path).filter(|index| mains.contains(&**index)));
        if let Some(main) = main_above(path, place, &mains) {
            others.insert(path.to_path_buf());
            inner.entry(main).or_default().push(Arc::clone(path));
        }
    }
    let candidate = |job: Job| {
        let mut files: Vec<_> = job.files().cloned().collect();
        let own = job.path().and_then(|path| inner.remove(path));
        files.extend(own.into_iter().flatten());
        files.sort();
        Candidate { place, job, files }
    };
    let is_session =
        |job: &Job| job.named || job.path().is_none_or(|path| !others.contains(&**path));
    jobs.into_iter().filter(is_session).map(candidate).collect()
}

/// Returns the file with further data about the session at this path.
fn index(path: &Path) -> impl Iterator<Item = PathBuf> {
    let text = path.to_string_lossy().replace('\\', "/");
    FORMATS.iter().filter_map(move |format| format.files.index?(&text)).map(PathBuf::from)
}

/// Returns the main file of the session whose own folder contains this file.
fn main_above(path: &Path, place: &SessionPlace, mains: &HashSet<Arc<Path>>) -> Option<Arc<Path>> {
    for format in FORMATS.iter().filter(|format| !format.files.below.is_empty()) {
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != place.path) {
            if !format.files.below.iter().any(|below| folder.ends_with(below)) {
                continue;
            }
            let mut main = folder.parent()?.as_os_str().to_owned();
            main.push(format.extensions.first()?);
            let main: Arc<Path> = Arc::from(PathBuf::from(main));
            let is_there = || place.format == Some(*format) && main.exists();
            if mains.contains(&main) || is_there() {
                return Some(main);
            }
        }
    }
    None
}

/// Whether a file of a sub-agent is in the folder of a session whose own file was deleted.
fn has_no_session(job: &Job) -> bool {
    let Some(path) = job.path() else { return false };
    let formats = FORMATS.iter().filter(|format| {
        format.extensions.iter().any(|ending| path.to_string_lossy().ends_with(ending))
    });
    let mut folders = formats
        .flat_map(|format| format.files.below)
        .flat_map(|below| path.ancestors().skip(1).filter(move |folder| folder.ends_with(below)));
    folders.next().is_some()
}

/// Result for a candidate.
struct Looked {
    key: String,
    /// The summary and the files that it was read from, if it was not in the cache.
    fresh: Option<(Vec<Stamp>, Option<Summary>)>,
    session: Option<Listed>,
}

fn look(found: Candidate<'_>, cache: &Cache) -> Looked {
    let Candidate { place, job, files } = found;
    let key = key(&job);
    let stamps: Vec<_> = files.iter().map(|file| Stamp::of(file)).collect();
    let (summary, stamps, fresh) = match cache.get(&key, &stamps) {
        Some((summary, stamps)) => (summary, stamps, false),
        None => {
            let read = match is_beside(&job) && !has_no_session(&job) {
                true => summary::Read { summary: None, files: Vec::new() },
                false => summary::read(&job, place.format),
            };
            let mut stamps = stamps;
            let more = read.files.iter().filter(|file| !files.contains(file));
            stamps.extend(more.map(|file| Stamp::of(file)));
            (read.summary, stamps, true)
        }
    };
    let fresh = fresh.then(|| (stamps.clone(), summary.clone()));
    let session = summary.map(|mut summary| {
        let project = || place.project.as_ref().map(|project| project.display().to_string());
        summary.project = summary.project.or_else(project);
        let updated = summary.updated.as_ref().and_then(|time| times::read(&Json::string(time)));
        let modified = || stamps.iter().filter_map(Stamp::modified).max();
        let path = job.files().next().cloned();
        Listed {
            path: path.unwrap_or_else(|| place.path.as_path().into()),
            size: match job.number() {
                Some(_) => job.size().unwrap_or_default(),
                None => stamps.iter().map(Stamp::size).sum(),
            },
            updated: updated.or_else(modified),
            hit: None,
            files: stamps.iter().map(|stamp| stamp.path().to_owned()).collect(),
            summary,
            job,
        }
    });
    Looked { key, fresh, session }
}

/// Returns the name of a session in the cache: its absolute path.
fn key(job: &Job) -> String {
    let path = |path: &Path| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        // A path that is not UTF-8 has no unique text; its session is read each time.
        path.to_str().map(str::to_owned).unwrap_or_default()
    };
    match &job.source {
        JobSource::Whole(whole) => format!("{}#{}", path(&whole.among.home), whole.among.session),
        // There may be millions of them, each quickly read.
        JobSource::Between(_) => String::new(),
        _ => job.path().map(|file| path(file)).unwrap_or_default(),
    }
}

/// Whether a file that was found in a folder belongs to a session in another file of the folder.
fn is_beside(job: &Job) -> bool {
    let Some(path) = job.path().filter(|_| !job.named) else { return false };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let mut head = || {
        let head = |mut input: Input| input.head().map(|(bytes, _)| bytes.to_vec());
        Input::file(Arc::clone(path)).and_then(head).unwrap_or_default()
    };
    FORMATS
        .iter()
        .any(|format| format.files.side.is_some_and(|side| side(name, &mut head).is_some()))
}
