//! The five systems, as this program carries them.

use keyward_server::{Functions, Library, ServedSchema};

use crate::chance::Chance;
use crate::error::DemoError;
use crate::load::Load;
use crate::{api_billing, calls_bot, events, social, telegram_gateway};

/// A system that can be shown.
pub struct System {
    /// Its name.
    pub name: &'static str,
    /// The database that its schema names.
    pub db: u8,
    schema: SourceFile,
    libraries: &'static [SourceFile],
    /// What its users do, all of whom are there from the start.
    pub(crate) load: fn(&mut Chance) -> Box<dyn Load>,
    /// Commands to try, as a shell takes them behind `redis-cli`; the last one breaks
    /// the schema.
    pub(crate) tries: [&'static str; 3],
}

/// A file of the repository.
struct SourceFile {
    path: &'static str,
    text: &'static str,
}

/// Takes a file of `systems/` into the program.
macro_rules! source {
    ($path:literal) => {
        SourceFile {
            path: concat!("systems/", $path),
            text: include_str!(concat!("../../../systems/", $path)),
        }
    };
}

/// All of them, in the order of `systems/README.md`.
pub static SYSTEMS: [System; 5] = [
    System {
        name: "calls-bot",
        db: 14,
        schema: source!("calls-bot/keyward.toml"),
        libraries: &[source!("calls-bot/functions/calls_bot.lua")],
        load: calls_bot::load,
        tries: [
            "SMEMBERS active_subscribers:yearly",
            "FCALL redeem_coupon 2 coupon:WELCOME50 coupon_usage:WELCOME50:1",
            "EXPIRE conversation_state:7000001 3600",
        ],
    },
    System {
        name: "social",
        db: 1,
        schema: source!("social/keyward.toml"),
        libraries: &[source!("social/functions/social.lua")],
        load: social::load,
        tries: [
            "SRANDMEMBER user:1:followers 5",
            "FCALL follow 2 user:misty:following user:1:followers",
            "SET user:1 misty",
        ],
    },
    System {
        name: "api-billing",
        db: 2,
        schema: source!("api-billing/keyward.toml"),
        libraries: &[
            source!("api-billing/functions/accounts.lua"),
            source!("api-billing/functions/billing.lua"),
        ],
        load: api_billing::load,
        tries: [
            "ZREVRANGE users:active 0 4 WITHSCORES",
            "LRANGE transactions:500001:recent 0 1",
            "HINCRBYFLOAT user:500001 balance_usd -1000000",
        ],
    },
    System {
        name: "telegram-gateway",
        db: 3,
        schema: source!("telegram-gateway/keyward.toml"),
        libraries: &[source!("telegram-gateway/functions/gateway.lua")],
        load: telegram_gateway::load,
        tries: [
            "FCALL_RO newest_messages 1 telegram:channel:-1001649127710:recent 2",
            "ZCARD telegram:channel:-1001649127710:recent",
            "SET telegram:msg:-1001649127710:1 hello",
        ],
    },
    System {
        name: "events",
        db: 0,
        schema: source!("events/keyward.toml"),
        libraries: &[
            source!("events/functions/analytics.lua"),
            source!("events/functions/catalogue.lua"),
            source!("events/functions/users.lua"),
            source!("events/functions/websocket.lua"),
        ],
        load: events::load,
        tries: [
            "ZREVRANGE search:popular:queries 0 4 WITHSCORES",
            "ZREVRANGE events:trending 0 2 WITHSCORES",
            "SET user:password_reset:4f2d8c1b 123 EX 86400",
        ],
    },
];

impl System {
    /// Its schema and its functions, for a server.
    pub(crate) fn served(&self) -> Result<ServedSchema, DemoError> {
        let SourceFile { path, text } = self.schema;
        let schema = keyward_schema::check(path, text.as_bytes()).schema;
        let library = |file: &SourceFile| Library {
            name: file.path.to_owned(),
            code: file.text.as_bytes().to_vec(),
        };
        Ok(ServedSchema {
            schema: schema.ok_or(DemoError::Schema(path))?,
            db: usize::from(self.db),
            functions: Functions::Given(self.libraries.iter().map(library).collect()),
            file: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_schema_and_every_library_is_carried() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut there = BTreeSet::new();
        let names = |folder: &Path| -> Vec<String> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().into_string().expect("a name is text")).collect()
        };
        for system in names(&root.join("systems")) {
            let folder = format!("systems/{system}/functions");
            let libraries = names(&root.join(&folder)).into_iter();
            there.extend(libraries.map(|library| format!("{folder}/{library}")));
            if root.join(format!("systems/{system}/keyward.toml")).exists() {
                there.insert(format!("systems/{system}/keyward.toml"));
            }
        }
        let carried = SYSTEMS.iter().flat_map(|system| {
            let libraries = system.libraries.iter().map(|library| library.path);
            libraries.chain([system.schema.path]).map(str::to_owned)
        });
        assert_eq!(carried.collect::<BTreeSet<_>>(), there);
    }

    #[test]
    fn every_system_has_the_name_and_the_database_of_its_schema() {
        for system in &SYSTEMS {
            let schema = system.served().expect("it is sound").schema;
            assert_eq!(*schema.keyspace.name, *system.name);
            assert_eq!(schema.keyspace.db, system.db);
        }
    }
}
