//! What the program has to say about an input: findings with permanent codes, and losses.

mod differences;
mod log;

use crate::position::Position;
use std::fmt;

pub use differences::Differences;
pub use log::{Findings, Log};

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something a careful user would look at.
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

            /// What it means, and what to do.
            #[must_use]
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation,)* }
            }
        }
    };
}

codes! {
    NotUtf8 "CY0101" Error "line is not UTF-8" "The line holds bytes that are no UTF-8 text. Session files are UTF-8, so the bytes were damaged on disk or in transit; a YAML file may be in another encoding, which `--encoding` names. The source is left alone. `copyist repair` saves what can be saved; `--on-error keep` carries the line along as it is."
    Syntax "CY0102" Error "line is not JSON" "The line breaks the grammar of JSON at the place shown. `copyist repair` saves what can be saved; `--on-error keep` carries the line along as it is, `--on-error skip` leaves it out and says so in the report."
    CutShort "CY0103" Error "line ends in the middle of a record" "The record was cut, mostly by a crash or a full disk while the agent wrote it. Nothing after the cut exists any more. `copyist repair` keeps every whole record."
    Glued "CY0104" Error "more than one record on a line" "A whole record is followed by more text on the same line. It happens when an agent appends to a file whose last line had no line ending. `copyist repair` splits the line."
    NulRun "CY0105" Error "line of NUL bytes" "The file system kept the length of the file but not its contents, mostly after a power cut. `copyist repair` removes the NUL bytes."
    NotObject "CY0106" Error "record is not a JSON object" "The line is JSON, but no object, and every record of this format is one. `copyist repair` sets it aside; `--on-error keep` carries it along."
    LineTooLong "CY0107" Error "line is longer than the limit" "A record must fit in memory. The limit is set with `--max-line`."
    Unchecked "CY0108" Warning "record not checked against the schema" "The record is nested deeper than 128 levels, or holds a number that no double can. It is kept, and every byte of it was checked against the grammar, but the schema check cannot take it."
    ByteOrderMark "CY0109" Warning "file begins with a byte order mark" "Newer releases of the agents refuse such a file. A migration takes the mark off; a file that is already at the target, and a copy, keep it."
    NoFinalNewline "CY0110" Warning "last line has no line ending" "The record is whole, but the next one that the agent appends would be glued to it. A migration adds the line ending; a file that is already at the target, and a copy, stay as they are."
    Empty "CY0111" Error "file holds no record" "The file is empty or holds only blank lines. There is nothing to migrate or convert."
    YamlSyntax "CY0112" Error "text is not YAML" "The file breaks the grammar of YAML at the place shown, or a second document begins there, so nothing that follows can be told apart. What stands before it was read. Common causes are a tab in the indentation, a conflict marker of a merge, two programs that wrote at once, a control character."
    YamlCutShort "CY0113" Error "file ends in the middle of a value" "The file was cut, mostly by a crash or a full disk while the agent wrote it. What stands before the cut was read; nothing after it exists any more."
    YamlLimit "CY0114" Error "document goes beyond the limits" "The document is nested deeper, holds a longer value, or expands by aliases to more than any session does. Such documents are made to exhaust a reader."
    YamlComment "CY0115" Note "comment is kept in this format only" "A comment stands between the values of the YAML file or inside of one. It goes through the canonical stream and back to its own format and version; no other has a place for it. A comment inside a record that is edited goes with the record's stored spelling (CY0502)."
    GuessedEncoding "CY0116" Warning "encoding was guessed" "The file is not UTF-8 and does not say what it is. Python on Windows writes files in the system's code page. Look at the text before you trust it; `--encoding NAME` says what it is."
    YamlBeyondJson "CY0117" Warning "tag, anchor or alias is not kept" "The value has a tag such as `!!python/tuple`, or an anchor or an alias. Records hold what it says, an alias as what it stands for, and not how it was marked. It stays where the file is copied in its own format and version."
    PythonNumber "CY0118" Warning "number that JSON does not know" "Python writes `NaN` and `Infinity`, which are no JSON. Records hold `null` in their place and the message's own spelling, with which it goes back to its own format and version. Other formats get the `null`."
    RunLayout "CY0119" Warning "run in another layout" "A person or a program laid the run file out anew. It is read as YAML, and it stays as it is where it is copied in its own format and version. Written from records it gets the layout of the real software again."
    RunSummary "CY0120" Note "summary of runs" "The file tells of each turn in short: what was asked and answered, what it took, how it was evaluated, how earlier runs ended. The conversation itself is in the run files, in the folder of the same name beside it. Questions and answers stand for it where this file alone is read; they are marked as synthesized and are not written back."
    AuthoredEval "CY0121" Note "evaluation written by a person" "The file says what the software is to be asked and what is expected of it; no conversation was kept here. What a run of the evaluation answered was added to it. Questions and answers are read as messages, marked as synthesized, and are not written back."
    NotJoined "CY0122" Warning "summary does not fit the run" "A run's turns are summed up in the file beside its folder, with what a person expected and how it was evaluated. This one is of another conversation, whose first question makes the same file name, or it tells of turns that the run does not have, or it cannot be read. The run is read without it."
    Relaid "CY0123" Warning "layout of lists is not kept" "From the place shown on, lists, their items or their names stand further to the right, or to the left, than the agent writes them, and not by two spaces throughout, or something else than a value stands between them. The file stays as it is where it is copied in its own format and version. Written from records, its lists get the layout of the agent again; what they say does not change."
    ListUnread "CY0124" Warning "list of messages that only copyist reads" "A comma between two messages is missing, or stands behind the last one, or a message is not indented, which ends the list for a parser of YAML. The lines are read one by one here, but the agent's own loader reads no message of such a file. `repair` writes the list as the agent does."
    UnknownFormat "CY0201" Error "no format recognises the file" "None of the formats of `copyist formats` knows the beginning of this file. If you know what it is, say so with `-f FORMAT`."
    NoHeader "CY0202" Error "no session header" "The first record must be the session's header; the agent discards a file without one. `copyist repair` rebuilds it from the file's name."
    FurtherHeader "CY0203" Warning "further session header" "The file has more than one header. The agent reads the first and ignores the others; they are kept where they stand. In a canonical stream: a record of another session, which is read as more of the first."
    NewerVersion "CY0204" Warning "newer version than copyist knows" "The file says that a newer release wrote it. It is read as the newest version that copyist knows. `migrate` refuses it unless `--force-version` is given."
    StrangeVersion "CY0205" Warning "version that is no number" "The header's version cannot be compared with a number. The agent opens such a file without migrating it; so does copyist."
    WrongVersion "CY0206" Error "version cannot be reached" "Migration leads through versions that the format has, and where it changes lines it leads to newer ones only. To write an older version use `copyist convert`, which reports what it cannot hold. `--in-place` takes no migration to another kind of file."
    WrongFormat "CY0207" Error "file is not of the format asked for" "The file is not of the format given with `-f` or `--to`: another format is sure of it, or it cannot be of that one, as YAML cannot be JSON Lines. Without `-f` the format is recognised, and `copyist detect` tells it."
    VersionRefused "CY0208" Error "version is too new to migrate" "The file says that a newer release wrote it, so copyist cannot know what a migration would have to change. `--force-version` treats it as the newest version that copyist knows; then it passes as it is."
    Unreadable "CY0209" Error "nothing of a session can be read" "The file stands in a folder that was named, and is called as sessions are, but it is empty, or no text: a crash or a full disk left it so, or it was written over; or something else stands in front of its records, as in a text that shows some: name it then, and it is read. If it is a session, look for it in a backup. UTF-16, which some shells write, becomes readable by `iconv -f UTF-16 -t UTF-8`. Records that a program printed on several lines each become lines again by `jq -c .`. Nothing was written of it, and the exit code is 1; `--exclude` leaves it out. Texts that are no sessions are skipped without a word."
    KeptFromHeader "CY0301" Warning "compaction keeps everything" "The compaction's index pointed at a session header, by which version 1 meant that nothing was left out. It now points at the first entry. The index is kept under `copyist.migrated`. (The agent's own migration drops the index, and with it all that came before the compaction.)"
    KeptSelf "CY0302" Warning "compaction keeps nothing" "The compaction's index was its own, so it kept nothing of what came before. It now points at itself. The index is kept under `copyist.migrated`."
    KeptNowhere "CY0303" Warning "compaction index points nowhere" "The compaction's index points behind the compaction, outside the file, or between two entries. As in the agent's own migration it is dropped, and nothing before the compaction is kept in the context. The index is kept under `copyist.migrated`."
    KeptNoNumber "CY0304" Warning "compaction index is no number" "The compaction's index is no number. As in the agent's own migration it stays as it is and has no effect."
    IdReplaced "CY0305" Warning "identifier replaced" "The entry of a version without identifiers had one. As in the agent's own migration the entry gets a new one, and the entries become one chain. The old identifier is in this message, and noted under `copyist.was`, from where it comes back to the version that had it."
    Restored "CY0306" Warning "message restored from the turn's summary" "An agent that was started again writes turns without their first message. What the turn itself tells stands in its place; it is marked as synthesized and is not written back."
    TurnKey "CY0307" Warning "messages of no turn" "A key under `messages` is no plain turn number. The agent's own loader sorts keys, and fails where numbers and texts stand side by side. The messages are read in the order of the file."
    OddMessage "CY0308" Warning "message of no known shape" "What stands among the messages is no object with a known role, has a member twice, or calls of tools in another shape. It is kept whole and goes back to its own format and version, but no context holds it."
    TwiceNamed "CY0309" Warning "member stands twice" "A mapping has two members of one name. PyYAML takes the last; here the first is read and the other is kept beside it."
    NoRunEnd "CY0310" Note "run has no end" "The last line of a run says how it ended. A crash, or a program that still writes, leaves a file without it; everything that stands in the file is read."
    Database "CY0311" Error "database cannot be used" "The database that indexes the sessions is damaged, is none, or has something else in place of its table. Nothing in it is run or repaired. The sessions are read without it, from their other files."
    NoMessageLog "CY0312" Warning "message log is missing" "The database has a row for the session, but its log of messages is not there, or empty though the row counts messages. The agent takes the session up without any history. What the runs tell of is read."
    NoRow "CY0313" Note "log of messages without a row" "The session's log of messages is there, but the database has no row for it, so the agent does not find it. It is read."
    OutsideReference "CY0314" Warning "reference leads outside" "A reference to a stored output is no plain name, so it could lead outside the session's own folder. It is kept as it is, and not followed."
    KeptBehind "CY0315" Warning "compaction keeps what stands behind a header" "The compaction's index pointed at a further session header, by which version 1 meant all that stands behind it. It now points at the next entry. The index is kept under `copyist.migrated`. (The agent's own migration drops the index, and with it all that came before the compaction.)"
    NoSessionId "CY0321" Warning "metadata do not name Claude's session" "`session_id` is missing from the metadata, though the log has it: the run was killed before it ended. `ao-resume` fails on such a session with \"Unexpected error: 'session_id'\". `copyist repair` fills it in from the log; by hand it is one member of `.meta.json`."
    OpenToolCall "CY0322" Warning "log ends in the middle of a tool call" "The last turn called a tool and got no answer: the agent is still at work, or was killed. Whether the tool took effect is unknown. `ao-resume` starts a new turn; it does not finish this one."
    HiddenResult "CY0323" Warning "blank lines hide a result" "The log ends with a success and blank lines behind it. `ao-status` looks at the last line only, so it says `running` for ever and `ao-get-result` refuses. Take the blank lines away; `copyist repair` does."
    NoMetadata "CY0324" Note "log without metadata" "There is no `.meta.json` beside the log. `ao-status` says `not_existent`, and `ao-new` with the same name appends to this log without a word."
    OtherName "CY0325" Warning "metadata name another session" "`session_name` in the metadata is not what the files are called; they were copied or renamed. The scripts list and ask for a session by the name of its files, and tell the name that the metadata say."
    DuplicateId "CY0401" Error "identifier used twice" "Two entries have the same identifier. The agent takes the later one, which can close a cycle in the tree and hang it. `copyist repair` gives one of them a new identifier."
    MissingParent "CY0402" Warning "parent does not exist" "The entry names a parent that is not in the file, so the conversation begins at this entry for the agent. `copyist repair` links it again where that is safe. In a canonical stream of no known source an entry that names none, where others do, is read as the one that follows the entry before it."
    MissingTarget "CY0403" Warning "target does not exist" "The entry refers to an entry that is not in the file."
    Cycle "CY0404" Error "entries are their own ancestors" "Following the parents comes back to the same entry. The agent hangs or runs out of memory on such a file. `copyist repair` breaks the cycle."
    NoId "CY0405" Warning "entry has no identifier" "An entry of a tree has no identifier, so nothing can refer to it and the agent loses it from the conversation. `copyist repair` gives it one. In a canonical stream of no known source it is read as the one that follows the entry before it, unless it names its parent."
    Schema "CY0406" Error "record does not fit the schema" "The record is not what the schema of its format and version demands; `copyist schema FORMAT@VERSION` prints it."
    ForwardParent "CY0407" Warning "parent stands later in the file" "An entry stands before its parent. Agents write parents first; two programs may have written to this file at once."
    NoMessage "CY0408" Error "message entry without a message" "An entry of type `message` holds no message, and the agent fails on it when it builds the context."
    NoContext "CY0409" Error "no context" "The format has no rules for what is sent to a model, or the leaf that was asked for is not in the file."
    Unpaired "CY0410" Warning "answer without its question" "A response names a request, or a tool's output a call, that the run does not hold. The agent leaves a record out when it cannot be written, and goes on."
    EventOrder "CY0411" Warning "events out of order" "The number of an event is not above that of the event before it. The agent counts upwards; it plays events back in the order of the file."
    BadRecord "CY0501" Error "not a record of the canonical stream" "The line is JSON but no record of the canonical stream: `kind` is missing or unknown, a field is not one of its kind, or a value has the wrong shape. `copyist schema canonical` prints the schema."
    RawRefused "CY0502" Warning "stored spelling no longer fits" "The record carries the spelling of its source, but reading that spelling does not give this record: it was edited. The record's fields are written, the spelling is dropped."
    Dropped "CY0601" Warning "target cannot hold this" "The target format has no place for this record or field. It is left out and counted in the report; `--fail-on loss` makes it an error."
    NotInEncoding "CY0602" Error "encoding lacks a character" "The session goes back in the encoding that it came in, and a text that was edited holds a character that this encoding does not have. Without `encoding` in `session.file` the file is written in UTF-8."
    NotResumable "CY0611" Warning "session cannot be resumed" "A resume needs Claude Code's own transcript, which only Claude's session identifier leads to, and the source has none. `ao-status`, `ao-get-result` and `ao-list-sessions` work on what was written; `ao-resume` does not. `ao-new` starts a new session."
    OriginRejected "CY0621" Error "origin is not used" "With the origin that stands beside the file, the session would say something else than the file says, or what was edited has no place in it. The file is read alone. `--ignore-origin` does that without a word."
    OriginEdited "CY0622" Note "record was edited" "The file was edited since it was converted. The edit counts, and what the file's format cannot express comes from the origin; what belonged to the old text only, such as its tokens, is left out."
    OriginDeleted "CY0623" Warning "record was deleted" "A record of the session that the file was converted from is no longer in it. It is left out."
    OriginUnreadable "CY0624" Warning "origin cannot be used" "The origin beside the file is torn, damaged, of a newer release, or was written for a file of another format. The file is read alone."
    OriginAdded "CY0625" Note "record was added" "The file was continued since it was converted. What is new follows what came from the origin."
    OriginOfAnother "CY0626" Warning "origin is of another session" "The origin beside the file has another session's identifier, and none of its messages stands in the file. It is left where it is, and the file is read alone."
    NotAsTold "CY0627" Error "stream says what its format cannot" "The stream was edited, and written in the format that it comes from it would say something else to a model: a line, a summary or the state of a session still tells what was, or has no place for what is new. So what the stream says was written anew, as from elsewhere; what it holds beside that is left out and counted in the report."
    OriginAlone "CY0628" Note "origin without its file" "The file that the origin brings back is not beside it any more. If it was removed on purpose, the origin can go, too; if it is lost, name the origin as an input: it is read as the session that it holds."
    OwnVersion "CY0629" Note "session is restored in its own version" "No version was asked for, so the session is written in the version of its format that it had before it was converted. `-t FORMAT@VERSION` asks for another one."
    RecordRestored "CY0630" Warning "record came back from the origin" "The file was damaged where this record stood, and the origin beside the file still has it. A record that is missing where nothing is damaged counts as deleted by a person."
    Exists "CY0701" Error "output exists" "Nothing was written. Use `--force` to write over it."
    SameFile "CY0702" Error "output is the input" "An output would be written over its own input, over another one, or over the journal of the run. `migrate` and `repair` change files where they are with `--in-place`, and keep backups."
    Changed "CY0703" Error "input changed while it was read" "Another program wrote to the file, or holds a lock on it. It was left alone; run again when the agent is closed."
    Link "CY0704" Error "input is a symbolic link" "`--in-place` does not follow symbolic links. Name the file that it points to."
    Io "CY0705" Error "input or output failed" "The system refused to read or write. The message is the system's own."
    OutputName "CY0706" Error "output needs a folder" "The session takes several files in the target format, or one whose name cannot be used, and `-o` names one file. With `--out-dir` the files are put below a folder, under names of their own."
    OutputFolder "CY0707" Error "output is a folder" "`-o` names the file that is written, and nothing is written in place of a folder. `--out-dir` writes into one."
    LinkBeside "CY0708" Warning "link beside the file is not followed" "A file that belongs to the session by its name is a symbolic link, and links that nobody named may lead anywhere. The session is read without it. Name the file that the link points to, or put the file itself there."
    OtherOutput "CY0709" Warning "another output has this name" "Codelia keeps the outputs of tools of all sessions in one folder, under names that come twice. The one that was there first is left, also with `--force`, for other sessions may need it; the session itself holds its own in full."
    ChangedSince "CY0710" Note "input or output changed since the journal" "The journal says that an earlier run was done with this input. Since then the input was written to, or its output is gone or changed, so the work was done anew."
    NotAsWritten "CY0711" Error "file is not what the journal says" "An original is put back only where the file is still, byte for byte, what the run wrote, and the backup what the run read. Somebody changed, moved or removed one of them since. Both were left as they are; the backup stands where the message says."
    NoBackup "CY0712" Error "no original was kept" "The run changed the file with `--no-backup`, so there is nothing to put back. The file was left as it is."
    OutsideRoot "CY0713" Error "journal leads outside of its folder" "The journal names a file that is not below the folder which it says that the run worked in, or behind a link. No run writes that, so the journal was edited. The file was left alone."
    OutputSpecial "CY0714" Error "pipe or device in the place of an output" "A named pipe or a device stands where an output, or another file of the session, is to go. Only what `-o`, `--quarantine` or `--report` names is written into a pipe or a device; elsewhere a run would wait for a reader that may never come."
    NoName "CY0715" Error "output has no name" "The session, or a file of it, has no name under which it could be written: its own software names files by what the session says of itself, and what it says here is missing or would lead elsewhere. Without `--layout native` an output gets the name of its input."
    OutputInside "CY0716" Note "output folder is no input" "The folder of `--out-dir` lies below a folder that is an input. What earlier runs wrote into it is not read again. Name the folder itself if it is meant."
    KeptOriginal "CY0717" Note "original that was kept is no input" "The file is a session, and beside it stands one with the same name but for the last ending: the file seems to be an original that `--in-place --backup=SUFFIX` kept, or a copy that a person made. In a folder it is left alone. Name it if it is meant."
    TornArchive "CY0718" Error "compressed file is damaged" "The file is compressed, and cannot be unpacked beyond the place that is told: it was cut, or damaged, or something else stands behind its end. `copyist repair` takes what stands before that place for the session. If bytes other than NUL stand behind it, look at them before the original goes."
    OutputTaken "CY0719" Error "another output has this place" "Two sessions of the run would be written to one place, and the first has it. Nothing was written of the second one; convert it into a folder of its own."
    ArchiveLimit "CY0720" Error "compressed file is larger than any session" "The file is compressed, and more comes out of it than any session holds: more than 200 times its size and a GiB. Such files are made to fill memory or a disk. If you trust it, unpack it yourself and name what comes out."
    NamedTwice "CY0721" Note "input was named before" "The same file was named more than once, or stands in a folder that was named, too. It is worked on once."
    LinkFound "CY0722" Note "link in a folder is not followed" "A folder that was named holds a link to a session, or to another folder. Links may lead anywhere, also to what the run works on already, so only those that are named are followed. Name the link, or what it leads to, if it is meant. Nothing was read of it; it counts as skipped."
    NoProject "CY0723" Warning "session names no project" "The target's software keeps the sessions of each project in a folder that is called after the project's, and lists those of the project that it is started in. This session does not say which folder it was held in, as the format that it comes from, or a summary, has no place for that. It stands where the sessions of `/` do, and is listed there only. Name its file to open it, or give its first line a `cwd` and put it into that project's folder."
    NamesPart "CY0724" Warning "other names keep the old file" "The file has other names (hard links), which a change in place does not reach: a new file takes this name, so that nobody ever sees half of one, and the other names stay with what was there. Link them anew where they are meant to be one file."
    TornRecord "CY0801" Warning "torn record set aside" "The record was cut, mostly by a crash or a full disk while the agent wrote it, and what is left of it is no record. `repair` puts it into the quarantine file, byte for byte. `--salvage` restores the members that are complete."
    GluedSplit "CY0802" Warning "records of one line taken apart" "Several records stood on one line, or a whole one behind a torn one, and the agent reads none of them. Each whole record now has a line of its own."
    NulsRemoved "CY0803" Warning "NUL bytes set aside" "The file system kept the length of the file but not its contents, mostly after a power cut. What stood there cannot be brought back."
    Utf8Replaced "CY0804" Warning "bytes that are not UTF-8 replaced" "The record holds bytes that are no UTF-8 text. Each piece of them became U+FFFD, as the agent itself reads them; the line as it was stands in the quarantine file, and the record is marked."
    StraySetAside "CY0805" Warning "stray text set aside" "The text is no record: a message of some program, a value that is no object, or what is left of a line. It stands in the quarantine file, byte for byte."
    RecordJoined "CY0806" Warning "record joined from two pieces" "A second program wrote a whole record into the middle of this one. The two pieces together are a record, so they were joined; the record is marked, and both pieces also stand in the quarantine file."
    Salvaged "CY0807" Warning "complete members of a torn record restored" "`--salvage` made a record of those members of a torn one that are complete. What stood behind the cut is missing; the record is marked."
    DuplicateRemoved "CY0808" Warning "duplicate record set aside" "The same record stands in the file before: after a crash, or by a fault of early releases, a part of the session was written twice. The later copy stands in the quarantine file."
    MarkRemoved "CY0809" Warning "byte order mark removed" "Newer releases of the agents refuse a file that begins with a byte order mark."
    LineEnded "CY0810" Warning "line ending added behind the last record" "The record is whole, but the next one that the agent appends would have been glued to it."
    HeaderRebuilt "CY0811" Warning "session header rebuilt" "The session had no header, or one without an identifier, and the agent discards such a file. What the header says was taken from what is left of it, from the names of the file and its folder, and from the first records; it is marked."
    HeaderMoved "CY0812" Warning "session header moved to the front" "Other records stood before the header, and the agent discards such a file."
    HeaderRemoved "CY0813" Warning "further session header set aside" "The file has more than one header. The agent reads the first and ignores the others; the others stand in the quarantine file."
    VersionRestored "CY0814" Warning "version put back into the session header" "The header names no version, as that of the first does, but every entry has an identifier and a parent, as from the second on. The agent would give all of them new ones, in a row, and the branches of the session would be lost. The newest version stands in the header now, or the second where a message is named as only that one does."
    IdGiven "CY0821" Warning "identifier given" "The entry had no identifier, so nothing could refer to it, and the agent lost it from the conversation. It got a new one, and the entry before it as its parent where it had none."
    IdChanged "CY0822" Warning "identifier changed" "Another entry had the same identifier. The later one got a new one, and what follows it and refers to it refers to the new one. The old identifier stands under `copyist.repaired`."
    ParentLinked "CY0823" Warning "parent linked again" "The entry's parent is not in the file, so the conversation began at this entry. It now follows the entry that it can only have followed. The old parent stands under `copyist.repaired`."
    ParentUnknown "CY0824" Error "parent not known" "The entry's parent is not in the file, and several entries could have been before it. It is now a root; the old parent stands under `copyist.repaired`. `copyist repair --relink ID=PARENT` links it to the entry that you say."
    CycleBroken "CY0825" Warning "cycle broken" "Following the parents came back to the same entry, and the agent hangs on such a file. The first entry of the circle now follows the entry before it. The old parent stands under `copyist.repaired`."
    TargetItself "CY0826" Warning "target that is not there replaced" "The entry refers to an entry that is not in the file, which has no effect. It now refers to itself, which has none either, or to the entry that took the place of the missing one. The old target stands under `copyist.repaired`."
    LeafLinked "CY0827" Warning "last entry moved to the end of the conversation" "The last entry is a label, a name or a count and follows an earlier entry than the last message, so the agent opened the session there and showed less of it. The entry now follows the conversation. The old parent stands under `copyist.repaired`."
    EntryUnusable "CY0828" Warning "entry without a message set aside" "The entry says that it is a message and holds none; the agent fails on it. What followed it now follows its parent."
    IndexShifted "CY0829" Warning "compaction index corrected" "The index counts the records that were ever written. Records before it were set aside or put in, so that it pointed at another one. The old index stands under `copyist.repaired`."
    ResultSynthesized "CY0831" Warning "tool result put in" "A tool was called, and the session went on or ended without its result, which the model's interface refuses. The result that was put in is the one that stands elsewhere in the session; else it says that the session was interrupted and the outcome is unknown. It is marked."
    OrphanResult "CY0832" Warning "tool result without its call set aside" "The result answers no call of the message before it, or answers it a second time, which the model's interface refuses. What followed it now follows its parent."
    EmptyTail "CY0833" Warning "empty last answer set aside" "The conversation ends with an answer that says nothing, or holds thoughts only, which the model's interface refuses. What followed it now follows its parent."
    SurrogateReplaced "CY0834" Warning "half a character replaced" "A text that is sent to the model was cut in the middle of a character, which the model's interface refuses. U+FFFD stands in its place; the record is marked, and says which half it was."
    Unordered "CY0835" Error "calls and results were not looked at" "Entries stand before their parents, so that the order of the messages is not that of the file, and `--resumable` puts nothing in and takes nothing out. Everything else was repaired."
    NotLinked "CY0836" Error "entry was not linked" "`--relink ID=PARENT` names an entry that is not in the file, or links one to itself, or the format has no links between entries. Nothing was changed for it."
    CallsLeft "CY0837" Error "calls or results are left alone" "A tool was called and has no result, or a result has no call, which the model's interface refuses. `--resumable` mends that in files that are laid out as the agent lays them out; this one is not, or is in another encoding than UTF-8, so it stays as it is."
    LeafLeft "CY0838" Error "end of the branch left as it is" "The branch that the session stands on ends with an empty answer or a result without its call, which the model's interface refuses. Another branch stands before it in the file, and the agent would go on with that one if the end were set aside. Everything else was repaired."
    Unsettled "CY0839" Error "repairing once more would change more" "What a repair made is repaired again until nothing is wrong with it. Here that did not come to an end. The output is what the last repair made, and nothing is lost, but what is wrong with the session is not known. Please report it."
    NothingBack "CY0841" Error "nothing to get back" "Not one whole record of a session is in the file. It was left alone."
    NoQuarantine "CY0843" Error "no place for what is set aside" "Some bytes of the input cannot stand in the output, and they are never thrown away. `--quarantine FILE` says where they go."
    BlankRemoved "CY0851" Warning "blank lines at the end set aside" "The scripts look at the last line only, so a blank one behind the outcome of a prompt hides it: `ao-status` says `running`, and `ao-get-result` refuses."
    MetadataId "CY0852" Warning "session identifier put into the metadata" "The scripts were killed before they wrote down which session of Claude this is, and `ao-resume` fails. The identifier is the last one that the log has; the metadata are marked."
    MetadataTaken "CY0853" Warning "metadata taken from the temporary file" "The scripts were killed before the metadata that they had written got their name. There were no others, or none that can be read."
    MetadataRebuilt "CY0854" Warning "metadata rebuilt" "The metadata were missing or damaged, and the scripts do not know the session, or write on in its log as if it were new. What they say was taken from what is left of them, from the name of the files and from the log; they are marked."
    StateRestored "CY0855" Warning "state cut short" "The file ends in the middle of a state, or is damaged there, and the agent refuses it. What is complete before that place was kept, every message that is whole; the rest stands in the quarantine file. The state is marked."
    MessageRestored "CY0856" Warning "message restored from its turn" "A message was torn or lost, and the turn's summary tells what was asked or answered. The message was made of that; the note under `copyist` at the end of the file, or in the header of a run, says which."
    MemberRestored "CY0857" Warning "member put in" "The file was cut or damaged, and the agent misses a member that it always writes. The member that was put in holds what is known from elsewhere, or nothing; the note under `copyist` at the end of the file says which."
    MergeRemoved "CY0858" Warning "marks of a merge set aside" "A merge left its marks in the file, and no parser reads it. The first of the two sides was kept; marks and the second side stand in the quarantine file."
    ListClosed "CY0859" Warning "list of messages closed" "The file ended before its list of messages did, or a line around the list was lost, and no parser reads such a list. It is closed behind the last message that is whole."
    HistoryRestored "CY0860" Warning "message restored from its run" "The run was killed before the agent stored this message, but the run proves it: its last request begins with all that was stored and goes on with it, or the last response or a record of a tool's output holds it. It was appended, and is marked."
    TemporaryLeft "CY0861" Note "temporary metadata left alone" "Beside the metadata lies what a killed script was about to put in their place. The metadata can be read, so it was not looked at, and it is not copied along."
    StateBehind "CY0862" Warning "state older than the runs" "The last run of the session was killed, and its last answer is in the run but not in the state that the agent takes up. The agent goes on without that answer, which stands in the run. `--resumable` appends what the run proves, if its last request begins with all that was stored; if history was shortened or put together anew in between, what the agent would have stored is not known, and the state stays as it is."
    ArchiveRead "CY0863" Warning "compressed file read up to its damage" "The file is compressed, and cannot be unpacked beyond the place that is told. What stands before it was taken for the session, and the output is a whole file again. Where the checksum is wrong the damage may be anywhere before it, also in records that look whole. Nothing of what stands behind can be set aside, for nobody knows what it is; in place the original is kept."
    WideDamaged "CY0864" Error "damaged text in UTF-16 is not repaired" "The file is UTF-16, and in its midst stands what is no UTF-16. Repair of such a file goes by its text, so all of it must be text but for half of a character at its end. `iconv -c -f UTF-16 -t UTF-8 FILE > NEW` makes UTF-8 of all that is text in it, and that `copyist repair` can repair. The file was left as it is."
}

