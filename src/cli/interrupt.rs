//! Signals that ask for an end.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether the person, or the system, wants the run to end.
#[derive(Debug, Default)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Takes the signals from now on: the first asks for an end, a second one is the end. What that
    /// leaves, the next run sweeps.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn watch() -> io::Result<Self> {
        let interrupt = Self::default();
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let code = 128 + signal;
            // In this order, for the first one must not find its own mark.
            flag::register_conditional_shutdown(signal, code, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
            let code = usize::try_from(code).unwrap_or_default();
            flag::register_usize(signal, Arc::clone(&interrupt.0), code)?;
        }
        // Whoever limits how large files may be wants the write to fail, not the run to vanish.
        #[cfg(unix)]
        flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        Ok(interrupt)
    }

    /// The exit code that says why the run ended before its time.
    pub fn code(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|code| *code > 0)
    }
}
