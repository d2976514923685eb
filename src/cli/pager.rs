//! Long outputs at a terminal, page by page.

use super::{Stop, print};
use std::io::{self, IsTerminal, Write, stdout};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Prints a text. At a terminal that has fewer lines, it is printed by the program that
/// `COPYIST_PAGER` or `PAGER` names, else by `less`; an empty name prints it at once.
pub fn page(text: &str) -> Result<u8, Stop> {
    let height = terminal_size::terminal_size().map(|(_, terminal_size::Height(height))| height);
    let fits = height.is_none_or(|height| text.lines().count() < usize::from(height));
    if fits || !stdout().is_terminal() {
        return print(text.as_bytes());
    }
    let Some(mut pager) = Pager::start() else { return print(text.as_bytes()) };
    // The user may end the pager before the text is at its end.
    let _ = pager.write_all(text.as_bytes());
    Ok(0)
}

/// Opens standard output for a long text that is written piece by piece: at a terminal through the
/// pager.
pub fn open() -> Box<dyn Write> {
    let pager = stdout().is_terminal().then(Pager::start).flatten();
    pager.map_or_else(|| Box::new(stdout()) as Box<dyn Write>, |pager| Box::new(pager))
}

/// A running pager. Its end is awaited when it is dropped.
struct Pager {
    program: Child,
    input: Option<ChildStdin>,
}

impl Pager {
    /// Starts the program that the user wants; `None` if that is none, or cannot be started.
    fn start() -> Option<Self> {
        let named = std::env::var("COPYIST_PAGER").or_else(|_| std::env::var("PAGER"));
        let command = named.unwrap_or_else(|_| "less".to_owned());
        let mut words = command.split_whitespace();
        let mut pager = Command::new(words.next()?);
        pager.args(words).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // Colours, and no change of a screen that the text fits into.
            pager.env("LESS", "FRX");
        }
        let mut program = pager.spawn().ok()?;
        let input = program.stdin.take();
        Some(Self { program, input })
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.input.as_mut().map_or(Ok(bytes.len()), |input| input.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.input = None;
        // The user ends the pager.
        let _ = self.program.wait();
    }
}
