//! What a comparison of two schemas says is possible, against what becomes of rows.

use crate::shop::Shop;
use keyward_engine::Random;
use keyward_rules::{Effect, compare};

/// For each key of the schemas what may be said of it; nothing if it is not there.
const CHOICES: [&[&str]; 7] = [
    &[
        "[key.\"user:{id:uint}\"]\ntype = \"hash\"\nttl = \"none\"\nextra = \"allow\"\n",
        "[key.\"user:{id:uint}\"]\ntype = \"hash\"\nttl = \"2h\"\nextra = \"allow\"\n",
        "[key.\"user:{id:uint}\"]\ntype = \"hash\"\nextra = \"allow\"\n",
        "[key.\"user:{id:uint}\"]\ntype = \"hash\"\nttl = { until = \"ends\" }\nextra = \"allow\"\n\
         fields = { ends = \"timestamp_ms\" }\n",
        "[key.\"user:{id:uint}\"]\ntype = \"hash\"\nttl = \"30m\"\nextra = \"allow\"\n\
         fields = { plan = \"free | paid\" }\n",
    ],
    &[
        "",
        "[key.\"user:7\"]\ntype = \"hash\"\nextra = \"allow\"\n",
        "[key.\"user:7\"]\ntype = \"hash\"\nttl = \"1h\"\nextra = \"allow\"\n",
    ],
    &[
        "",
        "[key.\"note:{id:uint}\"]\ntype = \"string\"\n",
        "[key.\"note:{id:uint}\"]\ntype = \"string\"\nttl = { given = true, max = \"1d\" }\n",
        "[key.\"note:{id:uint}\"]\ntype = \"string\"\nttl = { with = \"user:{id}\" }\n",
        "[key.\"note:{id:uint}\"]\ntype = \"any\"\nttl = \"1h\"\n",
        "[key.\"note:{id}\"]\ntype = \"string\"\nttl = { after = \"1h\", renew = \"write\" }\n",
    ],
    &[
        "",
        "[key.\"on:{plan}\"]\ntype = \"set\"\nttl = \"none\"\n",
        "[key.\"on:{plan}\"]\ntype = \"set\"\nttl = \"none\"\nmembers = { of = \"user:{id}\" }\n",
        "[key.\"on:{plan}\"]\ntype = \"set\"\nttl = \"none\"\n\
         members = { of = \"user:{id}\", when = \"plan != free\" }\n",
    ],
    &[
        "",
        "[key.\"likes:{id:uint}\"]\ntype = \"set\"\nttl = \"none\"\nitems = \"uint\"\n",
        "[key.\"likes:{id:uint}\"]\ntype = \"set\"\nttl = \"none\"\nitems = \"uint\"\n\
         [key.\"liked:{id:uint}\"]\ntype = \"set\"\nttl = \"none\"\nitems = \"uint\"\n\
         inverse = \"likes:{member}\"\n",
    ],
    &[
        "",
        "[key.\"recent\"]\ntype = \"zset\"\nttl = \"none\"\nitems = \"uint\"\n",
        "[key.\"recent\"]\ntype = \"zset\"\nttl = \"none\"\nitems = \"uint\"\n\
         follows = \"user:{member}\"\n",
        "[key.\"plan:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\n",
        "[key.\"plan:{id:uint}\"]\ntype = \"string\"\n\
         lookup = { of = \"user:{id}\", value = \"plan\", when = \"plan != free\" }\n",
    ],
    &["unknown", "reject"],
];

/// A schema of random choices; those that contradict each other make none.
fn random_schema(random: &mut Random) -> Option<String> {
    let mut pick = |choices: &[&'static str]| choices[random.below(choices.len() as u64) as usize];
    let unknown = if pick(CHOICES[6]) == "reject" { "reject" } else { "allow" };
    let mut text = format!("[keyspace]\nname = \"shop\"\nunknown = \"{unknown}\"\n");
    for choices in &CHOICES[..6] {
        text.push_str(pick(choices));
    }
    // A field that sets are split by must be declared.
    if text.contains("of = \"user:{id}\"") {
        text = text.replace(
            "type = \"hash\"\nttl = \"none\"\nextra",
            "type = \"hash\"\nttl = \"none\"\nfields = { plan = \"str?\" }\nextra",
        );
    }
    keyward_schema::check("x", text.as_bytes()).schema.is_some().then_some(text)
}

fn fill(shop: &mut Shop, random: &mut Random) {
    const DAY_MS: i64 = 86_400_000;
    let now = crate::harness::START_MS;
    for _ in 0..60 {
        let (id, other) = (random.below(9), random.below(9));
        let plan = ["free", "paid"][random.below(2) as usize];
        let ends = now + if random.below(4) == 0 { 1 } else { DAY_MS };
        let command = match random.below(9) {
            0 | 1 => format!("HSET user:{id} plan {plan} ends {ends}"),
            2 => format!("SET note:{id} x"),
            3 => format!("SET note:{id} x EX 50"),
            4 => format!("SADD likes:{id} {other}"),
            5 => format!("ZADD recent {other} {id}"),
            6 => format!("RPUSH note:{id} x"),
            7 => format!("SET plan:{id} {plan}"),
            _ => format!("SADD on:{plan} {id}"),
        };
        shop.call(&command);
    }
}

/// The worst that commands do to rows.
fn worst(effects: &[String]) -> Effect {
    let effect = |line: &String| {
        let name = line.split(' ').nth(1).unwrap_or_default();
        match name {
            "DEL" | "UNLINK" | "SREM" | "ZREM" => Effect::Destroys,
            "MULTI" | "EXEC" => Effect::Compatible,
            _ => Effect::Rewrites,
        }
    };
    effects.iter().map(effect).max().unwrap_or(Effect::Compatible)
}

#[test]
fn nothing_happens_to_rows_that_a_comparison_does_not_call_possible() {
    let mut random = Random::from_seed(7);
    let mut tally = [0_u32; 3];
    for seed in 0..400 {
        let Some(old) = random_schema(&mut random) else { continue };
        let Some(new) = random_schema(&mut random) else { continue };
        let mut shop = Shop::new(seed, &old);
        fill(&mut shop, &mut random);
        let [before, after] = [&old, &new].map(|text| {
            keyward_schema::check("x", text.as_bytes()).schema.expect("it was checked")
        });
        let differences = compare(&before, &after);
        let said = differences.iter().map(|difference| difference.effect).max();
        let said = said.unwrap_or(Effect::Compatible);
        shop.test.set_time(crate::harness::START_MS + 10);
        // What time has ended is not the plan's.
        (0..20).for_each(|_| {
            shop.test.tick();
        });
        shop.test.effects();
        let plan = shop.plan(&new);
        shop.apply_whatever(&plan);
        let lines = shop.test.effect_lines();
        let is = worst(&lines);
        assert!(is <= said, "{said:?}, but {is:?}: {lines:?}\n{differences:#?}\n{old}\n{new}");
        tally[is as usize] += 1;
        tally[said as usize] += 100_000;
    }
    let [compatible, rewrites, destroys] = tally.map(|count| count % 100_000);
    assert!(compatible > 5 && rewrites > 20 && destroys > 20, "{tally:?}");
    assert!(tally.iter().all(|count| count / 100_000 > 3), "every word is said: {tally:?}");
}
