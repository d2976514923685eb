//! Sessions that their software keeps in one folder and finds by name.

use crate::json::Json;

/// Rules by which a program finds its sessions by name and judges them.
#[derive(Debug)]
pub struct Named {
    /// The name of the format of its sessions.
    pub format: &'static str,
    /// The environment variable for the project's folder.
    pub project_variable: &'static str,
    /// The environment variable for the sessions' folder.
    pub sessions_variable: &'static str,
    /// The environment variable for the folder of agents' definitions.
    pub agents_variable: &'static str,
    /// The sessions' folder, below the project's folder.
    pub sessions_below: &'static str,
    /// The agents' folder, below the project's folder.
    pub agents_below: &'static str,
    /// The ending of a log's name.
    pub log: &'static str,
    /// The ending of the metadata's name.
    pub metadata: &'static str,
    /// Whether a session may have this name.
    pub is_name: fn(&str) -> bool,
    /// The rule for names, in words.
    pub rule: &'static str,
    /// Judges a session by the last line of its log.
    pub judge: fn(&[u8]) -> Verdict,
    /// Reads the metadata of a session.
    pub about: fn(&[u8]) -> Result<About, String>,
    /// Counts the prompts, results and cost of a line of a log.
    pub count: fn(&[u8], &mut Counts),
}

/// Status of a session for its software.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There are no metadata of that name.
    NotExistent,
    /// The session is running, or was killed.
    Running,
    /// The session has ended.
    Finished,
}

impl Status {
    /// The software's own word.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotExistent => "not_existent",
            Self::Running => "running",
            Self::Finished => "finished",
        }
    }
}

/// Verdict on the last line of a log, by the rules of all releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the session has ended, by the newest rule.
    pub finished: bool,
    /// Reason for the verdict, in a few words.
    pub why: String,
    /// Verdicts of older rules: the rule's name, whether the session has ended, and the reason.
    pub others: Vec<(&'static str, bool, String)>,
    /// Fault that would crash the software itself.
    pub fatal: Option<String>,
    /// The result, if there is one.
    pub result: Option<Json>,
}

/// Content of the metadata of a session.
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
    /// Faults of the metadata.
    pub faults: Vec<String>,
}

/// Counts over a log.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Prompts of the user.
    pub prompts: u64,
    /// Results of prompts; older logs have no prompts.
    pub results: u64,
    /// Cost of the prompts, in US dollars, where a line contains it.
    pub cost: Option<f64>,
}

impl Counts {
    /// Returns how many turns there are.
    pub fn turns(&self) -> u64 {
        self.prompts.max(self.results)
    }
}
