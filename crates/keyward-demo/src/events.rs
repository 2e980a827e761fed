//! events at work: people sign in, search, register and talk, while figures are kept.

mod catalogue;
mod people;

use crate::call::Call;
use crate::chance::Chance;
use crate::load::{Load, Scene};

const USERS: usize = 300;
const EVENTS: usize = 120;
/// The gateway's nodes.
const NODES: [&str; 2] = ["gateway-1", "gateway-2"];
/// Open connections, at the most.
const CONNECTIONS_MAX: usize = 150;

pub(crate) fn load(chance: &mut Chance) -> Box<dyn Load> {
    Box::new(Events {
        events: (0..EVENTS).map(|_| chance.uuid()).collect(),
        sessions: (0..USERS).map(|_| chance.uuid()).collect(),
        tokens: Vec::new(),
        connections: Vec::new(),
        connected: 0,
    })
}

struct Events {
    events: Vec<String>,
    /// Each user's session.
    sessions: Vec<String>,
    /// One-time tokens on their way.
    tokens: Vec<String>,
    /// Open connections: the id and the user.
    connections: Vec<(String, String)>,
    /// How many were ever opened.
    connected: usize,
}

impl Load for Events {
    fn lay_ground(&mut self, scene: &mut Scene) {
        for event in &self.events {
            catalogue::cache(scene, event);
            catalogue::load_figures(scene, event);
        }
        catalogue::filters(scene);
        for index in 0..USERS {
            self.sign_in(scene, index);
        }
        for event in self.events.iter().take(20) {
            catalogue::visit(scene, event);
            catalogue::remember(scene);
        }
        (0..CONNECTIONS_MAX / 2).for_each(|_| self.connect(scene));
        publish_model(scene);
    }

    fn act(&mut self, scene: &mut Scene) {
        match scene.chance.below(1000) {
            0..200 => self.use_session(scene),
            200..260 => self.one_time_token(scene),
            260..330 => people::call_api(scene),
            330..500 => {
                let event = self.event(scene);
                catalogue::visit(scene, &event);
            }
            500..560 => {
                let event = self.event(scene);
                catalogue::register(scene, &event);
            }
            560..680 => catalogue::search(scene, &self.events),
            680..800 => {
                let event = self.event(scene);
                people::analyse(scene, &event);
            }
            800..850 => {
                let event = self.event(scene);
                people::recommend(scene, &event);
            }
            850..990 => self.talk(scene),
            _ if scene.chance.one_in(3) => publish_model(scene),
            _ => catalogue::filters(scene),
        }
    }

    fn err(&mut self, scene: &mut Scene) {
        let event = self.event(scene);
        let call = match scene.chance.below(3) {
            // Longer than a token may live.
            0 => Call::new(["SET", "user:password_reset:4f2d8c1b", "123", "EX", "86400"]),
            1 => Call::new(["HSET", &format!("event:availability:{event}"), "is_full", "maybe"]),
            // The key of an event instead of its id.
            _ => Call::new(["RPUSH", "events:featured", &format!("event:cache:{event}")]),
        };
        scene.add(call.meant_to_fail());
    }
}

impl Events {
    fn event(&self, scene: &mut Scene) -> String {
        self.events[scene.chance.popular(EVENTS)].clone()
    }

    fn sign_in(&self, scene: &mut Scene, index: usize) {
        let (user, email) = (index.to_string(), format!("user{index}@example.com"));
        let role = if index.is_multiple_of(10) { "organizer" } else { "attendee" };
        let args = [user.as_str(), &email, role, &scene.now(), "203.0.113.7", "Mozilla/5.0"];
        let key = format!("user:session:{}", self.sessions[index]);
        scene.add(Call::function("sign_in", &[&key], &args));
    }

    /// A page is opened; now and then somebody leaves and comes back.
    fn use_session(&mut self, scene: &mut Scene) {
        let index = scene.chance.popular(USERS);
        let key = format!("user:session:{}", self.sessions[index]);
        match scene.chance.below(20) {
            0 => {
                scene.add(Call::function("sign_out", &[&key], &[]));
                self.sessions[index] = scene.chance.uuid();
                self.sign_in(scene, index);
            }
            1..6 => scene.add(Call::function("touch_session", &[&key], &[&scene.now()])),
            _ => scene.add(Call::new(["HGETALL", &key])),
        }
    }

