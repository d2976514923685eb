//! The views of one session, as files that a person can read.
//!
//! `UPDATE=1 cargo test --test views golden` writes them.

use crate::common::{assert_same, read, testdata};
use crate::{FORMS, view};
use copyist::show::{Branches, Form, Request, Tools};
use sha2::{Digest, Sha256};

fn check(name: &str, ours: &str) {
    let golden = testdata().join("views").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&golden, ours).expect("a writable folder");
    }
    assert!(golden.is_file(), "{} is missing; UPDATE=1 writes it", golden.display());
    assert_same(ours.as_bytes(), &read(&golden), &golden.display().to_string());
}

fn session() -> Vec<u8> {
    read(&testdata().join("views/session.jsonl"))
}

#[test]
fn golden_views_are_as_they_were() {
    for (form, ending) in FORMS {
        let mut page = view(&session(), &Request::new(*form));
        if *form == Form::Html {
            // Style and script have files of their own.
            for (begin, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
                let from = page.find(begin).expect("an element") + begin.len();
                let to = page.find(end).expect("its end");
                page.replace_range(from..to, "…");
            }
        }
        check(&format!("session.{ending}"), &page);
    }
}

#[test]
fn golden_text_of_the_current_branch_is_short() {
    let form = Form::Text { width: 80, colors: false };
    let short = Request { tools: Tools::Names, branches: Branches::One(0), ..Request::new(form) };
    check("session.short.txt", &view(&session(), &short));
    let turns = Request { turns: Some((2, 2)), tools: Tools::None, ..short };
    let shown = view(&session(), &turns);
    assert!(shown.contains("Turn 2 ·") && !shown.contains("Turn 1 ·") && !shown.contains('●'));
}

#[test]
fn page_policy_names_the_hashes_of_its_style_and_script() {
    let page = view(&session(), &Request::new(Form::Html));
    for (name, begin, end) in
        [("style", "<style>", "</style>"), ("script", "<script>", "</script>")]
    {
        let inner =
            page.split_once(begin).expect("an element").1.split_once(end).expect("an end").0;
        let hash = base64_of(&Sha256::digest(inner));
        let named = format!("{name}-src 'sha256-{hash}'");
        assert!(page.contains(&named), "src/show/page/mod.rs: the hash of the {name} is {hash}");
    }
}

fn base64_of(bytes: &[u8]) -> String {
    copyist::json::text::to_base64(bytes)
}
