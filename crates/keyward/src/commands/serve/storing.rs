//! `keyward serve --postgres`: what `keyward sync` does, on a thread of the server's.
//!
//! It comes to the server as a client does, from within the process; the thread that serves waits
//! for none of it. What goes wrong is in the server's log, and tried again.

use std::io;
use std::time::Duration;

use anyhow::bail;
use keyward_schema::Schema;
use keyward_server::{Companion, Door, ServedSchema};
use keyward_sync::database::Database;
use keyward_sync::ddl;
use keyward_sync::following::{FollowError, Following};
use keyward_sync::mending::Guard;
use keyward_sync::source::{Dial, Link, Source, SourceError};

/// How long the server may be silent: longer than it is asked to wait for changes.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long something lasting is left alone before it is tried again.
const PAUSE: Duration = Duration::from_secs(30);
/// How long where the server has another schema by now.
const SHORT_PAUSE: Duration = Duration::from_secs(1);

/// What stores the changes of served schemas, once the server listens.
pub(super) fn beside(url: &str, served: &[ServedSchema]) -> anyhow::Result<Companion> {
    let database = Database::at(url)?;
    let mut schemas: Vec<Schema> = Vec::new();
    for served in served.iter().filter(|served| ddl::sinks(&served.schema).next().is_some()) {
        let mut schema = served.schema.clone();
        schema.keyspace.db = u8::try_from(served.db)?;
        schemas.push(schema);
    }
    if schemas.is_empty() {
        bail!("--postgres: no key has a sink");
    }
    Ok(Box::new(move |door: Door| {
        for schema in schemas {
            let (door, database) = (door.clone(), database.clone());
            let name = format!("store {}", schema.keyspace.name);
            std::thread::Builder::new()
                .name(name)
                .spawn(move || store(&door, &database, &schema))?;
        }
        Ok(())
    }))
}

/// Stores changes as long as the server lives.
fn store(door: &Door, database: &Database, schema: &Schema) {
    let told = format!("PostgreSQL, {}", schema.keyspace.name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return door.log(&format!("{told}: nothing is stored: {error}")),
    };
    loop {
        let log = {
            let (door, told) = (door.clone(), told.clone());
            move |line: &str| door.log(&format!("{told}: {line}"))
        };
        // Before it has loaded its data nobody knows which schema it serves.
        let Some(served) = in_force(door, schema) else {
            std::thread::sleep(SHORT_PAUSE);
            continue;
        };
        let following = Following {
            schema: served,
            database: database.clone(),
            dial: dial(door.clone()),
            greeting: greeting(door),
            is_once: false,
            guard: Guard::Up,
            replicas: 0,
            tell: Box::new(log),
            resends: false,
            has_failed: false,
        };
        let pause = match runtime.block_on(following.run()) {
            // Another schema was put in force: the next attempt asks for it.
            Err(FollowError::OtherSchema(_)) => SHORT_PAUSE,
            Err(error) => {
                let pause = PAUSE.as_secs();
                door.log(&format!("{told}: nothing is stored: {error}; once more in {pause} s"));
                PAUSE
            }
            Ok(_) => PAUSE,
        };
        std::thread::sleep(pause);
    }
}

/// The schema that the server serves by now, which `KEYWARD SCHEMA APPLY` may have replaced, before
/// the last start too; the one that it began with if it may not be asked, and none as long as it
/// cannot be.
fn in_force(door: &Door, schema: &Schema) -> Option<Schema> {
    let ask = || -> Result<Option<Schema>, SourceError> {
        let mut source = Source::connect(&dial(door.clone()), &greeting(door))?;
        let (db, name) = (schema.keyspace.db.to_string(), schema.keyspace.name.as_bytes());
        source.ask("SELECT", &[b"SELECT", db.as_bytes()])?;
        let reply = source.ask("KEYWARD", &[b"KEYWARD", b"SCHEMA", b"SHOW", name])?;
        let text = reply.as_bytes().ok_or(SourceError::Protocol)?;
        Ok(keyward_schema::check(&schema.source.name, text).schema)
    };
    let mut found = match ask() {
        Ok(found) => found.unwrap_or_else(|| schema.clone()),
        Err(error) if error.may_pass() => return None,
        Err(_) => schema.clone(),
    };
    found.keyspace.db = schema.keyspace.db;
    Some(found)
}

/// What the server wants to hear first.
fn greeting(door: &Door) -> Vec<Vec<Vec<u8>>> {
    let password = std::env::var("REDISCLI_AUTH").ok();
    let password = password.or_else(|| door.password().map(str::to_owned));
    let login = password.map(|password| vec![b"AUTH".to_vec(), password.into_bytes()]);
    login.into_iter().collect()
}

fn dial(door: Door) -> Dial {
    Box::new(move || -> io::Result<Box<dyn Link>> {
        let stream = door.connect()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Box::new(stream))
    })
}
