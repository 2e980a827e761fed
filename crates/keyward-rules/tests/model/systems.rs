//! The examples of the five systems, written by plain commands.

use std::path::Path;

use keyward_schema::{DataType, Derived, ExampleValue, Lifetime};

use crate::host::{Host, Outcome};
use crate::keyspace::Bytes;
use crate::random::computed_keys_are_true;

#[test]
fn each_example_of_the_systems_can_be_written() {
    let mut written = 0;
    for system in ["api-billing", "calls-bot", "events", "social", "telegram-gateway"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../systems")
            .join(system)
            .join("keyward.toml");
        let mut host = Host::new(&std::fs::read_to_string(path).expect("the system's schema"));
        // A while after the time in all of them.
        host.now_ms = 1_764_864_000_000;
        for command in examples(&host) {
            let told = || {
                let words = command.iter().map(|word| word.escape_ascii().to_string());
                format!("{system}: {}", words.collect::<Vec<_>>().join(" "))
            };
            assert_eq!(host.run_words(&command), Outcome::Done, "{}", told());
            assert_eq!(host.warnings, Vec::<String>::new(), "{}", told());
            computed_keys_are_true(&host, &told);
            written += 1;
        }
    }
    assert!(written > 60, "{written} examples");
}

/// A command for each example that needs no other row.
fn examples(host: &Host) -> Vec<Vec<Bytes>> {
    let keys = host.book.schema().keys.iter();
    let by_itself = keys.filter(|key| {
        let leans = matches!(key.lifetime, Lifetime::With { .. });
        !leans && matches!(key.derived, None | Some(Derived::Inverse { .. }))
    });
    by_itself
        .filter_map(|key| {
            let example = key.example.as_ref()?;
            let name = match key.data {
                DataType::Hash => "HSET",
                DataType::List => "RPUSH",
                DataType::Set => "SADD",
                DataType::Zset => "ZADD",
                _ => "SET",
            };
            let mut command: Vec<Bytes> = vec![name.into(), example.key.as_bytes().into()];
            match example.value.as_ref()? {
                ExampleValue::Text(text) => command.push(text.as_bytes().into()),
                ExampleValue::Items(items) => {
                    command.extend(items.iter().map(|item| item.as_bytes().into()));
                }
                ExampleValue::Pairs(pairs) => {
                    for (one, other) in pairs {
                        let scored = key.data == DataType::Zset;
                        let (first, second) = if scored { (other, one) } else { (one, other) };
                        command.push(first.as_bytes().into());
                        command.push(second.as_bytes().into());
                    }
                }
            }
            // Where the writer has to say how long, he may ask for the most.
            if let Lifetime::Given { default: None, max: Some(max), .. } = &key.lifetime {
                command.push("PX".into());
                command.push(max.as_ms().to_string().into());
            }
            Some(command)
        })
        .collect()
}
