//! What INFO's section of patterns says.

/// The figures of a pattern, since the server started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The number of its database.
    pub db: usize,
    /// Its keyspace.
    pub keyspace: String,
    /// Its text.
    pub pattern: String,
    /// How many keys it has.
    pub keys: u64,
    /// How many are expected, or 0.
    pub expected: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Keys that have a lifetime.
    pub expiring: u64,
    /// How long those have left on average, in milliseconds.
    pub remaining_ms: u64,
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Changes.
    pub writes: u64,
    /// Keys whose time was over.
    pub expired: u64,
    /// Keys that went for want of memory.
    pub evicted: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// Commands that were let pass with a warning.
    pub warned: u64,
    /// Rows that do not fit and are kept.
    pub misfits: u64,
}

impl Pattern {
    pub(super) fn identity(&self) -> (usize, String, String) {
        (self.db, self.keyspace.clone(), self.pattern.clone())
    }

    pub(super) fn is(&self, identity: &(usize, String, String)) -> bool {
        (self.db, &self.keyspace, &self.pattern) == (identity.0, &identity.1, &identity.2)
    }

    /// The share of reads that found their key, if there were any.
    pub(super) fn found(&self) -> Option<f64> {
        let reads = self.hits + self.misses;
        (reads > 0).then(|| self.hits as f64 / reads as f64)
    }
}

/// Reads `INFO patterns`. A line that says something else is passed over.
pub fn read_info(text: &str) -> Vec<Pattern> {
    text.lines().filter_map(line).collect()
}

/// Reads `db0_pattern3:pattern=…,keys=…,…,keyspace=…`. A pattern may hold commas and signs of
/// equality, as its keyspace may: figures are what lies between.
fn line(line: &str) -> Option<Pattern> {
    let (name, value) = line.split_once(':')?;
    let (db, place) = name.strip_prefix("db")?.split_once('_')?;
    place.strip_prefix("pattern")?.parse::<usize>().ok()?;
    let value = value.strip_prefix("pattern=")?;
    let (pattern, rest) = value.split_once(",keys=")?;
    let (figures, keyspace) = rest.rsplit_once(",keyspace=")?;
    let mut read = Pattern {
        db: db.parse().ok()?,
        keyspace: keyspace.to_owned(),
        pattern: pattern.to_owned(),
        ..Pattern::default()
    };
    for (at, part) in figures.split(',').enumerate() {
        let (name, number) = if at == 0 { ("keys", part) } else { part.split_once('=')? };
        let number = number.parse().unwrap_or(0);
        match name {
            "keys" => read.keys = number,
            "expected" => read.expected = number,
            "bytes" => read.bytes = number,
            "expires" => read.expiring = number,
            "avg_ttl" => read.remaining_ms = number,
            "hits" => read.hits = number,
            "misses" => read.misses = number,
            "writes" => read.writes = number,
            "expired" => read.expired = number,
            "evicted" => read.evicted = number,
            "refused" => read.refused = number,
            "warned" => read.warned = number,
            "misfits" => read.misfits = number,
            _ => {}
        }
    }
    Some(read)
}