impl Code {
    /// The code of this name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name().eq_ignore_ascii_case(name))
    }

    /// Whether the finding makes a session invalid. An odd order, or an answer without its question,
    /// does not: the software reads both, and repair leaves them.
    #[must_use]
    pub fn is_invalid(self) -> bool {
        let shape = self.name().starts_with("CY04");
        let read = matches!(self, Self::ForwardParent | Self::Unpaired | Self::EventOrder);
        self.severity() == Severity::Error || shape && !read
    }

    /// Whether it is damage of one line, which is carried along or left out.
    #[must_use]
    pub fn is_of_line(self) -> bool {
        (Self::NotUtf8..=Self::LineTooLong).contains(&self)
    }

    /// Whether it is damage behind which nothing is read.
    #[must_use]
    pub fn is_end(self) -> bool {
        (Self::YamlSyntax..=Self::YamlLimit).contains(&self)
    }

    /// Whether it tells of something that repair did.
    #[must_use]
    pub fn is_fix(self) -> bool {
        (Self::TornRecord..=Self::SurrogateReplaced).contains(&self)
            || (Self::BlankRemoved..=Self::HistoryRestored).contains(&self)
            || [Self::ArchiveRead, Self::RecordRestored].contains(&self)
    }

    /// Whether `copyist repair` is what helps, of which nobody need be told who runs it.
    #[must_use]
    pub fn is_for_repair(self) -> bool {
        let ends = matches!(self, Self::YamlSyntax | Self::YamlCutShort | Self::TornArchive);
        ends || self == Self::NoHeader || (Self::NotUtf8..=Self::NotObject).contains(&self)
    }

    /// What to do, in one line.
    #[must_use]
    pub fn help(self) -> Option<&'static str> {
        match self {
            Self::NotUtf8
            | Self::Syntax
            | Self::CutShort
            | Self::Glued
            | Self::NulRun
            | Self::NotObject => Some(
                "`--on-error keep` carries the line along; `copyist repair` gets back what is whole",
            ),
            Self::YamlSyntax | Self::YamlCutShort | Self::TornArchive => Some(GETS_BACK),
            Self::NoHeader => Some("`copyist repair` rebuilds the header from the file's name"),
            Self::LineTooLong => Some("`--max-line` sets the limit"),
            Self::VersionRefused => {
                Some("`--force-version` treats it as the newest version that is known")
            }
            Self::UnknownFormat => {
                Some("`-f FORMAT` names the format, `copyist formats` lists them")
            }
            Self::Unreadable => {
                Some("look for it in a backup; `--exclude GLOB` leaves out what is no session")
            }
            Self::Exists => Some("`--force` writes over it"),
            Self::OutputTaken => {
                Some("copies of one session need a folder each: `--out-dir` of its own")
            }
            Self::SameFile => Some("name another place; `migrate` and `repair` take `--in-place`"),
            Self::Link => Some("name the file that the link points to"),
            Self::LinkFound => Some("name it, or what it leads to, if it is meant"),
            Self::OutputName => Some("`--out-dir DIR` takes any number of files"),
            Self::OutputFolder => Some("`--out-dir DIR` writes into a folder"),
            Self::OriginRejected => Some(
                "make the edit wherever the file repeats what it changes, or read the file alone with \
                 `--ignore-origin`",
            ),
            Self::ParentUnknown => Some("`--relink ID=PARENT` links it"),
            Self::TornRecord => Some("`--salvage` restores the members that are complete"),
            Self::NoQuarantine => Some("`--quarantine FILE` names one"),
            Self::WideDamaged => {
                Some("`iconv -c -f UTF-16 -t UTF-8 FILE > NEW` makes a file that can be repaired")
            }
            Self::ArchiveLimit => Some("if you trust it, unpack it, and name what comes out"),
            _ => None,
        }
    }
}

