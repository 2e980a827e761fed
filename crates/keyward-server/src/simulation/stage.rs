//! A server on a simulated network, from its start to its end, and what must hold.

use super::client::{Client, Ending, Ledger, Manner, Role};
use super::{World, syncs};
use crate::clock::simulated;
use crate::net::listen::Listeners;
use crate::net::output::CHUNK_BYTES;
use crate::net::selector::{Alarm, Selector};
use crate::net::wire::Wire;
use crate::serve::event_loop::EventLoop;
use crate::serve::leisure;
use crate::serve::server::{Parts, Server};
use crate::serve::{shutdown, start};
use crate::settings::Settings;
use keyward_testkit::network::{Faults, Network};
use keyward_testkit::{FakeDisk, Random};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// A world that is not over after this much of its time hangs.
const WORLD_NS_MAX: u64 = 600_000_000_000;
/// `timeout`, where idle clients are closed, and how late that may be.
const TIMEOUT_NS: u64 = 5_000_000_000;
const TIMEOUT_LATE_NS: u64 = 2_000_000_000;
/// Hard limit of unread replies, where there is one; beyond it there may be the replies of
/// one batch.
const OUTPUT_BYTES_MAX: usize = 300_000;
const OUTPUT_BYTES_BEYOND: usize = 2_000_000;

/// A server, and everything around it.
pub(super) struct Stage {
    pub(super) server: Rc<Server>,
    pub(super) event_loop: EventLoop,
    pub(super) world: World,
}

impl Stage {
    /// A server that has begun to start. The time is simulated from now on.
    pub(super) fn new(arguments: &[&str], world: World, disk: &FakeDisk) -> Stage {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let settings = Settings::from_command_line(&arguments).expect("settings are sound");
        if simulated::peek().is_none() {
            simulated::set(Some(1_000_000));
        }
        let selector = Selector::Simulated(world.clone());
        let listeners = Listeners::simulated(&world);
        let wire = Wire::new(selector.watcher().expect("it has one"));
        let (log, alarm, seed) = (None, Alarm::silent(), 1);
        let parts = Parts { settings, log, listeners, tls: None, wire, alarm, seed };
        let server = Rc::new(Server::new(parts).expect("a thread can be started"));
        server.core.borrow_mut().host.persistence.disk = Arc::new(disk.clone());
        let mut event_loop = EventLoop::new(Rc::clone(&server), selector, None);
        event_loop.begin(leisure::use_leisure(Rc::clone(&server)));
        event_loop.begin(start::start(Rc::clone(&server), Vec::new()));
        Stage { server, event_loop, world }
    }

    pub(super) fn round(&mut self) {
        self.event_loop.round().expect("a simulated selector does not fail");
    }

    /// Those who are not through, with what they wait for.
    fn unfinished(&self) -> Vec<String> {
        let clients = self.world.clients.borrow();
        clients.iter().filter(|client| !client.is_over()).map(Client::describe).collect()
    }

    /// Rounds until something is so.
    pub(super) fn until(&mut self, mut is_so: impl FnMut(&Stage) -> bool) {
        let start_ns = simulated::peek().expect("the time is simulated");
        while !is_so(self) {
            self.round();
            assert!(!self.server.must_stop(), "the server stops");
            let now_ns = simulated::peek().expect("the time is simulated");
            let is_late = now_ns - start_ns > WORLD_NS_MAX;
            assert!(!is_late, "it never comes to an end: {:?}", self.unfinished());
        }
    }
}

/// What a seed decides besides the clients.
#[derive(Debug, Clone, Copy)]
struct Weather {
    /// There are scripts that never end.
    has_scripts: bool,
    is_logged: bool,
    /// Unread replies are limited.
    is_limited: bool,
    /// Idle clients are closed.
    has_timeout: bool,
}

impl Weather {
    fn arguments(self) -> Vec<&'static str> {
        let mut arguments = vec!["--save", "", "--dir", ".", "--client-query-buffer-limit", "1mb"];
        if self.has_scripts {
            arguments.extend(["--busy-reply-threshold", "5"]);
        }
        if self.is_logged {
            arguments.extend(["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"]);
        }
        if self.is_limited {
            arguments.extend(["--client-output-buffer-limit", "normal", "300kb", "0", "0"]);
            arguments.extend(["--client-output-buffer-limit", "pubsub", "300kb", "100kb", "2"]);
        }
        if self.has_timeout {
            arguments.extend(["--timeout", "5"]);
        }
        arguments
    }

    /// How a client behaves, in this weather.
    fn manner(self, random: &mut Random) -> Manner {
        Manner {
            pipeline: 1 + *random.pick(&[0, 3, 20, 200]),
            pause_ns: *random.pick(&[2_000, 100_000, 20_000_000]),
            dreams: *random.pick(&[0, 0, 200, 10]),
            ending: Ending::Closes,
            may_be_closed: self.is_limited,
            may_be_put_off: self.has_scripts,
        }
    }
}

