//! The real Codex CLI as judge: each release resumes a rollout. The oracle says how to install
//! it; `CODEX_ORACLE_CACHE` names the folder of the installed releases.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Releases that judge: one of each time.
pub const RELEASES: [&str; 4] = ["0.34.0", "0.77.0", "0.142.0", "0.169.0"];

/// The installed releases.
pub struct Cli {
    script: PathBuf,
}

/// Result of a release that resumed a rollout.
#[derive(Debug, Default)]
pub struct Answer {
    /// Whether it resumes the session.
    pub resumed: bool,
    /// Whether its picker shows the session, for any source and provider.
    pub listed: bool,
    /// The items that it sends, without the prompt and its own texts.
    pub sent: Vec<Value>,
    pub error: String,
}

impl Cli {
    /// Finds the releases, or reports that they are missing.
    pub fn find() -> Option<Self> {
        let (script, cache) = Self::places();
        let all = RELEASES.iter().all(|release| cache.join(release).join("codex").exists());
        if all && script.is_file() {
            return Some(Self { script });
        }
        eprintln!("SKIP the real Codex CLI: oracle/codex/install.sh installs {RELEASES:?}");
        None
    }

    /// The script that asks, and the folder of the releases.
    fn places() -> (PathBuf, PathBuf) {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/codex/resume_probe.py");
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        let cache = std::env::var_os("CODEX_ORACLE_CACHE")
            .map_or_else(|| home.join(".cache/copyist-codex"), PathBuf::from);
        (script, cache)
    }

    /// Finds the newest release alone, or reports that it is missing.
    pub fn find_newest() -> Option<Self> {
        let (script, cache) = Self::places();
        let newest = RELEASES[RELEASES.len() - 1];
        if cache.join(newest).join("codex").exists() && script.is_file() {
            return Some(Self { script });
        }
        eprintln!("SKIP the real Codex CLI: oracle/codex/install.sh installs {newest}");
        None
    }

    /// Asks every release.
    pub fn ask(&self, rollout: &Path) -> [Answer; 4] {
        std::thread::scope(|scope| {
            RELEASES
                .map(|release| scope.spawn(move || self.ask_one(release, rollout)))
                .map(|asked| asked.join().expect("an answer"))
        })
    }

    /// Asks one release.
    pub fn ask_one(&self, release: &str, rollout: &Path) -> Answer {
        let mut asked = Command::new("python3");
        asked.arg(&self.script).args(["--version", release, "--timeout", "60"]).arg(rollout);
        let done = asked.output().expect("python3");
        let Ok(value) = serde_json::from_slice::<Value>(&done.stdout) else {
            let error = String::from_utf8_lossy(&done.stderr).into_owned();
            return Answer { error, ..Answer::default() };
        };
        let mut sent = items(value["input"].as_array().cloned().unwrap_or_default());
        // The prompt of the probe.
        let resumed = value["rc"] == 0 && sent.pop().is_some();
        Answer {
            resumed,
            listed: value["listed"]["after"]["all"] == true,
            sent,
            error: value["error"].to_string(),
        }
    }
}

/// Items without Codex's own texts, and without members that only a client needs.
pub fn items(list: Vec<Value>) -> Vec<Value> {
    const OWN: &[&str] = &[
        "<environment_context>",
        "<user_instructions>",
        "# AGENTS.md instructions for",
        "<permissions instructions>",
        "<skills_instructions>",
        "<turn_aborted>",
    ];
    let own = |item: &Value| {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        let role = item["role"].as_str().unwrap_or_default();
        ["developer", "system"].contains(&role) || OWN.iter().any(|begin| text.starts_with(begin))
    };
    list.into_iter().filter(|item| !own(item)).map(plain).collect()
}

fn plain(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.retain(|key, value| {
                !value.is_null()
                    && key != "id"
                    && key != "internal_chat_message_metadata_passthrough"
            });
            map.values_mut().for_each(|value| *value = plain(value.take()));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = plain(value.take())),
        _ => {}
    }
    value
}
