//! api-billing at work: requests are metered and charged, and balances topped up.

use serde_json::json;

use crate::call::Call;
use crate::chance::Chance;
use crate::load::{Load, Scene};

const USERS: usize = 200;
const FIRST_USER_ID: usize = 500_001;
const PRODUCTS: [&str; 2] = ["reliapi", "routellm"];
/// Transactions of a user that stay here; older ones are in the archive.
const TRANSACTIONS_KEPT: &str = "-200";
/// Dialogues there are at a time.
const SESSIONS: usize = 100;
/// Payments come again after so many: the marks are bounded.
const PAYMENTS: usize = 20_000;

pub(crate) fn load(chance: &mut Chance) -> Box<dyn Load> {
    let keys = (0..USERS).map(|_| new_key(chance)).collect();
    Box::new(ApiBilling { keys, transactions: 0 })
}

struct ApiBilling {
    /// Each user's current key.
    keys: Vec<String>,
    transactions: usize,
}

impl Load for ApiBilling {
    fn lay_ground(&mut self, scene: &mut Scene) {
        products(scene);
        for (index, api_key) in self.keys.iter().enumerate() {
            let keys = [user_key(index), format!("api_key:{api_key}")];
            let hash = format!("sha256:{}", scene.chance.hex(64));
            let args = [hash.as_str(), &scene.now(), "@user", "John"];
            scene.add(Call::function("create_user", &[&keys[0], &keys[1]], &args));
        }
        for index in 0..USERS {
            self.top_up(scene, index);
            let row = format!("api_key:{}", self.keys[index]);
            scene.add(Call::function("use_api_key", &[&row, &user_key(index)], &[&scene.now()]));
        }
    }

    fn act(&mut self, scene: &mut Scene) {
        match scene.chance.below(1000) {
            0..700 => self.request(scene),
            700..780 => read(scene),
            780..860 => session(scene),
            860..900 => {
                let index = somebody(scene);
                self.top_up(scene, index);
            }
            900..940 => self.rotate(scene),
            940..970 => archive(scene),
            _ => products(scene),
        }
    }

    fn err(&mut self, scene: &mut Scene) {
        let user = user_key(somebody(scene));
        let call = match scene.chance.below(3) {
            0 => Call::new(["HINCRBYFLOAT", &user, "balance_usd", "-1000000"]),
            1 => Call::new(["HSET", &user, "user_id", "1"]),
            _ => Call::new(["INCR", "ratelimit:500001:second"]),
        };
        scene.add(call.meant_to_fail());
    }
}

impl ApiBilling {
    /// A request of the API: the key, the limits, the meter, and sometimes the bill.
    fn request(&mut self, scene: &mut Scene) {
        let index = somebody(scene);
        let (user, api_key) = (FIRST_USER_ID + index, &self.keys[index]);
        let row = format!("api_key:{api_key}");
        let validation = if scene.chance.one_in(4) {
            Call::function("use_api_key", &[&row, &user_key(index)], &[&scene.now()])
        } else {
            Call::query("validate_api_key", &[&row], &[])
        };
        scene.add(validation);
        let windows = ["minute", "hour", "day"].map(|window| format!("ratelimit:{user}:{window}"));
        let windows = windows.each_ref().map(String::as_str);
        scene.add(Call::function("take_request", &windows, &["300", "5000", "50000"]));
        let now = scene.now();
        let usage = [&now[..7], &now[..10]].map(|period| format!("usage:{user}:{period}"));
        let product = scene.chance.pick(&PRODUCTS);
        let tokens = (scene.chance.below(20) * 50).to_string();
        let args = [product, "1", &tokens, &now];
        scene.add(Call::function("count_usage", &[&usage[0], &usage[1]], &args));
        if scene.chance.one_in(4) {
            self.charge(scene, index, product);
        }
    }

    fn charge(&mut self, scene: &mut Scene, index: usize, product: &str) {
        let amount = format!("-0.0{}", 1 + scene.chance.below(99));
        let id = self.transaction_id();
        let args = [id.as_str(), "usage", &amount, &scene.now(), product];
        let call =
            Call::function("change_balance", &account(index).each_ref().map(String::as_str), &args);
        scene.add(call.or(&["INSUFFICIENT_BALANCE"]));
    }

