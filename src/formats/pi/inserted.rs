//! Texts that pi writes in the name of the user. Conversions write its summaries and commands in the
//! same words.

use crate::format::{Inserted, Typed};

/// The texts: summaries, skills, commands that the user ran.
pub const INSERTED: Inserted = Inserted {
    passages: &[
        (
            "The conversation history before this point was compacted into the following summary:",
            "",
        ),
        ("The following is a summary of a branch that this conversation came back from:", ""),
        ("Another language model worked on this task and produced a summary", ""),
    ],
    typed: Some(typed),
    ..Inserted::NOTHING
};

fn typed(text: &str) -> Option<Typed> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("<skill name=\"") {
        let (name, rest) = rest.split_once('"')?;
        let (_, words) = rest.split_once("</skill>")?;
        return Some(Typed::Question(format!("/skill:{name} {}", words.trim()).trim().to_owned()));
    }
    let (command, output) = text.strip_prefix("Ran `")?.split_once("`\n")?;
    let is_output = output.starts_with("```\n") || output.starts_with("(no output)");
    is_output.then(|| Typed::Command(format!("! {command}")))
}
