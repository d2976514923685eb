//! The machine on which the examples of the documentation run: a home folder with a few small
//! sessions of our own.

use crate::common::{files, own, read, testdata};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The home folder that pages show.
pub const HOME: &str = "/home/ada";

/// Sessions that every page finds in the home folder: path and case of `testdata/`.
const SESSIONS: &[(&str, &str)] = &[
    (".claude/projects/-home-ada-lamps", "claude-code/v2/parallel"),
    (".claude/projects/-home-ada-lamps", "claude-code/v1/sidechain"),
    (".codex/sessions/2026/10/20", "codex/v3/mars"),
    (".codex/sessions/2025/09/14", "codex/v2/polish"),
    (".pi/agent/sessions/--home-ada-tidemark--", "pi/v1/feature-work"),
    (".pi/agent/sessions/--home-ada-kestrel--", "pi/v2/branched"),
];

/// Folders of the sessions' projects, and those that they have on this machine.
const PROJECTS: &[(&str, &str)] = &[
    ("/home/mira/code/tidemark", "/home/ada/tidemark"),
    ("/home/tomasz/kestrel-maps", "/home/ada/kestrel"),
    ("/home/tomasz", "/home/ada"),
    ("/srv/orrery", "/home/ada/orrery"),
];

/// Separates the outputs of two commands.
const END: &str = "\u{1}";

/// A home folder whose path is as long as [`HOME`], so that tables and byte numbers are the same.
pub struct Machine(tempfile::TempDir);

impl Machine {
    /// A machine with the usual sessions and these files: each a name, a case of `testdata/` and
    /// perhaps the number of bytes after which the file is cut.
    pub fn new(files: &str) -> Self {
        let home = tempfile::Builder::new().prefix("").rand_bytes(4).tempdir_in("/tmp");
        let machine = Self(home.expect("a folder"));
        for (folder, case) in SESSIONS {
            machine.add(folder, case);
        }
        for (_, project) in PROJECTS {
            let _ = std::fs::create_dir_all(machine.real(project));
        }
        std::fs::create_dir_all(machine.real("/home/ada/lamps")).expect("a folder");
        for file in files.split(';').map(str::trim).filter(|file| !file.is_empty()) {
            let mut words = file.split_whitespace();
            let (name, case) = (words.next().expect("a name"), words.next().expect("a case"));
            let mut text = machine.local(&own(case));
            if let Some(length) = words.next() {
                text.truncate(length.parse().expect("a number of bytes"));
            }
            machine.write(&PathBuf::from(name), &text);
        }
        machine
    }

    fn home(&self) -> &str {
        self.0.path().to_str().expect("UTF-8")
    }

    /// A path or text with the real home folder in the place of the shown one.
    fn real(&self, text: &str) -> String {
        let text = text.replace(HOME, self.home());
        text.replace(&HOME.replace('/', "-"), &self.home().replace('/', "-"))
    }

    fn shown(&self, text: &str) -> String {
        let text = text.replace(self.home(), HOME);
        text.replace(&self.home().replace('/', "-"), &HOME.replace('/', "-"))
    }

    /// Contents of a case, as a session of this machine.
    fn local(&self, bytes: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
        let moved =
            PROJECTS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        self.real(&moved).into_bytes()
    }

    fn add(&self, folder: &str, case: &str) {
        let from = testdata().join(case).join("in");
        for file in files(&from) {
            let name = file.strip_prefix(&from).expect("below");
            self.write(&Path::new(&self.real(folder)).join(name), &self.local(&read(&file)));
        }
    }

    fn write(&self, name: &Path, bytes: &[u8]) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }

    /// Runs commands in one shell, in the home folder; returns what each printed, as a terminal of
    /// this many columns shows it.
    pub fn run(&self, commands: &[String], colour: &str) -> Vec<String> {
        let end = format!("\nprintf '{END}'\n");
        let script = format!("exec 2>&1\n{}{end}", commands.join(&end));
        let program = Path::new(env!("CARGO_BIN_EXE_copyist")).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let done = Command::new("sh")
            .args(["-c", &self.real(&script)])
            .env_clear()
            .env("PATH", format!("{}:{path}", program.display()))
            .env("HOME", self.home())
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .env("COPYIST_WIDTH", "96")
            .env("COPYIST_COLOR", colour)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let text = self.shown(&String::from_utf8(done.stdout).expect("UTF-8"));
        text.split_terminator(END).map(fixed_time).collect()
    }
}

/// A text in which names of journals contain a time that does not pass.
fn fixed_time(text: &str) -> String {
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.jsonl");
    let time = time.expect("a pattern");
    time.replace_all(text, "2026-11-27T09-30-00-000Z.jsonl").into_owned()
}
