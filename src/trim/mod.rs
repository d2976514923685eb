//! Making a session smaller without a model: what weighs how much, and what is cut for a limit.

mod weigh;

use crate::cuts::Cuts;
pub use weigh::weigh;

/// Kind of contents that can be cut. Kinds are cut in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Progress lines and snapshots of files, which no model gets.
    Progress,
    /// Branches that the conversation left.
    Branches,
    /// Output that comes again in a later result.
    Copies,
    /// Images and documents.
    Images,
    /// Thoughts of the model.
    Thinking,
    /// Output of tools.
    Results,
}

impl Step {
    /// All kinds, in the order in which they are cut.
    pub const ALL: [Self; 6] =
        [Self::Progress, Self::Branches, Self::Copies, Self::Images, Self::Thinking, Self::Results];

    /// The name in options and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Branches => "branches",
            Self::Copies => "copies",
            Self::Images => "images",
            Self::Thinking => "thinking",
            Self::Results => "results",
        }
    }

    /// Description of the kind.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Progress => "progress lines and snapshots of files",
            Self::Branches => "branches that the conversation left",
            Self::Copies => "output that comes again in a later result",
            Self::Images => "images and documents",
            Self::Thinking => "thoughts of the model",
            Self::Results => "output of tools",
        }
    }
}

/// Contents of one kind in one record.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Place of the record in the order of reading.
    pub place: u64,
    /// The kind.
    pub step: Step,
    /// Size in bytes in the file.
    pub bytes: u64,
    /// Size in bytes of what a model gets of it; an image counts as much as it costs tokens.
    pub context: u64,
    /// Whether the whole record goes.
    is_record: bool,
}

/// Sum of contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Number of records.
    pub records: u64,
    /// Size in bytes in the file.
    pub bytes: u64,
    /// Size in bytes of what a model gets of it.
    pub context: u64,
}

impl Weight {
    fn add(&mut self, item: &Item) {
        self.records += 1;
        self.bytes += item.bytes;
        self.context += item.context;
    }
}

/// Weights of the contents of a session.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// Contents that may be cut, in the order in which they are cut: by kinds, the oldest first.
    items: Vec<Item>,
    /// All contents of each kind, in the order of [`Step::ALL`].
    pub all: [Weight; 6],
    /// Number of messages that a model gets.
    pub messages: u64,
    /// Size in bytes of the text that a model gets.
    pub text: u64,
    /// Number of tokens of the last context, as the session itself counted them.
    pub tokens: Option<u64>,
}

impl Weights {
    /// Returns the cuts of these kinds until so many bytes of the file, or of what a model gets, are
    /// saved, and what is cut of each kind, in the order of [`Step::ALL`].
    #[must_use]
    pub fn cuts(&self, steps: &[Step], enough: impl Fn(Weight) -> bool) -> (Cuts, [Weight; 6]) {
        let (mut cuts, mut done, mut sum) =
            (Cuts::default(), [Weight::default(); 6], Weight::default());
        for item in self.items.iter().filter(|item| steps.contains(&item.step)) {
            if enough(sum) {
                break;
            }
            let cut = cuts.at(item.place);
            if cut.record || item.step == Step::Results && cut.results {
                continue;
            }
            match item.step {
                Step::Progress if !item.is_record => cut.data = true,
                Step::Copies => (cut.results, cut.is_copy) = (true, true),
                Step::Images => cut.images = true,
                Step::Thinking if !item.is_record => cut.thoughts = true,
                Step::Results => cut.results = true,
                Step::Progress | Step::Branches | Step::Thinking => cut.record = true,
            }
            sum.add(item);
            done[item.step as usize].add(item);
        }
        (cuts, done)
    }

    /// Returns the size of the largest text with so many tokens.
    #[must_use]
    pub fn text_of(&self, tokens: u64) -> u64 {
        match self.tokens {
            Some(all) if all > 0 => (self.text as f64 * tokens as f64 / all as f64) as u64,
            _ => tokens.saturating_mul(4),
        }
    }

    /// Returns the number of tokens of a text of this size, as the session counts them, or else one
    /// for four bytes.
    #[must_use]
    pub fn tokens_of(&self, text: u64) -> u64 {
        match self.tokens.filter(|_| self.text > 0) {
            Some(tokens) => (tokens as f64 * text as f64 / self.text as f64).round() as u64,
            None => text / 4,
        }
    }
}
