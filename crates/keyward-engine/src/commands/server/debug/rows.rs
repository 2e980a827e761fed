//! DEBUG about rows: how they are stored, what their digests are.
//!
//! Rows are looked at without being used, and due ones too.

use crate::commands::digest;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};
use keyward_lua::LogLevel;
use keyward_rules::REDACTED;
use keyward_store::capture::content;
use keyward_store::keyspace::Lifetime;
use keyward_store::keyspace::event::{Class, Event};
use keyward_store::values::access::Reading;
use keyward_store::values::row::{LentRow, Row};
use keyward_store::values::text;
use keyward_store::values::value::{ObjectRef, Value};

/// Bytes of a payload besides the value: its type, its version, its checksum.
const PAYLOAD_FRAME_BYTES: usize = 11;

/// The row of the key at an argument position, due or not.
fn row<'c>(ctx: &'c Ctx<'_>, position: usize) -> Option<LentRow<'c>> {
    let key = ctx.key(position);
    ctx.keys.table(key).find(key)
}

fn encoding(row: &Row) -> &'static str {
    match row.value() {
        Value::Object(object) => object.encoding(),
        text => text::encoding(text, row.is_edited()),
    }
}

pub(super) fn object(ctx: &mut Ctx<'_>) -> Outcome {
    let key = ctx.key(2);
    let row = row(ctx, 2).ok_or(WireError::NoSuchKey)?;
    let value = row.value();
    let form = content::form(value);
    let compresses = ctx.shared.tunables.compresses;
    let payload =
        keyward_rdb::write_payload(form, compresses, |output| content::write(value, output));
    let (clock, encoding) = (row.clock(), encoding(&row));
    // A replay must give the same reply: the hash of the key stands for the address.
    let text = format!(
        "Value at:{:#x} refcount:1 encoding:{encoding} serializedlength:{} lru:{clock} lru_seconds_idle:{}",
        key.hash,
        payload.len() - PAYLOAD_FRAME_BYTES,
        if ctx.keys.reading(key) == Reading::Recency {
            ctx.keys.access.idle_seconds(clock)
        } else {
            0
        },
    );
    ctx.reply.simple(&text);
    Ok(())
}

pub(super) fn sdslen(ctx: &mut Ctx<'_>) -> Outcome {
    let row = row(ctx, 2).ok_or(WireError::NoSuchKey)?;
    let Value::Text(text) = row.value() else {
        return Err(WireError::Err("Not an sds encoded string."));
    };
    let (key, value) = (row.key().len(), text.len());
    let text = format!(
        "key_sds_len:{key}, key_sds_avail:0, key_zmalloc: {key}, val_sds_len:{value}, val_sds_avail:0, val_zmalloc: {value}"
    );
    ctx.reply.simple(&text);
    Ok(())
}

/// A row for the log, without anything that the schema calls secret.
fn described(ctx: &Ctx<'_>, row: &Row) -> String {
    match ctx.keys.book_of(ctx.db) {
        Some(book) if !book.shows_values_of(row.key()) => {
            format!("{}: {REDACTED}", book.shown_name(row.key()).escape_ascii())
        }
        Some(book) if book.shown_name(row.key()) != row.key() => REDACTED.to_owned(),
        _ => format!("{row:?}"),
    }
}

pub(super) fn listpack(ctx: &mut Ctx<'_>) -> Outcome {
    let row = row(ctx, 2).ok_or(WireError::NoSuchKey)?;
    if encoding(&row) != "listpack" {
        return Err(WireError::Err("Not a listpack encoded object."));
    }
    let shown = described(ctx, &row);
    ctx.host.log(LogLevel::Notice, shown.as_bytes());
    ctx.reply.simple("Listpack structure printed on stdout");
    Ok(())
}

pub(super) fn quicklist(ctx: &mut Ctx<'_>) -> Outcome {
    let row = row(ctx, 2).ok_or(WireError::NoSuchKey)?;
    if !matches!(row.value(), Value::Object(ObjectRef::List(_))) {
        return Err(WireError::Err("Not a quicklist encoded object."));
    }
    let shown = described(ctx, &row);
    ctx.host.log(LogLevel::Notice, shown.as_bytes());
    ctx.reply.simple("Quicklist structure printed on stdout");
    Ok(())
}

pub(super) fn digest_values(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.array(ctx.args.len() - 2);
    for position in 2..ctx.args.len() {
        let digest = row(ctx, position).map(|row| digest::of_value(&row)).unwrap_or_default();
        ctx.reply.simple(&digest.hex());
    }
    Ok(())
}

pub(super) fn htstats(ctx: &mut Ctx<'_>) -> Outcome {
    let number = args::integer(ctx.args.at(2))?;
    let db = usize::try_from(number).ok().filter(|db| *db < ctx.keys.database_count());
    let db = db.ok_or(WireError::Err("Out of range database"))?;
    let database = ctx.keys.database_at(db);
    let text = format!(
        "[Dictionary HT]\n{}[Expires HT]\n{}",
        table_stats(database.len()),
        table_stats(database.expiring())
    );
    ctx.reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

pub(super) fn htstats_key(ctx: &mut Ctx<'_>) -> Outcome {
    let row = row(ctx, 2).ok_or(WireError::NoSuchKey)?;
    let length = match row.value() {
        Value::Object(object) if matches!(object.encoding(), "hashtable" | "skiplist") => {
            object.len()
        }
        _ => {
            return Err(WireError::Err(
                "The value stored at the specified key is not represented using an hash table",
            ));
        }
    };
    ctx.reply.verbatim(*b"txt", table_stats(length).as_bytes());
    Ok(())
}

/// What is told about a table: it grows a bucket at a time, so that there is never a
/// second one.
fn table_stats(elements: usize) -> String {
    if elements == 0 {
        return "No stats available for empty dictionaries\n".to_owned();
    }
    format!("Hash table 0 stats (main hash table):\n number of elements: {elements}\n")
}

pub(super) fn structsize(ctx: &mut Ctx<'_>) -> Outcome {
    let text = format!("bits:{} row:{} ", usize::BITS, size_of::<Row>());
    ctx.reply.bulk(text.as_bytes());
    Ok(())
}

/// Adds strings, without an event and without logging them.
pub(super) fn populate(ctx: &mut Ctx<'_>) -> Outcome {
    let count = args::non_negative(ctx.args.at(2))?;
    let prefix = ctx.args.get(3).unwrap_or(b"key");
    let size = ctx.args.get(4).map(args::non_negative).transpose()?.unwrap_or(0);
    if size > ctx.shared.tunables.grown_bytes_max() {
        return Err(WireError::StringTooLong);
    }
    if ctx.keys.book_of(ctx.db).is_some() {
        return Err(WireError::Err(
            "a database under a schema is not populated with just anything",
        ));
    }
    let dirty = ctx.keys.changes.dirty;
    for number in 0..count {
        let name = [prefix, b":", number.to_string().as_bytes()].concat();
        let key = ctx.key_of(&name);
        if ctx.keys.find(key).is_some() {
            continue;
        }
        let mut text = format!("value:{number}").into_bytes();
        if size > 0 {
            text.resize(size as usize, 0);
        }
        let event = Event::new(Class::String, "set");
        ctx.keys.set_text(key, &text, Lifetime::Forever, event);
    }
    ctx.keys.changes.dirty = dirty;
    ctx.reply.ok();
    Ok(())
}
