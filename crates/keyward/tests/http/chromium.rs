//! A real Chromium, driven by WebDriver (chromedriver).

use keyward_testkit::{free_port, wait_for};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often it is tried to remove what a browser leaves behind, and how long is waited between.
const REMOVALS_MAX: usize = 100;
const REMOVAL_PAUSE: Duration = Duration::from_millis(50);

/// A browser with one window.
pub(crate) struct Chromium {
    driver: Child,
    address: SocketAddr,
    session: String,
    /// What both leave behind, which goes with this.
    folder: tempfile::TempDir,
}

impl Chromium {
    /// Starts one with a window of this size.
    pub(crate) fn start(width: u32, height: u32) -> Chromium {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a directory");
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed (./test does that)");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        wait_for(|| TcpStream::connect(address).map(drop));
        let mut chromium = Chromium { driver, address, session: String::new(), folder };
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            format!("--window-size={width},{height}"),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = chromium.send("POST", "/session", Some(&wanted));
        chromium.session = made["sessionId"].as_str().expect("a session").to_owned();
        chromium
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let mut stream = TcpStream::connect(self.address).expect("chromedriver listens");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a time limit");
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        stream.write_all(request.as_bytes()).expect("it takes the request");
        let body = receive(&mut stream);
        let reply: Value =
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        let value = reply["value"].clone();
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    fn call(&self, path: &str, body: &Value) -> Value {
        self.send("POST", &format!("/session/{}/{path}", self.session), Some(body))
    }

    pub(crate) fn open(&self, address: &str) {
        self.call("url", &json!({ "url": address }));
    }

    /// What a script of the page returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.call("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until a script returns true.
    pub(crate) fn wait(&self, script: &str) {
        let script = format!("return !!({script})");
        wait_for(|| match self.run(&script) == json!(true) {
            true => Ok(()),
            false => Err(format!("{script}\n{}", self.run("return document.body.innerText"))),
        });
    }

    /// Presses keys.
    pub(crate) fn press(&self, keys: &str) {
        let steps: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                let key = key.to_string();
                [
                    json!({ "type": "keyDown", "value": key }),
                    json!({ "type": "keyUp", "value": key }),
                ]
            })
            .collect();
        self.call(
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": steps }] }),
        );
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        // A window has a least width; the page's own view has not.
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": true });
        self.call(
            "goog/cdp/execute",
            &json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size }),
        );
    }

    /// What the page has complained of.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.call("se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// Keeps a picture of the page where KEYWARD_SCREENSHOTS says, if it does.
    pub(crate) fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("KEYWARD_SCREENSHOTS") else { return };
        let path = format!("/session/{}/screenshot", self.session);
        let taken = self.send("GET", &path, None);
        let text = taken.as_str().expect("a picture").to_owned();
        let file = std::path::Path::new(&folder).join(name);
        let mut decoder = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(std::fs::File::create(file).expect("a file"))
            .spawn()
            .expect("base64 is there");
        decoder.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        decoder.wait().expect("it ends");
    }
}

/// The body of a response. The driver leaves connections open, whatever is asked for.
fn receive(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 64 * 1024];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let headers = head.lines().filter_map(|line| line.split_once(':'));
            let mut lengths =
                headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            let length = lengths.next().and_then(|(_, text)| text.trim().parse::<usize>().ok());
            if body.len() >= length.expect("it tells the length") {
                return body.to_owned();
            }
        }
        let read = stream.read(&mut buffer).expect("it replies");
        assert!(read > 0, "it has not said all");
        bytes.extend_from_slice(&buffer[..read]);
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            let path = format!("/session/{}", self.session);
            let request = format!(
                "DELETE {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                self.address
            );
            let _ = stream.write_all(request.as_bytes());
            let _ = stream.set_read_timeout(Some(Duration::from_secs(10)));
            let _ = stream.read(&mut [0; 256]);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        // Processes of the browser end a moment later, and may still write there.
        for _ in 0..REMOVALS_MAX {
            if std::fs::remove_dir_all(self.folder.path()).is_ok() {
                break;
            }
            std::thread::sleep(REMOVAL_PAUSE);
        }
    }
}
