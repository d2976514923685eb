//! The real pi as judge: it opens what we migrated, and sees every entry.
//!
//! `../shared/oracle/pi/install.sh` installs it once; without it the test says that it is skipped.

mod common;

use common::{corpus, files, migrated, name, options, own_inputs, read, recognise};
use copyist::format::OnError;
use copyist::ids::Choice;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The script that asks pi for the context of a file, or `None` after saying aloud why not.
fn judge() -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle/pi/context.mjs");
    let home = std::env::var_os("PI_ORACLE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/pi-oracle")));
    let node = Command::new("node").arg("--version").output().is_ok_and(|o| o.status.success());
    let installed = home.is_some_and(|home| home.join("v0.73.1/node_modules").is_dir());
    let why = match (script.is_file(), node, installed) {
        (false, ..) => "no oracle beside the project",
        (_, false, _) => "no Node",
        (.., false) => "pi is not installed; oracle/pi/install.sh does it",
        _ => return Some(script),
    };
    eprintln!("SKIP the real pi: {why}");
    None
}

/// What the real pi sees in a file.
fn ask(script: &Path, file: &Path) -> serde_json::Value {
    let asked = Command::new("timeout")
        .args(["60", "node"])
        .arg(script)
        .arg("--ids")
        .arg(file)
        .output()
        .expect("node runs");
    let err = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.success(), "{}: pi fails: {err}", file.display());
    serde_json::from_slice(&asked.stdout).expect("JSON")
}

#[test]
fn the_real_pi_opens_every_migrated_file_and_sees_every_entry() {
    let Some(script) = judge() else { return };
    let mut inputs = own_inputs();
    if let Some(corpus) = corpus("the corpus for the real pi") {
        inputs.extend(
            ["real", "generated", "public"]
                .iter()
                .flat_map(|set| files(&corpus.join("pi").join(set))),
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut opened = 0;
    for input in inputs {
        let source = read(&input);
        let Some((format, version)) = recognise(&source) else {
            continue;
        };
        let newest = format.versions.last().expect("a version").number;
        let options = options(OnError::Stop, Choice::Derived);
        let (done, _) = migrated(&source, &format.at(newest), &options);
        // Damaged files are told of elsewhere; those at the target are pi's own.
        let Ok(out) = done else { continue };
        if version == newest {
            continue;
        }
        let file = folder.path().join(name(&input));
        std::fs::write(&file, &out).expect("a writable folder");
        let seen = ask(&script, &file);
        let lines = out.split(|b| *b == b'\n').filter(|line| !line.is_empty());
        let entries = lines.filter(|line| {
            let value: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
            value["type"] != "session"
        });
        assert_eq!(seen["entries"], entries.count(), "{}", input.display());
        assert_eq!(read(&file), out, "{}: pi wrote the file anew", input.display());
        opened += 1;
    }
    println!("the real pi opened {opened} migrated files");
    assert!(opened >= 4);
}
