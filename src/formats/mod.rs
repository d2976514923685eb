//! The one table of formats.
//!
//! A new format is a folder here and a row below; detection, the command line, the documentation
//! and the tests of every law walk this table.

pub mod agent_orchestrator;
pub mod canonical;
pub mod codelia;
pub mod connectonion;
pub mod pi;

use crate::format::{Format, Version};
use crate::named::Named;

/// Every format, in the order in which they are listed.
pub static FORMATS: &[&Format] = &[
    &pi::FORMAT,
    &connectonion::FORMAT,
    &agent_orchestrator::FORMAT,
    &codelia::FORMAT,
    &canonical::FORMAT,
];

/// The formats whose software finds sessions by name.
pub static NAMED: &[&Named] = &[&agent_orchestrator::NAMED];

/// A format, and a version of it if one was named.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The format.
    pub format: &'static Format,
    /// The version.
    pub version: Option<&'static Version>,
}

impl Spec {
    /// Reads `name` or `name@version`.
    ///
    /// # Errors
    /// What is wrong with it, with the names that there are.
    ///
    /// ```
    /// use copyist::formats::Spec;
    /// assert_eq!(Spec::parse("pi@2").unwrap().version.unwrap().number, 2);
    /// assert!(Spec::parse("pi").unwrap().version.is_none());
    /// assert!(Spec::parse("word").unwrap_err().contains("known formats: pi, connectonion, agent-orchestrator, codelia, canonical"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, number) = match text.split_once('@') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let Some(format) = FORMATS.iter().find(|f| f.name == name || f.aliases.contains(&name))
        else {
            let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
            return Err(format!(
                "no format is called `{name}`; known formats: {}",
                names.join(", ")
            ));
        };
        let Some(number) = number else {
            return Ok(Self { format, version: None });
        };
        let version = number.parse().ok().and_then(|number| format.version(number));
        if version.is_none() {
            let numbers: Vec<_> = format.versions.iter().map(|v| v.number.to_string()).collect();
            let numbers = numbers.join(", ");
            return Err(format!("{name} has no version `{number}`; it has {numbers}"));
        }
        Ok(Self { format, version })
    }

    /// The version named, or the one that is written when none is.
    #[must_use]
    pub fn version(&self) -> &'static Version {
        let usual = self.format.usual.and_then(|usual| self.format.version(usual));
        let named = self.version.or(usual).or(self.format.versions.last());
        named.unwrap_or(&canonical::FORMAT.versions[0])
    }
}
