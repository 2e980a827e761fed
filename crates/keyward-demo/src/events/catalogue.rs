//! Events themselves: their rows, their places, and how they are found.

use serde_json::json;

use crate::call::Call;
use crate::load::Scene;

const CATEGORIES: [&str; 5] = ["music", "tech", "food", "sports", "art"];
const LOCATIONS: [&str; 4] = ["Lisbon", "Porto", "Berlin", "online"];
const TOPICS: [&str; 8] =
    ["jazz", "rust", "wine", "yoga", "salsa", "chess", "poetry", "street food"];

/// An event as the database of record has it.
pub(super) fn cache(scene: &mut Scene, event: &str) {
    let key = format!("event:cache:{event}");
    let title = format!("{} in {}", scene.chance.pick(&TOPICS), scene.chance.pick(&LOCATIONS));
    let (start, now) = (scene.in_days(14), scene.now());
    scene.add(Call::new([
        "HSET",
        &key,
        "title",
        &title,
        "start_time",
        &start,
        "venue_name",
        "Pier 7",
        "is_virtual",
        "false",
        "status",
        "published",
        "cached_at",
        &now,
    ]));
    if scene.chance.one_in(10) {
        scene.add(Call::new(["RPUSH", "events:featured", event]));
        scene.add(Call::new(["LTRIM", "events:featured", "-10", "-1"]));
    }
}

/// What counts at an event, as the database of record has it.
pub(super) fn load_figures(scene: &mut Scene, event: &str) {
    let (max, taken) = (50 + scene.chance.below(200), scene.chance.below(50));
    let left = (max - taken).to_string();
    let (max, taken) = (max.to_string(), taken.to_string());
    scene.add(Call::new([
        "HSET",
        &format!("event:availability:{event}"),
        "max_attendees",
        &max,
        "current_registrations",
        &taken,
        "available_spots",
        &left,
        "is_full",
        "false",
    ]));
    scene.add(Call::new([
        "HSET",
        &format!("event:stats:{event}"),
        "view_count",
        "100",
        "registration_count",
        &taken,
        "favorite_count",
        "10",
        "share_count",
        "5",
    ]));
}

pub(super) fn filters(scene: &mut Scene) {
    let [a, b, c, d, e] = CATEGORIES;
    scene.add(Call::new(["SADD", "search:filters:categories", a, b, c, d, e]));
    let [a, b, c, d] = LOCATIONS;
    scene.add(Call::new(["SADD", "search:filters:locations", a, b, c, d]));
    scene.add(Call::new(["SADD", "search:filters:tags", "free", "outdoor", "family"]));
}

/// An event is looked at, liked and shared.
pub(super) fn visit(scene: &mut Scene, event: &str) {
    if scene.chance.one_in(10) {
        return cache(scene, event);
    }
    scene.add(Call::new(["HGETALL", &format!("event:cache:{event}")]));
    let interaction = scene.chance.pick(&["view", "view", "view", "favorite", "share"]);
    let stats = format!("event:stats:{event}");
    let call = Call::function("count_interaction", &[&stats], &[interaction, &scene.now()]);
    scene.add(call.or(&["NOTLOADED"]));
    let category = format!("events:category:{}", scene.chance.pick(&CATEGORIES));
    let keys = ["events:trending", &category];
    scene.add(Call::function("raise_popularity", &keys, &[event, "1.5"]));
}

/// Somebody takes a place, or gives one back. The row lives two minutes: it is loaded
/// again now and then.
pub(super) fn register(scene: &mut Scene, event: &str) {
    if scene.chance.one_in(8) {
        return load_figures(scene, event);
    }
    let (places, stats) = (format!("event:availability:{event}"), format!("event:stats:{event}"));
    let (function, refusals): (_, &[_]) = match scene.chance.below(4) {
        0 => ("cancel_registration", &["NOTLOADED", "NOBODY_REGISTERED"]),
        _ => ("register_attendee", &["NOTLOADED", "EVENT_FULL"]),
    };
    let call = Call::function(function, &[&places, &stats], &[&scene.now()]);
    scene.add(call.or(refusals));
}

fn query(scene: &mut Scene) -> (&'static str, String) {
    let topic = scene.chance.pick(&TOPICS);
    (topic, format!("{topic} {}", scene.chance.pick(&LOCATIONS)))
}

/// A search is remembered, among the user's and among all.
pub(super) fn remember(scene: &mut Scene) {
    let recent = format!("search:recent:{}", super::people::somebody(scene));
    let (_, query) = query(scene);
    let keys = [recent.as_str(), "search:popular:queries"];
    scene.add(Call::function("remember_search", &keys, &[&query]));
}

pub(super) fn search(scene: &mut Scene, events: &[String]) {
    let (topic, query) = query(scene);
    let prefix = format!("search:autocomplete:{}", &topic[..3]);
    let results = format!("search:results:{}", query.replace(' ', "-"));
    match scene.chance.below(8) {
        0 => {
            scene.add(Call::new(["SADD", &prefix, topic, &query]));
            let hits = json!({ "total": 3, "hits": &events[..3] });
            scene.add(Call::new(["SET", &results, &hits.to_string()]));
        }
        1..4 => scene.add(Call::new(["SMEMBERS", &prefix])),
        4..6 => scene.add(Call::new(["GET", &results])),
        6 => scene.add(Call::new(["SMEMBERS", "search:filters:categories"])),
        _ => remember(scene),
    }
}
