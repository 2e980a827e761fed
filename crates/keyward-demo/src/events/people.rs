//! What is kept about people: limits, analytics, recommendations, messages.

use serde_json::json;

use super::USERS;
use crate::call::Call;
use crate::load::Scene;

/// Visits there are at a time.
const VISITS: usize = 200;

pub(super) fn somebody(scene: &mut Scene) -> String {
    scene.chance.popular(USERS).to_string()
}

/// A call of the API, within its limit or not.
pub(super) fn call_api(scene: &mut Scene) {
    let key = format!("rate_limit:user:{}:api_calls", somebody(scene));
    scene.add(Call::function("take_api_call", &[&key], &["30", "60"]));
}

/// What the analysts keep.
pub(super) fn analyse(scene: &mut Scene, event: &str) {
    let (user, now) = (somebody(scene), scene.now());
    match scene.chance.below(5) {
        0 => {
            let visit = format!("analytics:session:v-{}", scene.chance.popular(VISITS));
            let viewed = format!("{visit}:events_viewed");
            let args = [now.as_str(), &user, event];
            scene.add(Call::function("track_page_view", &[&visit, &viewed], &args));
        }
        1 => {
            let metric = scene.chance.pick(&["page_views", "sign_ups", "searches"]);
            let key = format!("analytics:counters:{metric}:5m");
            scene.add(Call::function("count_metric", &[&key], &["300"]));
        }
        2 => {
            let key = format!("ab_test:checkout_button:{user}");
            let variant = scene.chance.pick(&["green", "blue"]);
            scene.add(Call::function("assign_variant", &[&key], &[variant, "1209600"]));
        }
        3 => {
            let entry = json!({ "type": "view", "event_id": event }).to_string();
            scene.add(Call::new(["LPUSH", &format!("analytics:activity:{user}"), &entry]));
        }
        _ => {
            let active = scene.chance.below(500).to_string();
            scene.add(Call::new([
                "HSET",
                "analytics:metrics:current",
                "active_users",
                &active,
                "events_per_minute",
                "42",
                "registrations_per_hour",
                "12",
                "last_updated",
                &now,
            ]));
        }
    }
}

/// What is made for somebody, and by what.
pub(super) fn recommend(scene: &mut Scene, event: &str) {
    let user = somebody(scene);
    match scene.chance.below(5) {
        0 => {
            let entry = json!({ "type": "favorite", "event_id": event }).to_string();
            scene.add(Call::new(["LPUSH", &format!("user:interactions:{user}"), &entry]));
        }
        1 => {
            let best = json!([event]).to_string();
            scene.add(Call::new(["SET", &format!("recommendations:{user}"), &best]));
        }
        2 => {
            let other = scene.chance.uuid();
            let key = format!("event:similarity:{event}");
            scene.add(Call::new(["ZADD", &key, "0.87", &other]));
            scene.add(Call::new(["ZREMRANGEBYRANK", &key, "0", "-21"]));
        }
        3 => scene.add(Call::new([
            "HSET",
            &format!("user:preferences:{user}"),
            "preferred_categories",
            r#"["music"]"#,
            "price_range_min",
            "0",
            "price_range_max",
            "49.90",
        ])),
        _ => scene.add(Call::new(["GET", &format!("recommendations:{user}")])),
    }
}

/// A message goes to who is online, and waits for who is not.
pub(super) fn write_to(scene: &mut Scene) {
    let user = somebody(scene);
    let queue = format!("websocket:queue:{user}");
    if scene.chance.one_in(4) {
        return scene.add(Call::function("drain_messages", &[&queue], &[]));
    }
    let connections = format!("websocket:user:{user}");
    let message = json!({ "room": "jazz", "text": "Doors open at seven." }).to_string();
    scene.add(Call::function("queue_message", &[&connections, &queue], &[&message]));
}
