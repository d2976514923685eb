//! Signals that request the end of the program.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signal by which the user or the system requested the end of the run, if there was one.
#[derive(Debug, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Handles the signals from now on. The first one requests the end of the run, and a second one
    /// ends the process at once. The next run removes the temporary files that remain then.
    ///
    /// # Errors
    /// If the system refuses.
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

    /// Returns the exit code for the signal that ended the run early.
    pub fn code(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|code| *code > 0)
    }
}

/// With a limit on file sizes, lets a write fail instead of the process being killed.
///
/// # Errors
/// If the system refuses.
pub fn outlive_size_limit() -> io::Result<()> {
    #[cfg(unix)]
    flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    Ok(())
}
