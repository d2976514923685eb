//! The progress bar.

use super::style::When;
use super::telling::Telling;
use crate::batch::Job;
use crate::store::Meter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::{IsTerminal, stderr, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two updates of the bar. The first update also comes after this time, so that
/// nothing flashes up in a run that ends before anyone could read it.
const INTERVAL: Duration = Duration::from_millis(200);

const KNOWN: &str =
    "{inputs} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta} left";

/// Template without a total: the size of standard input is not known before its end.
const UNKNOWN: &str = "{inputs} {spinner} {decimal_bytes} {decimal_bytes_per_sec} {elapsed}";

/// The progress display of a run, or a value that displays nothing.
pub struct Progress {
    bar: ProgressBar,
    done: Arc<AtomicUsize>,
    watcher: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to display the progress on `jobs`, which `meter` measures.
    pub fn start<'a>(
        telling: &Telling,
        data_on_stdout: bool,
        jobs: impl ExactSizeIterator<Item = &'a Job>,
        meter: &Meter,
    ) -> Self {
        if !wanted(telling, data_on_stdout) {
            return Self::none();
        }
        let (bar, done) = (ProgressBar::hidden(), Arc::default());
        let inputs = jobs.len();
        meter.watch();
        let size: Option<u64> = jobs.map(Job::size).sum();
        bar.set_style(style(if size.is_some() { KNOWN } else { UNKNOWN }, &done, inputs));
        match size {
            Some(size) => bar.set_length(size),
            None => bar.unset_length(),
        }
        if telling.progress == When::Always {
            show(&bar);
            bar.tick();
        }
        let (sender, stop) = channel();
        let (watched, meter) = (bar.clone(), meter.clone());
        let watcher = std::thread::spawn(move || watch(&watched, &meter, &stop));
        Self { bar, done, watcher: Some((sender, watcher)) }
    }

    /// Returns a value that displays nothing.
    pub fn none() -> Self {
        Self { bar: ProgressBar::hidden(), done: Arc::default(), watcher: None }
    }

    /// Records that the work on one more input is done.
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes to the terminal while the bar is hidden.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, watcher)) = self.watcher.take() {
            drop(sender);
            // A watcher that panicked displays nothing any more.
            let _ = watcher.join();
            self.bar.finish_and_clear();
        }
    }
}

/// Whether a bar is displayed. The bar is for a user at a terminal, and not for a terminal to which
/// a session is printed.
fn wanted(telling: &Telling, data_on_stdout: bool) -> bool {
    let data = data_on_stdout && stdout().is_terminal();
    match telling.progress {
        When::Always => true,
        When::Never => false,
        When::Auto => stderr().is_terminal() && !telling.quiet && !telling.json && !data,
    }
}

fn style(template: &str, done: &Arc<AtomicUsize>, inputs: usize) -> ProgressStyle {
    let done = Arc::clone(done);
    let count = move |_: &ProgressState, out: &mut dyn Write| {
        // Writing to memory cannot fail.
        let _ = write!(out, "{}/{inputs} inputs", done.load(Ordering::Relaxed));
    };
    // A test holds that the templates are sound.
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("inputs", count)
}

fn watch(bar: &ProgressBar, meter: &Meter, stop: &Receiver<()>) {
    while stop.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        if bar.is_hidden() {
            show(bar);
        }
        bar.set_position(meter.bytes());
    }
}

fn show(bar: &ProgressBar) {
    // A target of this kind does not check again whether there is a terminal.
    let terminal = Box::new(console::Term::buffered_stderr());
    bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(terminal, 10));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_sound() {
        for template in [KNOWN, UNKNOWN] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}
