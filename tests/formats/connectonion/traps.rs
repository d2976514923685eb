//! The scenarios that real releases fall into themselves, as one table: what is found in what they
//! left behind.

use super::{Compared, ERAS, FORMAT, Scenario, compared, ours, scenarios};
use crate::common::{self, corpus, name, read};
use std::path::{Path, PathBuf};

/// `sid` is a hosted session whose conversation is handed in from outside, `reopen` three processes
/// on one agent, `collide` three on names that make the same file, `surrogate` a tool that answers
/// with half a character, `pyobj` an object of Python among the calls.
const TRAPS: [&str; 5] = ["sid", "surrogate", "pyobj", "reopen", "collide"];

/// One line a file: how many messages its context has, what is said, and how that compares with
/// what the process, the nearest of several, had in memory. `restored` are answers that were in
/// memory nowhere but are a turn's result; `more` are messages of the other processes on the file.
/// A torn file gives what was written before the release died, and an object of Python is no JSON.
const TABLE: &str = "
a collide    | collide_2026-11-21_20-19-17.yaml |  3 | -       | all in memory of process 3, 1 restored
a pyobj      | no file was written
a reopen     | reopen_2026-11-21_20-19-16.yaml  |  7 | -       | all in memory of process 1, 2 restored
a sid        | hosted_2026-11-21_20-19-13.yaml  |  5 | -       | all in memory, 2 restored
a surrogate  | surr_2026-11-21_20-19-13.yaml    |  7 | -       | all in memory, 2 restored
b collide    | collide.yaml                     |  7 | CY0306  | all in memory of process 1, 3 restored, 2 more
b pyobj      | pyobj.yaml                       |  7 | CY0117  | 4 of 5 in memory
b reopen     | reopen.yaml                      | 15 | CY0306  | all in memory of process 1, 6 restored, 4 more
b sid        | hosted.yaml                      |  5 | -       | all in memory, 2 restored
b surrogate  | surr.yaml                        |  7 | -       | all in memory, 2 restored
c collide    | collide.yaml                     |  7 | CY0306  | all in memory of process 1, 3 restored, 2 more
c pyobj      | pyobj.yaml                       |  7 | CY0117  | 4 of 5 in memory
c reopen     | reopen.yaml                      | 15 | CY0306  | all in memory of process 1, 6 restored, 4 more
c sid        | a_b_c_1__-0f.yaml                |  5 | -       | all in memory, 2 restored
c surrogate  | surr.yaml                        |  7 | -       | all in memory, 2 restored
d collide    | default/run_1.yaml               |  2 | -       | all in memory of process 3, 0 restored
d collide    | hello_world/run_1.yaml           |  2 | -       | all in memory of process 2, 0 restored
d pyobj      | no file was written
d reopen     | first_question/run_1.yaml        |  5 | -       | all in memory of process 1, 0 restored
d reopen     | first_question/run_2.yaml        |  5 | -       | all in memory of process 1, 0 restored
d reopen     | first_question/run_3.yaml        |  5 | -       | all in memory of process 1, 0 restored
d sid        | hosted_one/run_1.yaml            |  2 | -       | 2 of 3 in memory
d sid        | hosted_two/run_1.yaml            |  3 | -       | all in memory, 0 restored
d surrogate  | lone_surrogate/run_1.yaml        |  3 | CY0103  | 3 of 4 in memory
d2 collide   | default/run_1.yaml               |  3 | -       | all in memory of process 3, 0 restored
d2 collide   | hello_world/run_1.yaml           |  3 | -       | all in memory of process 2, 0 restored
d2 reopen    | first_question/run_1.yaml        |  7 | -       | all in memory of process 1, 0 restored
d2 reopen    | first_question/run_2.yaml        |  7 | -       | all in memory of process 1, 0 restored
d2 reopen    | first_question/run_3.yaml        |  7 | -       | all in memory of process 1, 0 restored
e collide    | hello_world/run_1.yaml           |  3 | -       | all in memory of process 2, 0 restored
e collide    | 写/run_1.yaml                     |  3 | -       | all in memory of process 3, 0 restored
e pyobj      | no file was written
e reopen     | first_question/run_1.yaml        |  7 | -       | all in memory of process 1, 0 restored
e reopen     | first_question/run_2.yaml        |  7 | -       | all in memory of process 1, 0 restored
e reopen     | first_question/run_3.yaml        |  7 | -       | all in memory of process 1, 0 restored
e sid        | hosted_one/run_1.yaml            |  3 | -       | 3 of 5 in memory
e sid        | hosted_two/run_1.yaml            |  5 | -       | all in memory, 0 restored
e surrogate  | lone_surrogate/run_1.yaml        |  3 | CY0103  | 3 of 5 in memory
";

#[test]
fn what_remains_of_sessions_that_their_own_release_spoils() {
    let Some(corpus) = corpus("sessions that their own release spoils") else { return };
    let mut table = String::from("\n");
    for (era, _) in ERAS {
        for Scenario { name: scenario, sessions, truths, .. } in
            scenarios(&corpus.join(FORMAT).join(era))
        {
            if !TRAPS.contains(&scenario.as_str()) {
                continue;
            }
            let trap = format!("{} {scenario}", era.split('-').next().unwrap_or_default());
            if sessions.is_empty() {
                table.push_str(&format!("{trap:<12} | no file was written\n"));
            }
            for session in &sessions {
                let line = line(session, &truths);
                table.push_str(&format!("{trap:<12} | {line}\n"));
            }
        }
    }
    assert_eq!(table, TABLE, "\n{table}");
}

fn line(session: &Path, truths: &[PathBuf]) -> String {
    let (ours, found) = ours(&read(session));
    let codes: Vec<_> = found.counts.keys().map(|code| code.name()).collect();
    let said = if codes.is_empty() { "-".to_owned() } else { codes.join(" ") };
    let mut truths: Vec<_> =
        truths.iter().map(|truth| common::as_javascript(&read(truth))).collect();
    let turns = truths.iter().flat_map(|truth| truth["turns"].as_array().into_iter().flatten());
    let turns: Vec<_> = turns.cloned().collect();
    // What any process answered may be restored.
    truths.iter_mut().for_each(|truth| truth["turns"] = turns.clone().into());
    let all: Vec<Compared> = truths.iter().map(|truth| compared(&ours, truth)).collect();
    let nearest = (0..all.len()).max_by_key(|&at| {
        let Compared { found, of, .. } = all[at];
        (all[at].is_same(), found, usize::MAX - of, usize::MAX - at)
    });
    let nearest = nearest.expect("a truth");
    let Compared { found, of, restored, others } = &all[nearest];
    let process = match all.len() {
        1 => " in memory".to_owned(),
        _ => format!(" in memory of process {}", nearest + 1),
    };
    let verdict = match (found == of, others.len()) {
        (true, 0) => format!("all{process}, {restored} restored"),
        (true, more) => format!("all{process}, {restored} restored, {more} more"),
        (false, _) => format!("{found} of {of}{process}"),
    };
    let file = session.parent().and_then(Path::file_name).expect("a folder").to_string_lossy();
    let file = match name(session) {
        run if run.starts_with("run_") => format!("{file}/{run}"),
        other => other,
    };
    format!("{file:<32} | {:>2} | {said:<7} | {verdict}", ours.len())
}
