//! Texts that Codex writes in the name of the user.

use crate::format::{Inserted, Typed};

/// The texts: the project's instructions, the environment, skills, interruptions, reports of
/// sub-agents.
pub const INSERTED: Inserted = Inserted {
    elements: &[
        "environment_context",
        "user_instructions",
        "INSTRUCTIONS",
        "permissions instructions",
        "collaboration_mode",
        "personality_spec",
        "model_switch",
        "apps_instructions",
        "plugins_instructions",
        "skills_instructions",
        "recommended_plugins",
        "additional_context",
        "internal_model_context",
        "goal_context",
        "context_window",
        "context_window_guidance",
        "token_budget",
        "rollout_budget",
        "hook_prompt",
        "skill",
        "turn_aborted",
        "subagent_notification",
        SHELL,
        "user_action",
    ],
    passages: &[("# AGENTS.md instructions", "</INSTRUCTIONS>"), (SUMMARY, "")],
    typed: Some(typed),
    ..Inserted::NOTHING
};

/// Element of a command that the user ran in the program.
const SHELL: &str = "user_shell_command";

/// Beginning of the summary of a compaction.
const SUMMARY: &str = "Another language model started to solve this problem";

/// Heading of what an editor adds to a question, and the heading of the question.
const EDITOR: &str = "# Context from my IDE setup:";
const REQUEST: &str = "## My request for Codex:";

fn typed(text: &str) -> Option<Typed> {
    let text = text.trim();
    if text.starts_with(EDITOR) {
        let question = text.split_once(REQUEST)?.1.trim();
        return Some(Typed::Question(question.to_owned()));
    }
    let rest = text.strip_prefix(&format!("<{SHELL}>"))?;
    let (_, command) = rest.split_once("<command>")?;
    let (command, _) = command.split_once("</command>")?;
    Some(Typed::Command(format!("! {}", command.trim())))
}
