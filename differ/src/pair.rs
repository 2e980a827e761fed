//! Both servers, and running steps on them side by side.
//!
//! Owns the servers, the connections to each, and what is known of them: who waits, and
//! which commands are queued in a transaction. Commands go out in batches to both
//! servers at once; only a change of connection or a step that depends on replies
//! waits for them.

mod blocked;
mod draw;
mod transfer;
mod walk;

use crate::compare::{agree, agree_each};
use crate::step::{Action, Check, Round, Step};
use crate::stream::{CONNECTIONS, LIMIT_DEFAULTS};
use keyward_resp::{Frame, push_request};
use keyward_testkit::wire::text;
use keyward_testkit::{Client, ClientError, Reply, Server};
use std::time::Duration;

/// Bytes of a batch after which it is sent: what the sockets' buffers hold, so that
/// neither side waits for the other while writing.
const BATCH_BYTES_MAX: usize = 64 * 1024;
/// Well past the longest of the short lifetimes.
const PAUSE: Duration = Duration::from_millis(15);

/// Where the servers disagree.
#[derive(Debug, Clone)]
pub(crate) struct Difference {
    /// The step, counted from zero; the number of steps if the final state differs.
    pub(crate) step: usize,
    /// The command that shows it.
    pub(crate) command: String,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

/// Why a step did not pass.
pub(crate) enum Failure {
    Differs {
        command: String,
        ours: String,
        theirs: String,
    },
    /// A server is gone, or sends what is no reply.
    Lost(&'static str, ClientError),
}

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// How much of a reply is shown.
const SHOWN_CHARS_MAX: usize = 2000;
/// Stands for the command where a server is lost.
const LOST: &str = "(unknown)";
/// Names of the servers, in the order of everything that comes in twos.
const NAMES: [&str; 2] = ["Keyward", "Redis"];

/// Both servers.
pub struct Pair {
    start: Box<dyn Fn() -> [Server; 2]>,
    servers: [Server; 2],
    control: [Client; 2],
    connections: Vec<Connection>,
    /// A server was lost and must be started again.
    is_broken: bool,
}

/// A connection to both servers.
struct Connection {
    clients: [Client; 2],
    ids: [Vec<u8>; 2],
    /// How the replies to queued commands compare.
    queued: Vec<Check>,
    is_blocked: bool,
}

impl Pair {
    /// Starts Keyward and Redis, in this order; and again when one of them is lost.
    pub fn new(start: impl Fn() -> [Server; 2] + 'static) -> Pair {
        let servers = start();
        let control = servers.each_ref().map(Server::client);
        Pair { start: Box::new(start), servers, control, connections: Vec::new(), is_broken: false }
    }

    /// Runs a round from empty databases and compares the state it leaves.
    pub(crate) fn run(&mut self, round: &Round) -> Result<(), Difference> {
        let steps = &round.steps;
        let mut place = 0;
        let outcome = self
            .reset(round.protocol)
            .and_then(|()| self.run_steps(steps, &mut place))
            .and_then(|()| self.settle())
            .and_then(|()| self.compare_states());
        outcome.map_err(|failure| {
            // The clients that wait must not reach into the next round.
            self.is_broken = matches!(failure, Failure::Lost(..)) || self.settle_quietly().is_err();
            let (command, ours, theirs) = match failure {
                Failure::Differs { command, ours, theirs } => (command, ours, theirs),
                Failure::Lost(server, error) => {
                    // Any command of the batch may be what ended the server.
                    place = steps.len();
                    (LOST.to_owned(), format!("{server} is lost: {error}"), String::new())
                }
            };
            Difference { step: place, command, ours, theirs }
        })
    }

    /// Empties both servers and connects anew.
    fn reset(&mut self, protocol: u8) -> Outcome {
        if self.is_broken {
            self.connections.clear();
            self.servers = (self.start)();
            self.control = self.servers.each_ref().map(Server::client);
            self.is_broken = false;
        }
        for client in &mut self.control {
            let mut commands =
                vec![vec!["FLUSHALL"], vec!["SCRIPT", "FLUSH"], vec!["FUNCTION", "FLUSH"]];
            commands.extend(
                LIMIT_DEFAULTS.iter().map(|(name, value)| vec!["CONFIG", "SET", *name, *value]),
            );
            for command in commands {
                client.call(command).map_err(|error| Failure::Lost("a server", error))?;
            }
        }
        self.connections.clear();
        for _ in 0..CONNECTIONS {
            let mut clients = self.servers.each_ref().map(Server::client);
            let mut ids = [Vec::new(), Vec::new()];
            for (side, client) in clients.iter_mut().enumerate() {
                let lost = |error| Failure::Lost(NAMES[side], error);
                client.call(["HELLO", &protocol.to_string()]).map_err(lost)?;
                if let Frame::Integer(id) = client.call(["CLIENT", "ID"]).map_err(lost)? {
                    ids[side] = id.to_string().into_bytes();
                }
            }
            self.connections.push(Connection {
                clients,
                ids,
                queued: Vec::new(),
                is_blocked: false,
            });
        }
        Ok(())
    }

    /// Runs steps; `place` tells how far it came.
    pub(crate) fn run_steps(&mut self, steps: &[Step], place: &mut usize) -> Outcome {
        while let Some(step) = steps.get(*place) {
            match &step.action {
                Action::Call(_) => {
                    self.run_batch(steps, place)?;
                    continue;
                }
                Action::Pause => std::thread::sleep(PAUSE),
                Action::Settle => self.settle()?,
                _ if self.connections[step.connection].is_blocked => {}
                Action::Draw => self.draw(step)?,
                Action::Walk => self.walk(step)?,
                Action::Transfer => self.transfer(step)?,
                Action::Block => self.block(step)?,
            }
            *place += 1;
        }
        Ok(())
    }

