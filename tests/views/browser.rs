//! Pages in a real browser.

use crate::common::{Dir, read, testdata};
use crate::driver::Browser;
use crate::view;
use copyist::show::{Form, Request};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A page of a session in a folder of its own.
fn page(session: &[u8]) -> (Dir, PathBuf) {
    let dir = Dir::new();
    let path = dir.write("page.html", view(session, &Request::new(Form::Html)).as_bytes());
    (dir, path)
}

fn session() -> Vec<u8> {
    read(&testdata().join("views/session.jsonl"))
}

/// Waits until a script returns true.
fn wait(browser: &Browser, script: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    while browser.run(script) != json!(true) {
        assert!(Instant::now() < end, "{script}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn browser_page_reacts_to_clicks_keys_and_search() {
    let Some(browser) = Browser::start("pages in a browser") else { return };
    let (_dir, path) = page(&session());
    browser.open(&path, "");
    browser.picture("short");

    // The current branch is shown; the link at the fork leads to the other one.
    let shown = |id: &str| {
        browser.run(&format!("return document.getElementById('{id}').checkVisibility()"))
    };
    let other = browser.run("return document.querySelector('.fork a').hash.slice(1)");
    let other = other.as_str().expect("an identifier").to_owned();
    assert_eq!(shown(&other), json!(false));
    browser.click(".fork a");
    assert_eq!(shown(&other), json!(true));
    let current = "return document.querySelector('#branches [aria-current]').dataset.branch";
    assert_eq!(browser.run(current), json!("1"));
    browser.picture("branch");
    browser.click("#branches [data-branch='all']");
    browser.picture("branches");
    assert_eq!(browser.run("return document.querySelectorAll('article[hidden]').length"), json!(0));
    browser.click("#branches [data-branch='0']");
    assert_eq!(shown(&other), json!(false));

    // A folded call opens.
    let open = "return document.querySelector('details.call').open";
    assert_eq!(browser.run(open), json!(false));
    browser.click("details.call > summary");
    assert_eq!(browser.run(open), json!(true));
    browser.keys("o");
    let closed = "return document.querySelectorAll('#talk details:not([open])').length";
    assert_eq!(browser.run(closed), json!(0));
    browser.run("document.querySelector('.diff').scrollIntoView({block: 'center'})");
    browser.picture("edits");
    browser.run("document.querySelector('figure img').scrollIntoView({block: 'center'})");
    let loaded =
        "return [...document.images].every((image) => image.complete && image.naturalWidth === 48)";
    wait(&browser, loaded);
    browser.picture("images");
    browser.keys("o");
    assert_eq!(
        browser.run("return document.querySelectorAll('#talk details[open].call').length"),
        json!(0)
    );

    // Messages one after the other.
    browser.run("scrollTo(0, 0)");
    let at = "return document.querySelector('.at')?.id ?? null";
    browser.keys("j");
    let first = browser.run(at);
    browser.keys("jj");
    let third = browser.run(at);
    browser.keys("kk");
    assert!(first.is_string() && first != third, "{first} {third}");
    assert_eq!(browser.run(at), first);

    // Search finds text in a folded call, and opens it.
    browser.keys("/");
    assert_eq!(browser.run("return document.activeElement.type"), json!("search"));
    browser.keys("offset % 12");
    let count = "return document.querySelector('#search output').textContent";
    wait(&browser, "return document.querySelector('#search output').textContent === '1/1'");
    let visible = "return [...document.querySelectorAll('ins')].find((it) => it.textContent.includes('% 12')).checkVisibility()";
    assert_eq!(browser.run(visible), json!(true));
    browser.run("const q = document.querySelector('#search input'); q.value = ''; q.blur()");
    browser.keys("/hour");
    wait(
        &browser,
        "return /^1\\/([2-9]|\\d\\d)/.test(document.querySelector('#search output').textContent)",
    );
    browser.picture("search");
    browser.click("[data-do=next]");
    assert!(browser.run(count).as_str().is_some_and(|count| count.starts_with("2/")));
    browser.click("[data-do=previous]");
    assert!(browser.run(count).as_str().is_some_and(|count| count.starts_with("1/")));
    browser.run(
        "const q = document.querySelector('#search input'); q.value = ''; q.blur(); scrollTo(0, 0)",
    );

    // Help, and light and dark.
    browser.keys("?");
    assert_eq!(browser.run("return document.querySelector('#help').open"), json!(true));
    browser.picture("help");
    browser.click("#help button");
    let paper = "return getComputedStyle(document.body).backgroundColor";
    let light = browser.run(paper);
    browser.click("[data-do=theme]");
    assert_ne!(browser.run(paper), light);
    browser.picture("dark");
    browser.keys("t");
    assert_eq!(browser.run(paper), light);
    let prefers = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.run("delete document.documentElement.dataset.theme");
    browser.command("Emulation.setEmulatedMedia", &prefers);
    assert_ne!(browser.run(paper), light);
    browser.command("Emulation.setEmulatedMedia", &json!({ "features": [] }));

    // A narrow screen does not scroll sideways.
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    browser.command("Emulation.setDeviceMetricsOverride", &phone);
    let wide = "return document.documentElement.scrollWidth > innerWidth";
    assert_eq!(browser.run(wide), json!(false));
    browser.picture("phone");
    browser.run("document.querySelectorAll('article')[4].scrollIntoView()");
    browser.picture("phone-talk");
    browser.command("Emulation.clearDeviceMetricsOverride", &json!({}));
    assert!(browser.print("print") > 10_000);
    assert_eq!(browser.log(), Vec::<String>::new());
}

#[test]
fn browser_page_is_complete_without_script() {
    let Some(browser) = Browser::start("a page without script") else { return };
    let (_dir, path) = page(&session());
    browser.command("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(&path, "");
    browser.picture("without-script");
    browser.command("Emulation.setScriptExecutionDisabled", &json!({ "value": false }));
    assert_eq!(browser.run("return document.documentElement.className"), json!(""));
    let hidden = "return [...document.querySelectorAll('#talk article')].filter((it) => !it.checkVisibility()).length";
    assert_eq!(browser.run(hidden), json!(0));
    let tools = "return document.querySelector('#bar .tools').checkVisibility()";
    assert_eq!(browser.run(tools), json!(false));
    browser.click("details.call > summary");
    assert_eq!(browser.run("return document.querySelector('details.call').open"), json!(true));
}

#[test]
fn browser_page_runs_nothing_of_a_stranger() {
    let Some(browser) = Browser::start("hostile pages in a browser") else { return };
    for text in crate::hostile::HOSTILE {
        let (_dir, path) = page(&crate::hostile::session(text));
        browser.open(&path, "");
        let own = "return document.scripts.length + document.querySelectorAll('iframe, object, embed, link, [onclick], [onerror], [onload]').length";
        assert_eq!(browser.run(own), json!(1), "{text:?}");
        assert_eq!(browser.log(), Vec::<String>::new(), "{text:?}");
    }
}

/// A session of so many messages, half of them of the user.
fn long(messages: usize) -> Vec<u8> {
    let mut lines = vec![json!({ "kind": "session", "id": "long", "cwd": "/home/mira/long" })];
    let mut parent = Value::Null;
    for number in 0..messages {
        let id = format!("m{number}");
        let user = number % 2 == 0;
        let text = format!("Message {number}. ").repeat(20);
        let blocks = json!([
            { "type": "text", "text": format!("## Part {number}\n\n{text}\n\n- one\n- two\n\n```rust\nfn f{number}() {{}}\n```\n") },
            { "type": "tool_call", "id": format!("c{number}"), "name": "bash", "arguments": { "command": format!("echo {number}") } },
        ]);
        let usage = json!({ "input": 100 + number % 700, "output": 50 + number % 90, "cache_read": number });
        lines.push(match user {
            true => json!({ "kind": "message", "id": id, "parent": parent, "role": "user", "content": text }),
            false => json!({ "kind": "message", "id": id, "parent": parent, "role": "assistant", "content": blocks, "usage": usage }),
        });
        parent = json!(id);
    }
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

#[test]
fn browser_page_of_10000_messages_shows_its_first_screen_in_two_seconds() {
    let Some(browser) = Browser::start("a long page in a browser") else { return };
    let (_dir, path) = page(&long(10_000));
    let begin = Instant::now();
    browser.open(&path, "");
    let loaded = begin.elapsed();
    let paint =
        browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let paint = paint.as_f64().expect("a time");
    eprintln!("10,000 messages: first paint after {paint:.0} ms, loaded after {loaded:?}");
    assert!(paint < 2000.0, "{paint} ms");
    browser.picture("long");
    browser.open(&path, "#n9999");
    browser.picture("long-end");
    let begin = Instant::now();
    browser.keys("/f9999");
    wait(&browser, "return document.querySelector('#search output').textContent === '1/1'");
    eprintln!("10,000 messages: found after {:?}", begin.elapsed());
    assert_eq!(browser.log(), Vec::<String>::new());
}
