//! `keyward demo`: every system runs by itself, shows its patterns, and ends without a
//! trace.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use keyward_resp::Frame;
use keyward_testkit::Client;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Each system and the patterns that must have keys at once.
const SYSTEMS: [(&str, &[&str]); 5] = [
    (
        "calls-bot",
        &[
            "user_settings:{chat_id:int}",
            "subscription:{chat_id:int}",
            "referral_code:{code}",
            "token_price:{token_address}",
            "coupon:{code}",
            "active_subscribers",
            "active_subscribers:{plan}",
        ],
    ),
    (
        "social",
        &["user:{id}", "user:{id}:followers", "user:{id}:following", "team:{id}", "comment:{id}"],
    ),
    (
        "api-billing",
        &[
            "user:{telegram_user_id:uint}",
            "users:by_api_key:kikuai_{api_key}",
            "api_key:kikuai_{api_key}",
            "transactions:{user_id:uint}",
            "transactions:{user_id:uint}:recent",
            "webhook:{provider}:{transaction_id}",
            "products:config",
        ],
    ),
    (
        "telegram-gateway",
        &[
            "telegram:msg:{channel_id:int}:{message_id:uint}",
            "telegram:dedup:{channel_id:int}:{message_id:uint}",
            "telegram:channel:{channel_id:int}:recent",
        ],
    ),
    (
        "events",
        &[
            "user:session:{session_id}",
            "event:cache:{event_id}",
            "event:availability:{event_id}",
            "search:filters:categories",
            "ml:model:{model_name}:data",
            "websocket:connections",
            "websocket:connection:{connection_id}:user",
        ],
    ),
];

