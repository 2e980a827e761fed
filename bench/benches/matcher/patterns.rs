//! The key patterns of the five systems, and those that well-known programs write, in one table.
//!
//! Two systems claim keys such as `user:42`. So those of one of them bear its
//! name in front, a segment more than in their own schema.

use keyward_schema::{Pattern, check};

const SYSTEMS: [&str; 5] = ["calls-bot", "social", "api-billing", "telegram-gateway", "events"];

/// The system whose patterns bear its name in front.
const APART: &str = "social";

/// What Celery with kombu, Django, Flask-Limiter, Huey, Sidekiq, Bull, connect-redis and
/// rate-limiter-flexible write. Sidekiq's hosts have a first name here: a system has keys of three
/// parts that begin with any word.
const PROGRAMS: [&str; 28] = [
    "celery-task-meta-{id:uuid}",
    "celery-taskset-meta-{id:uuid}",
    "celery-taskset-meta-{id:uuid}.c",
    "celery-taskset-meta-{id:uuid}.s",
    "_kombu.binding.{exchange}",
    "{id:uuid}.reply.celery.pidbox",
    "unacked_mutex",
    "unacked_index",
    "unacked",
    "celery",
    "celery\u{6}\u{16}{priority:uint}",
    ":1:django.contrib.sessions.cache{key}",
    ":1:views.decorators.cache.cache_page.{app}.GET.{url:hex}.{headers:hex}.{language}",
    "LIMITS:LIMITER/{ip:ip}/{view}/2/1/minute",
    "LIMITS:LIMITER/{ip:ip}/{view}/100/1/hour",
    "huey.r.{name}.{id:uuid}",
    "huey.redis.{name}",
    "huey.schedule.{name}",
    "web.{host}:{pid:uint}:{nonce:hex}-signals",
    "queue:{name}",
    "stat:processed:{day:date}",
    "stat:failed:{day:date}",
    "bull:{queue}:{job:uint}",
    "bull:{queue}:{what:id|wait|active|delayed|completed|failed|stalled|meta-paused}",
    "bull:{queue}:{job:uint}:logs",
    "sess-{id:base64url}",
    "rlflx-{name}-{ip:ip}",
    "kikuai_{key:text(0-9a-f, 32)}",
];

/// The patterns of the five systems and of the programs.
pub(crate) fn of_systems_and_programs() -> Vec<Pattern> {
    let programs = PROGRAMS.iter().map(|text| parse(text));
    of_five_systems().into_iter().chain(programs).collect()
}

/// The patterns of the five systems alone.
pub(crate) fn of_five_systems() -> Vec<Pattern> {
    SYSTEMS.iter().flat_map(|system| of_system(system)).collect()
}

fn of_system(system: &str) -> Vec<Pattern> {
    let path = format!("{}/../systems/{system}/keyward.toml", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let schema = check(&path, &bytes).schema.unwrap_or_else(|| panic!("{path} has errors"));
    // Of two systems with a `user:{id}` one bears its name in front.
    let front = if system == APART { format!("{system}:") } else { String::new() };
    schema.keys.iter().map(|key| parse(&format!("{front}{}", key.pattern.text()))).collect()
}

/// So many patterns, made from those of the systems and programs: those of systems by numbering
/// their first word, or the one that follows the system's name, the others by a number in front.
pub(crate) fn variations(count: usize) -> Vec<Pattern> {
    let originals = of_systems_and_programs();
    let of_systems = originals.len() - PROGRAMS.len();
    (0..count)
        .map(|index| {
            let original = originals[index % originals.len()].text();
            if index % originals.len() >= of_systems {
                return parse(&format!("v{}-{original}", index / originals.len()));
            }
            let mut segments: Vec<&str> = original.splitn(3, ':').collect();
            let place = usize::from(segments[0] == APART);
            let numbered = format!("{}_{}", segments[place], index / originals.len());
            segments[place] = &numbered;
            parse(&segments.join(":"))
        })
        .collect()
}

fn parse(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}
