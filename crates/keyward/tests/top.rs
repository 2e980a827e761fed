//! `keyward top`: in a terminal, by keys, and once for scripts.

use keyward_testkit::{Certificates, Server, call, free_port, wait_for};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");

const SHOP: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
expect = 1000
[key."user:{id:uint}".fields]
age = "int?"

[key."page:{name}"]
doc = "A page as it was rendered."
type = "string"
ttl = "1h"
"#;

/// A server with some rows.
fn shop(options: &[&str]) -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml").display().to_string();
    std::fs::write(&file, SHOP).expect("the schema is written");
    let server = Server::keyward(Path::new(PROGRAM), &[&[&*file], options].concat());
    let client = &mut server.client();
    for number in 0..5 {
        call(client, &format!("SET page:{number} {}", "x".repeat(500)));
        call(client, &format!("GET page:{number}"));
    }
    call(client, "HSET user:1 age 7");
    let refused = client.call(["HSET", "user:1", "age", "old"]).expect("a reply");
    assert!(matches!(refused, keyward_resp::Frame::Error(_)), "{refused:?}");
    (server, folder)
}

fn once(address: &str, options: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["top", address, "--once", "--interval", "50ms"]).args(options);
    command.stdin(Stdio::null()).env_remove("REDISCLI_AUTH");
    command.output().expect("it runs")
}

/// The words of each line.
fn lines(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_table_is_written_once_for_scripts() {
    let (server, _folder) = shop(&[]);
    let address = server.address().to_string();
    let all = lines(&once(&address, &[]));
    assert!(all[0].starts_with("pattern keys memory↓ reads/s"), "{all:?}");
    assert!(all[1].starts_with("page:{name} 5 "), "{all:?}");
    assert!(all[2].starts_with("user:{id:uint} 1 "), "{all:?}");
    assert!(all[2].ends_with("- 1 0 0 0"), "one was refused: {all:?}");
    let sorted = lines(&once(&address, &["--sort", "refused"]));
    assert!(sorted[1].starts_with("user:"), "{sorted:?}");
    let filtered = lines(&once(&address, &["--filter", "PAGE"]));
    assert_eq!(filtered.len(), 2, "{filtered:?}");
    let output = once(&address, &["--sort", "nothing"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = once(&format!("127.0.0.1:{}", free_port()), &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn a_server_without_a_schema_has_nothing_to_show() {
    let server = Server::keyward(Path::new(PROGRAM), &[]);
    let output = once(&server.address().to_string(), &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("has no schema"), "{output:?}");
}

#[test]
fn users_and_tls_are_as_of_other_tools() {
    let files = Certificates::make();
    let port = free_port();
    let mut settings = files.settings(port, "server");
    settings.extend(["--tls-auth-clients".to_owned(), "no".to_owned()]);
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let (server, _folder) = shop(&settings);
    call(&mut server.client(), "ACL SETUSER reader on >s1 +info");
    let (authority, url) = (files.path("ca.crt"), format!("rediss://reader:s1@127.0.0.1:{port}"));
    assert_eq!(lines(&once(&url, &["--cacert", &authority])).len(), 3);
    let address = server.address().to_string();
    let output = once(&address, &["--user", "reader"]);
    assert_eq!(output.status.code(), Some(2), "a password is needed: {output:?}");
    let output = Command::new(PROGRAM)
        .args(["top", &address, "--once", "--interval", "10ms", "--user", "reader"])
        .env("REDISCLI_AUTH", "s1")
        .output()
        .expect("it runs");
    assert_eq!(lines(&output).len(), 3);
    let output = once(&format!("redis://reader:wrong@{address}"), &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("WRONGPASS"), "{said}");
    assert!(!said.contains("wrong@"), "the password is not shown: {said}");
}

/// A terminal, and a program in it.
struct Screen {
    keys: File,
    shown: Arc<Mutex<Vec<u8>>>,
    child: Child,
}

impl Screen {
    fn open(arguments: &[&str]) -> Screen {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
            .expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it is open");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let name = name.to_str().expect("text").to_owned();
        let slave = || File::options().read(true).write(true).open(&name).expect("its other end");
        let size = rustix::termios::Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(master.as_fd(), size).expect("it has a size");
        let child = Command::new(PROGRAM)
            .args(arguments)
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .stdin(slave())
            .stdout(slave())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        let shown: Arc<Mutex<Vec<u8>>> = Arc::default();
        let of_thread = Arc::clone(&shown);
        let mut screen = File::from(master.try_clone().expect("another end"));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut buffer) {
                of_thread.lock().expect("nobody panicked").extend_from_slice(&buffer[..read]);
            }
        });
        Screen { keys: File::from(master), shown, child }
    }

    fn press(&mut self, keys: &str) {
        self.shown.lock().expect("nobody panicked").clear();
        self.keys.write_all(keys.as_bytes()).expect("it takes keys");
    }

    /// Waits until all of the texts were shown since the last keys.
    fn wait(&self, texts: &[&str]) {
        wait_for(|| {
            let shown = self.shown.lock().expect("nobody panicked");
            let shown = String::from_utf8_lossy(&shown).into_owned();
            match texts.iter().all(|text| shown.contains(text)) {
                true => Ok(()),
                false => {
                    let last: String = shown.chars().rev().take(600).collect();
                    Err(format!("{texts:?} in {:?}", last.chars().rev().collect::<String>()))
                }
            }
        });
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_is_driven_by_keys_and_leaves_the_terminal_as_it_was() {
    let (server, _folder) = shop(&[]);
    let address = server.address().to_string();
    let mut screen = Screen::open(&["top", &address, "--interval", "100ms"]);
    screen.wait(&["\x1b[?1049h", "2 patterns", "memory↓", "\x1b[7mpage:{name}"]);
    screen.press("\x1b[C");
    screen.wait(&["reads/s↓"]);
    screen.press("r");
    screen.wait(&["reads/s↑"]);
    // The next pattern, in detail, with what the schema says.
    screen.press("\x1b[B\x1b[A");
    screen.press("/page");
    screen.wait(&["filter: page_", "1 of 2 patterns"]);
    screen.press("\r\x1b[B\r");
    screen.wait(&["page:{name}  (shop, database 0)", "A page as it was rendered.", "Lifetime"]);
    screen.press("\x1b");
    screen.wait(&["filter: page  Escape"]);
    screen.press("\x1b");
    screen.wait(&["2 patterns"]);
    // Figures come by themselves.
    call(&mut server.client(), "SET page:new 1");
    screen.wait(&["7 keys"]);
    screen.press("q");
    let status = screen.child.wait().expect("it ends");
    assert!(status.success(), "{status:?}");
    screen.wait(&["\x1b[?1049l", "\x1b[?25h"]);
}
