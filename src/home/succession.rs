//! Sessions of older files that are brought into the database of their agent, which no longer reads
//! the files.

use crate::batch::{
    FileReport, Filter, Gather, Job, JobSource, Listed, Outcome, Whole, Written, expand, group,
};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{At, BringFn, Brought, Cx, Format, Options, Successor};
use crate::formats::FORMATS;
use crate::sqlite::{Database, Edit};
use crate::store::{Addition, Input, Write, Writes};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Folder of all sessions of an agent, some of which are in older files.
#[derive(Debug)]
pub struct OlderHome {
    /// The folder.
    pub path: PathBuf,
    format: &'static Format,
    successor: Successor,
}

/// Changes of a database, before anything is written.
#[derive(Debug)]
pub struct Succession {
    /// The report on each session.
    pub reports: Vec<FileReport>,
    /// Number of sessions that the database has already.
    pub present: u64,
    /// The change of the database.
    pub writes: Writes,
}

impl OlderHome {
    /// Finds the folder that the user means by this path: the folder itself, its database, or the
    /// folder of older files in it.
    pub fn of(path: &Path) -> Option<Self> {
        let path = path.canonicalize().ok()?;
        let name = format!("/{}", path.file_name()?.to_string_lossy());
        FORMATS.iter().find_map(|format| {
            let successor = format.files.shared?.successor?;
            let is_inside = name.strip_prefix('/') == Some(successor.folder)
                || (successor.database)(slice::from_ref(&name)).is_some();
            let path = if is_inside { path.parent()? } else { &path };
            let home = Self { path: path.to_owned(), format, successor };
            let is_home = path.join(successor.folder).is_dir() && !home.sessions().is_empty();
            is_home.then_some(home)
        })
    }

    /// Lists the sessions of the folder that have older files.
    fn sessions(&self) -> Vec<Job> {
        let paths = [self.path.clone()];
        let Listed { jobs, .. } = expand(&paths, &Filter::default(), &Written::default());
        let jobs = group(jobs, &Gather::default());
        jobs.into_iter().filter(|job| self.is_older(job)).collect()
    }

    fn is_older(&self, job: &Job) -> bool {
        let JobSource::Whole(whole) = &job.source else { return false };
        let folder = format!("/{}/", self.successor.folder);
        let is_own = whole.format == self.format && whole.among.home == self.path;
        is_own && whole.files.iter().any(|(name, _)| name.starts_with(&folder))
    }

    /// Returns what brings all sessions of older files into the database.
    ///
    /// # Errors
    /// If there is no database, another process has it open, or it takes no sessions.
    pub fn succession(&self, options: &Options) -> Result<Succession> {
        let jobs = self.sessions();
        let Some(database) = jobs.iter().find_map(|job| self.database(job)) else {
            let why = "there is no database yet; start the agent once, which makes it, and repeat \
                       the command";
            let message = format!("{}: {why}", self.path.display());
            return Err(Error::request(Code::NoDatabase, message));
        };
        let (bring, options) = (self.successor.bring, options.clone());
        let older = Rc::new(Older { jobs, bring, options, reports: Mutex::default() });
        let work = tempfile::tempdir().map_err(|error| Error::io("cannot work", error))?;
        let rows = Addition::plan(older.clone(), &database, work.path())?;
        let write = rows.map(|rows| Write::Add { rows, to: database.to_path_buf() });
        let mut writes = Writes::of(write.into_iter().collect());
        writes.keep(work);
        let reports = std::mem::take(&mut *older.reports());
        let is_present = |report: &&FileReport| report.outcome == Outcome::Unchanged;
        let present = reports.iter().filter(is_present).count() as u64;
        Ok(Succession { reports, present, writes })
    }

    /// Returns the database beside the files of a session.
    fn database(&self, job: &Job) -> Option<Arc<Path>> {
        let JobSource::Whole(whole) = &job.source else { return None };
        let names: Vec<_> = whole.files.iter().map(|(name, _)| name.clone()).collect();
        let database = (self.successor.database)(&names)?;
        whole.files.iter().find(|(name, _)| *name == database).map(|(_, path)| Arc::clone(path))
    }
}

/// Sessions that are brought into a database.
struct Older {
    jobs: Vec<Job>,
    bring: BringFn,
    options: Options,
    reports: Mutex<Vec<FileReport>>,
}

impl Older {
    fn reports(&self) -> MutexGuard<'_, Vec<FileReport>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings one session into the database.
    fn bring(&self, whole: &Whole, db: &Database, cx: &Cx<'_>) -> Result<Brought> {
        // The database is not opened by its path: to close it would end the locks of SQLite.
        let is_own = |(name, _): &&(String, _)| !whole.format.is_shared(name);
        let input = Input::files(whole.files.iter().filter(is_own).cloned())?;
        (self.bring)(&mut input.among(whole.among.clone()), db, cx)
    }
}

impl Edit for Older {
    fn edit(&self, db: &Database, _: bool) -> Result<bool> {
        let mut reports = Vec::new();
        for job in &self.jobs {
            let JobSource::Whole(whole) = &job.source else { continue };
            let (log, mut report) = (Log::default(), FileReport::new(job.name()));
            report.format = Some(At { format: whole.format, number: whole.version });
            db.run("SAVEPOINT session")?;
            match self.bring(whole, db, &Cx { options: &self.options, log: &log }) {
                Ok(Brought::Added { records }) => {
                    (report.outcome, report.records) = (Outcome::Migrated, records);
                }
                Ok(Brought::Present) => report.outcome = Outcome::Unchanged,
                // The database takes none.
                Err(error) if error.code() == Code::StoreOnlyRead => return Err(error),
                Err(error) => {
                    db.run("ROLLBACK TO session")?;
                    log.report(report.fail(error));
                }
            }
            db.run("RELEASE session")?;
            report.findings = log.into_findings();
            reports.push(report);
        }
        let is_new = |report: &FileReport| report.outcome == Outcome::Migrated;
        let is_changed = reports.iter().any(is_new);
        *self.reports() = reports;
        Ok(is_changed)
    }
}