    /// Runs the calls from `place` on that are of one connection.
    fn run_batch(&mut self, steps: &[Step], place: &mut usize) -> Outcome {
        let number = steps[*place].connection;
        let mut request = Vec::new();
        let mut batch = Vec::new();
        for step in &steps[*place..] {
            let Action::Call(check) = &step.action else { break };
            if step.connection != number || request.len() > BATCH_BYTES_MAX {
                break;
            }
            let before = commands_before(step, check);
            for command in &before {
                push_request(&mut request, command.iter());
            }
            push_request(&mut request, step.command.iter());
            batch.push((step, check, before));
        }
        let connection = &mut self.connections[number];
        if connection.is_blocked {
            *place += batch.len();
            return Ok(());
        }
        let count = batch.iter().map(|(_, _, before)| 1 + before.len()).sum();
        let [ours, theirs] = exchange(&mut connection.clients, &request, count)?;
        let mut replies = ours.into_iter().zip(theirs);
        for (step, check, before) in batch {
            let mut is_hashed =
                matches!(check, Check::AnyOrder(unordered) if unordered.sources.is_none());
            for command in before {
                let (ours, theirs) = replies.next().expect("every command has a reply");
                connection.judge(&Check::Exact, false, &command, &ours, &theirs)?;
                is_hashed |= matches!(theirs.frame.as_bytes(), Some(b"hashtable" | b"skiplist"));
            }
            let (ours, theirs) = replies.next().expect("every command has a reply");
            connection.judge(check, is_hashed, &step.command, &ours, &theirs)?;
            *place += 1;
        }
        Ok(())
    }

    /// The keys of the chosen database with their types, as Redis has them.
    pub(crate) fn rows(&mut self) -> Outcome<Vec<(Vec<u8>, String)>> {
        let [_, keys] = self.call(0, &[b"KEYS".to_vec(), b"*".to_vec()])?;
        let mut rows = Vec::new();
        for key in keys.frame.as_elements().unwrap_or_default() {
            let key = key.as_bytes().unwrap_or_default().to_vec();
            let [_, kind] = self.call(0, &[b"TYPE".to_vec(), key.clone()])?;
            let kind = kind.frame.as_bytes().unwrap_or_default();
            rows.push((key, String::from_utf8_lossy(kind).into_owned()));
        }
        Ok(rows)
    }

    /// Calls a command on both servers, on one of the connections, and has the replies.
    fn call(&mut self, number: usize, command: &[Vec<u8>]) -> Outcome<[Reply; 2]> {
        let mut request = Vec::new();
        push_request(&mut request, command.iter());
        let replies = exchange(&mut self.connections[number].clients, &request, 1)?;
        Ok(replies.map(|mut replies| replies.pop().expect("there is one")))
    }
}

impl Connection {
    /// Compares the replies to a command and keeps track of the transaction.
    fn judge(
        &mut self,
        check: &Check,
        is_hashed: bool,
        command: &[Vec<u8>],
        ours: &Reply,
        theirs: &Reply,
    ) -> Outcome {
        let name = command.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
        let are_same = match name.as_slice() {
            b"exec" => agree_each(&std::mem::take(&mut self.queued), ours, theirs),
            b"discard" | b"multi" => {
                self.queued.clear();
                ours.bytes == theirs.bytes
            }
            _ => agree(check, is_hashed, ours, theirs),
        };
        if !are_same {
            return Err(differs(command, &ours.frame, &theirs.frame));
        }
        if theirs.bytes == b"+QUEUED\r\n" {
            self.queued.push(check.clone());
        }
        Ok(())
    }
}

/// What is sent before a step: questions for the encodings that decide about order; and
/// before SORT a number, since Redis 7.0 refuses to sort if any earlier command left an
/// error of range behind.
fn commands_before(step: &Step, check: &Check) -> Vec<Vec<Vec<u8>>> {
    let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
    let mut before = Vec::new();
    if let Check::AnyOrder(unordered) = check {
        let sources = unordered.sources.iter().flatten();
        before.extend(sources.map(|key| words(&[b"OBJECT", b"ENCODING", key])));
    }
    let is_sort = |word: &Vec<u8>| word.len() >= 4 && word[..4].eq_ignore_ascii_case(b"SORT");
    if step.command.iter().any(is_sort) {
        before.push(words(&[b"ZADD", b"nothing", b"XX", b"1", b"m"]));
    }
    before
}

/// Sends a request to both and takes so many replies from each.
fn exchange(clients: &mut [Client; 2], request: &[u8], count: usize) -> Outcome<[Vec<Reply>; 2]> {
    for (side, client) in clients.iter_mut().enumerate() {
        client.send(request).map_err(|error| Failure::Lost(NAMES[side], error))?;
    }
    let [ours, theirs] = clients;
    let theirs = theirs.receive_batch(count).map_err(|error| Failure::Lost(NAMES[1], error))?;
    let ours = ours.receive_batch(count).map_err(|error| Failure::Lost(NAMES[0], error))?;
    Ok([ours, theirs])
}

/// The difference between two replies to a command.
fn differs(command: &[Vec<u8>], ours: &Frame, theirs: &Frame) -> Failure {
    let command: Vec<String> =
        command.iter().map(|argument| argument.escape_ascii().to_string()).collect();
    let shown = |frame| {
        let shown = format!("{}  [{frame:?}]", text(frame));
        shown.chars().take(SHOWN_CHARS_MAX).collect()
    };
    Failure::Differs { command: command.join(" "), ours: shown(ours), theirs: shown(theirs) }
}
