//! The prompt of each request, rebuilt from what stands once in the stream.

use super::{Dir, HOMES, runs};
use crate::common::{corpus, name, options, own, read, recognise, to_canonical};
use copyist::context::{self, Request};
use copyist::diagnostic::{Code, Log};
use copyist::error::Error;
use copyist::format::{Cx, OnError};
use copyist::ids::Choice;
use copyist::memory::Bytes;
use serde_json::Value;

fn prompt(source: &[u8], run: &str, seq: u64) -> Result<Value, Error> {
    let (format, _) = recognise(source).expect("a known format");
    let options = options(OnError::Keep, Choice::Derived);
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    let request = Request { call: Some((run.to_owned(), seq)), ..Request::default() };
    let mut out = Vec::new();
    context::run(format, &mut Bytes::new(source), &request, &cx, &mut out)?;
    Ok(serde_json::from_slice::<Value>(&out).expect("JSON")["messages"].clone())
}

/// The requests of a run: its identifier, their numbers, and what they show.
fn requests(source: &[u8]) -> Vec<(String, u64, Value)> {
    let lines = source.split(|b| *b == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let requests = lines.filter(|line| line["type"] == "llm.request");
    let parts = |line: Value| {
        let run = line["run_id"].as_str().expect("a run").to_owned();
        (run, line["seq"].as_u64().expect("a number"), line["input"]["messages"].clone())
    };
    requests.map(parts).collect()
}

#[test]
fn each_request_gives_the_prompt_that_was_sent() {
    let keep = options(OnError::Keep, Choice::Derived);
    let cases = ["v1/seed", "v1/lamp", "v1/aliased", "v1/compacted"];
    let mut sources: Vec<_> = cases.iter().map(|case| own(&format!("codelia/{case}"))).collect();
    if let Some(corpus) = corpus("prompts of the real runtime") {
        sources.extend(runs(&corpus).iter().map(|file| read(file)));
    }
    let mut same = 0;
    for source in sources {
        let stream = to_canonical(&source, &keep);
        for (run, seq, shown) in requests(&source) {
            assert_eq!(prompt(&source, &run, seq).expect("a prompt"), shown, "{run} {seq}");
            assert_eq!(prompt(&stream, &run, seq).expect("a prompt"), shown, "{run} {seq}");
            same += 1;
        }
    }
    println!("{same} prompts are those of their requests");
    assert!(same >= 7);
}

#[test]
fn a_request_of_a_whole_session_is_found_by_its_run() {
    let Some(corpus) = corpus("prompts of whole sessions") else { return };
    let mut same = 0;
    for home in HOMES {
        let home = corpus.join("codelia").join(home).join("sessions");
        for file in runs(&corpus).iter().filter(|file| file.starts_with(&home)) {
            let Some((run, seq, shown)) = requests(&read(file)).pop() else { continue };
            let dir = Dir::new();
            let (path, seq) = (file.to_string_lossy(), seq.to_string());
            let done =
                dir.run(&["context", "--whole", "--run", &run, "--seq", &seq, path.as_ref()]);
            let ours: Value = serde_json::from_slice(&done.stdout).expect("JSON");
            assert_eq!(ours["messages"], shown, "{}", name(file));
            same += 1;
        }
    }
    println!("{same} prompts of whole sessions are those of their requests");
    assert!(same > 15, "{same}");
}

#[test]
fn a_request_that_is_not_there_is_an_error() {
    let lamp = own("codelia/v1/lamp");
    let (run, seq, _) = requests(&lamp).remove(0);
    for (source, run, seq) in [
        (&lamp, run.as_str(), seq + 100),
        (&lamp, "another", seq),
        (&own("codelia/v1/state"), run.as_str(), seq),
        (&own("pi/v3/everything"), run.as_str(), seq),
    ] {
        assert_eq!(prompt(source, run, seq).expect_err("none").code(), Code::NoContext);
    }
}