    /// A provider tells of a payment, and often tells it again.
    fn top_up(&mut self, scene: &mut Scene, index: usize) {
        let id = self.transaction_id();
        let payment = self.transactions % PAYMENTS;
        let [user, transactions, recent] = account(index);
        let webhook = format!("webhook:paddle:ptx_{payment}");
        let amount = format!("{}.00", 1 + scene.chance.below(20));
        let keys = [webhook.as_str(), &user, &transactions, &recent];
        let args = [id.as_str(), "topup", &amount, &scene.now()];
        for _ in 0..=scene.chance.below(3) {
            scene.add(Call::function("process_webhook", &keys, &args));
        }
    }

    fn rotate(&mut self, scene: &mut Scene) {
        let index = somebody(scene);
        if !scene.chance.one_in(10) {
            let key = format!("users:by_api_key:{}", self.keys[index]);
            return scene.add(Call::new(["GET", &key]));
        }
        let new = new_key(&mut scene.chance);
        let old = std::mem::replace(&mut self.keys[index], new.clone());
        let hash = format!("sha256:{}", scene.chance.hex(64));
        let keys = [user_key(index), format!("api_key:{old}"), format!("api_key:{new}")];
        let keys = keys.each_ref().map(String::as_str);
        scene.add(Call::function("rotate_api_key", &keys, &[&hash, &scene.now()]));
        // The archive has the old key; here it would stay for ever.
        scene.add(Call::new(["DEL", keys[1]]));
    }

    fn transaction_id(&mut self) -> String {
        self.transactions += 1;
        format!("txn_{}", self.transactions)
    }
}

fn new_key(chance: &mut Chance) -> String {
    format!("kikuai_{}", chance.base62(32))
}

fn somebody(scene: &mut Scene) -> usize {
    scene.chance.popular(USERS)
}

fn user_key(index: usize) -> String {
    format!("user:{}", FIRST_USER_ID + index)
}

/// The keys that a balance has.
fn account(index: usize) -> [String; 3] {
    let id = FIRST_USER_ID + index;
    [user_key(index), format!("transactions:{id}"), format!("transactions:{id}:recent")]
}

fn products(scene: &mut Scene) {
    let product = |id: &str, name: &str| {
        json!({
            "id": id, "name": name, "status": "active", "pricing": { "per_request": 0.001 },
            "endpoints": ["/proxy/llm", "/proxy/http"],
        })
    };
    let config = json!({
        "reliapi": product("reliapi", "ReliAPI"), "routellm": product("routellm", "RouteLLM"),
    });
    scene.add(Call::new(["SET", "products:config", &config.to_string()]));
}

/// What the bot shows its users.
fn read(scene: &mut Scene) {
    let [user, _, recent] = account(somebody(scene));
    let call = match scene.chance.below(4) {
        0 => Call::new(["LRANGE", &recent, "0", "9"]),
        1 => Call::new(["ZREVRANGE", "users:active", "0", "9"]),
        2 => Call::new(["GET", "products:config"]),
        _ => Call::new(["HGETALL", &user]),
    };
    scene.add(call);
}

/// A step of a dialogue.
fn session(scene: &mut Scene) {
    let key = format!("session:sess_{}", scene.chance.popular(SESSIONS));
    let row = json!({
        "user_id": FIRST_USER_ID + somebody(scene), "state": "awaiting_payment",
        "data": { "checkout_id": "chk_123", "amount": "10.00" }, "created_at": scene.now(),
    });
    let call = match scene.chance.below(4) {
        0 => Call::new(["SET", &key, &row.to_string()]),
        1 => Call::new(["DEL", &key]),
        _ => Call::new(["GET", &key]),
    };
    scene.add(call);
}

/// The archive has what is old.
fn archive(scene: &mut Scene) {
    let [_, transactions, _] = account(somebody(scene));
    scene.add(Call::new(["LTRIM", &transactions, TRANSACTIONS_KEPT, "-1"]));
}