fn faults(random: &mut Random) -> Faults {
    Faults {
        interrupted: *random.pick(&[0, 10, 100]),
        would_block: *random.pick(&[0, 5, 100]),
        short_writes: *random.pick(&[0, 2, 50]),
        idle_edges: *random.pick(&[0, 20]),
        capacity: *random.pick(&[3_000, 30_000, 200_000]),
        flight_ns_max: *random.pick(&[1_000, 200_000, 5_000_000]),
        piece_max: *random.pick(&[10, 1_500, 100_000]),
    }
}

/// The clients of a world.
fn clients(weather: Weather, random: &mut Random, ledger: &Rc<RefCell<Ledger>>) -> Vec<Client> {
    let mut clients = Vec::new();
    let mut add = |role: Role, manner: Manner, random: &mut Random| {
        let name = format!("client{}", clients.len());
        clients.push(Client::new(role, name, manner, random.number(), ledger));
    };
    for _ in 0..2 + random.below(8) {
        let mut manner = weather.manner(random);
        manner.ending = match random.below(6) {
            0 => Ending::Resets,
            1 => Ending::HalfCloses,
            _ => Ending::Closes,
        };
        add(Role::Keys, manner, random);
    }
    let attentive = |random: &mut Random| {
        let pause_ns = *random.pick(&[2_000, 100_000, 2_000_000]);
        Manner { dreams: 0, pause_ns, may_be_closed: false, ..weather.manner(random) }
    };
    for number in 0..random.below(3) {
        let channel = format!("channel{number}");
        add(Role::Source(channel.clone(), "PUBLISH"), attentive(random), random);
        for _ in 0..1 + random.below(3) {
            let manner = Manner { may_be_closed: weather.is_limited, ..weather.manner(random) };
            add(Role::Subscriber(channel.clone()), manner, random);
        }
        let queue = format!("queue{number}");
        add(Role::Source(queue.clone(), "RPUSH"), attentive(random), random);
        add(Role::Consumer(queue), attentive(random), random);
    }
    if weather.has_scripts {
        let manner = Manner { pipeline: 1, pause_ns: 20_000_000, ..attentive(random) };
        add(Role::Spinner, manner, random);
        add(Role::ScriptKiller, manner, random);
    }
    if random.one_in(8) {
        let manner = Manner { may_be_closed: true, dreams: 0, ..weather.manner(random) };
        add(Role::Hog, manner, random);
    }
    if weather.has_timeout {
        let manner = Manner { may_be_closed: true, ..attentive(random) };
        add(Role::Idler, manner, random);
    }
    if random.one_in(3) {
        let manner = Manner { pause_ns: 300_000_000, ..attentive(random) };
        add(Role::Assassin, manner, random);
        let victims = clients.iter_mut().filter(|client| client.role == Role::Keys);
        victims.for_each(Client::allow_closing);
    }
    clients
}

/// What came of a world.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) digest: u64,
    pub(super) replies: usize,
    pub(super) closed: usize,
}

/// Lets a world live from its beginning to its end.
pub(super) fn live(seed: u64) -> Outcome {
    let random = &mut Random::new(seed);
    let weather = Weather {
        has_scripts: random.one_in(4),
        is_logged: random.one_in(2),
        is_limited: random.one_in(3),
        has_timeout: random.one_in(4),
    };
    let disk = FakeDisk::new();
    let mut arguments = weather.arguments();
    let policies: [&'static str; 3] = ["always", "everysec", "no"];
    let policy = policies[random.below(policies.len())];
    arguments.extend(["--appendfsync", policy]);
    simulated::set(Some(1_000_000));
    syncs::set_time(*random.pick(&[0, 100_000, 3_000_000]));
    let world = World::new(Network::new(random.number(), faults(random)), random.number());
    let ledger = Rc::default();
    *world.clients.borrow_mut() = clients(weather, random, &ledger);
    let mut stage = Stage::new(&arguments, world.clone(), &disk);
    stage.until(|stage| {
        check_bounds(stage, weather);
        stage.world.clients.borrow().iter().all(Client::is_over)
    });
    // What is left of them goes. The last round may have left its end to the next one, which
    // shares its sync then.
    stage.until(|stage| stage.server.peers.count() == 0);
    stage.until(|stage| stage.server.core.borrow().host.outbox.is_empty());
    check_idle(&stage);
    let clients = world.clients.take();
    clients.iter().for_each(|client| check_client(client, &ledger.borrow()));
    let replies = clients.iter().map(|client| client.replies).sum();
    let closed = clients.iter().filter(|client| client.was_closed).count();
    let mut outcome = Outcome { digest: world.network.digest(), replies, closed };
    shutdown::end(&stage.server);
    drop(stage);
    if weather.is_logged {
        let manner = Manner { dreams: 0, may_be_put_off: true, ..weather.manner(random) };
        let manner = Manner { may_be_closed: false, ..manner };
        let whole = clients.into_iter().filter(Client::has_heard_all);
        let verifiers: Vec<Client> = whole.map(|client| client.into_verifier(manner)).collect();
        outcome.digest ^= verify(&arguments, random, &disk, verifiers);
    }
    simulated::set(None);
    outcome
}

/// Starts another server on the same disk, which must have everything.
fn verify(arguments: &[&str], random: &mut Random, disk: &FakeDisk, clients: Vec<Client>) -> u64 {
    let start_ns = simulated::peek().expect("the time is simulated");
    let world = World::new(Network::new(random.number(), faults(random)), random.number());
    world.network.advance_to(start_ns);
    *world.clients.borrow_mut() = clients;
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|word| if *word == "300kb" || *word == "100kb" { "0" } else { word })
        .collect();
    let mut stage = Stage::new(&arguments, world.clone(), disk);
    stage.until(|stage| !stage.server.core.borrow().host.is_loading());
    stage.until(|stage| stage.world.clients.borrow().iter().all(Client::is_over));
    world.network.digest()
}

