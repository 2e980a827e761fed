//! The state that a round leaves, compared row by row.

use crate::argument::DATABASES;
use crate::pair::{Outcome, Pair};
use crate::step::{Action, Check, Step, Unordered};

impl Pair {
    /// Compares every row of every database that rounds use: its type, encoding,
    /// deadline and value.
    pub(crate) fn compare_states(&mut self) -> Outcome {
        // A transaction may still be open.
        let mut steps = vec![Step::exact(0, &["DISCARD"])];
        self.run_steps(&steps, &mut 0)?;
        for database in 0..DATABASES {
            steps = vec![
                Step::exact(0, &["SELECT", &database.to_string()]),
                any_order(&["KEYS", "*"], 1, None),
            ];
            self.run_steps(&steps, &mut 0)?;
            let rows = self.rows()?;
            steps = rows.iter().flat_map(|(key, kind)| inspect(key, kind)).collect();
            self.run_steps(&steps, &mut 0)?;
        }
        Ok(())
    }
}

/// The commands that show all of a row.
fn inspect(key: &[u8], kind: &str) -> Vec<Step> {
    let with_key = |mut step: Step, place: usize| {
        step.command.insert(place, key.to_vec());
        step
    };
    let mut lifetime = Step::exact(0, &["PEXPIRETIME"]);
    lifetime.action = Action::Call(Check::Lifetime);
    let value = match kind {
        "string" => Step::exact(0, &["GET"]),
        "list" => Step::exact(0, &["LRANGE", "0", "-1"]),
        "zset" => Step::exact(0, &["ZRANGE", "0", "-1", "WITHSCORES"]),
        "stream" => Step::exact(0, &["XRANGE", "-", "+"]),
        "set" => any_order(&["SMEMBERS"], 1, Some(key)),
        _ => any_order(&["HGETALL"], 2, Some(key)),
    };
    vec![
        with_key(Step::exact(0, &["TYPE"]), 1),
        with_key(Step::exact(0, &["OBJECT", "ENCODING"]), 2),
        with_key(lifetime, 1),
        with_key(value, 1),
    ]
}

fn any_order(words: &[&str], group: usize, key: Option<&[u8]>) -> Step {
    let mut step = Step::exact(0, words);
    let sources = key.map(|key| vec![key.to_vec()]);
    step.action = Action::Call(Check::AnyOrder(Unordered { group, sources }));
    step
}
