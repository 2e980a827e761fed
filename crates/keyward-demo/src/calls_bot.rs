//! calls-bot at work: tokens are called, claimed for subscribers, and rise.

use std::collections::VecDeque;

use serde_json::json;

use crate::call::Call;
use crate::chance::Chance;
use crate::load::{Load, Scene};

const USERS: usize = 100;
const FIRST_CHAT_ID: usize = 7_000_001;
/// Tokens come again after so many: the rows are bounded, however long this runs.
const TOKENS: usize = 2000;
/// Tokens that are still talked about.
const FRESH_TOKENS: usize = 150;
/// Rises that are still followed.
const TRACKED_MAX: usize = 300;
const CHANNELS: usize = 25;
const COUPONS: [&str; 3] = ["WELCOME50", "SUMMER20", "FRIENDS10"];
const PLANS: [&str; 2] = ["monthly", "yearly"];
const THRESHOLDS: [&str; 5] = ["2", "3", "5", "10", "25"];

pub(crate) fn load(chance: &mut Chance) -> Box<dyn Load> {
    let tokens = (0..TOKENS).map(|_| chance.base58(44)).collect();
    Box::new(CallsBot { tokens, called: 0, tracked: VecDeque::new(), payments: 0 })
}

struct CallsBot {
    tokens: Vec<String>,
    /// How many tokens were called so far.
    called: usize,
    /// Tokens that rise, for whom, and how far.
    tracked: VecDeque<(String, String, f64)>,
    payments: usize,
}

impl Load for CallsBot {
    fn lay_ground(&mut self, scene: &mut Scene) {
        for index in 0..USERS {
            let chat_id = chat_id(index);
            settings(scene, &chat_id);
            let code = format!("REF{index:03}");
            let key = format!("user_referral_code:{chat_id}");
            let of_code = format!("referral_code:{code}");
            scene.add(Call::function("assign_referral_code", &[&key, &of_code], &[]));
            if index % 3 > 0 {
                let referred = format!("user_referred_by:{chat_id}");
                let parent = format!("referral_code:REF{:03}", index / 2);
                scene.add(Call::function("record_referral", &[&referred, &parent], &[]));
            }
            if index % 5 > 0 {
                self.pay(scene, &chat_id);
            }
        }
        for code in COUPONS {
            let row = json!({
                "discount_percent": 20.0, "max_uses": 60, "used_count": 0,
                "valid_until": scene.in_days(30),
            });
            scene.add(Call::new(["SET", &format!("coupon:{code}"), &row.to_string()]));
        }
        (0..CHANNELS).for_each(|channel| channel_info(scene, channel));
        (0..FRESH_TOKENS).for_each(|_| self.call_token(scene));
    }

    fn act(&mut self, scene: &mut Scene) {
        match scene.chance.below(1000) {
            0..350 => self.notify(scene),
            350..560 => self.claim(scene),
            560..600 => self.track(scene),
            600..740 => self.rise(scene),
            740..860 => self.reprice(scene),
            860..960 => converse(scene),
            960..975 => self.call_token(scene),
            975..980 => redeem(scene),
            980..985 => self.pay_commission(scene),
            985..990 => {
                let chat_id = somebody(scene);
                self.pay(scene, &chat_id);
            }
            _ => block(scene),
        }
    }

    fn err(&mut self, scene: &mut Scene) {
        let (token, chat_id) = (self.token(0), somebody(scene));
        let call = match scene.chance.below(3) {
            0 => {
                let row = json!({ "status": "acepted", "timestamp": scene.now() });
                Call::new(["SET", &format!("processed_token:{token}:{chat_id}"), &row.to_string()])
            }
            1 => Call::new(["SET", &format!("blocked_user:{chat_id}"), "yes"]),
            _ => Call::new(["SET", &format!("price:{token}"), "n/a"]),
        };
        scene.add(call.meant_to_fail());
    }
}

impl CallsBot {
    /// The token that was called so long ago.
    fn token(&self, ago: usize) -> &str {
        &self.tokens[(self.called + TOKENS - 1 - ago) % TOKENS]
    }

    fn fresh_token(&self, scene: &mut Scene) -> String {
        self.token(scene.chance.popular(FRESH_TOKENS)).to_owned()
    }

    /// A channel calls a token that nobody knows yet.
    fn call_token(&mut self, scene: &mut Scene) {
        self.called += 1;
        let token = self.token(0);
        let fdv = 30_000 + scene.chance.below(400_000);
        let row = json!({ "fdv": fdv, "marketcap": fdv * 8 / 10 });
        scene.add(Call::new(["SET", &format!("token_price:{token}"), &row.to_string()]));
        scene.add(Call::new(["SET", &format!("price:{token}"), &fdv.to_string()]));
    }

    /// Is this token for this user? What decides is read at once.
    fn notify(&self, scene: &mut Scene) {
        let (token, chat_id) = (self.fresh_token(scene), somebody(scene));
        let settings = format!("user_settings:{chat_id}");
        let subscription = format!("subscription:{chat_id}");
        let processed = format!("processed_token:{token}:{chat_id}");
        let keys = [settings.as_str(), &subscription, &processed];
        scene.add(Call::query("notification_state", &keys, &[]));
        scene.add(Call::new(["SISMEMBER", "active_subscribers", &chat_id]));
    }

    fn claim(&self, scene: &mut Scene) {
        let (token, chat_id) = (self.fresh_token(scene), somebody(scene));
        let status = if scene.chance.one_in(4) { "accepted" } else { "rejected" };
        let channel = format!("@channel{}", scene.chance.popular(CHANNELS));
        let row = json!({
            "status": status, "timestamp": scene.now(), "channels_checked": [&channel],
            "channels_called_at": { channel.as_str(): scene.now() },
        });
        let key = format!("processed_token:{token}:{chat_id}");
        scene.add(Call::function("claim_token", &[&key], &[&row.to_string()]));
        scene.add(Call::new(["GET", &format!("{channel}:info").replace('@', "channel:@")]));
    }

