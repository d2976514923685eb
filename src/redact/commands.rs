//! Passwords in options of commands: `curl -u ada:…`, `sshpass -p …`.

use super::names::PASSWORD;
use super::values::is_given;
use super::{Found, Search};

/// Form of the argument of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The password.
    Password,
    /// The password, directly behind the option; without it, the command asks for one.
    Joined,
    /// A user's name, a colon and the password.
    User,
}

/// Command with options that accept a password.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Name of the command, with the space behind it.
    pub name: &'static str,
    options: &'static [&'static str],
    form: Form,
}

const fn command(name: &'static str, options: &'static [&'static str], form: Form) -> Command {
    Command { name, options, form }
}

/// Commands with options that accept a password. Those whose names speak of a secret, such as
/// `--password`, are found in every command.
pub const COMMANDS: &[Command] = {
    use Form::{Joined, Password, User};
    &[
        command("curl ", &["-u", "--user", "-U", "--proxy-user"], User),
        command("mysql ", &["-p"], Joined),
        command("mysqldump ", &["-p"], Joined),
        command("mysqladmin ", &["-p"], Joined),
        command("mariadb ", &["-p"], Joined),
        command("mariadb-dump ", &["-p"], Joined),
        command("7z ", &["-p"], Joined),
        command("sshpass ", &["-p"], Password),
        command("docker login ", &["-p"], Password),
        command("podman login ", &["-p"], Password),
        command("buildah login ", &["-p"], Password),
        command("registry login ", &["-p"], Password),
        command("az login ", &["-p"], Password),
        command("oc login ", &["-p"], Password),
        command("redis-cli ", &["-a"], Password),
        command("mongo ", &["-p"], Password),
        command("mongosh ", &["-p"], Password),
        command("mongodump ", &["-p"], Password),
        command("mongorestore ", &["-p"], Password),
        command("ldapsearch ", &["-w"], Password),
        command("ldapmodify ", &["-w"], Password),
        command("ldapadd ", &["-w"], Password),
        command("mosquitto_pub ", &["-P"], Password),
        command("mosquitto_sub ", &["-P"], Password),
        command("zip ", &["-P"], Password),
        command("unzip ", &["-P"], Password),
    ]
};

/// Maximum length of a command.
const LONGEST: usize = 1024;

impl Command {
    /// Searches for a password in the options of this command, whose name is at this place.
    pub fn find(&self, search: &mut Search<'_, '_>, at: usize) {
        if !search.is_boundary(at) {
            return;
        }
        let text = search.text;
        let mut arguments = Arguments { text, at: at + self.name.len(), end: at + LONGEST };
        while let Some((start, end)) = arguments.next() {
            let argument = text.get(start..end).unwrap_or_default();
            let option = |option: &&&str| argument.starts_with(**option);
            let Some(option) = self.options.iter().filter(option).max_by_key(|it| it.len()) else {
                continue;
            };
            let rest = argument.get(option.len()..).unwrap_or_default();
            let value = match rest {
                "" if self.form == Form::Joined => None,
                "" => arguments.next(),
                _ if option.starts_with("--") => {
                    rest.strip_prefix('=').map(|it| (end - it.len(), end))
                }
                _ => Some((start + option.len(), end)),
            };
            if let Some(found) = value.and_then(|(from, to)| self.password(text, from, to)) {
                search.add(found);
            }
        }
    }

    /// Returns the password in the argument of an option.
    fn password(&self, text: &str, from: usize, to: usize) -> Option<Found<'static>> {
        let argument = text.get(from..to)?;
        let inner = argument.trim_start_matches(['\\', '"', '\'']);
        let from = from + argument.len() - inner.len();
        let value = inner.trim_end_matches(['\\', '"', '\'']);
        let user = match self.form {
            Form::User => value.find(':')? + 1,
            _ => 0,
        };
        let given = is_given(value.get(user..)?);
        given.then_some(Found { start: from + user, end: from + value.len(), kind: PASSWORD })
    }
}

/// Arguments of a command, until its end or the end of its line.
struct Arguments<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl Arguments<'_> {
    /// Returns the place of the next argument, with its quotes.
    fn next(&mut self) -> Option<(usize, usize)> {
        let bytes = self.text.as_bytes();
        let bytes = bytes.get(..self.end.min(bytes.len()))?;
        loop {
            match bytes.get(self.at)? {
                b' ' | b'\t' => self.at += 1,
                b'\\' if bytes.get(self.at + 1) == Some(&b'\n') => self.at += 2,
                b'\\' if bytes.get(self.at + 1) == Some(&b'n') => return None,
                b'\n' | b'\r' | b'|' | b';' | b'&' | b')' | b'`' => return None,
                _ => break,
            }
        }
        let (start, mut quote) = (self.at, None);
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'\n' => break,
                b'"' | b'\'' if quote.is_none() => quote = Some(byte),
                _ if quote == Some(byte) => quote = None,
                b' ' | b'\t' | b'\r' | b';' | b'|' | b'`' if quote.is_none() => break,
                b'\\' if quote.is_none() && bytes.get(self.at + 1) == Some(&b'n') => break,
                _ => {}
            }
            self.at += 1;
        }
        Some((start, self.at))
    }
}
