//! The kinds of records, and which fields each may carry.

use super::{Field, block};

/// Declares the kinds once: variant, name in the stream, whether it is a node of the tree, the
/// fields beyond [`COMMON`], and its meaning.
macro_rules! kinds {
    ($($variant:ident $name:literal $node:literal $doc:literal [$($field:ident)*])*) => {
        /// Kind of a record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind { $(#[doc = $doc] $variant,)* }

        impl Kind {
            /// Every kind, in the order of the documentation.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant,)*];

            /// Returns the name in the stream.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            /// Whether records of this kind are nodes of the tree when they have an identifier.
            #[must_use]
            pub fn is_node(self) -> bool {
                match self { $(Kind::$variant => $node,)* }
            }

            /// Returns the fields that a record of this kind may carry beyond [`COMMON`].
            #[must_use]
            pub fn fields(self) -> &'static [Field] {
                match self { $(Kind::$variant => &[$(Field::$field,)*],)* }
            }

            /// Returns one line of meaning, for the documentation.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $(Kind::$variant => $doc,)* }
            }
        }
    };
}

/// The fields that every record may carry.
pub const COMMON: &[Field] = &[
    Field::Id,
    Field::Parent,
    Field::IdMade,
    Field::Time,
    Field::Turn,
    Field::Synthesized,
    Field::Derived,
    Field::Extra,
    Field::Layout,
];

kinds! {
    Session "session" false "The session as a whole. It comes first, and again at the end if the end of the file contains more about the session." [
        Source Name Created Updated Cwd Branch ParentSession Agent Provider Model ThinkingLevel SystemPrompt
        Tools Client Server Runtime Totals Leaf File Meta]
    Message "message" true "A message of any role." [
        Role Subtype Content Attachments Sections ToolsAdded ToolsRemoved CustomType Bash Api Provider Model
        Usage StopReason Details Display MessageTime ResponseId Error Group ParentCall Excluded]
    Turn "turn" false "One question of the user, and its outcome." [
        Number Input Result Model Duration Tokens TotalCost ToolsCalled Eval Attempt History]
    ModelChange "model_change" true "The session continues with another model." [Provider Model]
    ThinkingChange "thinking_change" true "The session continues with another thinking level." [Level]
    ToolsChange "tools_change" true "The session continues with other tools." [Tools]
    Label "label" true "A label that the user gave a node, or removed." [Target Label]
    SessionInfo "session_info" true "The session gets a name." [Name]
    ContextEdit "context_edit" true "A message is replaced or omitted when the context is built." [
        Target Replacement]
    Compaction "compaction" true "A summary replaces earlier messages in the context." [
        Summary FirstKept Kept TokensBefore Details Usage FromHook SystemMessage]
    BranchSummary "branch_summary" true "A summary of an abandoned branch." [
        From Summary Details Usage FromHook]
    Extension "extension" true "Data of an extension, outside of the context." [CustomType Data]
    Usage "usage" true "Tokens that were used outside of the conversation." [
        Purpose Provider Model Usage Note]
    Leaf "leaf" true "The session moves to another node." [Target]
    Run "run" false "One invocation of an agent." [
        Run Session Created Cwd Provider Model ThinkingLevel SystemPrompt Prompts Tools Client Server
        Runtime Input Context Messages Outcome Final Reference Meta]
    Status "status" false "The state of a run changes." [Run Status Message Meta]
    RunError "run_error" false "A run fails." [Run Name Message Data Meta]
    RunContext "run_context" false "How much context a run has left." [Run ContextLeft Meta]
    Request "request" false "The model is called; messages by reference." [
        Run Seq Provider Model ThinkingLevel Messages Tools ToolChoice Session Reference Meta]
    Response "response" false "The model answers; messages by reference." [
        Run Seq Messages Usage StopReason ProviderMeta Meta]
    Snapshot "snapshot" false "A stored copy of the model's history at a moment." [
        Run Session Seq Updated Messages Meta]
    Event "event" true "Playback for a user interface. A node only if the source gives it a place in the tree." [Run Seq Data Meta]
    Notice "notice" false "A notice of the program that wrote the source: start, rate limit, retry." [
        Subtype Session Data Meta]
    ToolOutput "tool_output" false "The full output of a tool." [
        Run Call Name Output IsError Messages Reference Stored Meta]
    Result "result" false "The outcome of one prompt." [
        Subtype Result IsError Duration Turns Session TotalCost Usage StopReason Meta]
    Opaque "opaque" true "An item that copyist does not understand, kept unchanged. A node only if it has an identifier." [
        Type Data Text Base64]
}

