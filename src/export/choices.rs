//! The user's choices for rows.

/// The shape of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// OpenAI's Chat Completions.
    OpenAi,
    /// OpenAI's Chat Completions as fine-tuning takes them: with tools, and an answer at the end.
    Finetune,
    /// Transformers and TRL.
    Trl,
    /// ShareGPT, as LLaMA-Factory reads it.
    ShareGpt,
    /// Anthropic's Messages.
    Anthropic,
    /// Session traces of Hugging Face: a session is several lines.
    Sts,
}

/// The part of a session that becomes one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// The current branch.
    #[default]
    Session,
    /// Each branch, from the root to its end.
    Branch,
    /// The current branch up to the end of each turn.
    Turn,
}

impl Per {
    /// Every part: its name, a line about it, and itself.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("session", "The current branch", Self::Session),
        ("branch", "Each branch", Self::Branch),
        ("turn", "The current branch up to the end of each turn", Self::Turn),
    ];
}

/// The place of a model's thoughts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// The shape's own place for thoughts; thoughts are left out where there is none.
    Keep,
    /// The beginning of the answer's text, in `<think>`.
    Move,
    /// Thoughts are left out.
    Drop,
}

/// The choices for one export.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    /// The shape of the rows.
    pub style: Style,
    /// The part of a session that is a row.
    pub per: Per,
    /// The place of thoughts.
    pub reasoning: Reasoning,
    /// Whether images stay.
    pub images: bool,
    /// Maximum number of characters of a tool's result.
    pub tool_results: Option<usize>,
    /// Whether system messages stay.
    pub system: bool,
    /// Whether only sessions whose turns were checked and passed have rows.
    pub passed: bool,
}

impl Choices {
    /// Returns the choices that fit a style: thoughts and images stay where the style has a place
    /// for them.
    #[must_use]
    pub fn of(style: Style) -> Self {
        let reasoning = match style {
            Style::Trl | Style::Anthropic | Style::ShareGpt => Reasoning::Keep,
            Style::OpenAi | Style::Finetune | Style::Sts => Reasoning::Drop,
        };
        Self {
            style,
            per: Per::Session,
            reasoning,
            images: style.has_images(),
            tool_results: None,
            system: true,
            passed: false,
        }
    }
}

impl Style {
    /// Every style: its name, a line about it, and itself.
    pub const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("openai", "OpenAI's Chat Completions", Self::OpenAi),
        (
            "finetune",
            "Chat Completions for fine-tuning: with tools, an answer at the end",
            Self::Finetune,
        ),
        ("trl", "Transformers and TRL", Self::Trl),
        ("sharegpt", "ShareGPT, for LLaMA-Factory", Self::ShareGpt),
        ("anthropic", "Anthropic's Messages", Self::Anthropic),
        ("sts", "Session traces of Hugging Face, several lines for each session", Self::Sts),
    ];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(.., style)| *style == self).map_or("", |(name, ..)| name)
    }

    /// Whether the style has a place for images.
    #[must_use]
    pub fn has_images(self) -> bool {
        matches!(self, Self::OpenAi | Self::Finetune | Self::Anthropic)
    }
}
