//! What schemas ask to outlive a restart, held against what the server keeps.
//!
//! Owns the warnings where a schema asks for more (`persist`) than the settings give
//! (`appendonly`, `save`): at the start, when such a schema comes into force, and when
//! CONFIG SET takes something away. The settings decide; a schema that says nothing of it
//! asks for nothing.
//! Not here: what is logged, saved and loaded (`keyward-engine`, `serve/saving.rs`).

use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_schema::{Persist, Schema, escape};

/// What the schemas of all databases ask for.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    asked: Vec<Asked>,
}

/// What the schema of a database asks for.
#[derive(Debug)]
struct Asked {
    db: usize,
    keyspace: String,
    persist: Persist,
}

impl Asked {
    /// What is lost that this one asks to be kept, if anything.
    fn shortfall(&self, settings: &Settings) -> Option<String> {
        let saves = !settings.save_points().is_empty();
        let name = escape(&self.keyspace);
        match self.persist {
            Persist::Aof if !settings.is_on(Id::AppendOnly) => {
                let lost = match saves {
                    true => "changes since the last snapshot are lost",
                    false => "nothing is kept (save is \"\" too)",
                };
                Some(format!(
                    "keyspace {name}: persist = \"aof\" asks that every change outlives a \
                     restart, and appendonly is off: {lost}"
                ))
            }
            Persist::Rdb if !saves => Some(format!(
                "keyspace {name}: persist = \"rdb\" asks that the last snapshot outlives a \
                 restart, and save is \"\": none is taken unless SAVE or BGSAVE asks for it"
            )),
            Persist::Aof | Persist::Rdb | Persist::None => None,
        }
    }
}

impl Asks {
    /// A schema governs a database from now on.
    pub(crate) fn note_schema(&mut self, db: usize, schema: &Schema, settings: &Settings) {
        self.asked.retain(|asked| asked.db != db);
        let Some(persist) = schema.keyspace.persist_said else { return };
        let asked = Asked { db, keyspace: schema.keyspace.name.to_string(), persist };
        if let Some(shortfall) = asked.shortfall(settings) {
            tracing::warn!("{shortfall}");
        }
        self.asked.push(asked);
    }

    /// The settings have changed from `before` to `after`.
    pub(crate) fn warn_of_less(&self, before: &Settings, after: &Settings) {
        for asked in &self.asked {
            let shortfall = asked.shortfall(after);
            if shortfall != asked.shortfall(before) {
                shortfall.into_iter().for_each(|shortfall| tracing::warn!("{shortfall}"));
            }
        }
    }
}
