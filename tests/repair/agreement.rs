//! One verdict on a session, whichever command is asked: `validate`, `inspect` and `repair -n`.

use super::damage::{Random, damage};
use super::{common::files_of, inputs};
use copyist::batch::{FileReport, Outcome};
use copyist::manager::Work;
use std::path::{Path, PathBuf};

/// How many damaged sessions are judged; more are asked for by `COPYIST_DAMAGES`.
fn damages() -> usize {
    std::env::var("COPYIST_DAMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

/// Leaves a member out of a line, as other programs do.
fn omit(text: &mut Vec<u8>, random: &mut Random) -> &'static str {
    let commas: Vec<usize> = memchr::memmem::find_iter(text, b",\"").collect();
    let Some(start) = commas.get(random.below(commas.len())).copied() else { return "nothing" };
    let behind = text.get(start + 1..).unwrap_or_default();
    let end = behind.iter().position(|b| matches!(b, b',' | b'}' | b'\n'));
    text.splice(start..start + 1 + end.unwrap_or(0), []);
    "omission"
}

/// Writes damaged sessions below a folder, each in one of its own. Returns their main files with
/// what was done to them.
fn written(folder: &Path) -> Vec<(PathBuf, String)> {
    let inputs = inputs();
    let mut made = Vec::new();
    for number in 0..damages() {
        let mut random = Random(number as u64 * 104_729);
        let (path, _, source) = &inputs[number % inputs.len()];
        let mut parts = files_of(source);
        let mut what = path.display().to_string();
        for _ in 0..random.below(3) {
            let place = random.below(parts.len());
            let text = &mut parts[place].1;
            let kind = if random.below(3) == 0 {
                omit(text, &mut random)
            } else {
                damage(text, &mut random)
            };
            what = format!("{what}, {kind}");
        }
        let own = folder.join(number.to_string());
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let main = own.join(&name);
        let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
        for (part, bytes) in &parts {
            let file =
                if part.is_empty() { main.clone() } else { own.join(format!("{stem}{part}")) };
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, bytes).expect("written");
        }
        made.push((main, what));
    }
    made
}

/// Verdict of a report on the session.
fn verdict(report: &FileReport) -> &'static str {
    match (report.outcome, &report.inspection) {
        (Outcome::Valid | Outcome::Healthy, _) => "valid",
        (Outcome::Refused, _) => "refused",
        (_, Some(inspection)) => inspection.state,
        (Outcome::Skipped | Outcome::Part, _) => "no session",
        _ => "invalid",
    }
}

#[test]
fn validate_inspect_and_repair_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut counts = std::collections::BTreeMap::new();
    for (path, what) in written(folder.path()) {
        let one = |work: Work| {
            let reports = work.run([&path]).expect("reports");
            reports.into_iter().next().expect("a report")
        };
        let valid = one(Work::validate());
        let others = [one(Work::inspect()), one(Work::repair(false).in_place().dry_run())];
        for other in &others {
            let told = |report: &FileReport| {
                let found = report.findings.diagnostics.iter();
                let found = found.map(|f| format!("{} {}", f.code.name(), f.message));
                format!("{:?} {:?}", report.outcome, found.collect::<Vec<_>>())
            };
            assert_eq!(
                verdict(&valid),
                verdict(other),
                "{what} at {}\n{}\n{}",
                path.display(),
                told(&valid),
                told(other)
            );
        }
        *counts.entry(verdict(&valid)).or_insert(0) += 1;
    }
    println!("{counts:?}");
}
