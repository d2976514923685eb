//! Sessions that their software keeps in one folder and asks for by name.

use crate::format::Format;
use crate::json::Json;

/// How a program finds its sessions by name, and what it makes of them.
#[derive(Debug)]
pub struct Named {
    /// The sessions' format.
    pub format: &'static Format,
    /// The environment variable for the project's folder.
    pub project_variable: &'static str,
    /// The one for the sessions' folder.
    pub sessions_variable: &'static str,
    /// The one for the folder of agents' definitions.
    pub agents_variable: &'static str,
    /// The sessions' folder in that of the project.
    pub sessions_below: &'static str,
    /// The agents' folder in that of the project.
    pub agents_below: &'static str,
    /// The ending of a log's name.
    pub log: &'static str,
    /// The ending of the metadata's name.
    pub metadata: &'static str,
    /// Whether a session may be called so.
    pub is_name: fn(&str) -> bool,
    /// The same in words.
    pub rule: &'static str,
    /// What the last line of a log says.
    pub judge: fn(&[u8]) -> Verdict,
    /// What the metadata say.
    pub about: fn(&[u8]) -> Result<About, String>,
    /// Counts what a line of a log adds.
    pub count: fn(&[u8], &mut Counts),
}

/// What the software says of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There are no metadata of that name.
    NotExistent,
    /// It is at work, or was killed.
    Running,
    /// It came to an end.
    Finished,
}

impl Status {
    /// The software's own word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotExistent => "not_existent",
            Self::Running => "running",
            Self::Finished => "finished",
        }
    }
}

/// What the last line of a log says, by the rules of all releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the session came to an end, by the newest rule.
    pub finished: bool,
    /// Why, in a few words.
    pub why: String,
    /// What an older rule says: whose it is, whether the session came to an end, and why.
    pub others: Vec<(&'static str, bool, String)>,
    /// What the software itself would die of.
    pub fatal: Option<String>,
    /// The result, if there is one.
    pub result: Option<Json>,
}

/// What the metadata of a session say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name in them.
    pub name: Option<String>,
    /// The identifier that a resume needs.
    pub id: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The project's folder.
    pub project: Option<String>,
    /// When the session began.
    pub created: Option<String>,
    /// When it was last resumed.
    pub resumed: Option<String>,
    /// What is wrong with them.
    pub faults: Vec<String>,
}

/// What is counted over a log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Prompts that a person gave.
    pub prompts: u64,
    /// Results of prompts; older logs have no prompts.
    pub results: u64,
    /// What they cost, in US dollars, where any says so.
    pub cost: Option<f64>,
}

impl Counts {
    /// How many turns there are.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.prompts.max(self.results)
    }
}
