//! What becomes of every kind of bad input, as one table: nothing crashes or hangs, nothing is
//! half-written, no input is touched, and the finding says where.
#![cfg(unix)]

mod cases;
mod codelia;
mod run;
mod yaml;

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
no header                          | 3 CY0202@1:0                      | 3 CY0202@1:0                                    | 1 CY0202@1:0        | 3 CY0202@1:0
torn last line                     | 3 CY0103@3:290                    | 1 CY0103@3:290 → out                            | 1 CY0103@3:290      | 1 CY0103@3:290 → stdout
torn header                        | 3 CY0103@1:40                     | 3 CY0103@1:40 CY0111                            | 1 CY0103@1:40 CY0111 | 3 CY0103@1:40 CY0111
no final newline                   | 0 CY0110@3:194 → out              | 0 CY0110@3:194 → out                            | 1 CY0110@3:194 CY0417@3:194 | 0 CY0110@3:194 → stdout
glued lines                        | 3 CY0104@4:421                    | 1 CY0104@4:421 → out                            | 1 CY0104@4:421      | 1 CY0104@4:421 → stdout
run of NUL bytes                   | 3 CY0105@4:310                    | 1 CY0105@4:310 → out                            | 1 CY0105@4:310      | 1 CY0105@4:310 → stdout
nothing but NUL bytes, -f pi       | 3 CY0105@1:0                      | 3 CY0105@1:0 CY0111                             | 1 CY0105@1:0 CY0111 | 3 CY0105@1:0 CY0111
byte order mark                    | 0 CY0109 → out                    | 0 CY0109 → out                                  | 1 CY0109 CY0417@1:0 | 0 CY0109 → stdout
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
two inputs of one name             | 0 → out/in-2.jsonl out/in.jsonl   | 0 → out/in-2.copyist.jsonl out/in.copyist.jsonl | 0 CY0728            | 2
full disk                          | 3 CY0705                          | 3 CY0705                                        | ·                   | ·
full disk, --in-place              | 3 CY0705                          | ·                                               | ·                   | ·
input grows                        | 3 CY0703                          | 3 CY0703                                        | ·                   | ·
input grows, --in-place            | 3 CY0703                          | ·                                               | ·                   | ·
";