/// What must hold at any time.
fn check_bounds(stage: &Stage, weather: Weather) {
    let now_ns = simulated::peek().expect("the time is simulated");
    for client in stage.world.clients.borrow().iter() {
        let is_idle = weather.has_timeout && client.role == Role::Idler && client.link().is_some();
        let most = TIMEOUT_NS + TIMEOUT_LATE_NS;
        assert!(!is_idle || client.silent_ns(now_ns) < most, "{} is not closed", client.name);
    }
    stage.server.peers.each(|peer| {
        let is_limited = weather.is_limited && !peer.must_close.get();
        let most = OUTPUT_BYTES_MAX + OUTPUT_BYTES_BEYOND;
        let bytes = peer.unsent_bytes();
        assert!(!is_limited || bytes <= most, "{} bytes wait for {:?}", bytes, peer.addresses);
    });
}

/// Nothing is held for nobody.
fn check_idle(stage: &Stage) {
    let core = &*stage.server.core.borrow();
    assert!(core.output.capacity() <= 1024 * 1024);
    let bytes = core.host.peers.largest_output();
    assert!(bytes < CHUNK_BYTES, "{bytes} bytes");
}

/// What must hold for what clients did to each other.
fn check_client(client: &Client, ledger: &Ledger) {
    let (Role::Subscriber(name) | Role::Consumer(name)) = &client.role else { return };
    let accepted = ledger.accepted.get(name).map_or(&[][..], Vec::as_slice);
    let first = client.got.first().and_then(|first| accepted.iter().position(|one| one == first));
    let Some(first) = first else { return assert!(client.got.is_empty(), "{}", client.name) };
    let from_first = &accepted[first..];
    match client.was_closed {
        true => assert!(from_first.starts_with(&client.got), "{}", client.name),
        false => assert_eq!(from_first, client.got, "{}", client.name),
    }
    if matches!(client.role, Role::Consumer(_)) {
        assert_eq!(first, 0, "{} misses the first values", client.name);
    }
}

mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Seeds of an ordinary run.
    const SEEDS: u64 = 20;

    fn number(name: &str) -> Option<u64> {
        std::env::var(name).ok().map(|text| text.parse().expect("a number"))
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "who waits for an hour wants to know")]
    fn simulated_network_has_each_client_told_what_a_plain_engine_says() {
        let seconds = number("KEYWARD_NET_SECONDS");
        let first = number("KEYWARD_NET_SEED");
        let (start, mut replies, mut closed) = (Instant::now(), 0, 0);
        let last = match (first, seconds) {
            (Some(seed), None) => seed,
            (_, Some(_)) => u64::MAX,
            (None, None) => SEEDS,
        };
        for seed in first.unwrap_or(1)..=last {
            let report = SeedReport(seed);
            let outcome = live(seed);
            std::mem::forget(report);
            (replies, closed) = (replies + outcome.replies, closed + outcome.closed);
            if seed % 1000 == 0 {
                eprintln!("seed {seed}: {replies} replies, {closed} clients closed by the server");
            }
            if seconds.is_some_and(|most| start.elapsed() > Duration::from_secs(most)) {
                eprintln!("up to seed {seed}: {replies} replies, {closed} closed, nothing found");
                break;
            }
        }
        assert!(replies > 0);
    }

    /// Says which seed it was, if a panic passes by.
    struct SeedReport(u64);

    impl Drop for SeedReport {
        #[allow(clippy::print_stderr, reason = "a seed is of no use if nobody knows it")]
        fn drop(&mut self) {
            eprintln!("repeat it by KEYWARD_NET_SEED={}", self.0);
        }
    }

    #[test]
    fn simulated_network_has_one_history_for_each_seed() {
        let outcomes: Vec<Outcome> = (1..=5).map(live).collect();
        for (seed, outcome) in (1..).zip(&outcomes) {
            assert_eq!(live(seed), *outcome, "seed {seed}");
        }
        assert!(outcomes.iter().any(|outcome| outcome.digest != outcomes[0].digest));
    }
}
