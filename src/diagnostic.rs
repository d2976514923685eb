//! Findings and losses: reports about an input, with permanent codes.

mod advice;
mod differences;
mod log;
mod plural;
mod printable;
mod window;

use crate::position::Position;
use std::fmt;

use advice::GETS_BACK;
pub use differences::Differences;
pub use log::{Findings, Log};
pub use plural::plural;
pub use printable::{is_unsafe, one_line, printable};
pub use window::Window;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information that needs no action.
    Note,
    /// A finding that the user should check.
    Warning,
    /// Data is damaged, missing or was not written.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Declares the codes once: variant, code, severity, title, explanation.
macro_rules! codes {
    ($($variant:ident $code:literal $severity:ident $title:literal $explanation:literal)*) => {
        /// A kind of finding. Its code is permanent: it is never reused for anything else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = $title] $variant,)* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The code as printed, such as `CY0103`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $code,)* }
            }

            /// How grave a finding of this kind is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// The kind of finding in a few words.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Code::$variant => $title,)* }
            }

            /// Returns the meaning of the finding, and the advice to the user.
            #[must_use]
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation,)* }
            }
        }
    };
}

codes! {
    NotUtf8 "CY0101" Error "line is not UTF-8" "The line contains bytes that are not UTF-8. Session files are UTF-8, so the bytes were damaged on disk or in transit; a YAML file may be in another encoding, which `--encoding` names. copyist left the source unchanged. `copyist repair` restores what it can; `--on-error keep` keeps the line as it is."
    Syntax "CY0102" Error "line is not JSON" "The line violates the JSON grammar at the place shown. `copyist repair` restores what it can. `--on-error keep` keeps the line as it is; `--on-error skip` leaves it out and reports that."
    CutShort "CY0103" Error "line ends in the middle of a record" "The record was cut off, usually by a crash or a full disk while the agent wrote it. What followed the cut is lost. `copyist repair` keeps every complete record."
    Glued "CY0104" Error "more than one record on a line" "A complete record is followed by more text on the same line. This happens when an agent appends to a file whose last line had no line ending. `copyist repair` splits the line."
    NulRun "CY0105" Error "line of NUL bytes" "The line consists of NUL bytes: the file system kept the length of the file but lost its contents, usually after a power failure. `copyist repair` removes the NUL bytes."
    NotObject "CY0106" Error "record is not a JSON object" "The line is valid JSON but not an object, and every record of this format is an object. `copyist repair` moves the line to the quarantine file; `--on-error keep` keeps it as it is."
    LineTooLong "CY0107" Error "line is longer than the limit" "A record must fit in memory, and this line is longer than the limit. `--max-line` sets the limit."
    Unchecked "CY0108" Warning "record not checked against the schema" "The record is nested deeper than 128 levels, or contains a number outside the range of a double. The schema check cannot process it. copyist kept the record and checked all of it against the JSON grammar."
    ByteOrderMark "CY0109" Warning "file begins with a byte order mark" "The file begins with a byte order mark, and newer releases of the agents refuse such a file. A migration removes the mark. A file that already has the target version keeps it, and so does a copy. `copyist repair` removes it from any file."
    NoFinalNewline "CY0110" Warning "last line has no line ending" "The last record is complete, but the next record that the agent appends would end up on the same line. A migration adds the line ending. A file that already has the target version stays unchanged, and so does a copy. `copyist repair` adds the line ending to any file."
    Empty "CY0111" Error "file holds no record" "The file is empty or contains only blank lines. copyist has nothing to migrate or convert. If the session had contents, look for a backup."
    YamlSyntax "CY0112" Error "text is not YAML" "The file violates the YAML grammar at the place shown, or a second document begins there. copyist read what precedes that place and cannot interpret what follows. Common causes are a tab in the indentation, a merge conflict marker, two programs that wrote at the same time, or a control character. `copyist repair` restores what it can."
    YamlCutShort "CY0113" Error "file ends in the middle of a value" "The file was cut off, usually by a crash or a full disk while the agent wrote it. copyist read what precedes the cut; what followed it is lost. `copyist repair` writes a complete file from the rest."
    YamlLimit "CY0114" Error "document goes beyond the limits" "The document is nested deeper, contains a longer value, or expands through aliases to more data than any session. Such documents can exhaust memory, so copyist stops reading at the place shown. Check where the file comes from."
    YamlComment "CY0115" Note "comment is not kept in other formats" "The YAML file contains a comment. No other format can hold it, nor can the canonical stream. The way back with the origin, and changes in the same format, keep it, because they edit the text of the source."
    GuessedEncoding "CY0116" Warning "encoding was guessed" "The file is not UTF-8 and does not name its encoding, so copyist guessed one. Python on Windows, for example, writes files in the code page of the system. Check the text before you rely on it; `--encoding NAME` sets the encoding."
    YamlBeyondJson "CY0117" Warning "tag, anchor or alias is not kept in other formats" "The value has a tag such as `!!python/tuple`, an anchor or an alias. The records contain the value itself, and for an alias the value that it refers to, but not the tag, anchor or alias. The way back with the origin, and changes in the same format, keep them, because they edit the text of the source."
    PythonNumber "CY0118" Warning "number that JSON does not allow" "Python writes `NaN` and `Infinity`, which are not valid JSON. The records contain `null` instead, and so do other formats. The way back with the origin keeps the number."
    RunLayout "CY0119" Warning "run in another layout" "The run file was reformatted by a user or another program. copyist reads it as YAML, and a copy in the same format and version keeps the layout. When copyist writes the file from records, it uses the layout of the agent."
    RunSummary "CY0120" Note "summary of runs" "The file summarizes each turn: question, answer, resource use, evaluation, and how earlier runs ended. The conversation itself is in the run files, in the folder of the same name beside it. If copyist reads this file alone, it creates messages from the questions and answers; they are marked as synthesized and are not written back."
    AuthoredEval "CY0121" Note "evaluation written by the user" "The file lists what a user wants to ask the agent and which answers are expected; it contains no conversation. The agent added what a run of the evaluation answered. copyist reads questions and answers as messages; they are marked as synthesized and are not written back."
    NotJoined "CY0122" Warning "summary does not fit the run" "The file beside the folder of a run summarizes its turns, with expected answers and evaluations. This summary belongs to another conversation whose first question produces the same file name, or it lists turns that the run does not have, or it cannot be read. copyist reads the run without what does not fit."
    ListUnread "CY0124" Warning "list of messages that only copyist reads" "A comma between two messages is missing, a comma follows the last message, or a message is not indented, which ends the list for a YAML parser. The loader of the agent reads no message of such a file; copyist reads the messages line by line. `copyist repair` writes the list as the agent does."
    UnknownFormat "CY0201" Error "no format recognises the file" "The beginning of the file matches none of the formats that `copyist formats` lists. If you know the format, name it with `-f FORMAT`."
    NoHeader "CY0202" Error "no session header" "The first record must be the session header; the agent discards a file without one. `copyist repair` rebuilds the header from the name of the file."
    FurtherHeader "CY0203" Warning "further session header" "The file has more than one header. The agent reads the first and ignores the others; copyist keeps them in place. In a canonical stream, a header of another session is read as a continuation of the first."
    NewerVersion "CY0204" Warning "newer version than copyist knows" "The file declares the version of a newer release of the agent. copyist reads it as the newest version that it knows. `copyist migrate` refuses the file unless `--force-version` is given."
    StrangeVersion "CY0205" Warning "version is not a number" "The version in the header is not a number, so it cannot be compared with known versions. The agent opens such a file without migrating it, and copyist does the same."
    WrongVersion "CY0206" Error "version cannot be reached" "A migration reaches only versions that the format has, and only newer ones where it changes lines. To write an older version use `copyist convert`, which reports what that version cannot contain. `--in-place` refuses a migration to another kind of file."
    WrongFormat "CY0207" Error "file is not of the format asked for" "The file is not in the format given with `-f` or `--to`: it is clearly in another format, or it cannot be in this one, as YAML cannot be JSON Lines. Without `-f` copyist recognises the format; `copyist detect` shows it."
    VersionRefused "CY0208" Error "version is too new to migrate" "The file declares the version of a newer release of the agent, so copyist cannot know what a migration would have to change. With `--force-version` copyist treats it as the newest version that it knows, and passes it through unchanged."
    Unreadable "CY0209" Error "nothing of a session can be read" "The file is in a folder that you named and has the name of a session, but it is empty, is not text, begins with other text than records, or contains nothing but a record that was cut off or is too long to detect the format. Or it is an output of copyist that lost everything, as the origin beside it shows; `copyist repair` restores it. copyist wrote nothing for it, and the exit code is 1. If the contents are lost, look for a backup. If other text precedes the records, name the file itself to read it. `iconv -f UTF-16 -t UTF-8` converts UTF-16, which some shells write. `jq -c .` writes records that extend over several lines on one line each. `--exclude` leaves the file out. Text files that are not sessions are skipped without a report."
    Stray "CY0210" Error "file holds no session" "An agent wrote the file beside its sessions, but it contains no message. When Claude Code 1.x resumes a session, it can leave a new file with only a title; Claude Code 2.0 can leave one with only queue operations. copyist has nothing to convert, and skips such files in a folder. Name the file of the session itself."
    NumbersMissing "CY0211" Warning "numbers of lines are missing" "The lines of the rollout are numbered, and between two of them numbers are missing: lines were lost, or a program removed them. Codex opens the session and goes on behind the last number; what the lost lines said is not sent."
    ReadsOnly "CY0212" Error "format is only read" "copyist reads rows of conversations, each as a session, and does not write or repair them as such. `copyist export` writes rows of sessions, in the shape that a program takes. A row that cannot be read is named by the number of its line."
    KeptFromHeader "CY0301" Warning "compaction keeps everything" "The compaction index pointed at a session header, which in version 1 meant that the context keeps everything. copyist made it point at the first entry and stored the index under `copyist.migrated`. The agent's own migration drops the index, and with it everything before the compaction."
    KeptSelf "CY0302" Warning "compaction keeps nothing" "The compaction index pointed at the compaction itself, so the context kept nothing that precedes it. copyist made the compaction refer to itself, which means the same, and stored the index under `copyist.migrated`."
    KeptNowhere "CY0303" Warning "compaction index points nowhere" "The compaction index points after the compaction, outside the file, or between two entries. copyist dropped it, as the agent's own migration does, so the context keeps nothing that precedes the compaction. The index is stored under `copyist.migrated`."
    KeptNoNumber "CY0304" Warning "compaction index is not a number" "The compaction index is not a number. copyist left it unchanged, as the agent's own migration does; it has no effect."
    IdReplaced "CY0305" Warning "identifier replaced" "An entry had an identifier although its version has none. copyist gave it a new one and linked the entries to one chain, as the agent's own migration does. The message shows the old identifier; copyist also stored it under `copyist.was`, from where it is restored in the version that had it."
    Restored "CY0306" Warning "message restored from the turn's summary" "After a restart, the agent writes turns without their first message. copyist restored that message from the summary in the turn. It is marked as synthesized and is not written back."
    TurnKey "CY0307" Warning "messages under a key that is not a turn number" "A key under `messages` is not a plain turn number. The loader of the agent sorts the keys, and fails if numbers and texts are mixed. copyist reads the messages in the order of the file."
    OddMessage "CY0308" Warning "message of unknown shape" "An item in the list of messages is not an object with a known role, contains a member twice, or contains tool calls of an unknown structure. copyist keeps it unchanged and restores it in the same format and version. It is not part of any context for a model."
    TwiceNamed "CY0309" Warning "member occurs twice" "A mapping has two members of the same name. PyYAML, and so the agent, has the last one, and copyist does the same: what precedes it is only in this file. Remove the member that you do not want."
    NoRunEnd "CY0310" Note "run has no end" "The last line of a run records how the run ended. It is missing because of a crash, or because a program is still writing. copyist reads everything that the file contains."
    Database "CY0311" Error "database cannot be used" "The database file that indexes the sessions is damaged, is not a database, or has another object under the name of its table. copyist does not repair or change the database. It reads the sessions from their other files."
    NoMessageLog "CY0312" Warning "message log is missing" "The database has a row for the session, but its message log is missing, or is empty although the row counts messages. The agent resumes such a session without any history. copyist reads what the run files contain."
    NoRow "CY0313" Note "log of messages without a row" "The message log of the session exists, but the database has no row for it, so the agent does not find the session. copyist reads the log."
    OutsideReference "CY0314" Warning "reference leads outside" "A reference to a stored tool output is not a plain file name, so it could lead outside the folder of the session. copyist keeps the reference and does not follow it."
    KeptBehind "CY0315" Warning "compaction keeps what follows a header" "The compaction index pointed at a further session header, which in version 1 meant that the context keeps everything after that header. copyist made it point at the next entry and stored the index under `copyist.migrated`. The agent's own migration drops the index, and with it everything before the compaction."
    OutsideImage "CY0316" Warning "image is not in the file" "oh-my-pi keeps large images in files of their own, in the folder `blobs` beside its sessions, and the message contains only a reference. A model or another program gets the reference instead of the image, and most refuse it. A conversion back to the source format restores the reference unchanged. To include the image, replace the reference in a copy of the session by the image's data in base64."
    HistoryMissing "CY0317" Error "history in another rollout is missing" "The session is a fork, or it continues after turns that were taken back. Its beginning is in the rollout of another file, which copyist did not find below the folder `sessions` that contains this file. copyist read the rest of the session. Name the file at its place in Codex's home, or copy the other rollout there. Newer releases of Codex refuse a session with a missing rollout; `copyist repair --resumable` removes the reference."
    AgentMoved "CY0318" Note "lines of a sub-agent moved to a file of their own" "Claude Code 1.x wrote the lines of sub-agents into the transcript of their session, and 2.0 into files beside it. Newer releases keep them in the folder `subagents` below the session's name, and list them only there. The migration moved the lines, from the shown one on, to such a file, with the data of the call that started the sub-agent. A file beside the session is not removed."
    TimeSpread "CY0319" Warning "time of a message moved after the one before" "Releases of Claude Code before 2.1.33 continue a session at the message with the newest time. In this session that is not the last message, because times are equal, missing or do not increase. The migration gave the message a time after the one before it; the old time is stored under `copyist.repaired`."
    NoSessionId "CY0321" Warning "metadata do not name Claude's session" "The metadata lack `session_id`, although the log contains it: the run was killed before it ended. `ao-resume` fails on such a session with \"Unexpected error: 'session_id'\". `copyist repair` adds the identifier from the log; by hand, add that one member to `.meta.json`."
    OpenToolCall "CY0322" Warning "log ends in the middle of a tool call" "The last turn called a tool and has no result: the agent is still working, or was killed. Whether the tool took effect is unknown. `ao-resume` starts a new turn; it does not finish this one."
    HiddenResult "CY0323" Warning "blank lines hide a result" "The log ends with a successful result followed by blank lines. `ao-status` reads only the last line, so it always reports `running`, and `ao-get-result` refuses. Remove the blank lines, or run `copyist repair`."
    NoMetadata "CY0324" Note "log without metadata" "The log has no `.meta.json` beside it. `ao-status` reports `not_existent`, and `ao-new` with the same name appends to this log without a warning. `copyist repair` rebuilds the metadata."
    OtherName "CY0325" Warning "metadata name another session" "`session_name` in the metadata differs from the name of the files, which were copied or renamed. The scripts list and find a session by the name of its files, but display the name in the metadata."
    TwoStores "CY0326" Note "session is in two stores" "The session is in the database and also in the files that earlier releases of OpenCode wrote. The program reads the database today, and so does copyist. The files may be older."
    DuplicateId "CY0401" Error "identifier used twice" "Two entries have the same identifier. The agent uses the later one, which can create a cycle in the tree and make the agent hang. `copyist repair` gives one of them a new identifier."
    MissingParent "CY0402" Warning "parent does not exist" "The entry names a parent that is not in the file, so for the agent the conversation begins at this entry. `copyist repair` links it again where that is safe. In a canonical stream of unknown source, an entry without a parent, where other entries have one, is read as the successor of the entry before it."
    MissingTarget "CY0403" Warning "target does not exist" "The entry refers to an entry that is not in the file, so the reference has no effect. `copyist repair` replaces it in pi sessions (CY0826). If it is the current leaf of a session in a canonical stream, copyist uses the last entry."
    Cycle "CY0404" Error "entries are their own ancestors" "Following the parents of an entry leads back to the same entry. The agent hangs or runs out of memory on such a file. `copyist repair` breaks the cycle."
    NoId "CY0405" Warning "entry has no identifier" "An entry of a tree has no identifier, so nothing can refer to it and the agent loses it from the conversation. `copyist repair` gives it one. In a canonical stream of unknown source it is read as the successor of the entry before it, unless it names its parent."
    Schema "CY0406" Error "record does not fit the schema" "The record does not match the schema of its format and version. `copyist schema FORMAT@VERSION` prints the schema."
    ForwardParent "CY0407" Warning "parent follows in the file" "An entry precedes its parent in the file. Agents write parents first, so two programs may have written to this file at the same time. The session remains valid; check the order of the messages."
    NoMessage "CY0408" Error "message entry without a message" "An entry of type `message` contains no message. The agent fails on it when it builds the context for the model. `copyist repair` moves the entry to the quarantine file."
    NoContext "CY0409" Error "no context" "copyist cannot determine what the model would get: the format does not define it, or the entry or turn that you named is not in the file. `copyist inspect` shows the entries and turns."
    Unpaired "CY0410" Warning "answer without its question" "A response names a request, or a tool output names a tool call, that the run does not contain. The agent leaves out a record that it cannot write, and continues. The session remains valid, and no repair is necessary."
    EventOrder "CY0411" Warning "events out of order" "The number of an event is not greater than that of the event before it, although the agent counts upwards. The agent replays events in the order of the file. The session remains valid, and no repair is necessary."
    Unreached "CY0412" Warning "messages that the context does not reach" "The agent follows the parents from the last entry to the first. It stops at an entry that has no parent, or whose parent is not in the file, although other entries precede it. The model gets none of those entries. `copyist repair` links the entry again; `copyist repair --relink ID=PARENT` links it to the parent that you name."
    LeafAside "CY0413" Warning "last entry follows an older message" "The agent continues at the last entry of the file. This entry is a label, a name or a count, and its parent is older than the newest messages, so the model does not get them. `copyist repair` links the entry to the end of the conversation."
    OldBranch "CY0414" Warning "newest messages are on another branch" "The agent continues at the last entry of the file. This entry is not a message, and it follows an older message than the newest ones, so the model does not get the newest messages. Either the user went back to the older message, or a program wrote the entry to the wrong place; copyist cannot determine which. If the entry is at the wrong place, `copyist repair --relink ID=PARENT` links it to the newest message."
    MemberMissing "CY0415" Error "member that the agent needs is missing" "The record lacks a member that the agent reads without checking that it exists, so the agent fails when it opens the session. `copyist repair` adds the member with an empty value."
    Refused "CY0416" Warning "refused by the model's interface" "The agent can open the session but cannot continue it, because the interface of the model refuses every request with these messages. The cause is a first message that is not the user's, a tool call without its result, a result without its call, a tool name with characters other than letters, digits, `_` and `-`, an image that is empty, is not an image, is too large or has another media type, a thought without its signature, an identifier of a call that occurs twice, arguments that are not an object, or text with half of a surrogate pair. `copyist repair --resumable` repairs most of this, and reports what it cannot repair."
    RepairNeeded "CY0417" Warning "session needs repair" "The file has a defect because of which the agent may be unable to open or continue the session. `copyist repair` can repair it; `copyist repair -n` shows what would be changed."
    TimeNumber "CY0418" Error "time is a number" "The time of the line is a number, as some converters write it. The agent accepts text only: it drops the line, and refuses the file if this is the first line. `copyist repair` writes the time as text."
    CallOmitted "CY0419" Warning "call that the agent leaves out" "The conversation has an earlier call with the same identifier, as programs write that count their calls anew in each turn. Claude Code leaves out the later call and its result when it resumes the session, so the model does not know of them. `copyist repair --resumable` gives the later call, and its result, an identifier of their own."
    NoConversation "CY0420" Error "transcript without a conversation" "All messages of the transcript belong to sub-agents. Claude Code finds no conversation in it and does not resume the session. Files of sub-agents belong beside the transcript of their session, or into the folder `subagents`."
    AnswerOmitted "CY0421" Warning "answer that the agent leaves out" "The line has words of the model and calls of tools, and none of the calls has a result. Claude Code leaves out the whole line when it resumes the session, so the model does not get the words. `copyist repair --resumable` adds results, with which the line is sent."
    StepNumber "CY0422" Warning "steps are not numbered from 1" "The steps of a trajectory have the numbers 1, 2, 3 and so on, and Harbor refuses others. Some programs begin with 0, or keep the numbers of steps that were removed. copyist reads the steps in their order, and numbers them when it writes them."
    StepCall "CY0423" Warning "result names a call of another step" "A result in the observation of a step must name a call of the same step, and Harbor refuses others. copyist reads the result behind the step in which it is."
    CopyChanged "CY0424" Warning "copied step differs from the step that it repeats" "Behind a compaction, copyist repeats the steps that the compaction keeps, for readers that know no better, and reads only the first of two. The repetition was edited. Make the edit in the step that it repeats."
    BadRecord "CY0501" Error "not a record of the canonical stream" "The line is valid JSON but not a record of the canonical stream: `kind` is missing or unknown, a field does not belong to its kind, or a value has the wrong shape. `copyist schema canonical` prints the schema."
    Dropped "CY0601" Warning "target cannot hold this" "The target format cannot contain this record or field. copyist leaves it out and counts it in the report. `--fail-on loss` makes it an error."
    NotInEncoding "CY0602" Error "encoding lacks a character" "copyist restores the session in its original encoding, but an edited text contains a character that this encoding lacks. Remove `encoding` from `session.file`, and copyist writes the file in UTF-8."
    NoSuchEntry "CY0603" Error "format has no such entry" "The program wanted to append an entry that the session's format cannot hold, or that would change several files at once. Convert the session to a format that can hold it (`copyist formats`)."
    NotShown "CY0604" Note "target shows a part of the messages" "The target format is a list, so it gets the messages of the current branch that the agent would send to a model. Other branches, messages that a compaction replaced, and messages that are never sent are left out. They are in the origin beside the output and are restored when the output is converted back; with `--no-origin` they are lost. `copyist inspect` draws the branches. A target that stores a tree, such as `pi`, gets all of them. Blocks and items that the target has no place for, such as searches of the provider, are counted by their types: the target shows their text, or nothing."
    NotResumable "CY0611" Warning "session cannot be resumed" "To resume a session, `ao-resume` needs the transcript of Claude Code, which is found by Claude's session identifier; the source does not contain this identifier. `ao-status`, `ao-get-result` and `ao-list-sessions` work on the written files, but `ao-resume` does not. `ao-new` starts a new session."
    OriginRejected "CY0621" Error "origin is not used" "The file was edited, and the session that its origin restores would differ from what the file contains, or has no place for the edit. copyist writes nothing. If the file repeats the edited text, make the edit at every place. `--ignore-origin` reads the file alone."
    OriginEdited "CY0622" Note "record was edited" "The file was edited since it was converted. copyist uses the edit, and takes from the origin what the format of the file cannot express. It leaves out what belonged only to the old text, such as its token counts."
    OriginDeleted "CY0623" Warning "record was deleted" "A record of the session that the file was converted from is no longer in the file. copyist leaves it out. If the end of the file is missing and you did not delete it, `copyist repair` restores it from the origin. If another record is missing, restore the file from a backup and convert it again."
    OriginUnreadable "CY0624" Error "origin cannot be used" "The origin beside the file is cut off or damaged, comes from another release of copyist, or was written for a file of another format. copyist writes nothing, so that a poorer session never takes the place of the source. If you have an intact copy of the origin, name it with `--origin FILE`. `--ignore-origin` reads the file alone."
    OriginAdded "CY0625" Note "record was added" "The file was continued since it was converted. copyist puts the new records after those from the origin."
    OriginOfAnother "CY0626" Error "origin is of another session" "The origin beside the file has the identifier of another session, and the file contains none of its messages. copyist writes nothing. If the origin of this file has another name, name it with `--origin FILE`. `--ignore-origin` reads the file alone."
    NotAsTold "CY0627" Error "edited stream does not fit its source format" "The stream was edited, and its source format cannot express the edit: a line, a summary or the state of the session still contains the old text, or has no place for the new text, so a model would get different content. copyist therefore wrote the session as it writes one from another format. It left out the other data of the stream and counted it in the report."
    OriginAlone "CY0628" Note "origin without its file" "The file that this origin restores is no longer beside it. If you removed the file on purpose, you can remove the origin, too. If the file is lost, name the origin as an input: copyist reads it as the session that it contains."
    OwnVersion "CY0629" Note "session is restored in its own version" "You named no version, so copyist writes the session in the version that it had before it was converted. `-t FORMAT@VERSION` selects another version."
    RecordRestored "CY0630" Warning "record restored from the origin" "The file was damaged at the place of this record, and copyist restored the record from the origin beside the file. A record that is missing where nothing is damaged counts as deleted by the user; `copyist repair` also restores a missing end."
    LineDropped "CY0631" Warning "the agent will drop this record" "The text contains half of a surrogate pair, usually because it was cut in the middle of a character. Codex drops such a line, so the model does not get the record. copyist wrote the text unchanged. Run `copyist repair` on the output: it replaces the half by U+FFFD, and Codex then reads the line."
    OriginMissing "CY0632" Note "origin is missing" "copyist made this file from a session of another format, and its origin is not beside it. copyist reads the file alone, so what only the source had is not in the output. If you have the origin, put it beside the file as `NAME.origin`, or name it with `--origin FILE`."
    TrimmedChanged "CY0633" Error "trimmed session was changed" "The session was trimmed, and its file was changed since in another way than by new lines at its end, as by a migration or an edit. The new lines cannot be found then, so they cannot be put behind the whole session. To get the whole session without them, name the origin as the input: `copyist convert -t FORMAT -o FILE NAME.origin`. To go on with the trimmed session alone, use `--ignore-origin`."
    Exists "CY0701" Error "output exists" "A file exists at the place of the output, and copyist wrote nothing. Use `--force` to replace it."
    SameFile "CY0702" Error "output is the input" "The output would replace its own input, another input, or the journal of the run. Name another place. `migrate` and `repair` change files in place with `--in-place`, and keep backups."
    Changed "CY0703" Error "input changed while it was read" "Another program wrote to the file or has locked it. copyist left the file unchanged. Close the agent and run copyist again."
    Link "CY0704" Error "input is a symbolic link" "`--in-place` does not follow symbolic links. Name the file that the link points to."
    Io "CY0705" Error "input or output failed" "The operating system reported an error when copyist read or wrote a file. The message is that of the system. Check that the path exists, that you have permission, and that the disk is not full."
    OutputName "CY0706" Error "output needs a folder" "In the target format the session consists of several files, or of one whose name cannot be used, but `-o` names one file. Use `--out-dir`: copyist writes the files below that folder, under their own names."
    OutputFolder "CY0707" Error "output is a folder" "`-o` names the output file, but a folder has this name, and copyist does not replace a folder. Use `--out-dir` to write into it."
    LinkBeside "CY0708" Warning "link beside the file is not followed" "A file that belongs to the session by its name is a symbolic link. A link that the user did not name may lead anywhere, so copyist reads the session without it. Name the file that the link points to, or put the file itself there."
    OtherOutput "CY0709" Warning "another output has this name" "Codelia keeps the tool outputs of all sessions in one folder, where two sessions can use the same name. copyist left the existing file, even with `--force`, because other sessions may need it. The session itself contains its own output in full."
    ChangedSince "CY0710" Note "input or output changed since the journal" "According to the journal, an earlier run finished this input. Since then the input was changed, or its output was changed or removed, so copyist processed the input again."
    NotAsWritten "CY0711" Error "file differs from the journal" "`undo` restores an original only if the file is still, byte for byte, what the run wrote, and the backup is what the run read. One of them was changed, moved or removed since. copyist left both unchanged, and after `continue` all files of the session. The message shows the ways on. Where an agent went on with the session, `copyist continue` brings the new turns to the other agent, too."
    NoBackup "CY0712" Error "no original was kept" "The run changed the file with `--no-backup`, so there is no original to restore. copyist left the file unchanged. If you need the original, look for it in your own backups."
    OutsideRoot "CY0713" Error "journal leads outside of its folder" "The journal names a file that is outside the folder in which the run worked, or behind a link. No run writes such an entry, so the journal was edited or the folder was moved. copyist left the file unchanged; if the folder was moved, name it with `--root FOLDER`."
    OutputSpecial "CY0714" Error "pipe or device in the place of an output" "At the path of an output, or of another file of the session, is a named pipe or a device. copyist writes into a pipe or a device only if `-o`, `--quarantine` or `--report` names it; otherwise the run could wait forever for a reader. Remove it, or name another folder."
    NoName "CY0715" Error "output has no name" "The agent names files after a value in the session. Here this value is missing, or it would place the file in another folder, so copyist has no name for the session or for one of its files. Without `--layout native`, an output gets the name of its input."
    OutputInside "CY0716" Note "output folder is not read as input" "The folder of `--out-dir` is inside a folder that is an input. copyist does not read what earlier runs wrote into it. To read it, name the folder itself."
    KeptOriginal "CY0717" Note "kept original is not read as input" "Beside this session is a file with the same name except for the last extension, so this one seems to be an original that `--in-place --backup=SUFFIX` kept, or a copy made by the user. copyist skips it in a folder. To read it, name the file itself."
    TornArchive "CY0718" Error "compressed file is damaged" "The compressed file cannot be unpacked beyond the place shown: it was cut off or damaged, or something else follows its end. `copyist repair` takes what precedes that place as the session, with the lines that a program appended without compressing them. If bytes other than NUL follow, check them before you delete the original."
    OutputTaken "CY0719" Error "another output has this path" "Two sessions of the run would be written to the same path, and copyist has already written the first one. It wrote nothing of the second one. Convert that one into a separate folder."
    ArchiveLimit "CY0720" Error "compressed file is larger than any session" "The compressed file unpacks to more data than any session contains: more than 200 times its size plus 1 GiB. Such files can fill memory or a disk, so copyist refuses them. If you trust the file, unpack it yourself and name the result."
    NamedTwice "CY0721" Note "input was named before" "The same file was named more than once, or is also in a folder that was named. copyist processes it once."
    LinkFound "CY0722" Note "link in a folder is not followed" "A folder that you named contains a link to a session or to another folder. A link may lead anywhere, even to files that the run already processes, so copyist follows only links that you name. It read nothing through this link and counts it as skipped. To read it, name the link or its target."
    NoProject "CY0723" Warning "session names no project" "The target agent keeps the sessions of each project in a folder named after the project, and lists only those of the current project. This session does not name its project folder, because its source format has no place for it. copyist wrote it as a session of the project `/`, and the agent lists it only there. `--cwd DIR` gives it a folder."
    NamesPart "CY0724" Warning "other hard links keep the old contents" "The file has other names (hard links). copyist changes a file in place by putting a complete new file under this name; the other names keep the old contents. Link them again if all names are to share one file."
    AsideKept "CY0725" Note "quarantine file is kept" "The run that is undone moved data that could not stay in a session to this file. `undo` keeps the file, because it may be the only copy of that data. If the originals are back, you can remove it."
    FolderFound "CY0726" Note "session's folder taken from a command" "The first rollouts of Codex do not name the working folder of the session, and later releases require it. copyist took the folder from the first command that names one. If it is wrong, run `copyist migrate --cwd DIR` on the original rollout. If no command names a folder, copyist writes `/` and reports CY0723."
    SameSession "CY0728" Note "another input is the same session" "Two files have the same session identifier and begin with the same records: a sync program, a backup or the user copied one of them, and both may have been continued since. The message names the file that is the beginning of the other, or the line from which they differ. The agent lists both. If one file is only the beginning of the other, you can remove it. If both were continued, `copyist convert --join copies` combines them in formats that store a tree."
    CopiesDiffer "CY0729" Error "copies have different entries of one identifier" "`convert --join copies` puts the entries of all copies of a session into one tree, each identifier once. Two copies have an entry with the same identifier but different contents, so one of them was edited or damaged, and copyist cannot determine which is right. It wrote nothing. `copyist diff A B` shows the difference; name only copies whose entries match."
    Poorer "CY0730" Error "output lacks messages of the existing file" "A file of the same session exists at the place of the output, and has messages that the output lacks. `--force` and `--resume` do not replace it: copyist wrote nothing. If you want the output, name another place, or remove the file first."
    SameBeginning "CY0731" Note "another input begins with the same question and answer" "Two sessions with different identifiers begin with the same question and the same answer: one is a fork of the other, a copy that a program made under another identifier, or the same session as another agent continues it. `copyist usage` counts answers that several sessions have once."
    OriginalKept "CY0732" Warning "original is kept" "`clean` removes the original that a run kept only if the run reported neither a warning nor an error for its file, the file is still, byte for byte, what the run wrote, and the original is what the run read. The message shows which of these does not hold, so copyist removed nothing. An agent that continues a session changes its file. Compare both files, and remove the original by hand if you do not need it."
    BadPack "CY0733" Error "pack cannot be used" "The file is no pack that `copyist pack` made, it is damaged, or it contains something that does not belong to a session. A pack may come from anyone, so copyist unpacks only what is a session and fits to the description in the pack. Ask for the pack once more, or look into it: `tar --zstd -tf FILE`."
    TornRecord "CY0801" Warning "torn record set aside" "The record was cut off, usually by a crash or a full disk while the agent wrote it, and the rest is not a valid record. `copyist repair` moved it to the quarantine file, byte for byte. `--salvage` restores the members that are complete."
    GluedSplit "CY0802" Warning "several records on one line split" "Several records were on one line, or a complete record followed a torn one, and the agent reads none of them. copyist put each complete record on its own line."
    NulsRemoved "CY0803" Warning "NUL bytes set aside" "The file system kept the length of the file but lost its contents, usually after a power failure. copyist removed the NUL bytes. The lost contents cannot be restored."
    Utf8Replaced "CY0804" Warning "bytes that are not UTF-8 replaced" "The record contains bytes that are not UTF-8. copyist replaced each sequence of them by U+FFFD, as the agent does when it reads the file. The original line is in the quarantine file, and the record is marked."
    StraySetAside "CY0805" Warning "stray text set aside" "The text is not a record: it is a message of some program, a value that is not an object, or the remains of a line. copyist moved it to the quarantine file, byte for byte."
    RecordJoined "CY0806" Warning "record joined from two pieces" "A second program wrote a complete record into the middle of this one. The two pieces together form a record, so copyist joined them. The record is marked, and both pieces are also in the quarantine file."
    Salvaged "CY0807" Warning "complete members of a torn record restored" "With `--salvage`, copyist built a record from the complete members of a torn one. What followed the cut is missing. The record is marked."
    DuplicateRemoved "CY0808" Warning "duplicate record set aside" "The same record occurs earlier in the file: after a crash, or through a bug in early releases of the agent, a part of the session was written twice. copyist moved the later copy to the quarantine file."
    MarkRemoved "CY0809" Warning "byte order mark removed" "The file began with a byte order mark, and newer releases of the agents refuse such a file. copyist removed the mark."
    LineEnded "CY0810" Warning "line ending added after the last record" "The last record is complete but had no line ending, so the next record that the agent appends would have ended up on the same line. copyist added the line ending."
    HeaderRebuilt "CY0811" Warning "session header rebuilt" "The session had no header, or one without an identifier, and the agent discards such a file. copyist rebuilt the header from its remains, from the names of the file and its folder, and from the first records. The header is marked."
    HeaderMoved "CY0812" Warning "session header moved to the front" "Other records stood before the session header, and the agent discards such a file. copyist moved the header to the front."
    HeaderRemoved "CY0813" Warning "further session header set aside" "The file has more than one header. The agent reads the first and ignores the others, or loses what precedes the last. copyist moved all but the first to the quarantine file."
    VersionRestored "CY0814" Warning "version restored in the session header" "The header names no version, as in version 1, but every entry has an identifier and a parent, as from version 2 on. The agent would replace them all by one chain, and the branches of the session would be lost. copyist wrote the newest version into the header, or version 2 if a message has a name that only this version uses."
    IdGiven "CY0821" Warning "identifier added" "The entry had no identifier, so nothing could refer to it and the agent lost it from the conversation. copyist gave it a new one. If it had no parent, copyist linked it to the entry before it."
    IdChanged "CY0822" Warning "identifier changed" "Another entry had the same identifier. copyist gave the later one a new identifier, and changed the references in the entries that follow it. The old identifier is stored under `copyist.repaired`."
    ParentLinked "CY0823" Warning "parent linked again" "The parent of the entry is not in the file, so for the agent the conversation began at this entry. copyist linked it to the only entry that can have preceded it. The old parent is stored under `copyist.repaired`."
    ParentUnknown "CY0824" Error "parent not known" "The parent of the entry is not in the file, and several entries could have preceded it. copyist made the entry a root and stored the old parent under `copyist.repaired`. `copyist repair --relink ID=PARENT` links it to the entry that you choose."
    CycleBroken "CY0825" Warning "cycle broken" "Following the parents led back to the same entry, and the agent hangs on such a file. copyist linked the first entry of the cycle to the entry before it. The old parent is stored under `copyist.repaired`."
    TargetItself "CY0826" Warning "missing target replaced" "The entry refers to an entry that is not in the file; such a reference has no effect. copyist replaced the target by the entry itself, which has no effect either, or by the entry that took the place of the missing one. The old target is stored under `copyist.repaired`."
    LeafLinked "CY0827" Warning "last entry moved to the end of the conversation" "The last entry is a label, a name or a count, and its parent is earlier than the last message. The agent opened the session there and showed less of it. copyist linked the entry to the end of the conversation and stored the old parent under `copyist.repaired`."
    EntryUnusable "CY0828" Warning "entry without a message set aside" "The entry has the type of a message but contains none, and the agent fails on it. copyist moved it to the quarantine file and linked the entries that followed it to its parent."
    IndexShifted "CY0829" Warning "compaction index corrected" "The index counts all records ever written. copyist moved records before it to the quarantine file or added some, so the index pointed at the wrong record. copyist corrected it and stored the old index under `copyist.repaired`."
    ResultSynthesized "CY0831" Warning "tool result added" "A tool call has no result before the session continues or ends, and the API of the model refuses such a session. copyist added the result from another place in the session. If there is none, it added one which states that the session was interrupted and the outcome is unknown. The result is marked."
    OrphanResult "CY0832" Warning "tool result without its call set aside" "The tool result belongs to no call of the message before it, or is a second result of the same call, and the API of the model refuses such a session. copyist moved it to the quarantine file and linked the entries that followed it to its parent. In Claude Code, a result with which the conversation begins becomes a text, because the first message must be the user's."
    EmptyTail "CY0833" Warning "empty last answer set aside" "The conversation ends with an answer that is empty or contains only thinking, and the API of the model refuses such a session. copyist moved the answer to the quarantine file and linked the entries that followed it to its parent."
    SurrogateReplaced "CY0834" Warning "character that no model accepts replaced" "A text contains U+0000, or half of a surrogate pair, usually because it was cut in the middle of a character. The API of the model refuses both. copyist replaced each by U+FFFD. The record is marked, and the mark contains the original text; for a YAML file, the quarantine file contains it."
    Unordered "CY0835" Error "calls and results not checked" "Entries stand before their parents, so the order of the messages differs from the order of the file. `--resumable` therefore added and removed no calls or results. copyist repaired everything else."
    NotLinked "CY0836" Error "entry was not linked" "`--relink ID=PARENT` names an entry that is not in the file, or would link an entry to itself, or the format has no links between entries. copyist changed nothing for it."
    CallsLeft "CY0837" Error "calls or results left unrepaired" "A tool call has no result, or a result has no call, and the API of the model refuses such a session. `--resumable` repairs this only in UTF-8 files that have the layout of the agent. This file has another layout or another encoding, so copyist left it unchanged."
    LeafLeft "CY0838" Error "end of the branch left as it is" "The current branch of the session ends with an empty answer or with a result without its call, which the API of the model refuses. Another branch precedes it in the file, and without this end the agent would continue with that branch. copyist left the end unchanged and repaired everything else."
    Unsettled "CY0839" Error "repair did not reach a stable result" "copyist repairs its own output again until it finds nothing more to repair. Here it stopped before that, and wrote the output of its last pass. Nothing is lost, but the output may still contain defects. Please report this as a bug."
    NothingBack "CY0841" Error "nothing to restore" "The file contains no complete record of a session. copyist left it unchanged."
    ContextChanged "CY0842" Note "context changes" "After the repair, the model gets a different number of messages. A restored compaction can replace the messages before it, and an entry that was linked again can make earlier messages reachable. Run `copyist context` on the file before and after the repair to compare what the model gets."
    NoQuarantine "CY0843" Error "no place for the quarantine file" "Some bytes of the input cannot stay in the output, and copyist never discards them. Name a file for them with `--quarantine FILE`."
    BlankRemoved "CY0851" Warning "blank lines at the end set aside" "The scripts read only the last line, so a blank line after the result of a prompt hides the result: `ao-status` reports `running`, and `ao-get-result` refuses. copyist moved the blank lines to the quarantine file."
    MetadataId "CY0852" Warning "session identifier added to the metadata" "The scripts were killed before they stored Claude's session identifier, so `ao-resume` fails. copyist added the last identifier in the log to the metadata. The metadata are marked."
    MetadataTaken "CY0853" Warning "metadata taken from the temporary file" "The scripts were killed after they wrote the metadata to a temporary file and before they renamed it. There were no other metadata, or none that can be read. copyist used the temporary file."
    MetadataRebuilt "CY0854" Warning "metadata rebuilt" "The metadata were missing or damaged. The scripts then do not find the session, or append to its log as if it were new. copyist rebuilt the metadata from their remains, from the name of the files and from the log. They are marked."
    StateRestored "CY0855" Warning "state cut short" "The file ends in the middle of the state of the session, or is damaged there, and the agent refuses it. copyist kept what is complete before that place, with every complete message, and moved the rest to the quarantine file. The state is marked."
    MessageRestored "CY0856" Warning "message restored from its turn" "A message was damaged or lost, but the summary in the turn contains the question or the answer. copyist rebuilt the message from it. The note under `copyist` at the end of the file, or in the header of a run, names the message."
    MemberRestored "CY0857" Warning "member added" "The file was cut off or damaged, or another program wrote it, and it lacks a member that the agent needs. copyist added the member, with a value known from elsewhere or an empty one. The note under `copyist`, in the record or at the end of the file, names the member."
    MergeRemoved "CY0858" Warning "conflict markers of a merge set aside" "A merge left its conflict markers in the file, and no parser can read it. copyist kept the first of the two sides, and moved the markers and the second side to the quarantine file."
    ListClosed "CY0859" Warning "list of messages closed" "The file ended before its list of messages did, or a line around the list was lost, and no parser can read such a list. copyist closed the list after the last complete message."
    HistoryRestored "CY0860" Warning "message restored from its run" "The run was killed before the agent stored this message. The run contains the message: its last request begins with all stored messages and continues with this one, or its last response or a record of a tool output contains it. copyist appended the message and marked it."
    TemporaryLeft "CY0861" Note "temporary metadata left alone" "Beside the metadata is a temporary file with which a killed script was about to replace them. The metadata can be read, so copyist neither reads nor copies the temporary file."
    StateBehind "CY0862" Warning "state older than the runs" "The last run was killed: its last answer is in the run file, but not in the state from which the agent resumes, so the agent continues without that answer. `--resumable` appends the missing messages from the run, if its last request begins with all stored messages. If the history was shortened or rebuilt in between, copyist cannot know what the agent would have stored, and leaves the state unchanged."
    ArchiveRead "CY0863" Warning "compressed file read up to its damage" "The compressed file cannot be unpacked beyond the place shown. copyist took what precedes that place as the session and wrote a complete file. If the checksum is wrong, the damage may be anywhere before that place, even in records that look complete. What follows cannot be read or moved to quarantine; with `--in-place` the original is kept."
    WideDamaged "CY0864" Error "damaged text in UTF-16 is not repaired" "The file is UTF-16 and contains bytes that are not UTF-16 before its end. copyist repairs such a file as text, so all of it must be valid except for half of a character at the end; it left the file unchanged. `iconv -c -f UTF-16 -t UTF-8 FILE > NEW` converts the valid text to UTF-8, and `copyist repair` can repair that file."
    EscapeRead "CY0865" Warning "escape that JSON does not define read as a backslash" "A string of the record contains a backslash before a character that JSON does not escape. Programs that replace text in the file, for example to mask names, can leave such a string. The agent drops the line. copyist treated the backslash as a plain character, kept the whole record and marked it."
    LinesJoined "CY0866" Warning "record on several lines joined" "The line ends inside a string. An editor or another program replaced the escapes of line endings in a record by real line endings, so the record extends over several lines, and the agent drops all of them. copyist wrote the record on one line and marked it. The original lines are in the quarantine file."
    LineNumbered "CY0867" Warning "lines without a number numbered" "An older release of Codex appended lines to a rollout whose lines are numbered. Newer releases refuse a rollout whose last line has no number. copyist continued the numbering to the end of the file."
    Retyped "CY0868" Warning "member of the wrong type rewritten" "A member has a value of a type that the agent does not accept, such as an object instead of a string that contains JSON, and the agent drops the whole record. copyist wrote the value in the accepted type. The record is marked, and the mark contains the old value."
    HistoryDetached "CY0869" Warning "reference to a missing rollout removed" "The session refers to another rollout for its beginning. That rollout is missing, and newer releases of Codex refuse the session. With `--resumable`, copyist removed the reference, so the session begins with its own lines. The first line is marked, and the mark contains the reference."
    IndexBehind "CY0870" Note "Codex may show the session as it was" "Codex displays numbered rollouts from an index, which still contains the session as it was before the repair. The model gets the repaired session. Close Codex, and remove the files `thread_history_1.sqlite*` in its home: Codex creates them again. copyist does not remove them."
    Straightened "CY0871" Warning "parent changed so that every release follows the chain" "Claude Code 2.1 writes the results of parallel calls as branches, and some releases write progress lines into the chain of messages. Older releases only follow the parents, so they lose messages on the other branches. With `--resumable`, copyist changed the parent so that the conversation is one chain. The old parent is noted in the record."
    EndDated "CY0872" Warning "last message got the newest time" "Releases of Claude Code before 2.1.33 continue a session at the message with the newest time. Newer releases use the order of the lines and the line that names the last message. Here these are different messages. With `--resumable`, copyist gave the newest time to the message at which the newest release continues, so that all releases continue there."
    ContentListed "CY0873" Warning "text of an answer written as a list" "The content of an answer is a string, as some other programs write it. Releases of Claude Code before 2.1.33 fail on such a line. With `--resumable`, copyist replaced the string by a list with one text block, which every release reads."
    ToolRenamed "CY0875" Warning "name of a tool changed" "The interface of a model accepts tool names of up to 128 letters, digits, `_` and `-`, and refuses a session with any other name. With `--resumable`, copyist replaced each other character by `_`, both in the call and in its result. The old name is stored under `copyist.repaired`."
    ImageReplaced "CY0876" Warning "image replaced by a text" "The image is empty, is not base64, or is not a PNG, JPEG, GIF or WebP image, and the interface of the model refuses a session with such an image. With `--resumable`, copyist replaced the image by a text. The original data of the image is in the quarantine file or in the mark of the line."
    Respelled "CY0877" Warning "text rewritten so that PyYAML reads it" "The agent reads the file with PyYAML, which refuses this text, or reads it as something else, although other YAML parsers read it. The cause is a tab outside of quotes, a line break of YAML 1.1 (U+0085, U+2028, U+2029), a character that is not printable, a word, number or time in the place of a text, a time or number that does not exist, `<<` or `=` as a value, `<<` with a value that is not a mapping, or a tag of another program or type. copyist wrote the same value in another form: in quotes, with a space instead of the tab, or without the tag."
    TailRead "CY0878" Warning "text behind the compressed part read" "Text that is not compressed follows the compressed part of the file, from the byte shown: a program appended lines to a file that was compressed. No agent reads such a file. copyist read all of it and wrote one complete file."
    CallRenamed "CY0884" Warning "identifier of a call changed" "The interface of the model refuses an identifier that two calls of a request have, one with other characters than letters, digits, `_` and `-`, or one that is too long. With `--resumable`, copyist gave the call another identifier, and its result the same. The old identifier is stored under `copyist.repaired`."
    ThoughtRemoved "CY0885" Warning "thought set aside" "The thought has no signature, or none of the encrypted content by which its provider recognises it, and the interface of the model refuses a session with such a thought. With `--resumable`, copyist moved it to the quarantine file, or into the mark of its record."
    MediaTypeChanged "CY0886" Warning "media type of an image changed" "The media type of the image is missing, or is not that of its data, and the interface of the model refuses a session with such an image. With `--resumable`, copyist wrote the type that the first bytes of the image show. The old type is stored under `copyist.repaired`."
    EndMarked "CY0887" Warning "line added that names the end of the conversation" "Claude Code continues the session at a line that is sent together with others, and another branch of the session follows those. In a chain without branches, releases would continue at the end of that branch. With `--resumable`, copyist added a line at the end of the file that follows the last message of the conversation. It is not sent to the model."
    Renumbered "CY0888" Warning "number of a line changed" "In a numbered rollout, a line has the number of the line before it, or a lower one. Codex keeps a list of the lines by their numbers: it stops at such a line, or refuses the session. copyist gave the line the next number. A number that is left out stays so."
    ServedReplaced "CY0889" Warning "block of a provider's tool replaced by a text" "A call of a tool that the provider runs, such as `advisor`, and its result must be in one answer, or the interface of the model refuses the session. A message stands between them, or one of them is missing. copyist replaced the block by a text; the original is in the mark of the line."
    ResultMoved "CY0890" Warning "late tool result moved to its call" "The result was written behind messages that follow it in the conversation, so some releases lose it or the messages before it. copyist moved the result behind the other results of the answer. The original line is in the quarantine file."
    ItemRestored "CY0891" Warning "message of the user restored from its event" "Codex writes each message of the user twice: as an item, which it sends to the model, and as an event, which it shows. Here only the event is in the file, so the model does not get the message, and an event that takes turns back takes back one turn too many. copyist added the item before the event. The added line is marked."
    SeparatorEscaped "CY0892" Warning "line separator written as an escape" "A text contains U+0085, U+2028 or U+2029 as a character of its own. Some releases of GitHub Copilot CLI write such lines, and then divide them there and refuse the session. copyist wrote the escape in its place, which every release reads."
    ForksCount "CY0893" Note "forks of the session count its bytes" "A fork of a numbered rollout names the byte of this file at which its own lines begin. The repair in place moved lines, so that a fork may get fewer or more of them than before. copyist names the first fork that it finds in the folders `sessions` and `archived_sessions`; outside of them, or where they have more than 2,000 files, it does not look. `copyist undo` takes the repair back, `copyist convert -t codex@2` of each fork makes a session that contains all its lines, and then this file can be repaired."
    TimeReached "CY0894" Warning "time of the future changed" "A message was dated later than the present, as after a wrong clock. OpenCode asks the model without end behind such a message. copyist gave it the present time."
    StoreOnlyRead "CY0895" Error "store is only read" "copyist reads this store of an agent and writes nothing into it. `copyist convert` to the agent's own format writes a session of the store as a document, without what cannot be read; `copyist repair` repairs such a document, and the agent imports it."
    StepRenumbered "CY0896" Warning "steps numbered from 1" "Harbor refuses a trajectory whose steps are not numbered 1, 2, 3 and so on: a lost step leaves a gap, and some programs begin with 0. copyist numbered the steps. In a whole document it does so with `--resumable`."
    InUse "CY0897" Error "database is in use" "Another program has the database open, such as the agent itself, its server, or a window of an editor that runs it. copyist changes such a database only while nobody else uses it, and changed nothing. Quit that program and repeat the command."
    RowTaken "CY0898" Warning "identifier is taken in the database" "The database has another session's message or part of this identifier, as after an import of a copy. copyist left that as it is, so the session was brought over without it. The files of the session are unchanged."
    NoDatabase "CY0899" Error "no database takes the sessions" "The sessions are in files that today's release of the agent does not read, and the database that it reads is not there. copyist adds sessions to a database of the agent and makes none of its own. Start the agent once, which makes the database, end it, and repeat the command."
}

