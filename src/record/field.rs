//! The names of the canonical model, each with the shape of its values.

/// Shape of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// A string.
    Text,
    /// A string or `null`.
    TextOrNull,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// An object, kept unchanged.
    Object,
    /// An array, kept unchanged.
    Array,
    /// Any JSON value, kept unchanged.
    Any,
    /// A group of named fields.
    Node,
    /// A group of named fields, or `null`.
    NodeOrNull,
    /// A string, `null`, or a list of content blocks.
    Content,
}

impl Shape {
    /// Whether a value that begins with `first` can have this shape.
    #[must_use]
    pub fn admits(self, first: u8) -> bool {
        match self {
            Self::Text => first == b'"',
            Self::TextOrNull => matches!(first, b'"' | b'n'),
            Self::NodeOrNull => matches!(first, b'{' | b'n'),
            Self::Number => matches!(first, b'-' | b'0'..=b'9'),
            Self::Bool => matches!(first, b't' | b'f'),
            Self::Object | Self::Node => first == b'{',
            Self::Array => first == b'[',
            Self::Content => matches!(first, b'"' | b'n' | b'['),
            Self::Any => true,
        }
    }
}

impl Shape {
    /// Returns the shape in words, with its article.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::TextOrNull => "a string or null",
            Self::Number => "a number",
            Self::Bool => "true or false",
            Self::Object | Self::Node => "an object",
            Self::NodeOrNull => "an object or null",
            Self::Array => "an array",
            Self::Any => "a JSON value",
            Self::Content => "a string, null or an array of blocks",
        }
    }
}

/// Declares the fields once: variant, name in the stream, shape, meaning.
macro_rules! fields {
    ($($variant:ident $name:literal $shape:ident $doc:literal)*) => {
        /// A name of the canonical model. The order of the variants is the order in which the
        /// stream writes them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Field { $(#[doc = $doc] $variant,)* }

        impl Field {
            /// Every field, in order.
            pub const ALL: &'static [Field] = &[$(Field::$variant,)*];

            /// Returns the name in the stream.
            #[inline]
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Field::$variant => $name,)* }
            }

            /// Returns the shape of the field's values.
            #[must_use]
            pub fn shape(self) -> Shape {
                match self { $(Field::$variant => Shape::$shape,)* }
            }

            /// Returns one line of meaning, for the documentation.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $(Field::$variant => $doc,)* }
            }
        }
    };
}

