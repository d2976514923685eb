//! The check of a turn: what was expected of it, and how it was judged.

use crate::json::Json;
use crate::record::{Field, Node};
use serde::Serialize;

/// The check that a session stores for a turn. copyist compares tools; the judgement of texts is
/// that which the session contains.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Check {
    /// Expected answer, or its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<serde_json::Value>,
    /// Outcome that is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<serde_json::Value>,
    /// Explanation that is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// Expected tools, compared with those that were called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ExpectedTools>,
}

/// Expected tools, and how the tools that were called differ from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExpectedTools {
    /// Names of the expected tools.
    pub expected: Vec<String>,
    /// Expected tools that were not called, or not as often.
    pub missing: Vec<String>,
    /// Tools that were called and not expected.
    pub extra: Vec<String>,
}

impl Check {
    /// Returns the check in the values of a turn; `None` if all of them are empty.
    pub fn of(eval: &Node) -> Option<Self> {
        let value = |field| {
            let json =
                eval.json(field).filter(|json| !json.is_null() && json.as_bytes() != b"\"\"")?;
            serde_json::from_slice(json.as_bytes()).ok()
        };
        let text = |field| eval.text(field).filter(|text| !text.is_empty());
        let tools = eval
            .json(Field::ExpectTools)
            .map(|tools| ExpectedTools { expected: names(tools), ..ExpectedTools::default() });
        let check = Self {
            expected: value(Field::Expected).or_else(|| value(Field::ExpectResult)),
            passed: value(Field::Passed),
            explanation: text(Field::Analysis).or_else(|| text(Field::Evaluation)),
            tools,
        };
        (check != Self::default()).then_some(check)
    }

    /// Returns the stored outcome and that of the tools in words.
    pub fn words(&self) -> String {
        let passed = self.passed.as_ref().map(|passed| match passed {
            serde_json::Value::Bool(true) => "passed".to_owned(),
            serde_json::Value::Bool(false) => "failed".to_owned(),
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let tools = self.tools.as_ref().and_then(|tools| match tools.is_passed() {
            true if passed.is_some() => None,
            true => Some("tools pass".to_owned()),
            false => Some(tools.words()),
        });
        passed.into_iter().chain(tools).collect::<Vec<_>>().join("; ")
    }

    /// Returns the expected answer in words.
    pub fn expectation(&self) -> Option<String> {
        self.expected.as_ref().map(|expected| match expected {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }

    /// Compares the expected tools with those that were called.
    pub fn compare(&mut self, called: &[String]) {
        let Some(tools) = &mut self.tools else { return };
        let mut open = called.to_vec();
        tools.missing.clear();
        for name in &tools.expected {
            match open.iter().position(|called| called == name) {
                Some(place) => drop(open.swap_remove(place)),
                None => tools.missing.push(name.clone()),
            }
        }
        tools.extra.clear();
        for name in called {
            if !tools.expected.contains(name) && !tools.extra.contains(name) {
                tools.extra.push(name.clone());
            }
        }
    }
}

impl ExpectedTools {
    /// Whether the expected tools were called, and no others.
    pub fn is_passed(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty()
    }

    /// Returns the outcome in words.
    pub fn words(&self) -> String {
        let list = |name: &str, tools: &[String]| {
            (!tools.is_empty()).then(|| format!("{name}: {}", tools.join(", ")))
        };
        let parts = [list("missing", &self.missing), list("extra", &self.extra)];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "pass".to_owned() } else { parts.join("; ") }
    }
}

/// Returns the names of tools: a list, or one text with commas.
fn names(tools: &Json) -> Vec<String> {
    let one = tools.text();
    let listed = tools.elements().filter_map(|tool| tool.text());
    let texts: Vec<String> = match one {
        Some(text) => text.split(',').map(str::to_owned).collect(),
        None => listed.collect(),
    };
    texts.iter().map(|text| name(text)).filter(|name| !name.is_empty()).collect()
}

/// Returns the name of a tool in the display of a call, such as `run(command='ls')`.
pub fn name(call: &str) -> String {
    call.split('(').next().unwrap_or_default().trim().to_owned()
}
