//! What becomes of every kind of bad input, as one table: nothing crashes or hangs, nothing is
//! half-written, no input is touched, and the finding says where.
#![cfg(unix)]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod run;

use cases::{Case, circumstances, contents, session, user};

/// What is expected. A cell is the exit code, the findings with the `line:byte` of the first of
/// each code, and the files that are new or changed; `stdout` stands for data that was printed,
/// `·` for a command that makes no sense there.
const TABLE: &str = "
case                               | migrate                           | convert                                         | validate            | context
empty file                         | 3 CY0111                          | 3 CY0111                                        | 3 CY0111            | 3 CY0111
white space only                   | 3 CY0111                          | 3 CY0111                                        | 3 CY0111            | 3 CY0111
random bytes                       | 3 CY0201                          | 3 CY0201                                        | 3 CY0201            | 3 CY0201
random bytes, -f pi                | 3 CY0207                          | 3 CY0207                                        | 3 CY0207            | 3 CY0207
YAML                               | 3 CY0201                          | 3 CY0201                                        | 3 CY0201            | 3 CY0201
YAML, -f pi                        | 3 CY0207                          | 3 CY0207                                        | 3 CY0207            | 3 CY0207
pretty-printed JSON                | 3 CY0201                          | 3 CY0201                                        | 3 CY0201            | 3 CY0201
pretty-printed JSON, -f pi         | 3 CY0207                          | 3 CY0207                                        | 3 CY0207            | 3 CY0207
CSV                                | 3 CY0201                          | 3 CY0201                                        | 3 CY0201            | 3 CY0201
CSV, -f pi                         | 3 CY0207                          | 3 CY0207                                        | 3 CY0207            | 3 CY0207
pi's file, -f canonical            | 3 CY0207                          | 3 CY0207                                        | 3 CY0207            | 3 CY0207
no header                          | 3 CY0202@1:0                      | 3 CY0202@1:0                                    | 3 CY0202@1:0        | 3 CY0202@1:0
torn last line                     | 3 CY0103@3:290                    | 1 CY0103@3:290 → out                            | 1 CY0103@3:290      | 1 CY0103@3:290 → stdout
torn header                        | 3 CY0103@1:40                     | 3 CY0103@1:40 CY0111                            | 3 CY0103@1:40 CY0111 | 3 CY0103@1:40 CY0111
no final newline                   | 0 CY0110@3:194 → out              | 0 CY0110@3:194 → out                            | 0 CY0110@3:194      | 0 CY0110@3:194 → stdout
glued lines                        | 3 CY0104@4:421                    | 1 CY0104@4:421 → out                            | 1 CY0104@4:421      | 1 CY0104@4:421 → stdout
run of NUL bytes                   | 3 CY0105@4:310                    | 1 CY0105@4:310 → out                            | 1 CY0105@4:310      | 1 CY0105@4:310 → stdout
nothing but NUL bytes, -f pi       | 3 CY0105@1:0                      | 3 CY0105@1:0 CY0111                             | 3 CY0105@1:0 CY0111 | 3 CY0105@1:0 CY0111
byte order mark                    | 0 CY0109 → out                    | 0 CY0109 → out                                  | 0 CY0109            | 0 CY0109 → stdout
CRLF                               | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
U+2028 in a string                 | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
invalid UTF-8                      | 3 CY0101@4:418                    | 1 CY0101@4:418 → out                            | 1 CY0101@4:418      | 1 CY0101@4:418 → stdout
half of a surrogate pair           | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
integer of 23 digits               | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
member that stands twice           | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
nested 10,000 levels deep          | 0 → out                           | 0 → out                                         | 0 CY0108@4:310      | 0 → stdout
one line of 20 MB                  | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
no such file                       | 3 CY0705                          | 3 CY0705                                        | 3 CY0705            | 3 CY0705
folder as input of -o              | 2                                 | 2                                               | ·                   | 2
folder as output of -o             | 3 CY0707                          | 3 CY0707                                        | ·                   | ·
file as --out-dir                  | 3 CY0705                          | 3 CY0705                                        | ·                   | ·
unreadable file                    | 3 CY0705                          | 3 CY0705                                        | 3 CY0705            | 3 CY0705
unreadable folder                  | 3 CY0705                          | 3 CY0705                                        | 3 CY0705            | ·
unwritable folder                  | 3 CY0705                          | 3 CY0705                                        | ·                   | ·
/dev/full as output                | 3 CY0705                          | 3 CY0705                                        | ·                   | ·
closed pipe                        | 0                                 | 0                                               | 0                   | 0
output exists                      | 3 CY0701                          | 3 CY0701                                        | ·                   | ·
output is the input                | 3 CY0702                          | 3 CY0702                                        | ·                   | ·
output is ./ the input             | 3 CY0702                          | 3 CY0702                                        | ·                   | ·
output is a hard link to the input | 3 CY0702                          | 3 CY0702                                        | ·                   | ·
output is a link to the input      | 3 CY0702                          | 3 CY0702                                        | ·                   | ·
link as input                      | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
link as input, --in-place          | 3 CY0704                          | ·                                               | ·                   | ·
two inputs of one name             | 0 → out/in-2.jsonl out/in.jsonl   | 0 → out/in-2.copyist.jsonl out/in.copyist.jsonl | 0                   | 2
full disk                          | 3 CY0705                          | 3 CY0705                                        | ·                   | ·
full disk, --in-place              | 3 CY0705                          | ·                                               | ·                   | ·
input grows                        | 3 CY0703                          | 3 CY0703                                        | ·                   | ·
input grows, --in-place            | 3 CY0703                          | ·                                               | ·                   | ·
";

const HEAD: [&str; 4] = ["migrate", "convert", "validate", "context"];

fn row(case: &str, cells: [&str; 4]) -> String {
    let [migrate, convert, validate, context] = cells;
    let row = format!("{case:34} | {migrate:33} | {convert:47} | {validate:19} | {context}");
    row.trim_end().to_owned()
}

#[test]
fn the_table_of_bad_input() {
    let mut rows = vec![row("case", HEAD)];
    let mut expected: Vec<_> = TABLE.lines().filter(|line| !line.is_empty()).collect();
    for case in contents().into_iter().chain(circumstances()) {
        match case.run() {
            Ok((cells, _)) => rows.push(row(case.name, cells.each_ref().map(String::as_str))),
            Err(reason) => {
                eprintln!("SKIP bad input, {}: {reason}", case.name);
                expected.retain(|row| row.split('|').next().map(str::trim) != Some(case.name));
            }
        }
    }
    println!("{}", rows.join("\n"));
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(row, expected);
    }
    assert_eq!(rows.len(), expected.len());
}

#[test]
#[ignore = "takes a minute and 8 GB of memory"]
fn a_line_of_500_megabytes() {
    let case = Case::of("one line of 500 MB", session(&[user(&"x".repeat(500_000_000))]));
    let (cells, peaks) = case.run().expect("no special world is needed");
    println!("{}", row(case.name, cells.each_ref().map(String::as_str)));
    let memory = peaks.map(|peak| format!("{} MiB", peak >> 20));
    println!("{}", row("memory", memory.each_ref().map(String::as_str)));
    assert_eq!(cells, ["0 → out", "0 → out", "0", "0 → stdout"]);
}