/// Maximum number of characters of a message that are kept.
const LONGEST_MESSAGE: usize = 400;

/// One finding, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Kind of the finding.
    pub code: Code,
    /// Description of the finding, in one line, lower case, without a full stop.
    pub message: String,
    /// Place of the finding; `None` for the input as a whole.
    pub at: Option<Position>,
    /// The text around the place.
    pub window: Option<Window>,
    /// Whether the finding is damage behind which the work continued, as the user allowed.
    pub passed: bool,
    /// Whether the finding is what makes the session invalid; it is then reported as an error.
    pub decides: bool,
}

impl Diagnostic {
    /// Returns how grave the finding is in its report.
    #[must_use]
    pub fn severity(&self) -> Severity {
        if self.decides { Severity::Error } else { self.code.severity() }
    }

    /// A finding that the title of its code describes.
    #[must_use]
    pub fn of(code: Code) -> Self {
        Self::new(code, code.title())
    }

    /// A finding about the input as a whole.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // Messages may quote the input, whose values reach megabytes.
        if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
            message.truncate(end);
            message.push('…');
        }
        Self { code, message, at: None, window: None, passed: false, decides: false }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, at: Position) -> Self {
        self.at = Some(at);
        self
    }

    /// Returns the advice to the user, in one line. The advice does not explain
    /// how to allow damaged lines if the user has allowed them.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        if self.passed && self.code.is_of_line() { Some(GETS_BACK) } else { self.code.help() }
    }

    /// Adds the text around byte `offset` of `line`.
    #[must_use]
    pub fn showing(mut self, line: &[u8], offset: usize) -> Self {
        self.window = Some(Window::around(line, offset));
        self
    }
}

/// Outcome of the conversion of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldOutcome {
    /// The target holds the field unchanged.
    Exact,
    /// The target holds the field in another form.
    Mapped,
    /// The origin beside the target holds the field.
    Origin,
    /// The target computes the field.
    Derived,
    /// The reader restored the field.
    Synthesized,
    /// The field is lost.
    Dropped,
}

impl FieldOutcome {
    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Mapped => "mapped",
            Self::Origin => "origin",
            Self::Derived => "derived",
            Self::Synthesized => "synthesized",
            Self::Dropped => "dropped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_and_in_order() {
        let names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert!(names.is_sorted());
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    }
}