/// The same for files of ConnectOnion.
const YAML: &str = "
case                               | migrate                           | convert                                         | validate            | context
file: as it should be              | 0 CY0306@89:2155 → out            | 0 CY0306@89:2155 → out                          | 0 CY0306@89:2155    | 0 CY0306@89:2155 → stdout
file: alias bomb                   | 3 CY0114@7:260                    | 1 CY0114@7:260 → out                            | 1 CY0114@7:260      | 1 CY0114@7:260 → stdout
file: nested 10,000 deep           | 3 CY0114@47:2101                  | 1 CY0114@47:2101 → out                          | 1 CY0114@47:2101    | 1 CY0114@47:2101 → stdout
file: a member twice               | 0 CY0309@3:31 CY0306@90:2167 → out | 0 CY0309@3:31 CY0306@90:2167 → out              | 1 CY0309@3:31 CY0306@90:2167 CY0417@1:0 | 0 CY0309@3:31 CY0306@90:2167 → stdout
file: a turn number twice          | 3 CY0307@89:2150 CY0306@89:2155 CY0113@89:2155 | 1 CY0307@89:2150 CY0306@89:2155×2 CY0113@89:2155 → out | 1 CY0307@89:2150 CY0306@89:2155×2 CY0113@89:2155 | 1 CY0307@89:2150 CY0306@89:2155×2 CY0113@89:2155 → stdout
file: a message's role twice       | 0 CY0309@48:1113 CY0306@90:2167 → out | 0 CY0309@48:1113 CY0306@90:2167 → out           | 0 CY0309@48:1113 CY0306@90:2167 | 0 CY0309@48:1113 CY0306@90:2167 → stdout
file: a tab as indentation         | 3 CY0112@48:1125                  | 1 CY0112@48:1125 → out                          | 1 CY0112@48:1125    | 1 CY0112@48:1125 → stdout
file: two documents                | 3 CY0306@89:2155 CY0112@90:2156   | 1 CY0306@89:2155 CY0112@90:2156 → out           | 1 CY0306@89:2155 CY0112@90:2156 | 1 CY0306@89:2155 CY0112@90:2156 → stdout
file: a conflict in messages       | 3 CY0112@49:1148                  | 1 CY0112@49:1148 → out                          | 1 CY0112@49:1148    | 1 CY0112@49:1148 → stdout
file: a conflict at the top        | 3 CY0112@3:31                     | 1 CY0112@3:31 → out                             | 1 CY0112@3:31       | 1 CY0112@3:31 → stdout
file: torn in a message            | 3 CY0113@82:1871                  | 1 CY0113@82:1871 → out                          | 1 CY0113@82:1871 CY0416@69:1513×2 | 1 CY0113@82:1871 → stdout
file: torn before messages         | 3 CY0113@44:1081                  | 1 CY0113@44:1081 CY0306@44:1081×3 → out         | 1 CY0113@44:1081 CY0306@44:1081×3 | 1 CY0113@44:1081 CY0306@44:1081×3 → stdout
file: a word among turn numbers    | 3 CY0307@89:2150 CY0113@89:2159   | 1 CY0307@89:2150 CY0113@89:2159 CY0306@89:2159 → out | 1 CY0307@89:2150 CY0113@89:2159 CY0306@89:2159 | 1 CY0307@89:2150 CY0113@89:2159 CY0306@89:2159 → stdout
file: messages: null               | 0 CY0306@45:1096×4 → out          | 0 CY0306@45:1096×4 → out                        | 0 CY0306@45:1096×4  | 0 CY0306@45:1096×4 → stdout
file: messages a list              | 3 CY0106@45:1092                  | 1 CY0106@45:1092 CY0113@45:1098 CY0306@45:1098×3 → out | 1 CY0106@45:1092 CY0113@45:1098 CY0306@45:1098×3 | 1 CY0106@45:1092 CY0113@45:1098 CY0306@45:1098×3 → stdout
file: turns a mapping              | 3 CY0106@2:15                     | 1 CY0106@2:15 → out                             | 1 CY0106@2:15       | 1 CY0106@2:15 → stdout
file: a turn's messages a text     | 3 CY0106@89:2153                  | 1 CY0106@89:2153 CY0306@89:2158 → out           | 1 CY0106@89:2153 CY0306@89:2158 | 1 CY0106@89:2153 CY0306@89:2158 → stdout
file: a list for a message         | 0 CY0308@90:2157 CY0306@90:2157 → out | 0 CY0308@90:2157 CY0306@90:2157 → out           | 1 CY0308@90:2157 CY0306@90:2157 CY0406@90:2157×2 | 0 CY0308@90:2157 CY0306@90:2157 → stdout
file: NUL bytes at the end         | 3 CY0306@89:2155 CY0112@90:2156   | 1 CY0306@89:2155 CY0112@90:2156 → out           | 1 CY0306@89:2155 CY0112@90:2156 | 1 CY0306@89:2155 CY0112@90:2156 → stdout
file: a control character          | 3 CY0112@8:147                    | 1 CY0112@8:147 → out                            | 1 CY0112@8:147      | 1 CY0112@8:147 → stdout
run: as it should be               | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
run: alias bomb                    | 3 CY0114@7:260                    | 3 CY0114@7:260                                  | 1 CY0114@7:260      | 3 CY0114@7:260
run: nested 10,000 deep            | 3 CY0114@14:1297                  | 3 CY0114@14:1297                                | 1 CY0114@14:1297    | 3 CY0114@14:1297
run: a message nested so           | 0 CY0308@18:537 → out             | 0 CY0308@18:537 → out                           | 0 CY0308@18:537 CY0108@18:537 | 0 CY0308@18:537 → stdout
run: a member twice                | 0 CY0309@1:0 → out                | 0 CY0309@1:0 → out                              | 0 CY0309@1:0        | 0 CY0309@1:0 → stdout
run: a message's role twice        | 0 CY0308@16:303 → out             | 0 CY0308@16:303 → out                           | 0 CY0308@16:303     | 0 CY0308@16:303 → stdout
run: a tab as indentation          | 0 CY0124@16:303 → out             | 0 CY0124@16:303 → out                           | 1 CY0124@16:303 CY0417 | 0 CY0124@16:303 → stdout
run: two documents                 | 3 CY0102@27:1846                  | 1 CY0102@27:1846×25 → out                       | 1 CY0102@27:1846×25 | 1 CY0102@27:1846×25 → stdout
run: a conflict in messages        | 3 CY0102@18:537                   | 1 CY0102@18:537×3 → out                         | 1 CY0102@18:537×3   | 1 CY0102@18:537×3 → stdout
run: a conflict in the header      | 3 CY0112@8:155                    | 3 CY0112@8:155                                  | 1 CY0112@8:155      | 3 CY0112@8:155
run: torn in a message             | 3 CY0103@25:1709                  | 1 CY0103@25:1709 → out                          | 1 CY0103@25:1709    | 1 CY0103@25:1709 → stdout
run: torn before messages          | 3 CY0103@14:287                   | 1 CY0103@14:287 → out                           | 1 CY0103@14:287     | 1 CY0103@14:287 → stdout
run: messages: null                | 3 CY0119 CY0106@14:297            | 1 CY0119 CY0106@14:297 → out                    | 1 CY0119 CY0106@14:297 | 1 CY0119 CY0106@14:297 → stdout
run: messages a mapping            | 3 CY0119 CY0106@14:297            | 1 CY0119 CY0106@14:297 → out                    | 1 CY0119 CY0106@14:297 | 1 CY0119 CY0106@14:297 → stdout
run: messages a text               | 3 CY0119 CY0102@14:299            | 1 CY0119 CY0102@14:299 → out                    | 1 CY0119 CY0102@14:299 | 1 CY0119 CY0102@14:299 → stdout
run: a list for a message          | 0 CY0308@16:303 → out             | 0 CY0308@16:303 → out                           | 1 CY0308@16:303 CY0406@16:303×2 | 0 CY0308@16:303 → stdout
run: NUL bytes at the end          | 3 CY0102@27:1846                  | 1 CY0102@27:1846 CY0110@27:1846 → out           | 1 CY0102@27:1846 CY0110@27:1846 | 1 CY0102@27:1846 CY0110@27:1846 → stdout
run: messages without a header     | 3 CY0201                          | 3 CY0201                                        | 3 CY0201            | 3 CY0201
";

