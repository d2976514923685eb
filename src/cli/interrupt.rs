//! Signals that request the end of the program.

use crate::store::Meter;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Time between two looks for a signal.
const PAUSE: Duration = Duration::from_millis(100);

/// Time without a byte read after which a run that shall end is blocked.
const BLOCKED: Duration = Duration::from_secs(3);

/// The signal by which the user or the system requested the end of the run, if there was one.
#[derive(Debug, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Handles the signals from now on. The first one requests the end of the run, and a second one
    /// ends the process at once. The next run removes the temporary files that remain then.
    pub fn watch() -> io::Result<Self> {
        let interrupt = Self::default();
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let code = 128 + signal;
            // This order matters, because the first signal must not find the mark that it sets
            // itself.
            flag::register_conditional_shutdown(signal, code, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            let code = usize::try_from(code).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&interrupt.0), code)?;
        }
        Ok(interrupt)
    }

    /// Ends the process after a signal if no input is read any more: a pipe without a writer and a
    /// network that does not answer block a read for ever. What is written then is as after a
    /// second signal.
    pub fn end_if_blocked(&self, meter: &Meter) -> io::Result<()> {
        let (code, meter) = (Self(Arc::clone(&self.0)), meter.clone());
        let watch = move || {
            let mut before = None;
            loop {
                std::thread::sleep(if before.is_some() { BLOCKED } else { PAUSE });
                let Some(code) = code.code() else { continue };
                let read = Some(meter.bytes());
                if before == read {
                    std::process::exit(i32::from(code));
                }
                before = read;
            }
        };
        std::thread::Builder::new().spawn(watch).map(drop)
    }

    /// Returns the exit code for the signal that ended the run early.
    pub fn code(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|code| *code > 0)
    }
}

/// With a limit on file sizes, lets a write fail instead of the process being killed.
pub fn outlive_size_limit() -> io::Result<()> {
    #[cfg(unix)]
    flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}
