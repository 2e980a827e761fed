//! What only tables under a schema have: words, rows that wait to be packed, long texts
//! and lists, and another schema.

use super::{HOUR_MS, IDLE_MS, Part, SCHEMA, Stage};
use keyward_engine::Delivery;
use keyward_testkit::Random;

/// Bytes of the longest text that is compressed.
const TEXT_BYTES: usize = 512 * 1024;
/// Keys of a large schema, and the length of a hostile one.
const PATTERNS: usize = 4000;
const BRACKETS: usize = 4 << 20;
/// Bytes of the largest hash or list of which something is compressed, about, and of an item.
const COLLECTION_BYTES: usize = 92 * 1024;
const ITEM_BYTES: usize = 100;
/// Items of the longest list that is packed.
const LIST_ITEMS: usize = 512;

pub(super) fn parts() -> Vec<Part> {
    vec![
        ("sources of a lookup and their companions", |stage, rows| {
            (0..rows).for_each(|id| stage.write_user(id));
        }),
        ("expiry of those", |stage, _| stage.pass(3 * HOUR_MS)),
        ("growth of words", |stage, rows| (0..rows).for_each(|id| stage.write_visit(id))),
        ("expiry of all that have them", |stage, _| stage.pass(3 * HOUR_MS)),
        ("growth of words and FLUSHDB", |stage, rows| {
            (0..rows).for_each(|id| stage.write_visit(id));
            stage.settle();
            stage.call(&["FLUSHDB"]);
        }),
        ("growth without leisure and FLUSHALL", |stage, rows| {
            stage.has_leisure = false;
            (0..rows).for_each(|id| stage.write_visit(id));
            stage.has_leisure = true;
            stage.call(&["FLUSHALL"]);
        }),
        ("long texts", |stage, rows| {
            let text = prose(TEXT_BYTES);
            for id in 0..rows / 500 {
                let bytes = TEXT_BYTES - (id * 7919) as usize % TEXT_BYTES;
                stage.call(&["SET", &format!("page:{id}"), &text[..bytes]]);
                // Writes do not have to pack by themselves: each takes long enough.
                stage.settle();
            }
        }),
        ("long lists that nobody uses", |stage, rows| {
            for id in 0..rows / 500 {
                // What comes twice is a word: each list has many of its own.
                let item = |at: usize| format!("line {} of the list {id}", at % (LIST_ITEMS / 2));
                let (key, items) = (format!("log:{id}"), (0..LIST_ITEMS).map(item));
                let items: Vec<String> = items.collect();
                let items: Vec<&str> = items.iter().map(String::as_str).collect();
                stage.call(&[&["RPUSH", &*key], &items[..]].concat());
            }
            stage.pass(IDLE_MS);
        }),
        ("expiry of those", |stage, _| stage.pass(3 * HOUR_MS)),
        ("long fields and items", |stage, rows| {
            let text = prose(COLLECTION_BYTES);
            for id in 0..rows / 500 {
                let bytes = COLLECTION_BYTES - (id * 7919) as usize % COLLECTION_BYTES;
                stage.call(&["HSET", &format!("letter:{id}"), "body", &text[..bytes]]);
                let items: Vec<&str> = (0..bytes / ITEM_BYTES)
                    .map(|at| &text[at * ITEM_BYTES..(at + 1) * ITEM_BYTES])
                    .collect();
                let key = format!("chat:{id}");
                stage.call(&[&["RPUSH", &*key, "first"], &items[..]].concat());
                stage.settle();
            }
            stage.pass(IDLE_MS);
        }),
        ("reading those", |stage, rows| {
            for id in 0..rows / 500 {
                stage.call(&["HSTRLEN", &format!("letter:{id}"), "body"]);
                stage.call(&["LINDEX", &format!("chat:{id}"), "-1"]);
            }
        }),
        ("growth for another schema", |stage, rows| {
            (0..rows).for_each(|id| stage.write_visit(id));
        }),
        ("a schema that nothing fits", |stage, _| {
            let schema = SCHEMA.replace("agent = \"str\"", "agent = \"uint\"");
            stage.change_schema(&schema);
        }),
        ("a schema without them", |stage, _| {
            let visit = SCHEMA.find("[key.\"visit").expect("the schema has it");
            stage.change_schema(&SCHEMA[..visit]);
        }),
        ("the schema before", |stage, _| stage.change_schema(SCHEMA)),
        ("a schema of thousands of patterns", |stage, _| {
            stage.change_schema(&(SCHEMA.to_owned() + &many_patterns("str")));
        }),
        ("another one of those", |stage, _| {
            stage.change_schema(&(SCHEMA.to_owned() + &many_patterns("uint")));
        }),
        ("a plan of brackets", |stage, _| {
            let said = stage.answer(&["KEYWARD", "SCHEMA", "PLAN", &"[".repeat(BRACKETS)]);
            assert!(said.starts_with("-SCHEMA"), "{said}");
        }),
        ("the schema without thousands", |stage, _| stage.change_schema(SCHEMA)),
        ("FLUSHALL after that", |stage, _| stage.call(&["FLUSHALL"])),
    ]
}

/// As many patterns as a large schema has, with values of that kind.
fn many_patterns(kind: &str) -> String {
    let key = |n: usize| {
        format!("[key.\"k{n}:{{id:uint}}\"]\ntype = \"string\"\nvalue = \"{kind}\"\nttl = \"1h\"\n")
    };
    (0..PATTERNS).map(key).collect()
}

/// Text that can be compressed as well as most.
fn prose(bytes: usize) -> String {
    let mut random = Random::new(1);
    let mut text = String::with_capacity(bytes + 32);
    while text.len() < bytes {
        text.push_str(&format!("word{} ", random.below(5000)));
    }
    text.truncate(bytes);
    text
}

impl Stage {
    fn write_user(&mut self, id: u64) {
        let user =
            format!("{{\"name\":\"name {id}\",\"email\":\"{id}@example.org\",\"plan\":\"gold\"}}");
        self.call(&["SET", &format!("user:{id}"), &user]);
        self.call(&["SET", &format!("note:{id}:1"), "hello"]);
    }

    /// Writes a row whose two texts another one has too: as many words as rows.
    fn write_visit(&mut self, id: u64) {
        let pair = id / 2;
        let visit =
            format!("{{\"page\":\"the page of {pair}\",\"agent\":\"somebody like {pair}\"}}");
        self.call(&["SET", &format!("visit:{id}"), &visit]);
    }

    /// Plans a schema and puts it in force, whatever it destroys.
    fn change_schema(&mut self, schema: &str) {
        let plan = self.answer(&["KEYWARD", "SCHEMA", "PLAN", schema]);
        let name = plan.lines().nth(4).expect("a plan has a name").to_owned();
        let apply = ["KEYWARD", "SCHEMA", "APPLY", &name, "DESTROY"];
        let said = self.answer(&[&apply[..], &["0"]].concat());
        if let Some((_, count)) = said.trim_end().split_once("say DESTROY ") {
            let said = self.answer(&[&apply[..], &[count]].concat());
            assert!(!said.starts_with('-'), "{said}");
        }
    }

    /// Sends a command that may have to wait; returns what comes of it.
    fn answer(&mut self, words: &[&str]) -> String {
        self.ask(words);
        let mut said = std::mem::take(&mut self.out);
        self.settle();
        for delivery in self.test.engine.take_deliveries() {
            if let Delivery::Output(_, bytes) = delivery {
                said.extend_from_slice(&bytes);
            }
        }
        String::from_utf8_lossy(&said).into_owned()
    }
}
