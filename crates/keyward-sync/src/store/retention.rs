//! Rows that are older than their tables keep them.
//!
//! Owns what time it is for that, and how rows go. What is old is measured by the clock that is
//! behind, the server's or the database's: one that is ahead has nothing go that is young. Where
//! they are more than a day apart nobody knows which one is right, and nothing goes.
//! Of a table by month whole partitions go; nobody waits for that for more than two seconds.

use std::time::Duration;

use keyward_schema::{ColumnSource, Schema, Sink};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::database::DatabaseError;
use crate::ddl::{self, Month};
use crate::names::name;
use crate::store::StoreError;
use crate::store::failure::unwritable;

/// How far two clocks may be apart.
const APART_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a partition that goes waits for a lock: whoever comes to its table meanwhile waits
/// behind it.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '2s'";

/// What came of letting rows go.
#[derive(Debug, Default)]
pub struct Retained {
    /// How many rows went, without those of partitions.
    pub rows: u64,
    /// Partitions that went.
    pub partitions: u64,
    /// How far the clocks are apart, in milliseconds, if that is why nothing went; else zero.
    pub apart_ms: u64,
    /// What could not go and why, a sentence each.
    pub held: Vec<String>,
}

impl Retained {
    /// What went, in a sentence; nothing where nothing did.
    pub fn line(&self) -> Option<String> {
        let told = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let went =
            [told(self.rows, "row", "rows"), told(self.partitions, "partition", "partitions")];
        let went: Vec<String> = went.into_iter().flatten().collect();
        let are = if self.rows + self.partitions == 1 { "was" } else { "were" };
        (!went.is_empty()).then(|| {
            format!("{} older than their tables keep them {are} deleted", went.join(" and "))
        })
    }
}

/// Lets rows go that are older than their tables keep them. A table whose rows cannot go for now
/// is told of, and holds nothing up.
///
/// # Errors
/// If the database cannot be asked.
pub async fn retain(
    client: &mut Client,
    schema: &Schema,
    server_ms: u64,
) -> Result<Retained, StoreError> {
    let mut retained = Retained::default();
    let kept: Vec<(&Sink, Duration)> = ddl::sinks(schema)
        .filter_map(|(_, sink)| Some((sink, Duration::from_millis(sink.retain?.as_ms()))))
        .collect();
    if kept.is_empty() {
        return Ok(retained);
    }
    let clock = "SELECT (extract(epoch FROM now()) * 1000)::bigint";
    let clock = client.query_one(clock, &[]).await.map_err(DatabaseError::from)?;
    let own_ms = u64::try_from(clock.get::<_, i64>(0)).unwrap_or(0);
    let apart_ms = server_ms.abs_diff(own_ms);
    if Duration::from_millis(apart_ms) > APART_MAX {
        let [server, own] = [server_ms, own_ms].map(crate::row::time_text);
        retained.apart_ms = apart_ms;
        retained.held.push(format!(
            "the server's clock says {server} and the database's {own}, more than a day apart: \
             nothing that is older than its table keeps it (retain) is deleted"
        ));
        return Ok(retained);
    }
    for (sink, keeps) in kept {
        let oldest = Duration::from_millis(server_ms.min(own_ms)).saturating_sub(keeps);
        let oldest_ms = u64::try_from(oldest.as_millis()).unwrap_or(0);
        match let_go(client, sink, oldest_ms, &mut retained).await {
            Ok(()) => {}
            Err(error @ StoreError::Unwritable { .. }) => {
                retained.held.push(format!("{error}: rows older than it keeps them stay for now"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(retained)
}

/// Lets rows of one table go that are older than this.
async fn let_go(
    client: &mut Client,
    sink: &Sink,
    oldest_ms: u64,
    retained: &mut Retained,
) -> Result<(), StoreError> {
    let (column, oldest, ty) = if let Some(column) = sink.partitioned_by() {
        let month = Month::of_time(i64::try_from(oldest_ms).unwrap_or(i64::MAX));
        (column, month.first_day(), "date")
    } else if let Some(column) = sink.column_from(&ColumnSource::Time) {
        (column, crate::row::time_text(oldest_ms), "timestamptz")
    } else {
        return Ok(());
    };
    if sink.partitioned_by().is_some() {
        retained.partitions += drop_partitions(client, sink, &oldest).await?;
    }
    // What is left: all rows of a table that is not partitioned, and those of a partition that has
    // younger ones too, or that somebody else owns.
    let (table, column) = (name(&sink.table), name(&sink.columns[column].name));
    let delete = format!("DELETE FROM {table} WHERE {column} < $1::text::{ty}");
    let deleted = client.execute(&delete, &[&oldest]).await;
    retained.rows += deleted.map_err(|error| unwritable(&sink.table, &error))?;
    Ok(())
}

/// Drops the partitions all of whose rows are older than a day; how many. Those of somebody else
/// stay, and their rows are deleted.
async fn drop_partitions(
    client: &mut Client,
    sink: &Sink,
    oldest: &str,
) -> Result<u64, StoreError> {
    let failed = |error| unwritable(&sink.table, &error);
    let query = "SELECT format('%I.%I', n.nspname, c.relname) FROM pg_inherits i \
                 JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
                 WHERE i.inhparent = to_regclass($1) \
                 AND substring(pg_get_expr(c.relpartbound, c.oid) FROM ' TO \\(''([^'']+)''\\)$')::date \
                     <= $2::text::date \
                 AND pg_has_role(c.relowner, 'USAGE') ORDER BY 1";
    let found = client.query(query, &[&ddl::quoted(&sink.table), &oldest]).await.map_err(failed)?;
    let mut dropped = 0;
    for row in found {
        let partition: String = row.get(0);
        let transaction = client.transaction().await.map_err(DatabaseError::from)?;
        let table = name(&sink.table);
        // Whoever reads the table has a lock of it; it is asked for first, as readers do.
        let statements = format!(
            "{LOCK_TIMEOUT}; ALTER TABLE {table} DETACH PARTITION {partition}; DROP TABLE {partition}"
        );
        match transaction.batch_execute(&statements).await {
            Ok(()) => transaction.commit().await.map_err(DatabaseError::from)?,
            // Somebody reads it: the next time will do.
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                return Err(failed(error));
            }
            Err(error) if error.code().is_none() => return Err(failed(error)),
            // The table is somebody else's, or something hangs on the partition, a view for one:
            // its rows are deleted.
            Err(_) => {
                transaction.rollback().await.map_err(DatabaseError::from)?;
                continue;
            }
        }
        dropped += 1;
    }
    Ok(dropped)
}
