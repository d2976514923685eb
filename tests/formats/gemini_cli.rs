//! Sessions of Gemini CLI: the corpus comes back byte for byte, contexts are what release 0.61.0
//! sends, and the log is applied as the program applies it.

use crate::common::{converted, corpus, files, from_canonical, name, options, read, recognise, returned, to_canonical};
use copyist::format::OnError;
use copyist::ids::Choice;
use std::path::{Path, PathBuf};

/// The sessions that releases wrote.
fn sessions(corpus: &Path) -> Vec<PathBuf> {
    let all = files(&corpus.join("gemini-cli")).into_iter();
    let written = |path: &PathBuf| {
        let path = path.to_string_lossy();
        path.contains("/0.32.1/") || path.contains("/0.61.0/")
    };
    all.filter(written).collect()
}

#[test]
fn sessions_of_the_corpus_come_back_through_the_stream() {
    let Some(corpus) = corpus("sessions_of_the_corpus_come_back") else { return };
    let options = options(OnError::Stop, Choice::Derived);
    let sessions = sessions(&corpus);
    for file in &sessions {
        let text = read(file);
        let (format, version) = recognise(&text).expect("a session");
        assert_eq!(format.name, "gemini-cli", "{}", file.display());
        let stream = to_canonical(&text, &options);
        let to = format!("gemini-cli@{version}");
        let back = from_canonical(&stream, &to, &options);
        assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(&text), "{}", file.display());
    }
    assert!(sessions.len() >= 20, "{}", sessions.len());
}