impl Kind {
    /// Returns the kind of this name, if there is one.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name().as_bytes() == name)
    }

    /// Whether a node of this kind is lost without an identifier. Records that the reader does not
    /// understand, moves of the leaf and playback need none.
    #[must_use]
    pub fn is_named(self) -> bool {
        self.is_node() && !matches!(self, Self::Opaque | Self::Leaf | Self::Event)
    }

    /// Whether a record of this kind may carry `field`.
    #[must_use]
    pub fn admits(self, field: Field) -> bool {
        COMMON.contains(&field) || self.fields().contains(&field)
    }
}

/// The fields of groups: values that are themselves named values.
pub const GROUPS: &[(Field, &[Field])] = &[
    (
        Field::Bash,
        &[
            Field::Command,
            Field::Output,
            Field::ExitCode,
            Field::Cancelled,
            Field::Truncated,
            Field::OutputPath,
            Field::Extra,
        ],
    ),
    (
        Field::Usage,
        &[
            Field::InputTokens,
            Field::OutputTokens,
            Field::CacheRead,
            Field::CacheWrite,
            Field::CacheWriteLong,
            Field::Reasoning,
            Field::Total,
            Field::Cost,
            Field::Extra,
        ],
    ),
    (
        Field::Cost,
        &[
            Field::InputTokens,
            Field::OutputTokens,
            Field::CacheRead,
            Field::CacheWrite,
            Field::Total,
            Field::Extra,
        ],
    ),
    (Field::Replacement, &[Field::Content, Field::Extra]),
    (
        Field::SystemMessage,
        &[
            Field::Role,
            Field::Content,
            Field::Sections,
            Field::ToolsAdded,
            Field::ToolsRemoved,
            Field::MessageTime,
            Field::Extra,
        ],
    ),
    (Field::ParentSession, &[Field::Id, Field::Data, Field::Path, Field::Key]),
    (
        Field::File,
        &[Field::Encoding, Field::Bom, Field::FinalNewline, Field::Style, Field::Era, Field::Eol],
    ),
    (
        Field::Eval,
        &[
            Field::Expected,
            Field::Passed,
            Field::Analysis,
            Field::ExpectTools,
            Field::ExpectResult,
            Field::Evaluation,
            Field::Extra,
        ],
    ),
];

/// The fields of content blocks beyond `type`, by the value of `type`.
pub const BLOCKS: &[(&str, &[Field])] = &[
    (block::TEXT, &[Field::Text, Field::Signature, Field::Extra]),
    (block::THINKING, &[Field::Thinking, Field::Signature, Field::Redacted, Field::Extra]),
    (block::IMAGE, &[Field::Data, Field::MediaType, Field::Extra]),
    (block::DOCUMENT, &[Field::Name, Field::Data, Field::MediaType, Field::Extra]),
    (
        block::TOOL_CALL,
        &[
            Field::Id,
            Field::Name,
            Field::Signature,
            Field::Arguments,
            Field::Namespace,
            Field::Extra,
        ],
    ),
    (
        block::TOOL_RESULT,
        &[Field::Call, Field::Name, Field::Content, Field::IsError, Field::Output, Field::Extra],
    ),
    (block::OPAQUE, &[Field::Data]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_fields_of_one_object_have_the_same_name() {
        let kinds = Kind::ALL.iter().map(|kind| (kind.name(), [COMMON, kind.fields()].concat()));
        let groups = GROUPS.iter().map(|(group, fields)| (group.name(), fields.to_vec()));
        let blocks = BLOCKS.iter().map(|(name, fields)| (*name, fields.to_vec()));
        for (name, fields) in kinds.chain(groups).chain(blocks) {
            let names: HashSet<_> = fields.iter().map(|field| field.name()).collect();
            assert_eq!(names.len(), fields.len(), "{name}");
        }
    }
}