fields! {
    Source "source" Text "Format and version that the stream was read from, as `name@version`."
    Type "type" Text "Kind of a content block, or the producer's own name of an opaque record."
    Id "id" Text "Identifier; of a node in the tree, a session, a tool call or a reference."
    Parent "parent" TextOrNull "Identifier of the node before this one; null for a root."
    IdMade "id_made" Bool "Whether the reader made the identifier because the source has none."
    Time "time" Text "Time at which the record was written, in the source's notation."
    Turn "turn" Number "Number of the turn that the record belongs to."
    Role "role" Text "Speaker: system, user, assistant, tool, custom, bash, or another name, which is kept unchanged."
    Subtype "subtype" Text "The producer's own name of a notice or result."
    Call "call" Text "Identifier of the tool call to which a result belongs."
    Name "name" Text "Name of a tool, session or agent."
    Content "content" Content "Content of a message or result: a string, null, or a list of content blocks."
    Text "text" Text "Text of a block, or of a line that is not JSON."
    Thinking "thinking" Text "Text of a thinking block."
    Signature "signature" Text "The provider's signature of a block."
    Redacted "redacted" Bool "Whether a thinking block was redacted."
    Data "data" Any "Payload, kept unchanged; base64 in an image or document."
    MediaType "media_type" Text "Media type of an image or document."
    Arguments "arguments" Any "Arguments of a tool call."
    Namespace "namespace" Text "Namespace of a tool."
    IsError "is_error" Bool "Whether a tool or a prompt failed."
    Attachments "attachments" Array "Files attached to a message, in the source's form."
    Sections "sections" Object "Named parts of a system prompt."
    ToolsAdded "tools_added" Array "Tools that a system message adds."
    ToolsRemoved "tools_removed" Array "Tools that a system message removes."
    CustomType "custom_type" Text "Name that an extension gives its data."
    Command "command" Text "Command line that the user ran."
    Output "output" Text "Output of a command or tool."
    ExitCode "exit_code" Any "Exit code of a command; null or absent if it has none."
    Cancelled "cancelled" Bool "Whether a command was cancelled."
    Truncated "truncated" Bool "Whether the output was truncated."
    OutputPath "output_path" Text "File with the whole output."
    Bash "bash" Node "A command that the user ran in the agent's shell."
    Api "api" Text "Programming interface of the provider."
    Provider "provider" Text "Provider of the model."
    Model "model" Text "Name of the model."
    Usage "usage" Node "Tokens and cost."
    Input "input" Any "Input of a run or turn."
    InputTokens "input" Number "Tokens sent; in `cost`, their price."
    OutputTokens "output" Number "Tokens received; in `cost`, their price."
    CacheRead "cache_read" Number "Tokens read from the cache."
    CacheWrite "cache_write" Number "Tokens written to the cache."
    CacheWriteLong "cache_write_1h" Number "Tokens written to the one-hour cache."
    Reasoning "reasoning" Number "Tokens spent on reasoning."
    Total "total" Number "Sum of tokens or cost."
    Cost "cost" Node "Cost by kind of token."
    TotalCost "total_cost" Number "Cost of a turn or prompt."
    StopReason "stop_reason" Text "Reason why the model stopped."
    Details "details" Any "Data of the tool or extension that the model does not see."
    Display "display" Bool "Whether an extension's message is shown."
    MessageTime "message_time" Number "Time in the message itself, in Unix milliseconds."
    ResponseId "response_id" Text "Identifier of the response at the provider."
    Error "error" Text "Error message."
    Group "group" Text "Group of records that are one message at the provider."
    ParentCall "parent_call" Text "Tool call of the parent agent to which a sub-agent's record belongs."
    Excluded "excluded" Bool "Whether the record is excluded from the model's context."
    Level "level" Text "Thinking level."
    Target "target" TextOrNull "Identifier of the node to which the record refers."
    Label "label" Text "Label that the user gave a node; absent if the label was removed."
    Replacement "replacement" NodeOrNull "Replacement for a message in the context; null omits the message."
    Summary "summary" Text "Summary of the messages that it replaces."
    FirstKept "first_kept" Text "Identifier of the first node that a compaction keeps."
    Kept "kept" Array "Identifiers of the nodes that a compaction keeps."
    TokensBefore "tokens_before" Number "Tokens in the context before a compaction."
    FromHook "from_hook" Bool "Whether an extension made the summary."
    From "from" TextOrNull "Node at which a branch summary was made."
    SystemMessage "system_message" Node "System message that a compaction puts first."
    Purpose "purpose" Text "Purpose for which tokens were used."
    Note "note" Text "A remark."
    Created "created" Text "Time at which the session began."
    Updated "updated" Text "Time at which the session was last written."
    Cwd "cwd" Text "Working directory."
    Branch "branch" Text "Branch of the repository in the working directory."
    ParentSession "parent_session" Node "Session from which this one was made."
    Path "path" Text "A file path."
    Key "key" Text "Name of a field in the source, if the format has several names for it."
    Agent "agent" Text "Name of the agent."
    ThinkingLevel "thinking_level" Text "Thinking level at the start."
    SystemPrompt "system_prompt" TextOrNull "System prompt."
    Tools "tools" Array "Tool definitions, or the names of the active tools."
    ToolsCalled "tools_called" Array "Tools called in a turn, for display."
    Client "client" Any "The client program."
    Server "server" Any "The server program."
    Runtime "runtime" Any "The machine and system."
    Totals "totals" Any "Totals over the session, in the source's form."
    Leaf "leaf" TextOrNull "Identifier of the session's current node."
    Encoding "encoding" Text "Encoding of the source file, if it is not UTF-8."
    Bom "bom" Bool "Whether the source file begins with a byte order mark."
    FinalNewline "final_newline" Bool "Whether the last line of the source has a line ending; absent if it has."
    Style "style" Text "Style in which the source was written."
    Era "era" Text "Release range of the program that wrote the source."
    File "file" Node "Properties of the source file that its records do not show."
    Number "number" Number "Ordinal of a turn."
    Result "result" Any "Result of a turn or prompt."
    Duration "duration" Number "Milliseconds."
    Tokens "tokens" Number "Tokens of a turn."
    Expected "expected" Any "Expected answer."
    Passed "passed" Any "Outcome of a check."
    Analysis "analysis" Any "Explanation of an outcome."
    ExpectTools "expect_tools" Any "Tools that a check expects."
    ExpectResult "expect_result" Any "Result that a check expects."
    Evaluation "evaluation" Any "Evaluation of a turn."
    Eval "eval" Node "Check of a turn."
    Attempt "attempt" Number "Ordinal of an attempt at a turn."
    History "history" Any "Earlier attempts at a turn."
    Run "run" Text "Identifier of a run."
    Session "session" Text "Identifier of a session."
    Prompts "prompts" Any "Prompts of a run."
    Context "context" Any "Context of the user interface."
    Outcome "outcome" Text "Outcome of a run."
    Final "final" TextOrNull "Final text of a run."
    Status "status" Text "State of a run."
    Message "message" Text "Explanation of a state."
    ContextLeft "context_left" Number "Percentage of the context window that is left."
    Seq "seq" Number "Sequence number given by the producer."
    Messages "messages" Any "Messages, by reference or in full."
    ToolChoice "tool_choice" Any "Constraint on the choice of tools."
    ProviderMeta "provider_meta" Any "Data of the provider."
    Reference "reference" Any "Reference to stored output."
    Stored "stored" Any "Contents of the file that the reference names; true if they equal the output."
    Turns "turns" Number "Number of turns."
    Meta "meta" Any "Metadata of the producer."
    Synthesized "synthesized" Bool "Whether a reader restored the record, which the source does not contain."
    Derived "derived" Bool "Whether a writer computed the record from other records."
    Extra "extra" Object "Fields of the source for which the model has no place, in their order."
    Layout "layout" Text "Name of the record's layout in the source format."
    Eol "eol" Text "Line ending of a file, if it is not a line feed."
    Base64 "base64" Text "Bytes of a line that is not UTF-8, in base64."
}