/// The same for files of Codelia.
const CODELIA: &str = "
case                               | migrate                           | convert                                         | validate            | context
run: as it should be               | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
run: random bytes                  | 3 CY0101@1:2                      | 3 CY0101@1:2×19 CY0202@20:3810                  | 1 CY0101@1:2×19 CY0202@20:3810 | 3 CY0101@1:2×19 CY0202@20:3810
run: white space only              | 3 CY0111                          | 3 CY0111                                        | 3 CY0111            | 3 CY0111
run: another format's              | 3 CY0207                          | 3 CY0207                                        | 3 CY0207            | 3 CY0207
run: no header                     | 3 CY0202@1:0                      | 3 CY0202@1:0                                    | 1 CY0202@1:0        | 3 CY0202@1:0
run: torn header                   | 3 CY0103@1:120                    | 3 CY0103@1:120 CY0111                           | 1 CY0103@1:120 CY0111 | 3 CY0103@1:120 CY0111
run: torn last line                | 3 CY0103@9:2480                   | 1 CY0103@9:2480 CY0310@9:2480 → out             | 1 CY0103@9:2480 CY0310@9:2480 | 1 CY0103@9:2480 CY0310@9:2480 → stdout
run: no final newline              | 0 CY0110@9:2318 → out             | 0 CY0110@9:2318 → out                           | 1 CY0110@9:2318 CY0417@9:2318 | 0 CY0110@9:2318 → stdout
run: glued lines                   | 3 CY0104@8:2298                   | 1 CY0104@8:2298 → out                           | 1 CY0104@8:2298     | 1 CY0104@8:2298 → stdout
run: NUL bytes                     | 3 CY0105@8:2195                   | 1 CY0105@8:2195 → out                           | 1 CY0105@8:2195     | 1 CY0105@8:2195 → stdout
run: byte order mark               | 0 CY0109 → out                    | 0 CY0109 → out                                  | 1 CY0109 CY0417@1:0 | 0 CY0109 → stdout
run: CRLF                          | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
run: invalid UTF-8                 | 3 CY0101@8:2217                   | 1 CY0101@8:2217 → out                           | 1 CY0101@8:2217     | 1 CY0101@8:2217 → stdout
run: half of a surrogate pair      | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
run: integer of 23 digits          | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
run: a member twice                | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
run: nested 10,000 deep            | 0 → out                           | 0 → out                                         | 0 CY0108@8:2195     | 0 → stdout
run: a line of 20 MB               | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
run: no object                     | 3 CY0106@8:2195                   | 1 CY0106@8:2195 → out                           | 1 CY0106@8:2195 CY0406@8:2195×11 | 1 CY0106@8:2195 → stdout
run: two headers                   | 0 CY0203@2:337 → out              | 0 CY0203@2:337 → out                            | 1 CY0203@2:337 CY0417@2:337 | 0 CY0203@2:337 → stdout
run: a newer version               | 0 CY0204@1:0 → out                | 0 CY0204@1:0 → out                              | 0 CY0204@1:0        | 0 CY0204@1:0 → stdout
state: as it should be             | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
state: torn                        | 3 CY0103@1:627                    | 3 CY0103@1:627                                  | 1 CY0103@1:627      | 3 CY0103@1:627
state: two of them                 | 3 CY0104@2:667                    | 3 CY0104@2:667                                  | 1 CY0104@2:667      | 3 CY0104@2:667
log: as it should be               | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
log: torn last line                | 3 CY0103@13:2394                  | 1 CY0103@13:2394 → out                          | 1 CY0103@13:2394    | 1 CY0103@13:2394 → stdout
log: a line of a run               | 0 → out                           | 0 → out                                         | 0                   | 0 → stdout
";

