//! A client for the driver of Chromium: HTTP and JSON on this machine.

use crate::common::Dir;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Maximum time that the driver has for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser without a window. It ends when it is dropped.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: Dir,
    /// The driver ends when its output is closed.
    _output: BufReader<ChildStdout>,
}

impl Browser {
    /// Starts a browser; `None` after saying aloud that `test` is skipped, if there is none.
    pub fn start(test: &str) -> Option<Self> {
        let spawned = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = spawned else {
            eprintln!("SKIP {test}: no chromedriver; Debian has it in chromium-driver");
            return None;
        };
        let mut output = BufReader::new(driver.stdout.take().expect("an output"));
        let port = output.by_ref().lines().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let profile = Dir::new();
        let mut browser = Self {
            driver,
            port: port.expect("a port"),
            session: String::new(),
            _profile: profile,
            _output: output,
        };
        let profile = format!("--user-data-dir={}", browser._profile.root().display());
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1100,800",
            &profile,
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": args },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = browser.call("POST", "/session", &wanted);
        browser.session = made["sessionId"].as_str().expect("a session").to_owned();
        Some(browser)
    }

    /// Sends one request to the driver; returns the value of its answer.
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, mut answer) = self.send(method, path, body).expect("an answer");
        assert!(status.contains(" 200 "), "{path}: {answer}");
        answer["value"].take()
    }

    /// Sends one request; returns the first line of the answer, and its content.
    fn send(&self, method: &str, path: &str, body: &Value) -> std::io::Result<(String, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = BufReader::new(stream);
        let mut status = String::new();
        answer.read_line(&mut status)?;
        // The driver keeps the connection open, so the length counts.
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line)?;
            let line = line.trim_end().to_lowercase();
            if line.is_empty() {
                break;
            }
            let own = line.strip_prefix("content-length:").and_then(|it| it.trim().parse().ok());
            length = own.unwrap_or(length);
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body)?))
    }

    fn ask(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}{path}", self.session), body)
    }

    /// Opens a file, at a place in it.
    pub fn open(&self, file: &Path, place: &str) {
        let url = format!("file://{}{place}", file.display());
        self.ask("/url", &json!({ "url": url }));
    }

    /// Evaluates the body of a function in the page.
    pub fn run(&self, script: &str) -> Value {
        self.ask("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Clicks the first element that a selector finds.
    pub fn click(&self, selector: &str) {
        // The bar at the top would cover it. The page itself may still scroll after an earlier click.
        let scroll = format!(
            "const [done] = arguments; requestAnimationFrame(() => requestAnimationFrame(() => {{
               document.querySelector({selector:?}).scrollIntoView({{block: 'center'}});
               done();
             }}));"
        );
        self.ask("/execute/async", &json!({ "script": scroll, "args": [] }));
        let found = self.ask("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().expect("an element").values().next().expect("an identifier");
        self.ask(&format!("/element/{}/click", id.as_str().expect("a text")), &json!({}));
    }

    /// Presses and releases keys, one after the other.
    pub fn keys(&self, keys: &str) {
        let pressed = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
        });
        let actions =
            json!([{ "type": "key", "id": "keys", "actions": pressed.collect::<Vec<_>>() }]);
        self.ask("/actions", &json!({ "actions": actions }));
    }

    /// Sends a command of Chromium's own protocol.
    pub fn command(&self, name: &str, parameters: &Value) -> Value {
        self.ask("/goog/cdp/execute", &json!({ "cmd": name, "params": parameters }))
    }

    /// Returns the messages of the browser's log since the last call.
    pub fn log(&self) -> Vec<String> {
        let log = self.ask("/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().expect("a list").iter();
        entries.map(|entry| entry["message"].to_string()).collect()
    }

    /// Keeps a picture of the screen, if the variable `SCREENSHOTS` names a folder.
    pub fn picture(&self, name: &str) {
        if let Some(folder) = std::env::var_os("SCREENSHOTS") {
            let path = format!("/session/{}/screenshot", self.session);
            keep(
                &Path::new(&folder).join(format!("{name}.png")),
                &self.call("GET", &path, &json!({})),
            );
        }
    }

    /// Keeps the page as it is printed, if the variable `SCREENSHOTS` names a folder. Returns the
    /// number of bytes.
    pub fn print(&self, name: &str) -> usize {
        let printed = self.ask("/print", &json!({ "background": true }));
        if let Some(folder) = std::env::var_os("SCREENSHOTS") {
            keep(&Path::new(&folder).join(format!("{name}.pdf")), &printed);
        }
        printed.as_str().map_or(0, str::len)
    }
}

fn keep(path: &Path, data: &Value) {
    let bytes = copyist::json::text::from_base64(data.as_str().expect("a text")).expect("base64");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, bytes).expect("a file");
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            // A test that failed ends its browser, too.
            let _ = self.send("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        // It may have ended.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
