//! Many inputs, as a person gives them: globs, lists, the progress bar, colours, and what is
//! generated for shells and for `man`.

use crate::common::{self, Dir, own, read, untimed};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const OLD: &str = "pi/v1/feature-work";
const TORN: &str = "damaged/pi/torn-tail";

/// Commands that take several inputs, with what each needs to run.
const SEVERAL: &[&[&str]] =
    &[&["migrate", "-n"], &["convert", "-n", "-t", "canonical"], &["validate"], &["detect"]];

/// The program in a folder, with nothing in its environment that speaks of colours.
fn program(dir: &Dir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.args(args).current_dir(dir.root());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COPYIST_COLOR", "COPYIST_PROGRESS"] {
        command.env_remove(name);
    }
    command
}

/// Runs it with something on standard input.
fn fed(dir: &Dir, args: &[&str], input: &[u8]) -> Output {
    let mut command = program(dir, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// The inputs that `detect` tells about, in order; it fails on none.
fn detected(dir: &Dir, args: &[&str]) -> Vec<String> {
    told(&program(dir, &[&["detect", "--json", "-v"], args].concat()).output().expect("it runs"))
}

fn told(done: &Output) -> Vec<String> {
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let lines = done.stdout.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let values = lines.map(|l| serde_json::from_slice::<serde_json::Value>(l).expect("JSON"));
    // One that is no text is told as its bytes.
    let path = |path: &serde_json::Value| match path.as_str() {
        Some(path) => path.to_owned(),
        None => path.as_array().map(|bytes| format!("{bytes:?}")).expect("a path"),
    };
    values.map(|value| path(&value["path"])).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Sessions in folders of two depths, and a note.
fn tree() -> Dir {
    let dir = Dir::new();
    for name in ["s/a.jsonl", "s/b.jsonl", "s/old/a.jsonl", "s/new/old/c.jsonl"] {
        dir.copy(OLD, name);
    }
    dir.write("s/notes.txt", b"no session");
    dir
}

#[test]
fn include_takes_what_a_glob_matches() {
    let dir = tree();
    assert_eq!(detected(&dir, &["--include", "a*", "s"]), ["s/a.jsonl", "s/old/a.jsonl"]);
    assert_eq!(detected(&dir, &["--include", "/*.jsonl", "s"]), ["s/a.jsonl", "s/b.jsonl"]);
    assert_eq!(detected(&dir, &["--include", "old/", "s"]), ["s/new/old/c.jsonl", "s/old/a.jsonl"]);
    assert_eq!(
        detected(&dir, &["--include=b.*", "--include=new/**", "s"]),
        ["s/b.jsonl", "s/new/old/c.jsonl"]
    );
    assert!(detected(&dir, &["--include", "*.yaml", "s"]).is_empty());
}

#[test]
fn exclude_leaves_files_and_folders_out_and_wins() {
    let dir = tree();
    let all = ["s/a.jsonl", "s/b.jsonl", "s/new/old/c.jsonl", "s/notes.txt", "s/old/a.jsonl"];
    assert_eq!(detected(&dir, &["s"]), all);
    assert_eq!(detected(&dir, &["--exclude", "*.jsonl", "s"]), ["s/notes.txt"]);
    let flat = ["s/a.jsonl", "s/b.jsonl", "s/notes.txt"];
    assert_eq!(detected(&dir, &["--exclude", "old", "s"]), flat);
    assert_eq!(detected(&dir, &["--exclude", "old/", "s"]), flat);
    assert_eq!(detected(&dir, &["--exclude", "/old", "--exclude", "*.txt", "s"]), all[..3]);
    for order in [["--include=a*", "--exclude=old"], ["--exclude=old", "--include=a*"]] {
        assert_eq!(detected(&dir, &[&order[..], &["s"]].concat()), ["s/a.jsonl"]);
    }
}

#[test]
fn what_is_named_is_always_taken() {
    let dir = tree();
    let args = ["--exclude", "*", "--include", "nothing", "s", "s/b.jsonl"];
    assert_eq!(detected(&dir, &args), ["s/b.jsonl"]);
    // The named folder itself is no match for a glob either.
    assert_eq!(detected(&dir, &["--exclude", "s", "--include", "b*", "s"]), ["s/b.jsonl"]);
}

#[test]
fn what_is_excluded_is_not_counted() {
    let dir = tree();
    for command in SEVERAL {
        let report = [command, &["--report", "r.json", "--exclude", "*.txt", "s"][..]].concat();
        assert_eq!(dir.exit(&report).0, 0, "{command:?}");
        let report: serde_json::Value =
            serde_json::from_slice(&read(&dir.path("r.json"))).expect("a report");
        assert_eq!(report["inputs"].as_array().expect("inputs").len(), 4, "{command:?}");
        assert!(report["summary"].get("skipped").is_none(), "{command:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_excluded_folder_is_not_entered() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tree();
    let closed = dir.path("s/old");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let readable = fs::read_dir(&closed).is_ok();
    let (open, _) = dir.exit(&["detect", "s"]);
    let (excluded, err) = dir.exit(&["detect", "--exclude", "old", "s"]);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    // For the superuser no folder is closed.
    assert_eq!(open, if readable { 0 } else { 3 });
    assert_eq!(excluded, 0, "{err}");
}

#[test]
fn what_is_no_glob_is_wrong_usage() {
    let dir = tree();
    for (option, glob, why) in [
        ("--include", "[a", "unclosed character class"),
        ("--exclude", "{a", "unclosed alternate group"),
        ("--exclude", "", "empty glob"),
    ] {
        let (code, err) = dir.exit(&["detect", option, glob, "s"]);
        assert_eq!(code, 2, "{glob:?}");
        assert!(err.contains(option) && err.contains(why), "{err}");
    }
}

#[test]
fn a_list_holds_a_name_a_line() {
    let dir = tree();
    dir.write("list", b"s/b.jsonl\r\n\n  \r\ns/old\ns/a.jsonl");
    let listed = ["s/b.jsonl", "s/old/a.jsonl", "s/a.jsonl"];
    assert_eq!(detected(&dir, &["--files-from", "list"]), listed);
    // Those on the command line come first.
    let args = ["--files-from", "list", "--exclude", "a*", "s/new"];
    assert_eq!(detected(&dir, &args), ["s/new/old/c.jsonl", "s/b.jsonl", "s/a.jsonl"]);
    let list = fs::read(dir.path("list")).unwrap();
    assert_eq!(told(&fed(&dir, &["detect", "--json", "--files-from", "-"], &list)), listed);
}

#[test]
fn every_command_for_several_inputs_reads_lists() {
    let dir = tree();
    dir.write("list", b"s/b.jsonl\ns/old\n");
    dir.write("empty", b"\n");
    for command in SEVERAL {
        let list = |name| [command, &["--json", "--files-from", name][..]].concat();
        let listed = program(&dir, &list("list")).output().expect("it runs");
        assert_eq!(told(&listed), ["s/b.jsonl", "s/old/a.jsonl"], "{command:?}");
        assert!(told(&program(&dir, &list("empty")).output().expect("it runs")).is_empty());
    }
}

#[test]
fn a_listed_input_that_is_missing_fails_like_a_named_one() {
    let dir = tree();
    dir.write("list", b"s/a.jsonl\ns/nowhere.jsonl\n");
    let (code, err) = dir.exit(&["detect", "--files-from", "list"]);
    assert_eq!(code, 3);
    assert!(err.contains("s/nowhere.jsonl: error[CY"), "{err}");
}

#[cfg(unix)]
#[test]
fn names_that_end_in_nul_may_hold_anything_else() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::new();
    let names: [&[u8]; 4] = [b"new\nline.jsonl", b"\xff\xfe.jsonl", b" .jsonl ", b"cr\r"];
    let mut list = Vec::new();
    for name in names {
        let path = dir.root().join(OsStr::from_bytes(name));
        if fs::write(&path, common::own(OLD)).is_err() {
            eprintln!("SKIP a name: this file system does not take {}", path.display());
            continue;
        }
        list.extend_from_slice(name);
        list.push(0);
    }
    let count = list.iter().filter(|b| **b == 0).count();
    list.push(0);
    for option in ["-0", "--null"] {
        let done = fed(&dir, &["detect", "--json", option, "--files-from", "-"], &list);
        assert_eq!(told(&done).len(), count, "{}", text(&done.stdout));
    }
    let done = fed(&dir, &["migrate", "-0", "--files-from=-", "--out-dir=out"], &list);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert_eq!(fs::read_dir(dir.path("out")).unwrap().count(), count);
    // A name that is no text works line by line, too.
    assert_eq!(
        told(&fed(&dir, &["detect", "--json", "--files-from=-"], b"\xff\xfe.jsonl\n")).len(),
        1
    );
    // Who forgets `-0` is told so.
    let done = fed(&dir, &["detect", "--files-from", "-"], &list);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("`-0`"), "{}", text(&done.stderr));
}

#[test]
fn standard_input_is_a_list_or_an_input() {
    let dir = tree();
    let session = common::own(OLD);
    dir.write("list", b"-\n");
    assert_eq!(told(&fed(&dir, &["detect", "--json", "--files-from", "list"], &session)), ["-"]);
    for (args, list) in [
        (&["detect", "--files-from", "-", "-"][..], &b"s/a.jsonl\n"[..]),
        (&["detect", "--files-from", "-"], b"-\n"),
    ] {
        let done = fed(&dir, args, list);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(text(&done.stderr).contains("both a list and an input"), "{args:?}");
    }
}

#[test]
fn wrong_use_of_lists_is_reported() {
    let dir = tree();
    let cases: &[(&[&str], &str)] = &[
        (&["detect"], "<PATH>"),
        (&["detect", "-0", "s"], "--files-from"),
        (&["detect", "--files-from", "nowhere"], "nowhere"),
        (&["migrate", "-o", "x", "--files-from", "two"], "--out-dir"),
        (&["migrate", "--in-place", "--files-from", "stdin"], "standard input"),
        (&["context", "--include", "a", "s/a.jsonl"], "--include"),
        (&["context", "--files-from", "two"], "--files-from"),
        (&["context", "s/a.jsonl", "s/b.jsonl"], "s/b.jsonl"),
        (&["context", "s"], "one session"),
    ];
    dir.write("two", b"s/a.jsonl\ns/b.jsonl\n");
    dir.write("stdin", b"-\n");
    for (args, why) in cases {
        let (code, err) = dir.exit(args);
        assert_eq!(code, 2, "{args:?}");
        assert!(err.contains(why), "{args:?}: {err}");
    }
}

#[test]
fn a_pipe_sees_no_escape_codes() {
    let dir = tree();
    dir.copy(TORN, "s/torn.jsonl");
    for command in SEVERAL {
        let done = program(&dir, &[command, &["-v", "s"][..]].concat()).output().expect("it runs");
        let said = [done.stdout, done.stderr].concat();
        assert!(text(&said).contains("torn.jsonl"), "{command:?}");
        assert!(!said.contains(&0x1b), "{command:?}: {}", text(&said));
    }
}

#[test]
fn a_bar_is_shown_where_it_is_requested() {
    let dir = tree();
    let err = |args: &[&str], env: &str| {
        let mut command = program(&dir, &[&["detect"], args, &["s"]].concat());
        let done = command.env("COPYIST_PROGRESS", env).output().expect("it runs");
        assert!(!done.stdout.contains(&0x1b), "{}", text(&done.stdout));
        text(&done.stderr)
    };
    let size = 4 * common::own(OLD).len() + "no session".len();
    let total = format!("/{}", indicatif::DecimalBytes(size as u64));
    for (args, env) in [
        (&["--progress", "always"][..], "never"),
        (&["--progress=always", "-q"], "auto"),
        (&[], "always"),
    ] {
        let bar = err(args, env);
        assert!(bar.contains("0/5 inputs") && bar.contains(&total), "{args:?}: {bar:?}");
    }
    for (args, env) in [(&["--progress=never"][..], "always"), (&["--progress=auto"], "always")] {
        let bar = err(args, env);
        assert!(!bar.contains("inputs") && !bar.contains('\x1b'), "{args:?}: {bar:?}");
    }
    // The size of standard input is not known before its end.
    let done = fed(&dir, &["detect", "--progress=always", "-"], &common::own(OLD));
    assert!(text(&done.stderr).contains("0/1 inputs"), "{}", text(&done.stderr));
}

#[test]
fn colours_are_shown_where_they_are_wanted() {
    let dir = tree();
    dir.copy(TORN, "torn.jsonl");
    let run = |args: &[&str], env: &[(&str, &str)]| {
        let args = [&["validate"], args, &["s", "torn.jsonl"]].concat();
        program(&dir, &args).envs(env.iter().copied()).output().expect("it runs")
    };
    for (args, env) in [
        (&["--color", "always"][..], &[][..]),
        (&["--color", "always"], &[("NO_COLOR", "1")]),
        (&[], &[("COPYIST_COLOR", "always")]),
        (&[], &[("CLICOLOR_FORCE", "1")]),
    ] {
        let done = run(args, env);
        let (out, err) = (text(&done.stdout), text(&done.stderr));
        assert!(err.contains("\x1b[31merror[CY0103]\x1b[0m"), "{err:?}");
        assert!(out.contains("\x1b[32mvalid\x1b[0m") && out.contains("\x1b[31minvalid"), "{out:?}");
    }
    for (args, env) in [
        (&[][..], &[][..]),
        (&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]),
        (&["--color", "never"], &[("CLICOLOR_FORCE", "1")]),
        (&["--color", "never"], &[("COPYIST_COLOR", "always")]),
        (&["--json", "--color", "always"], &[]),
    ] {
        let done = run(args, env);
        assert!(!done.stdout.contains(&0x1b), "{args:?}: {}", text(&done.stdout));
        assert!(!done.stderr.contains(&0x1b), "{args:?}: {}", text(&done.stderr));
    }
}

#[test]
fn a_coloured_line_has_the_text_of_a_plain_one() {
    let dir = tree();
    dir.copy(TORN, "s/torn.jsonl");
    let run = |color| untimed(&dir.said(&["migrate", "-nv", "--color", color, "s"]).1);
    assert_eq!(anstream::adapter::strip_str(&run("always")).to_string(), run("never"));
}

/// The names of all commands, from the help.
fn commands(dir: &Dir) -> Vec<String> {
    let help = text(&dir.run(&["--help"]).stdout);
    let list = help.split("Commands:\n").nth(1).expect("commands");
    let names = list.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    let names: Vec<_> = names.collect();
    assert!(names.contains(&"migrate".to_owned()) && names.len() >= 10, "{names:?}");
    names
}

/// The long options in a help text.
fn options(help: &str) -> Vec<&str> {
    let words = help.lines().filter(|line| line.trim_start().starts_with('-'));
    let words = words.flat_map(|line| line.split_whitespace().take(2));
    let words = words.map(|word| word.split(['=', '[', ',']).next().unwrap_or_default());
    words.filter(|word| word.starts_with("--")).collect()
}

#[test]
fn completions_know_every_command() {
    let dir = Dir::new();
    let names = commands(&dir);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = dir.run(&["completions", shell]);
        assert_eq!(done.status.code(), Some(0), "{shell}");
        let script = text(&done.stdout);
        for name in &names {
            assert!(script.contains(name.as_str()), "{shell} does not know {name}");
        }
        for option in ["include", "files-from", "progress"] {
            assert!(script.contains(option), "{shell} does not know --{option}");
        }
        // The others complete no values.
        let completes = matches!(shell, "bash" | "zsh" | "fish");
        for value in ["connectonion@2", "agent-orchestrator", "CY0103"].iter().filter(|_| completes)
        {
            assert!(script.contains(value), "{shell} does not know {value}");
        }
    }
    assert_eq!(dir.exit(&["completions", "sh"]).0, 2);
    assert_eq!(dir.exit(&["completions"]).0, 2);
}

#[test]
fn every_command_has_a_page_with_every_option() {
    let dir = Dir::new();
    assert_eq!(dir.exit(&["man", "share/man1"]).0, 0);
    let mut expected = vec!["share/man1/copyist.1".to_owned()];
    for name in commands(&dir) {
        let path = format!("share/man1/copyist-{name}.1");
        let page = text(&read(&dir.path(&path))).replace("\\-", "-");
        let help = text(&dir.run(&[&name, "--help"]).stdout);
        let options = options(&help);
        assert!(options.contains(&"--help"), "{name}: {options:?}");
        for option in options {
            assert!(page.contains(option), "{path} does not mention {option}");
        }
        let first = help.lines().next().expect("a summary");
        let plain = page.replace("\\*(Aq", "'");
        assert!(plain.contains(first), "{path} does not say {first:?}");
        expected.push(path);
    }
    expected.sort();
    assert_eq!(dir.names(), expected);
}

#[test]
fn pages_that_are_not_ours_are_kept_unless_forced() {
    let dir = Dir::new();
    assert_eq!(dir.exit(&["man", "man1"]).0, 0);
    let page: PathBuf = dir.path("man1/copyist-detect.1");
    let ours = read(&page);
    // The same pages once more change nothing.
    assert_eq!(dir.exit(&["man", "man1"]).0, 0);
    fs::write(&page, "mine").unwrap();
    fs::remove_file(dir.path("man1/copyist.1")).unwrap();
    let (code, err) = dir.exit(&["man", "man1"]);
    assert_eq!(code, 2);
    assert!(err.contains("copyist-detect.1") && err.contains("--force"), "{err}");
    assert_eq!(read(&page), b"mine");
    assert!(!dir.path("man1/copyist.1").exists());
    assert_eq!(dir.exit(&["man", "--force", "man1"]).0, 0);
    assert_eq!(read(&page), ours);
    assert!(dir.path("man1/copyist.1").is_file());
    // A file where the folder should be is no place for pages.
    assert_eq!(dir.exit(&["man", "man1/copyist.1"]).0, 4);
}

#[test]
fn originals_under_another_ending_are_not_touched() {
    let dir = Dir::new();
    for name in ["d/a.jsonl", "d/b.jsonl"] {
        dir.copy(OLD, name);
    }
    dir.write("d/notes.jsonl.txt", b"nothing");
    assert_eq!(dir.exit(&["migrate", "--in-place", "--backup=.orig", "d"]).0, 0);
    let before = dir.names();
    for more in [&[][..], &["--backup=.orig"], &["--backup=.other"], &["--no-backup"]] {
        let (code, said) = dir.exit(&[&["migrate", "--in-place"], more, &["d"]].concat());
        assert!(code == 0 && said.contains("2 unchanged, 3 skipped"), "{more:?}: {said}");
        let told = said.matches("CY0717").count();
        assert_eq!(told, if more == ["--backup=.orig"] { 0 } else { 2 }, "{said}");
        assert_eq!(dir.names(), before);
        assert_eq!(common::read(&dir.path("d/a.jsonl.orig")), common::own(OLD));
    }
    // One that is named is meant, and one that stands alone is a session like others.
    let (code, said) = dir.exit(&["migrate", "--out-dir", "o", "d/a.jsonl.orig"]);
    assert!(code == 0 && said.contains("1 migrated"), "{said}");
    std::fs::remove_file(dir.path("d/b.jsonl")).expect("it is there");
    let (code, said) = dir.exit(&["migrate", "-n", "d"]);
    assert!(code == 0 && said.contains("1 migrated, 1 unchanged"), "{said}");
}

#[test]
fn the_output_folder_is_no_input() {
    let dir = Dir::new();
    dir.copy(OLD, "d/a.jsonl");
    for out in ["d/new", "d/deep/er"] {
        let args = ["migrate", "--force", "--out-dir", out, "d", "--exclude", "none"];
        for turn in 0..3 {
            let (code, said) = dir.exit(&args);
            assert!(code == 0 && said.contains("1 migrated"), "{said}");
            assert_eq!(said.contains("CY0716"), turn > 0, "{said}");
        }
        std::fs::remove_dir_all(dir.path(out)).expect("a folder");
    }
    assert_eq!(dir.names(), ["d/a.jsonl"]);
    // The folder itself may be an input, and so may one below it.
    let (code, said) = dir.exit(&["migrate", "--out-dir", "d", "d"]);
    assert!(code == 3 && said.contains("CY0702"), "{said}");
    assert_eq!(dir.exit(&["migrate", "--out-dir", ".", "d"]).0, 0);
}

#[test]
fn sessions_of_another_format_are_not_called_no_sessions() {
    let dir = Dir::new();
    dir.copy(OLD, "d/a.jsonl");
    dir.copy(OLD, "d/b.jsonl");
    dir.write("d/notes.txt", b"nothing");
    let done = dir.run(&["migrate", "--to", "canonical", "-n", "-v", "d"]);
    let (out, said) = (text(&done.stdout), text(&done.stderr));
    assert!(said.contains("3 skipped (2 sessions of another format)"), "{said}");
    assert!(out.contains("a.jsonl: skipped, pi@1; migration stays"), "{out}");
    assert!(out.contains("notes.txt: skipped, not a session by itself"), "{out}");
}

/// Records as `jq .` prints them.
fn spread(lines: &[u8]) -> Vec<u8> {
    let values = serde_json::Deserializer::from_slice(lines).into_iter::<serde_json::Value>();
    let print = |value| serde_json::to_string_pretty(&value).expect("JSON") + "\n";
    values.map(|value| print(value.expect("JSON"))).collect::<String>().into()
}

/// Files that were sessions, with why nothing can be read of each; and others that never were.
fn ruins(dir: &Dir) -> Vec<(&'static str, &'static str)> {
    let session = own(OLD);
    let wide = String::from_utf8_lossy(&session).into_owned();
    let wide: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let noise: Vec<u8> =
        (0..5000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    dir.write("d/a.jsonl", &session);
    dir.write("d/empty.yaml", b"");
    dir.write("d/gone.jsonl", &vec![0; 200_000]);
    dir.write("d/late.jsonl.gz", &noise);
    dir.write("d/marked.jsonl", &[&b"\xff\xfe"[..], &wide].concat());
    dir.write("d/noise.yml", &noise);
    dir.write("d/wide.jsonl", &wide);
    dir.write("d/zeros.jsonl", &[0; 4096]);
    dir.write("d/spread.jsonl", &spread(&session));
    // Texts of other kinds, and what is not called as sessions are.
    dir.write("d/README.md", b"");
    dir.write("d/ci.yaml", b"on: push\n");
    dir.write("d/core", &noise);
    dir.write("d/other.yaml", b"\xff\xfeo\0n\0:\0 \0p\0u\0s\0h\0\n\0");
    dir.write("d/package.json", b"{\"name\": \"x\"}\n");
    dir.write("d/rows.jsonl", b"{\"row\":1}\n{\"row\":2}\n");
    dir.write("d/pages.json", &spread(b"{\"session\":{\"name\":1}}\n{\"type\":\"page\"}\n"));
    vec![
        ("d/gone.jsonl", "it holds NUL bytes and nothing else"),
        ("d/late.jsonl.gz", "it is not text"),
        ("d/marked.jsonl", "its records are UTF-16"),
        ("d/noise.yml", "it is not text"),
        ("d/spread.jsonl", "its records are spread over several lines; `jq -c . FILE` prints each"),
        ("d/wide.jsonl", "its records are UTF-16"),
        ("d/zeros.jsonl", "it holds NUL bytes and nothing else"),
    ]
}

#[test]
fn destroyed_sessions_in_a_folder_are_reported() {
    let dir = Dir::new();
    let ruins = ruins(&dir);
    let commands: [&[&str]; 6] = [
        &["validate"],
        &["repair", "-n"],
        &["migrate", "--out-dir", "m", "--journal", "j"],
        &["migrate", "--out-dir", "m", "--journal", "j", "--resume"],
        &["convert", "-t", "canonical", "--out-dir", "c"],
        &["detect"],
    ];
    for args in commands {
        let (code, said) = dir.exit(&[args, &["d"]].concat());
        assert_eq!(code, 1, "{args:?}: {said}");
        assert!(said.contains("7 unreadable, 1 empty, 7 skipped"), "{args:?}: {said}");
        for (name, why) in &ruins {
            let line = format!("{name}: error[CY0209]: nothing of a session can be read: {why}");
            assert_eq!(said.matches(&line).count(), 1, "{args:?}: {said}");
        }
        assert_eq!(said.matches("CY0209").count(), ruins.len(), "{args:?}: {said}");
    }
    let (code, said) = dir.said(&["validate", "--json", "--report", "r", "d"]);
    assert_eq!((code, said.matches("\"outcome\":\"unreadable\"").count()), (1, 7), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&read(&dir.path("r"))).expect("JSON");
    assert_eq!(report["summary"]["unreadable"], 7);
    // Who names one is told as much.
    for (name, why) in ruins.iter().filter(|(_, why)| why.contains("UTF-16")) {
        for from in [&[][..], &["-f", "pi"]] {
            let (code, said) =
                dir.exit(&[&["migrate", "-n", "--out-dir", "m", name], from].concat());
            assert!(code == 3 && said.contains(why), "{name} {from:?}: {said}");
        }
    }
    // Without them all is well.
    let without: Vec<_> = ruins.iter().flat_map(|(name, _)| ["--exclude", &name[2..]]).collect();
    assert_eq!(dir.exit(&[&["validate", "d"], &without[..]].concat()).0, 0);
}

#[test]
fn empty_files_of_a_folder_are_counted_and_are_no_error() {
    let dir = Dir::new();
    dir.write("d/a.jsonl", &own(OLD));
    dir.write("d/b.jsonl", b"");
    dir.write("d/c.yaml", b"");
    for args in [&["validate", "d"][..], &["migrate", "--out-dir", "m", "d"]] {
        let (code, said) = dir.exit(args);
        assert_eq!(code, 0, "{args:?}: {said}");
        assert!(said.contains("2 empty"), "{args:?}: {said}");
    }
    let (code, said) = dir.exit(&["validate", "d/b.jsonl"]);
    assert!(code != 0 && said.contains("CY0111"), "a file that the user names: {said}");
}

#[test]
fn of_many_destroyed_sessions_some_are_named() {
    let dir = Dir::new();
    (0..25).for_each(|n| drop(dir.write(&format!("d/{n:02}.jsonl"), &[0; 100])));
    let (code, said) = dir.exit(&["validate", "d"]);
    assert_eq!((code, said.matches("CY0209").count()), (1, 10), "{said}");
    assert!(said.contains("… and 15 more of them"), "{said}");
    let (_, said) = dir.exit(&["validate", "-v", "d"]);
    assert_eq!(said.matches("CY0209").count(), 25, "{said}");
    let (_, said) = dir.exit(&["validate", "-q", "d"]);
    assert!(said.contains("CY0209"), "{said}");
}

#[test]
fn a_file_that_is_named_in_several_ways_is_one_input() {
    let dir = Dir::new();
    dir.copy(OLD, "d/a.jsonl");
    dir.copy(OLD, "d/b.jsonl");
    let thrice = ["d/a.jsonl", "./d/a.jsonl", "d/../d/a.jsonl"];
    let (code, said) = dir.exit(&[&["migrate", "--in-place", "--no-backup"], &thrice[..]].concat());
    assert!(code == 0 && said.contains("1 migrated, 2 skipped; 26 records"), "{said}");
    assert_eq!(said.matches("note[CY0721]: input was named before").count(), 2, "{said}");
    // A folder holds what is named beside it.
    let (code, said) = dir.exit(&["migrate", "--out-dir", "o", "d/b.jsonl", "d"]);
    assert!(code == 0 && said.contains("1 migrated, 1 unchanged, 1 skipped"), "{said}");
    assert_eq!(dir.names(), ["d/a.jsonl", "d/b.jsonl", "o/b.jsonl", "o/d/a.jsonl"]);
}

#[test]
fn blank_lines_are_no_records() {
    let dir = Dir::new();
    let text = String::from_utf8(own(OLD)).expect("UTF-8");
    dir.write("a.jsonl", (text.replacen('\n', "\n\n  \n", 2) + "\n").as_bytes());
    let (code, said) = dir.said(&["validate", "a.jsonl"]);
    assert!(code == 0 && said.contains("valid pi@1, 26 records"), "{said}");
}
