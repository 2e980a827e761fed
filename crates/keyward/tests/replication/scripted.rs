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
    /// What replicas have asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// One that runs `script` whenever somebody asks for everything. Its id is forty times `a`.
    pub(crate) fn new(
        script: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it listens").port();
        let (asked, script): (Arc<Mutex<Vec<String>>>, Arc<Script>) =
            (Arc::default(), Arc::new(script));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (heard, script) = (Arc::clone(&heard), Arc::clone(&script));
                // Who is left ends with its connection.
                std::thread::spawn(move || talk(stream, &heard, &*script));
            }
        });
        Scripted { port, asked }
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
        self.asked.lock().expect("nobody panicked").clone()
    }
}

fn talk(stream: TcpStream, asked: &Mutex<Vec<String>>, script: &Script) -> Option<()> {
    let mut stream = stream;
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
                asked.lock().expect("nobody panicked").push(words[1..].join(" "));
                script(&mut stream).ok()?;
            }
            Some(&"REPLCONF") if words.get(1) == Some(&"ACK") => {}
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
