//! Rows of tables, made of rows and items of keys.
//!
//! Owns the way of a value into a column: as a text that PostgreSQL takes for the column's
//! type, and means the same. What would mean something else there is not stored but told
//! ([`Unfit`]). Not here: statements (`store`).

mod fields;

use std::collections::HashSet;

use keyward_schema::{
    Column, ColumnSource, ColumnType, Content, Extra, Key, Kind, Object, Shape, Sink, Type,
    timestamp_text,
};

use crate::entry::EntryId;
use crate::store::dead_letters::{as_json, fields_of};
use fields::{Fields, Found};

/// A row of a table: a text for each column, or nothing.
pub type Row = Vec<Option<String>>;

/// Why a value cannot be stored as what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The column.
    pub column: Box<str>,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// What a row is made of.
pub enum Held<'a> {
    /// Fields of a hash, or of an entry of a stream.
    Fields(&'a [(Vec<u8>, Vec<u8>)]),
    /// A text: a whole value, or an item.
    Text(&'a [u8]),
    /// Nothing: of the key alone.
    Nothing,
}

/// When and by which change something came.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The entry.
    pub id: EntryId,
    /// Which item of it, where it has items.
    pub item: Option<usize>,
    /// The history, where another may have given the same id before.
    pub again: Option<u32>,
}

impl Origin {
    /// What nothing else has.
    fn text(&self) -> String {
        let mut text = self.id.to_string();
        if let Some(item) = self.item {
            text.push_str(&format!("-{item}"));
        }
        if let Some(again) = self.again {
            text.push_str(&format!("-{again:08x}"));
        }
        text
    }
}

/// Whether a message about a row or an item of a key may show something secret.
pub(crate) fn has_secrets(key: &Key) -> bool {
    let of_content = match &key.content {
        Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => shape.has_secret(),
        Content::Fields(object) | Content::Entries(object) => object.has_secret(),
        _ => false,
    };
    key.secret || !key.secret_placeholders.is_empty() || of_content
}

/// What stands in the place of a value that is secret.
pub(crate) const MASK: &[u8] = b"***";

/// Whether a report about a row or an item of a key is not to show what was found.
pub(crate) fn is_discreet(key: &Key) -> bool {
    has_secrets(key) || key.has_personal()
}

/// An item, with what is secret and has no column in its table left out: nobody reads there what
/// they could not read in the table. Where there is no table, nothing has a column.
pub(crate) fn masked(key: &Key, sink: Option<&Sink>, item: &[u8]) -> Vec<u8> {
    let has_column =
        |from: &ColumnSource| sink.is_some_and(|sink| sink.column_from(from).is_some());
    let Some(object) = object_of(&key.content) else {
        let is_kept = !has_secrets(key) || has_column(&ColumnSource::Value);
        return if is_kept { item.to_vec() } else { MASK.to_vec() };
    };
    let hidden =
        object.fields.iter().enumerate().filter(|(at, field)| {
            field.shape.has_secret() && !has_column(&ColumnSource::Field(*at))
        });
    let hidden: Vec<&str> = hidden.map(|(_, field)| &*field.name).collect();
    let is_rest_hidden = match &object.extra {
        Extra::Typed(shape) => shape.has_secret() && !has_column(&ColumnSource::Extra),
        _ => false,
    };
    if hidden.is_empty() && !is_rest_hidden {
        return item.to_vec();
    }
    let is_hidden =
        |name: &str| hidden.contains(&name) || is_rest_hidden && object.field(name).is_none();
    Fields::of_json(item)
        .and_then(|fields| fields.masked(is_hidden))
        .or_else(|| masked_pairs(item, |name| is_hidden(&String::from_utf8_lossy(name))))
        .map_or_else(|| MASK.to_vec(), String::into_bytes)
}

/// A row that is no JSON object in its letter, with three stars instead of some values.
fn masked_pairs(item: &[u8], is_hidden: impl Fn(&[u8]) -> bool) -> Option<String> {
    let mut pairs = fields_of(item)?;
    for (_, value) in pairs.iter_mut().filter(|(name, _)| is_hidden(name)) {
        *value = MASK.to_vec();
    }
    String::from_utf8(as_json(&pairs)).ok()
}

/// The rows that something is in its table: one, or one for each part of a split.
///
/// # Errors
/// If a value cannot be stored as what it is.
pub fn rows_of(
    key: &Key,
    sink: &Sink,
    name: &[u8],
    held: &Held<'_>,
    origin: Origin,
) -> Result<Vec<Row>, Unfit> {
    let fields = match held {
        Held::Fields(pairs) => Fields::of_pairs(pairs)
            .map_err(|problem| Unfit { column: "the row".into(), problem })?,
        Held::Text(text) if object_of(&key.content).is_some() => {
            let problem = "is no JSON object";
            Fields::of_json(text).ok_or(Unfit { column: "the value".into(), problem })?
        }
        Held::Text(_) | Held::Nothing => Fields::default(),
    };
    let making = Making { key, sink, name, held, origin, fields };
    let mut rows = vec![making.row("")?];
    for split in making.splits() {
        rows.push(making.row(split)?);
    }
    if rows.len() > 1 && making.has_nothing_but_splits(&rows[0]) {
        rows.remove(0);
    }
    match rows.iter().any(|row| is_larger(row, ROW_BYTES_MAX)) {
        true => {
            let problem = "has a gigabyte, which PostgreSQL does not take at once";
            Err(Unfit { column: "the row".into(), problem })
        }
        false => Ok(rows),
    }
}