/// A directory to run in, which is also that for temporary files.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(TempDir::new().expect("a directory"))
    }

    fn demo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyward"));
        command.arg("demo").args(arguments).current_dir(&self.0).env("TMPDIR", self.0.path());
        command
    }

    /// Runs it to its end; nothing may be left behind.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } =
            self.demo(arguments).output().expect("the binary runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        self.assert_empty();
        (status.code().expect("no signal ended it"), text(stdout), text(stderr))
    }

    fn assert_empty(&self) {
        let left: Vec<_> = fs::read_dir(self.0.path()).expect("it is there").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The figures of the last line of a table that begins with this name: keys first,
/// refusals last.
fn figures(output: &str, name: &str) -> Vec<u64> {
    let line = output.lines().rfind(|line| line.trim_start().starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no line of {name} in\n{output}"));
    let cells = line.split("  ").filter(|cell| !cell.is_empty()).skip(1);
    cells.filter_map(|cell| cell.trim().replace(',', "").parse().ok()).collect()
}

/// What the last line says: commands, those that were refused on purpose, those that
/// failed.
fn summary(output: &str) -> [u64; 3] {
    let line = output.lines().find(|line| line.starts_with("ended after "));
    let line = line.unwrap_or_else(|| panic!("no summary in\n{output}"));
    let (_, counts) = line.split_once(" s: ").expect("the time, then the counts");
    let words = counts.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok());
    words.collect::<Vec<u64>>().try_into().expect("three counts")
}

fn shows_a_system_at_work(name: &str) {
    let (_, patterns) = SYSTEMS.iter().find(|(system, _)| *system == name).expect("a system");
    let place = Place::new();
    let (code, output, messages) = place.run(&[name, "--for", "2s", "--interval", "1s"]);
    assert_eq!((code, messages.as_str()), (0, ""), "{output}");
    for pattern in *patterns {
        assert!(figures(&output, pattern)[0] > 0, "{pattern} has no keys:\n{output}");
    }
    let [commands, refused, failed] = summary(&output);
    assert!(commands > 100 && refused > 0, "{output}");
    assert_eq!(failed, 0, "{output}");
    assert_eq!(figures(&output, name).last(), Some(&refused), "only those on purpose:\n{output}");
}

#[test]
fn calls_bot_is_shown_at_work() {
    shows_a_system_at_work("calls-bot");
}

#[test]
fn social_is_shown_at_work() {
    shows_a_system_at_work("social");
}

#[test]
fn api_billing_is_shown_at_work() {
    shows_a_system_at_work("api-billing");
}

#[test]
fn telegram_gateway_is_shown_at_work() {
    shows_a_system_at_work("telegram-gateway");
}

#[test]
fn events_are_shown_at_work() {
    shows_a_system_at_work("events");
}

#[test]
fn all_systems_run_side_by_side_in_their_databases() {
    let (code, output, messages) = Place::new().run(&["--for", "2s", "--seed", "1"]);
    assert_eq!((code, messages.as_str()), (0, ""), "{output}");
    let refused: u64 = SYSTEMS
        .iter()
        .map(|(name, _)| {
            let figures = figures(&output, name);
            assert!(figures[0] > 0, "{name} has no keys:\n{output}");
            *figures.last().expect("refusals are a figure")
        })
        .sum();
    let [_, on_purpose, failed] = summary(&output);
    assert_eq!((refused, failed), (on_purpose, 0), "{output}");
}

/// A demonstration that runs until it is told to stop. Dropping it kills it.
struct Running {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(place: &Place, arguments: &[&str]) -> Running {
        let mut command = place.demo(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child, output }
    }

    /// Reads up to the first line of the first table, and returns what came before.
    fn introduction(&mut self) -> String {
        let mut text = String::new();
        loop {
            let start = text.len();
            let read = self.output.read_line(&mut text).expect("text");
            assert!(read > 0, "it ended:\n{text}");
            if text[start..].contains("per second") {
                return text;
            }
        }
    }

    fn stop(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("it ends").code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_the_introduction_proposes_can_be_tried() {
    for (name, _) in SYSTEMS {
        let place = Place::new();
        let mut demo = Running::start(&place, &[name, "--interval", "100ms", "--rate", "500"]);
        let introduction = demo.introduction();
        let tries: Vec<&str> =
            introduction.lines().filter_map(|line| line.strip_prefix("  redis-cli ")).collect();
        assert_eq!(tries.len(), 3, "{introduction}");
        for (index, line) in tries.into_iter().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["-p", port, "-n", db, command @ ..] = words.as_slice() else {
                panic!("{line} is not of the form that is known");
            };
            let port: u16 = port.parse().expect("a port");
            let mut client =
                Client::connect((Ipv4Addr::LOCALHOST, port).into()).expect("it is there");
            client.call(["SELECT", db]).expect("an answer");
            match client.call(command).expect("an answer") {
                Frame::Error(text) => {
                    assert!(index == 2 && text.starts_with(b"SCHEMA "), "{line}: {text:?}");
                }
                reply => {
                    assert!(index < 2, "{line} should be refused");
                    assert_ne!(reply, Frame::Array(Vec::new()), "{line} shows nothing");
                }
            }
        }
        let (code, rest) = demo.stop(Signal::TERM);
        assert_eq!(code, Some(0), "{rest}");
        let [_, _, failed] = summary(&rest);
        assert_eq!(failed, 0, "{rest}");
        place.assert_empty();
    }
}

#[test]
fn a_signal_ends_it_and_the_port_is_free_again() {
    for signal in [Signal::TERM, Signal::INT] {
        let place = Place::new();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address: SocketAddr = free.local_addr().expect("it is bound");
        drop(free);
        let port = address.port().to_string();
        let mut demo = Running::start(&place, &["events", "--port", &port, "--interval", "100ms"]);
        let introduction = demo.introduction();
        assert!(introduction.contains(&format!("events on {address}")), "{introduction}");
        TcpStream::connect(address).expect("it listens");
        let http = introduction.split_once("The dashboard is on http://").expect("its address").1;
        let http: SocketAddr = http.split('/').next().and_then(|it| it.parse().ok()).expect("one");
        assert!(dashboard(http).contains("<title>Keyward</title>"), "{introduction}");
        let (code, rest) = demo.stop(signal);
        assert_eq!(code, Some(0), "{rest}");
        assert_eq!(summary(&rest)[2], 0, "{rest}");
        assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
        place.assert_empty();
    }
}

/// The page that is there.
fn dashboard(http: SocketAddr) -> String {
    let mut stream = TcpStream::connect(http).expect("it listens");
    let request = format!("GET / HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it takes the request");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}

/// How many commands the server has answered.
fn commands(client: &mut Client) -> u64 {
    let reply = client.call(["INFO", "stats"]).expect("an answer");
    let text = String::from_utf8_lossy(reply.as_bytes().expect("text")).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
    line.and_then(|count| count.parse().ok()).expect("it is counted")
}

#[test]
fn a_connection_that_somebody_closes_is_opened_again() {
    let place = Place::new();
    let mut demo = Running::start(&place, &["social", "--interval", "100ms"]);
    let introduction = demo.introduction();
    let port = introduction.split_once("127.0.0.1:").expect("where it is").1;
    let port: u16 = port.split(',').next().and_then(|port| port.parse().ok()).expect("a port");
    let mut client = Client::connect((Ipv4Addr::LOCALHOST, port).into()).expect("it is there");
    let killed = client.call(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    assert_eq!(killed.expect("an answer"), Frame::Integer(2), "the load and who watches it");
    let before = commands(&mut client);
    let deadline = Instant::now() + Duration::from_secs(20);
    // The questions of this loop count too, some fifty a second.
    while commands(&mut client) < before + 2_000 {
        assert!(Instant::now() < deadline, "nobody comes any more");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, rest) = demo.stop(Signal::TERM);
    assert_eq!(code, Some(0), "{rest}");
    assert!(rest.contains("per second"), "the table is shown again: {rest}");
    place.assert_empty();
}

#[test]
fn an_unknown_system_is_told_the_names_of_the_others() {
    let (code, output, messages) = Place::new().run(&["shop"]);
    assert_eq!((code, output.as_str()), (2, ""));
    let names = "[possible values: calls-bot, social, api-billing, telegram-gateway, events]";
    assert!(messages.contains(names), "{messages}");
}

#[test]
fn a_port_that_is_taken_could_not_be_served() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("it is bound").port().to_string();
    let (code, output, messages) = Place::new().run(&["events", "--port", &port]);
    assert_eq!((code, output.as_str()), (2, ""));
    assert!(messages.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{messages}");
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    for arguments in [&["--rate", "0"][..], &["--rate", "100001"], &["--interval", "0s"]] {
        let (code, ..) = Place::new().run(arguments);
        assert_eq!(code, 2, "{arguments:?}");
    }
}

/// A line without its figures: digits and the units of bytes differ from run to run.
fn without_figures(line: &str) -> String {
    let words = line.split_whitespace().filter(|word| !matches!(*word, "-" | "%" | "kB" | "MB"));
    let mut text = words.collect::<Vec<_>>().join(" ");
    text.retain(|c| !c.is_ascii_digit() && !matches!(c, ',' | '.'));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = fs::read_to_string("../../README.md").expect("it is there");
    let (_, shown) = readme.split_once("$ cargo run --release -- demo\n").expect("the demo");
    let (shown, _) = shown.split_once("```").expect("the block ends");
    let (_, output, _) = Place::new().run(&["--for", "1s", "--interval", "2s"]);
    let is_pattern = |line: &&str| {
        let indented = line.strip_prefix("  ");
        indented.is_some_and(|rest| !rest.starts_with(' ') && !rest.starts_with("redis-cli"))
    };
    let others = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !is_pattern(line)).map(without_figures).collect()
    };
    assert_eq!(others(shown), others(&output));
    let schemas: String = SYSTEMS
        .map(|(name, _)| fs::read_to_string(format!("../../systems/{name}/keyward.toml")))
        .map(|text| text.expect("a schema"))
        .concat();
    for line in shown.lines().filter(is_pattern) {
        let pattern = line.trim_start().split(['…', ' ']).next().expect("a name");
        assert!(schemas.contains(&format!("[key.\"{pattern}")), "{line}");
    }
}