    /// A link is sent by mail, and followed; some follow it twice.
    fn one_time_token(&mut self, scene: &mut Scene) {
        if self.tokens.len() < 20 || scene.chance.one_in(2) {
            let purpose = scene.chance.pick(&["password_reset", "email_verification"]);
            let key = format!("user:{purpose}:{}", scene.chance.hex(16));
            let user = people::somebody(scene);
            scene.add(Call::function("issue_token", &[&key], &[&user]));
            self.tokens.push(key);
        } else {
            let place = scene.chance.below(self.tokens.len());
            let key = self.tokens.swap_remove(place);
            for _ in 0..=usize::from(scene.chance.one_in(5)) {
                let call = Call::function("consume_token", &[&key], &[]);
                scene.add(call.or(&["TOKEN_UNKNOWN"]));
            }
        }
    }

    fn connect(&mut self, scene: &mut Scene) {
        self.connected += 1;
        let (id, user) = (format!("c-{}", self.connected), people::somebody(scene));
        let node = NODES[self.connected % NODES.len()];
        let keys = [
            "websocket:connections".to_owned(),
            format!("websocket:connection:{id}:user"),
            format!("websocket:user:{user}"),
            format!("websocket:connection:{id}:node"),
            "websocket:nodes".to_owned(),
            format!("websocket:node:{node}"),
            format!("websocket:node:{node}:alive"),
        ];
        scene.add(Call::function("ws_connect", &keys.each_ref().map(String::as_str), &[]));
        self.connections.push((id, user));
    }

    /// The rooms: come, join, leave, go, and write to who is not there.
    fn talk(&mut self, scene: &mut Scene) {
        if self.connections.len() < CONNECTIONS_MAX / 2 {
            return self.connect(scene);
        }
        let place = scene.chance.below(self.connections.len());
        let (id, _) = &self.connections[place];
        let owner = format!("websocket:connection:{id}:user");
        let rooms = format!("websocket:connection:{id}:rooms");
        let room =
            format!("websocket:room:{}", scene.chance.pick(&["jazz", "rust", "lisbon", "food"]));
        match scene.chance.below(10) {
            0 if self.connections.len() < CONNECTIONS_MAX => self.connect(scene),
            0 | 1 => {
                let node = format!("websocket:connection:{id}:node");
                let keys = ["websocket:connections", &owner, &rooms, &node, "websocket:nodes"];
                scene.add(Call::function("ws_disconnect", &keys, &[]));
                self.connections.swap_remove(place);
            }
            2..5 => {
                let call = Call::function("ws_join", &[&owner, &rooms, &room], &[]);
                scene.add(call.or(&["CONNECTION_UNKNOWN"]));
            }
            5 => scene.add(Call::function("ws_leave", &[&rooms, &room], &[])),
            6 if scene.chance.one_in(4) => tend_nodes(scene),
            6 => scene.add(Call::new(["SMEMBERS", &room])),
            _ => people::write_to(scene),
        }
    }
}

/// Each node says that it lives, and looks after the other one.
fn tend_nodes(scene: &mut Scene) {
    for node in NODES {
        let (connections, alive) =
            (format!("websocket:node:{node}"), format!("websocket:node:{node}:alive"));
        scene.add(Call::function("ws_heartbeat", &[&connections, &alive], &[]));
        let keys = ["websocket:connections", "websocket:nodes", &connections, &alive];
        scene.add(Call::function("ws_sweep", &keys, &[]).or(&["NODE_ALIVE"]));
    }
}

fn publish_model(scene: &mut Scene) {
    let (version, data) = (scene.chance.below(1000).to_string(), scene.chance.base62(2000));
    let keys = ["ml:model:ranker:version", "ml:model:ranker:data"];
    scene.add(Call::function("publish_model", &keys, &[&version, &data]));
}
