//! telegram-gateway at work: a feed of messages, and workers who poll them.

use std::collections::VecDeque;

use serde_json::json;

use crate::call::Call;
use crate::chance::Chance;
use crate::load::{Load, Scene};

const CHANNELS: [&str; 3] = ["-1001649127710", "-1001412188586", "-1001789456123"];
const SYMBOLS: [&str; 6] = ["PETR4", "VALE3", "ITUB4", "BBDC4", "ABEV3", "WEGE3"];
/// Messages that await their worker when the load begins.
const WAITING: usize = 50;
/// Messages that are still looked at.
const RECENT_MAX: usize = 200;
const FIRST_MESSAGE_ID: usize = 123_456;

pub(crate) fn load(_: &mut Chance) -> Box<dyn Load> {
    Box::new(TelegramGateway { received: 0, recent: VecDeque::new(), waiting: VecDeque::new() })
}

struct TelegramGateway {
    received: usize,
    /// The newest messages: channel and message id.
    recent: VecDeque<(&'static str, usize)>,
    /// Those that no worker is done with.
    waiting: VecDeque<(&'static str, usize)>,
}

impl Load for TelegramGateway {
    fn lay_ground(&mut self, scene: &mut Scene) {
        (0..WAITING).for_each(|_| self.receive(scene));
    }

    fn act(&mut self, scene: &mut Scene) {
        match scene.chance.below(1000) {
            0..30 => self.receive(scene),
            30..62 => self.process(scene),
            62..100 => poll(scene),
            100..500 => self.check_duplicate(scene),
            500..850 => self.look(scene),
            _ => count(scene),
        }
    }

    fn err(&mut self, scene: &mut Scene) {
        let channel = CHANNELS[0];
        let unknown = FIRST_MESSAGE_ID - 1 - scene.chance.below(1000);
        let call = match scene.chance.below(3) {
            // In the index, and not there.
            0 => {
                let (at, id) = (scene.now_ms().to_string(), unknown.to_string());
                Call::new(["ZADD", &index_key(channel), &at, &id])
            }
            // A status that is no text.
            1 => Call::new(["SET", &message_key(channel, unknown), r#"{"status":1}"#]),
            // Longer than a flag may live.
            _ => Call::new(["SET", &flag_key(channel, unknown), "1", "EX", "86400"]),
        };
        scene.add(call.meant_to_fail());
    }
}

impl TelegramGateway {
    /// A message comes; one in ten is delivered twice.
    fn receive(&mut self, scene: &mut Scene) {
        let channel = CHANNELS[scene.chance.popular(CHANNELS.len())];
        let id = FIRST_MESSAGE_ID + self.received;
        self.received += 1;
        let price = 800 + scene.chance.below(9200);
        let message = json!({
            "channel_id": channel, "message_id": id.to_string(),
            "text": format!(
                "BUY {} {}.{:02} / T1 {} / S {}",
                scene.chance.pick(&SYMBOLS), price / 100, price % 100, price / 98, price / 103,
            ),
            "received_at": scene.now(), "telegram_date": scene.now(),
            "metadata": { "source": "telegram-gateway", "channel_name": "TP Capital Signals" },
        });
        let (message, at) = (message.to_string(), scene.now_ms().to_string());
        let keys = [message_key(channel, id), flag_key(channel, id), index_key(channel)];
        let keys = keys.each_ref().map(String::as_str);
        for _ in 0..=usize::from(scene.chance.one_in(10)) {
            scene.add(Call::function("receive_message", &keys, &[&message, &at]));
        }
        self.waiting.push_back((channel, id));
        self.recent.push_back((channel, id));
        if self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }

    /// A worker is done with the oldest message.
    fn process(&mut self, scene: &mut Scene) {
        let Some((channel, id)) = self.waiting.pop_front() else { return self.receive(scene) };
        let message = message_key(channel, id);
        scene.add(Call::function("set_message_status", &[&message], &["processed"]));
    }

    /// Was it received before? Half of those that are asked for were not.
    fn check_duplicate(&self, scene: &mut Scene) {
        let channel = CHANNELS[scene.chance.popular(CHANNELS.len())];
        let id = FIRST_MESSAGE_ID + self.received;
        let id = id.saturating_sub(scene.chance.popular(200)) + scene.chance.below(20);
        scene.add(Call::new(["EXISTS", &flag_key(channel, id)]));
    }

    /// Somebody opens a message.
    fn look(&self, scene: &mut Scene) {
        let (channel, id) = self.recent[scene.chance.below(self.recent.len())];
        scene.add(Call::new(["GET", &message_key(channel, id)]));
    }
}

fn message_key(channel: &str, id: usize) -> String {
    format!("telegram:msg:{channel}:{id}")
}

fn flag_key(channel: &str, id: usize) -> String {
    format!("telegram:dedup:{channel}:{id}")
}

fn index_key(channel: &str) -> String {
    format!("telegram:channel:{channel}:recent")
}

/// Two workers ask for what is new.
fn poll(scene: &mut Scene) {
    let channel = CHANNELS[scene.chance.below(CHANNELS.len())];
    let index = index_key(channel);
    let [open, taken] = ["open", "taken"].map(|part| format!("telegram:channel:{channel}:{part}"));
    let call = match scene.chance.below(4) {
        0 => Call::query("newest_messages", &[&index], &["10"]),
        _ => Call::query("poll_messages", &[&index, &open, &taken], &["received", "10"]),
    };
    scene.add(call);
}

fn count(scene: &mut Scene) {
    let index = index_key(CHANNELS[scene.chance.below(CHANNELS.len())]);
    let since = (scene.now_ms() - 5000).to_string();
    scene.add(Call::new(["ZCARD", &index]));
    scene.add(Call::new(["ZRANGEBYSCORE", &index, &since, "+inf", "LIMIT", "0", "10"]));
}