/// The most bytes of a row: PostgreSQL ends a connection that sends it a gigabyte together.
const ROW_BYTES_MAX: usize = 1_000_000_000;

fn is_larger(row: &Row, most: usize) -> bool {
    row.iter().flatten().map(String::len).sum::<usize>() > most
}

/// The columns of the primary key of what a key names, for a row that is gone.
///
/// # Errors
/// If a value cannot be stored as what it is.
pub fn key_of(key: &Key, sink: &Sink, name: &[u8], origin: Origin) -> Result<Row, Unfit> {
    let held = Held::Nothing;
    let making = Making { key, sink, name, held: &held, origin, fields: Fields::default() };
    sink.columns
        .iter()
        .map(|column| match column.from {
            ColumnSource::Placeholder(_) | ColumnSource::Key => making.value(column, ""),
            ColumnSource::Time => Ok(Some(time_text(origin.id.ms))),
            _ => Ok(None),
        })
        .collect()
}

/// The fields that a row or an item has.
fn object_of(content: &Content) -> Option<&Object> {
    match content {
        Content::Fields(object) | Content::Entries(object) => Some(object),
        Content::Json(shape) | Content::Items(shape) => shape.object(),
        _ => None,
    }
}

struct Making<'a> {
    key: &'a Key,
    sink: &'a Sink,
    name: &'a [u8],
    held: &'a Held<'a>,
    origin: Origin,
    fields: Fields,
}

impl Making<'_> {
    fn row(&self, split: &str) -> Result<Row, Unfit> {
        self.sink.columns.iter().map(|column| self.value(column, split)).collect()
    }

    /// The words by which fields are split into rows.
    fn splits(&self) -> Vec<&str> {
        let mut known: HashSet<&str> = HashSet::new();
        let word = |name| self.sink.columns.iter().find_map(|column| split_word(column, name));
        self.undeclared().filter_map(word).filter(|word| known.insert(word)).collect()
    }

    /// Whether a row has the key's columns alone.
    fn has_nothing_but_splits(&self, row: &Row) -> bool {
        let own = |column: &Column| {
            matches!(
                column.from,
                ColumnSource::Field(_) | ColumnSource::Value | ColumnSource::Extra
            )
        };
        self.sink.columns.iter().zip(row).all(|(column, value)| !own(column) || value.is_none())
    }

    /// The names of fields that the schema does not list.
    fn undeclared(&self) -> impl Iterator<Item = &str> {
        let object = object_of(&self.key.content);
        let is_declared = move |name: &str| object.is_some_and(|own| own.field(name).is_some());
        self.fields.names().filter(move |name| !is_declared(name))
    }

    fn value(&self, column: &Column, split: &str) -> Result<Option<String>, Unfit> {
        let unfit = |problem| Unfit { column: column.name.clone(), problem };
        let is_whole = split.is_empty();
        let text = match &column.from {
            ColumnSource::Placeholder(index) => {
                let values = self.key.pattern.split(self.name);
                let value = values.and_then(|values| values.get(*index).copied());
                let kind = &self.key.pattern.placeholders()[*index].kind;
                let value = value.ok_or(unfit("is not in the key"))?;
                Some(of_kind(kind, column.ty, text_of(value).map_err(unfit)?).map_err(unfit)?)
            }
            ColumnSource::Key => Some(text_of(self.name).map_err(unfit)?),
            ColumnSource::SplitName => Some(split.to_owned()),
            ColumnSource::Time if column.required => Some(time_text(self.origin.id.ms)),
            ColumnSource::Time => None,
            ColumnSource::Entry => Some(self.origin.text()),
            ColumnSource::Field(index) => {
                let object = object_of(&self.key.content);
                let field = object.and_then(|own| own.fields.get(*index));
                let found = field.filter(|_| is_whole).and_then(|own| self.fields.get(&own.name));
                match (field, found) {
                    (Some(field), Some(found)) => {
                        of_shape(&field.shape, column, found).map_err(unfit)?
                    }
                    _ => None,
                }
            }
            ColumnSource::Split(before, after) => {
                let found = self.fields.get(&format!("{before}{split}{after}"));
                let any = Shape::of(Type::String);
                let shape = match object_of(&self.key.content).map(|own| &own.extra) {
                    Some(Extra::Typed(shape)) => shape,
                    _ => &any,
                };
                match found.filter(|_| !is_whole) {
                    Some(found) => of_shape(shape, column, found).map_err(unfit)?,
                    None => None,
                }
            }
            ColumnSource::Extra if is_whole => self.extra().map_err(unfit)?,
            ColumnSource::Extra => None,
            ColumnSource::Value => match (self.held, &self.key.content) {
                (Held::Text(text), Content::Value(shape) | Content::Items(shape)) if is_whole => {
                    of_shape(shape, column, &Found::Text(text.to_vec())).map_err(unfit)?
                }
                (Held::Text(text), _) if is_whole => Some(text_of(text).map_err(unfit)?),
                _ => None,
            },
        };
        Ok(text)
    }

    /// The fields that are not listed, and in no row of a split, as a JSON object.
    fn extra(&self) -> Result<Option<String>, &'static str> {
        let is_split =
            |name: &str| self.sink.columns.iter().any(|own| split_word(own, name).is_some());
        let names: Vec<&str> = self.undeclared().filter(|name| !is_split(name)).collect();
        if names.is_empty() {
            return Ok(None);
        }
        self.fields.json_of(&names).map(Some).ok_or("has a field that is no text in UTF-8")
    }
}