const HEAD: [&str; 4] = ["migrate", "convert", "validate", "context"];

fn row(case: &str, cells: [&str; 4]) -> String {
    let [migrate, convert, validate, context] = cells;
    let row = format!("{case:34} | {migrate:33} | {convert:47} | {validate:19} | {context}");
    row.trim_end().to_owned()
}

/// Compares the rows of cases with a table.
fn check(cases: Vec<Case>, table: &str) {
    let mut rows = vec![row("case", HEAD)];
    let mut expected: Vec<_> = table.lines().filter(|line| !line.is_empty()).collect();
    for case in cases {
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
fn the_table_of_bad_input() {
    check(contents().into_iter().chain(circumstances()).collect(), TABLE);
}

#[test]
fn the_table_of_bad_yaml() {
    check(yaml::files().into_iter().chain(yaml::runs()).collect(), YAML);
}

#[test]
fn the_table_of_bad_runs() {
    check(codelia::files(), CODELIA);
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

#[test]
#[ignore = "takes minutes and 8 GB of memory"]
fn a_scalar_of_500_megabytes() {
    let case = yaml::big(500_000_000);
    let (cells, peaks) = case.run().expect("no special world is needed");
    println!("{}", row(case.name, cells.each_ref().map(String::as_str)));
    let memory = peaks.map(|peak| format!("{} MiB", peak >> 20));
    println!("{}", row("memory", memory.each_ref().map(String::as_str)));
    assert!(cells.iter().all(|cell| cell.starts_with("0 ")), "{cells:?}");
}