/// What helps with damage that cannot be passed over.
const GETS_BACK: &str = "`copyist repair` gets back what is whole";

/// How many characters of a message are kept.
const LONGEST_MESSAGE: usize = 400;

/// One thing found, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// What kind of finding it is.
    pub code: Code,
    /// What was found, in one line, lower case, without a full stop.
    pub message: String,
    /// Where; `None` for the input as a whole.
    pub at: Option<Position>,
    /// The text around the place.
    pub window: Option<Window>,
    /// Whether it is damage that the work went on behind, as the person allowed.
    pub passed: bool,
}

impl Diagnostic {
    /// A finding about the input as a whole.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // Messages may quote the input, whose values reach megabytes.
        if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
            message.truncate(end);
            message.push('…');
        }
        Self { code, message, at: None, window: None, passed: false }
    }

    /// Says where.
    #[must_use]
    pub fn at(mut self, at: Position) -> Self {
        self.at = Some(at);
        self
    }

    /// What to do, in one line. Who has let damaged lines pass need not be told how.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        if self.passed && self.code.is_of_line() { Some(GETS_BACK) } else { self.code.help() }
    }

    /// Shows the text around byte `offset` of `line`.
    #[must_use]
    pub fn showing(mut self, line: &[u8], offset: usize) -> Self {
        self.window = Some(Window::around(line, offset));
        self
    }
}