/// The word in the name of a field, if it is split into this column.
fn split_word<'n>(column: &Column, name: &'n str) -> Option<&'n str> {
    let ColumnSource::Split(before, after) = &column.from else { return None };
    let word = name.strip_prefix(&**before)?.strip_suffix(&**after)?;
    (!word.is_empty()).then_some(word)
}

/// Bytes as a text that PostgreSQL takes.
fn text_of(bytes: &[u8]) -> Result<String, &'static str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text.to_owned()),
        Ok(_) => Err("has a zero byte, which no text of PostgreSQL has"),
        Err(_) => Err("is no text in UTF-8"),
    }
}

/// The value of a placeholder. Two keys are two rows, so that a type which takes two texts for
/// one value must be given the one that it writes.
fn of_kind(kind: &Kind, ty: ColumnType, text: String) -> Result<String, &'static str> {
    let is_written_so = match ty {
        ColumnType::Uuid => is_written_uuid(&text),
        ColumnType::Inet => text.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_string() == text),
        _ => true,
    };
    match is_written_so {
        true if *kind == Kind::Month && ty == ColumnType::Date => Ok(format!("{text}-01")),
        true => Ok(text),
        false => Err("would be another key's value too, as PostgreSQL writes it"),
    }
}

/// Whether a UUID is as PostgreSQL writes it: in small letters, with four dashes.
fn is_written_uuid(text: &str) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match is_dash(at) {
            true => byte == b'-',
            false => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// The value of a field. A null of JSON is none.
fn of_shape(shape: &Shape, column: &Column, found: &Found) -> Result<Option<String>, &'static str> {
    if column.ty == ColumnType::Bytea {
        let bytes = match found {
            Found::Null => return Ok(None),
            Found::Text(bytes) => bytes,
            Found::Quoted(text, _) => text.as_bytes(),
            Found::Raw(json) => json.as_bytes(),
        };
        let prefix = column.strip.as_deref().unwrap_or_default();
        let bytes = bytes.strip_prefix(prefix.as_bytes());
        return Ok(Some(bytea_text(bytes.ok_or("does not begin with what is stripped")?)));
    }
    let text = match found {
        Found::Null => {
            return Ok(
                (column.ty == ColumnType::Jsonb && !shape.nullable).then(|| "null".to_owned())
            );
        }
        Found::Text(bytes) => text_of(bytes)?,
        // A text of JSON is one in a column of JSON too.
        Found::Quoted(_, json) if column.ty == ColumnType::Jsonb => json.clone(),
        Found::Quoted(text, _) => text_of(text.as_bytes())?,
        // A text that cannot be read.
        Found::Raw(json) if json.starts_with('"') => {
            return Err("has half of a surrogate pair, which no text of PostgreSQL has");
        }
        Found::Raw(json) => json.clone(),
    };
    let text = match &column.strip {
        Some(prefix) => {
            let rest = text.strip_prefix(&**prefix);
            rest.ok_or("does not begin with what is stripped")?.to_owned()
        }
        None => text,
    };
    Ok(Some(match (&shape.ty, column.ty) {
        (Type::Timestamp, ColumnType::Timestamptz) if fraction_digits(&text) > 6 => {
            return Err("is a time more exact than a microsecond, which PostgreSQL would round");
        }
        (Type::TimestampMs, ColumnType::Timestamptz) => {
            time_text(text.parse().map_err(|_| "is no time in milliseconds")?)
        }
        (Type::Kind(Kind::Month), ColumnType::Date) => format!("{text}-01"),
        _ => text,
    }))
}

/// Bytes as PostgreSQL reads them.
fn bytea_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("\\x");
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    text
}

/// How many digits of a fraction of a second count.
fn fraction_digits(time: &str) -> usize {
    let Some((_, fraction)) = time.split_once('.') else { return 0 };
    let digits = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    fraction[..digits].trim_end_matches('0').len()
}

/// A time in milliseconds as PostgreSQL reads it.
pub(crate) fn time_text(ms: u64) -> String {
    let whole = timestamp_text(i64::try_from(ms).unwrap_or(i64::MAX));
    match ms % 1000 {
        0 => whole,
        fraction => whole.replace('Z', &format!(".{fraction:03}Z")),
    }
}

#[cfg(test)]
mod tests;