    /// A call was sent: how far does the token rise from here?
    fn track(&mut self, scene: &mut Scene) {
        let (token, chat_id) = (self.fresh_token(scene), somebody(scene));
        let row = json!({
            "channel_id": "@channel1", "fdv_at_call": 50_000.0, "highest_multiplier_sent": 1.0,
            "timestamp": scene.now(),
        });
        scene.add(Call::new([
            "SET",
            &format!("multiplier:{token}:{chat_id}"),
            &row.to_string(),
            "NX",
        ]));
        self.tracked.push_back((token, chat_id, 1.0));
        if self.tracked.len() > TRACKED_MAX {
            self.tracked.pop_front();
        }
    }

    fn rise(&mut self, scene: &mut Scene) {
        if self.tracked.is_empty() {
            return self.track(scene);
        }
        let place = scene.chance.below(self.tracked.len());
        let (token, chat_id, height) = &mut self.tracked[place];
        *height *= 0.8 + scene.chance.below(50) as f64 / 100.0;
        let key = format!("multiplier:{token}:{chat_id}");
        let mut args = vec![format!("{height:.2}")];
        args.extend(THRESHOLDS.map(str::to_owned));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        scene.add(Call::function("raise_multiplier", &[&key], &args));
    }

    fn reprice(&self, scene: &mut Scene) {
        let token = self.fresh_token(scene);
        let price = scene.chance.below(900_000);
        scene.add(Call::new(["SET", &format!("price:{token}"), &price.to_string()]));
        scene.add(Call::new(["GET", &format!("token_price:{token}")]));
    }

    /// A payment is verified and buys a subscription.
    fn pay(&mut self, scene: &mut Scene, chat_id: &str) {
        self.payments += 1;
        let tx_hash = format!("tx{}", self.payments % 10_000);
        let plan = PLANS[usize::from(scene.chance.one_in(4))];
        let verified = format!("payment_verification:{tx_hash}");
        let row = json!({ "amount": "0.25", "verified_at": scene.now() });
        scene.add(Call::new(["SET", &verified, &row.to_string()]));
        let used = format!("used_transaction:{tx_hash}");
        let subscription = format!("subscription:{chat_id}");
        let days = if plan == "yearly" { 365 } else { 30 };
        let args = [plan, &scene.in_days(days), "solana"];
        let keys = [verified.as_str(), &used, &subscription];
        let call = Call::function("activate_subscription", &keys, &args);
        scene.add(call.or(&["TRANSACTION_USED"]));
    }

    fn pay_commission(&mut self, scene: &mut Scene) {
        self.payments += 1;
        let id = self.payments % 10_000;
        let (pending, paid) = (format!("pending_commission:{id}"), format!("paid_commission:{id}"));
        let row = json!({ "chat_id": FIRST_CHAT_ID, "amount": "2.50", "created_at": scene.now() });
        scene.add(Call::new(["SET", &pending, &row.to_string()]));
        if scene.chance.one_in(2) {
            let (tx_hash, now) = (scene.chance.base58(20), scene.now());
            let call = Call::function("pay_commission", &[&pending, &paid], &[&tx_hash, &now]);
            scene.add(call.or(&["COMMISSION_PAID"]));
        }
    }
}

fn chat_id(index: usize) -> String {
    (FIRST_CHAT_ID + index).to_string()
}

fn somebody(scene: &mut Scene) -> String {
    chat_id(scene.chance.popular(USERS))
}

fn settings(scene: &mut Scene, chat_id: &str) {
    let row = json!({
        "min_win_rate": 20 + scene.chance.below(50), "min_avg_gain": 50, "min_fdv_at_call": 30_000,
        "blockchain_filter": "both", "target_channel": null, "preset": "preset_2",
    });
    scene.add(Call::new(["SET", &format!("user_settings:{chat_id}"), &row.to_string()]));
}

fn channel_info(scene: &mut Scene, channel: usize) {
    let row = json!({ "win_rate": scene.chance.below(100), "avg_gain": scene.chance.below(400) });
    let key = format!("channel:@channel{channel}:info");
    scene.add(Call::new(["SET", &key, &row.to_string()]));
}

/// A user changes a filter: the bot asks, waits, and writes.
fn converse(scene: &mut Scene) {
    let chat_id = somebody(scene);
    let state = format!("conversation_state:{chat_id}");
    match scene.chance.below(4) {
        0 => scene.add(Call::new(["SET", &state, "waiting_min_win_rate"])),
        1 => {
            scene.add(Call::new(["GETDEL", &state]));
            settings(scene, &chat_id);
        }
        2 => {
            let channel = scene.chance.below(CHANNELS);
            channel_info(scene, channel);
        }
        _ => scene.add(Call::new(["GET", &state])),
    }
}

fn redeem(scene: &mut Scene) {
    let (code, chat_id) = (scene.chance.pick(&COUPONS), somebody(scene));
    let (coupon, usage) = (format!("coupon:{code}"), format!("coupon_usage:{code}:{chat_id}"));
    let call = Call::function("redeem_coupon", &[&coupon, &usage], &[]);
    scene.add(call.or(&["COUPON_USED", "COUPON_EXHAUSTED"]));
}

/// A user blocks the bot, and another comes back.
fn block(scene: &mut Scene) {
    let (one, other) = (somebody(scene), somebody(scene));
    scene.add(Call::new(["SET", &format!("blocked_user:{one}"), "1"]));
    scene.add(Call::new(["DEL", &format!("blocked_user:{other}")]));
}