impl Field {
    /// Fields of a message that no writer of another format loses: its place, its speaker and its
    /// content, and its form in the source.
    pub const STRUCTURAL: &'static [Field] = &[
        Field::Id,
        Field::Parent,
        Field::IdMade,
        Field::Time,
        Field::Role,
        Field::Content,
        Field::Layout,
    ];

    /// Returns the fields of this name; two names belong to different fields in different records.
    ///
    /// ```
    /// use copyist::record::Field;
    /// assert_eq!(Field::named(b"id").collect::<Vec<_>>(), [Field::Id]);
    /// assert_eq!(Field::named(b"no such field").count(), 0);
    /// ```
    pub fn named(name: &[u8]) -> impl Iterator<Item = Self> {
        let (first, held) = (slot(name), |slot: usize| BY_NAME.get(slot % SLOTS).copied());
        let places = (first..first + SLOTS).map_while(held);
        let fields = places.map_while(|place| Self::ALL.get(usize::from(place)).copied());
        fields.filter(move |field| field.name().as_bytes() == name)
    }
}

/// Number of slots, more than twice the number of fields, so that few names collide.
const SLOTS: usize = 256;

/// Returns the slot at which the search for a name begins.
const fn slot(name: &[u8]) -> usize {
    match name {
        [first, .., last] => (*first as usize * 7 + *last as usize * 99 + name.len() * 67) % SLOTS,
        _ => 0,
    }
}

/// The places of the fields in their list, each in the first free slot from its name's on.
static BY_NAME: [u8; SLOTS] = {
    const NONE: u8 = u8::MAX;
    let mut slots = [NONE; SLOTS];
    let mut place = 0;
    while place < Field::ALL.len() {
        let mut slot = slot(Field::ALL[place].name().as_bytes());
        while slots[slot] != NONE {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = place as u8;
        place += 1;
    }
    slots
};
