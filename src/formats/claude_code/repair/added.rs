//! Lines that repair adds to a transcript.

use super::super::uuid::uuid_of;
use super::super::wire;
use super::quoted;
use crate::diagnostic::Code;
use crate::json::Json;
use crate::mapping::Object;
use crate::times;
use jiff::Timestamp;

/// Words of the line that names the end of a conversation.
const END: &str = "The conversation continues here.";

/// The line behind which lines are added: another line of the session, and the identifier and the
/// time of the line itself.
#[derive(Debug)]
pub struct Last {
    pub like: Json,
    pub parent: Vec<u8>,
    pub time: Timestamp,
}

impl Last {
    /// Adds the result of a call.
    pub fn add_result(&mut self, call: &[u8], block: &[u8], out: &mut Vec<u8>) {
        let message = [b"{\"role\":\"user\",\"content\":[", block, b"]}"].concat();
        let members = [("type", &b"\"user\""[..]), ("message", &message)];
        self.write(&seed(call), &members, Code::ResultSynthesized, out);
    }

    /// Adds a line that is not sent, so that the last line of the file is the end of the
    /// conversation.
    pub fn add_mark(&mut self, out: &mut Vec<u8>) {
        let text = quoted(END);
        let members = [
            ("type", &b"\"system\""[..]),
            ("subtype", b"\"informational\""),
            ("content", &text),
            ("level", b"\"info\""),
        ];
        self.write(b" end", &members, Code::EndMarked, out);
    }

    fn write(&mut self, seed: &[u8], members: &[(&str, &[u8])], code: Code, out: &mut Vec<u8>) {
        self.time = times::after(self.time);
        let uuid = name(&self.parent, seed);
        let mut line = Object::open(out);
        line.member(wire::PARENT, &self.parent);
        for key in [wire::SIDE, "userType", "cwd", "sessionId", "version", "gitBranch", "agentId"] {
            let value = self.like.member(key);
            value.into_iter().for_each(|value| line.member(key, value.as_bytes()));
        }
        members.iter().for_each(|(key, value)| line.member(key, value));
        line.member("uuid", &uuid);
        line.member("timestamp", &quoted(&times::with_millis(self.time)));
        let note = format!("{{\"repaired\":[{{\"code\":\"{}\"}}]}}", code.name());
        line.member("copyist", note.as_bytes());
        line.close();
        out.push(b'\n');
        self.parent = uuid;
    }
}

/// Returns the identifier of the result of a call that is added behind this line.
pub fn name_of_result(parent: &[u8], call: &[u8]) -> Vec<u8> {
    name(parent, &seed(call))
}

fn seed(call: &[u8]) -> Vec<u8> {
    [call, b" result"].concat()
}

fn name(parent: &[u8], seed: &[u8]) -> Vec<u8> {
    quoted(&uuid_of(&[parent, seed].concat()))
}
