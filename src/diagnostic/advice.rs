//! Classes of codes, and advice to users.

use super::{Code, Severity};

/// Advice for damage that cannot be skipped.
pub const GETS_BACK: &str = "`copyist repair` restores every complete record";

impl Code {
    /// Returns the code of this name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name().eq_ignore_ascii_case(name))
    }

    /// Whether the finding makes a session invalid. An unusual order, or an answer without its
    /// question, does not: the software reads both, and repair leaves them.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        let shape = self.name().starts_with("CY04");
        let read = matches!(
            self,
            Self::ForwardParent
                | Self::Unpaired
                | Self::EventOrder
                | Self::OldBranch
                | Self::Refused
                | Self::CallOmitted
        );
        self.severity() == Severity::Error || shape && !read
    }

    /// Whether the finding is damage of one line, which is kept or skipped.
    #[must_use]
    pub fn is_of_line(self) -> bool {
        (Self::NotUtf8..=Self::LineTooLong).contains(&self)
    }

    /// Whether the finding is damage behind which the reader reads nothing.
    #[must_use]
    pub fn is_end(self) -> bool {
        (Self::YamlSyntax..=Self::YamlLimit).contains(&self)
    }

    /// Whether the finding reports a fix that repair made.
    #[must_use]
    pub fn is_fix(self) -> bool {
        (Self::TornRecord..=Self::SurrogateReplaced).contains(&self)
            || (Self::BlankRemoved..=Self::HistoryRestored).contains(&self)
            || [
                Self::ArchiveRead,
                Self::TailRead,
                Self::RecordRestored,
                Self::EscapeRead,
                Self::LinesJoined,
                Self::LineNumbered,
                Self::Renumbered,
                Self::StepRenumbered,
                Self::ServedReplaced,
                Self::ResultMoved,
                Self::ItemRestored,
                Self::Retyped,
                Self::HistoryDetached,
                Self::Straightened,
                Self::EndDated,
                Self::EndMarked,
                Self::ContentListed,
                Self::ToolRenamed,
                Self::ImageReplaced,
                Self::Respelled,
                Self::CallRenamed,
                Self::ThoughtRemoved,
                Self::MediaTypeChanged,
            ]
            .contains(&self)
    }

    /// Whether `copyist repair` helps; the advice is not needed where repair is running.
    #[must_use]
    pub fn is_for_repair(self) -> bool {
        let ends = matches!(self, Self::YamlSyntax | Self::YamlCutShort | Self::TornArchive);
        ends || self == Self::NoHeader || (Self::NotUtf8..=Self::NotObject).contains(&self)
    }

    /// Returns the advice to the user, in one line.
    #[must_use]
    pub fn help(self) -> Option<&'static str> {
        match self {
            Self::NotUtf8
            | Self::Syntax
            | Self::CutShort
            | Self::Glued
            | Self::NulRun
            | Self::NotObject => Some(
                "`copyist repair` restores every complete record; `convert` and `migrate` pass the \
                 line on with `--on-error keep`",
            ),
            Self::YamlSyntax | Self::YamlCutShort | Self::TornArchive => Some(GETS_BACK),
            Self::NoHeader => Some("`copyist repair` rebuilds the header from the file's name"),
            Self::TimeNumber => Some("`copyist repair` writes it as text"),
            Self::LineTooLong => Some("`--max-line` sets the limit"),
            Self::VersionRefused => {
                Some("`--force-version` treats it as the newest version that is known")
            }
            Self::UnknownFormat => {
                Some("`-f FORMAT` names the format, `copyist formats` lists them")
            }
            Self::Unreadable => {
                Some("look for a backup; if it is not a session, `--exclude GLOB` leaves it out")
            }
            Self::Exists => Some("`--force` writes over it"),
            Self::OutputTaken => {
                Some("write each copy of a session to a folder of its own with `--out-dir`")
            }
            Self::SameFile => {
                Some("name another output; `migrate` and `repair` accept `--in-place`")
            }
            Self::Link => Some("name the file that the link points to"),
            Self::LinkFound => Some("to read it, name the link or its target"),
            Self::OutputName => Some("`--out-dir DIR` takes any number of files"),
            Self::OutputFolder => Some("`--out-dir DIR` writes into a folder"),
            Self::OriginRejected => Some(
                "make the edit wherever the file repeats the text, or read the file alone with \
                 `--ignore-origin`",
            ),
            Self::TrimmedChanged => Some(
                "name the origin as the input to get the session as it was before, or read the file \
                 alone with `--ignore-origin`",
            ),
            Self::ParentUnknown => Some("`--relink ID=PARENT` links it"),
            Self::NoId => Some("`copyist repair` gives it one"),
            Self::Unreached => Some("`copyist repair` links it"),
            Self::Refused => {
                Some("`copyist repair --resumable` repairs it, and reports what it cannot repair")
            }
            Self::CallOmitted => {
                Some("`copyist repair --resumable` gives it an identifier of its own")
            }
            Self::AnswerOmitted => {
                Some("`copyist repair --resumable` adds results, with which it is sent")
            }
            Self::RepairNeeded => Some("`copyist repair -n` shows what would be changed"),
            Self::LineDropped => Some("run `copyist repair` on the output"),
            Self::LeafAside => Some("`copyist repair` links it to the end"),
            Self::TornRecord => {
                Some("`--salvage` restores the members that are complete, if they make a record")
            }
            Self::NoProject => Some("`--cwd DIR` names its folder"),
            Self::NoQuarantine => Some("`--quarantine FILE` names one"),
            Self::WideDamaged => {
                Some("`iconv -c -f UTF-16 -t UTF-8 FILE > NEW` makes a file that can be repaired")
            }
            Self::ArchiveLimit => {
                Some("if you trust the file, unpack it yourself and name the result")
            }
            _ => None,
        }
    }
}