/// A piece of a line, cropped around a byte: lines reach megabytes, and what stands far from the
/// place may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// The text; bytes that are no UTF-8 are shown as U+FFFD.
    pub text: String,
    /// Offset of the byte in `text`, in characters.
    pub caret: usize,
    /// Whether the line goes on to the left and to the right of the text.
    pub cropped: (bool, bool),
}

impl Window {
    /// How many bytes are shown on either side.
    const REACH: usize = 60;

    fn around(line: &[u8], offset: usize) -> Self {
        let offset = offset.min(line.len());
        let boundary = |i: &usize| line.get(*i).is_none_or(|b| *b & 0xc0 != 0x80);
        let from = (offset.saturating_sub(Self::REACH)..=offset).find(boundary).unwrap_or(offset);
        let to = (offset..line.len().min(offset + Self::REACH)).rfind(boundary).unwrap_or(offset);
        let to = if line.len() <= offset + Self::REACH { line.len() } else { to };
        let show = |range| String::from_utf8_lossy(line.get(range).unwrap_or_default());
        let (left, right) = (show(from..offset), show(offset..to));
        Self {
            caret: left.chars().count(),
            text: format!("{left}{right}"),
            cropped: (from > 0, to < line.len()),
        }
    }
}

/// What became of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldOutcome {
    /// It stands in the target as it stood.
    Exact,
    /// It stands in the target in another form.
    Mapped,
    /// It stands in the origin beside the target.
    Origin,
    /// The target computes it.
    Derived,
    /// The reader restored it.
    Synthesized,
    /// It is gone.
    Dropped,
}

impl FieldOutcome {
    /// The name in reports.
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

    #[test]
    fn a_window_never_splits_a_character() {
        let line = "é".repeat(200);
        for offset in 0..line.len() {
            let window = Window::around(line.as_bytes(), offset);
            let splits = offset % 2 == 1;
            assert_eq!(window.text.contains('\u{fffd}'), splits, "offset {offset}");
        }
    }
}
