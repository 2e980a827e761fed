//! A primary that does what a test says: it grants everything, sends a snapshot and then a stream.

use keyward_resp::push_request;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What it does with a replica that has asked for everything.
type Script = dyn Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync;

/// A primary that does what a test says.
pub(crate) struct Scripted {
    pub(crate) port: u16,
    /// What replicas have asked for, and what they said afterwards.
    heard: Arc<Mutex<Heard>>,
}

/// What replicas have said.
#[derive(Default)]
struct Heard {
    asked: Vec<String>,
    /// What is neither an acknowledgement nor an empty line, behind a PSYNC.
    said: Vec<String>,
}

impl Scripted {
    /// One that runs `script` whenever somebody asks for everything. Its id is forty times `a`.
    pub(crate) fn new(
        script: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it listens").port();
        let (heard, script): (Arc<Mutex<Heard>>, Arc<Script>) = (Arc::default(), Arc::new(script));
        let of_thread = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (heard, script) = (Arc::clone(&of_thread), Arc::clone(&script));
                // Who is left ends with its connection.
                std::thread::spawn(move || talk(stream, &heard, &*script));
            }
        });
        Scripted { port, heard }
    }

    /// One that sends this snapshot with its length, and this stream behind it.
    pub(crate) fn of(snapshot: Vec<u8>, stream: Vec<u8>) -> Scripted {
        Scripted::new(move |socket| {
            let head = format!("+FULLRESYNC {} 0\r\n${}\r\n", "a".repeat(40), snapshot.len());
            socket.write_all(&[head.as_bytes(), &snapshot, &stream].concat())
        })
    }

    /// What replicas have asked for, one PSYNC each.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.heard.lock().expect("nobody panicked").asked.clone()
    }

    /// What replicas have said behind a PSYNC, acknowledgements aside.
    pub(crate) fn said(&self) -> Vec<String> {
        self.heard.lock().expect("nobody panicked").said.clone()
    }
}

fn talk(stream: TcpStream, heard: &Mutex<Heard>, script: &Script) -> Option<()> {
    let (mut stream, mut has_asked) = (stream, false);
    let lines = BufReader::new(stream.try_clone().ok()?).split(b'\n');
    let mut lines = lines.map_while(Result::ok);
    loop {
        let head = lines.next()?;
        let count = head.strip_prefix(b"*").and_then(|it| it.trim_ascii().first());
        let words = count.map_or(0, |digit| usize::from(digit - b'0'));
        let texts: Vec<String> = (0..2 * words)
            .map_while(|_| lines.next())
            .map(|line| String::from_utf8_lossy(&line).trim_end().to_owned())
            .collect();
        let words: Vec<&str> = texts.iter().skip(1).step_by(2).map(String::as_str).collect();
        match words.first() {
            Some(&"PING") => stream.write_all(b"+PONG\r\n").ok()?,
            Some(&"PSYNC") => {
                heard.lock().expect("nobody panicked").asked.push(words[1..].join(" "));
                has_asked = true;
                script(&mut stream).ok()?;
            }
            Some(&"REPLCONF") if words.get(1) == Some(&"ACK") => {}
            Some(_) if has_asked => {
                heard.lock().expect("nobody panicked").said.push(words.join(" "));
            }
            None if has_asked && !head.trim_ascii().is_empty() => {
                let line = String::from_utf8_lossy(&head).into_owned();
                heard.lock().expect("nobody panicked").said.push(line);
            }
            Some(_) => stream.write_all(b"+OK\r\n").ok()?,
            // An empty line: somebody is there.
            None => {}
        }
    }
}

/// A snapshot without rows and without a sum.
pub(crate) fn empty_snapshot() -> Vec<u8> {
    let mut empty = b"REDIS0011\xfa\x09redis-ver\x055.5.5\xff".to_vec();
    empty.extend_from_slice(&[0; 8]);
    empty
}

/// Commands as bytes of a stream.
pub(crate) fn stream_of(commands: &[&[&str]]) -> Vec<u8> {
    let mut stream = Vec::new();
    commands.iter().for_each(|words| push_request(&mut stream, words.iter()));
    stream
}
