//! Sinks from TOML.
//!
//! A table has a column for each placeholder and each field by itself; `columns` says of which
//! that is not so. What is secret gets a column only where one is named.
//! Not here: what columns can hold (`crate::sink`).

use toml::de::DeValue;

use super::draft::KeyDraft;
use super::table::{Entry, Located, Table, table, text};
use crate::checks::{column_source, column_type, malformed_sink, sink_type, wrong_value};
use crate::diagnostic::Report;
use crate::pattern::{Kind, Pattern, is_name};
use crate::schema::{Content, DataType};
use crate::settings::Scope;
use crate::shape::{Extra, Object, Shape, Type};
use crate::sink::{Column, ColumnSource, ColumnType, Deletion, Merge, Sink, SinkKind, is_sql_name};
use crate::source::Span;

/// Whether a key says that its rows are mirrored or archived.
pub(crate) fn is_of_rows(draft: &KeyDraft<'_>) -> bool {
    let Some(entry) = draft.table.entry("sink") else { return false };
    let DeValue::Table(table) = entry.value.get_ref() else { return false };
    table.contains_key("archive") || table.contains_key("mirror")
}

/// Reads `sink`: `None` if it has an error, `Some(None)` if there is none. `is_kept` says
/// whether Keyward writes the key, `secret` whether its values are secret and which of its
/// placeholders are.
pub(super) fn read(
    draft: &KeyDraft<'_>,
    is_kept: bool,
    secret: (bool, &[usize]),
    report: &mut Report,
) -> Option<Option<Sink>> {
    let Some(entry) = draft.table.entry("sink") else { return Some(None) };
    let errors_before = report.errors_total();
    let raw = table(entry, report)?;
    let table = Table::open(Scope::Sink, raw.value, entry.name_at, report);
    let kinds = SinkKind::NAMES.iter().filter_map(|name| table.entry(name));
    let kinds: Vec<Entry<'_>> = kinds.collect();
    let &[named] = &kinds[..] else {
        report.push(malformed_sink::not_one(&kinds, table.at));
        return None;
    };
    let kind = SinkKind::named(named.name)?;
    let name = read_table(named, report);
    let (data, pattern) = (draft.data?, draft.pattern.as_ref()?);
    let content = &draft.content.as_ref()?.content;
    if is_kept {
        report.push(sink_type::derived(named.name_at, draft.at));
        return None;
    }
    if let Some(ttl) = draft.table.entry("ttl")
        && matches!(ttl.value.get_ref(), DeValue::Table(table) if table.contains_key("with"))
    {
        report.push(sink_type::companion(named.name_at, ttl.name_at));
        return None;
    }
    if !takes(kind, data) {
        report.push(sink_type::found(kind, data, named.name_at));
        return None;
    }
    for foreign in foreign_to(kind).iter().filter_map(|name| table.entry(name)) {
        report.push(malformed_sink::foreign(foreign, kind));
    }
    if let Some(bound) = draft.table.entry("max_len").filter(|_| kind == SinkKind::Drain) {
        report.push(malformed_sink::bounded_drain(bound.name_at));
    }
    let retain = table.duration("retain", report).map(|retain| retain.value);
    let drop = table.duration("drop", report).map(|drop| drop.value);
    if let (Some(retain), Some(dropped)) = (retain, drop)
        && let Some(entry) = table.entry("drop").filter(|_| dropped.as_ms() > retain.as_ms())
    {
        report.push(malformed_sink::dropped_too_late(entry.name_at));
    }
    if let Some(entry) = table.entry("drop").filter(|_| data == DataType::Stream) {
        report.push(malformed_sink::dropped_from_stream(entry.name_at));
    }
    let merge = table.choice("merge", Merge::NAMES, Merge::named, report);
    let merge = merge.map(|merge| merge.value);
    let deletion = table.choice("deleted", Deletion::NAMES, Deletion::named, report);
    let deletion = deletion.map_or(Deletion::Delete, |deletion| deletion.value);
    let mut reading = Reading { pattern, content, secret, said: Vec::new(), used: Vec::new() };
    reading.read_columns(&table, report);
    let columns = reading.columns((kind, merge, deletion), entry.name_at, report);
    let has_column = |from: &ColumnSource| columns.iter().any(|column| column.from == *from);
    let all_placed = (0..pattern.placeholders().len())
        .all(|index| has_column(&ColumnSource::Placeholder(index)));
    if kind == SinkKind::Mirror && !all_placed {
        report.push(malformed_sink::nameless(entry.name_at));
    }
    let key = read_key(&table, kind, merge, &columns, report);
    if report.errors_total() != errors_before {
        return None;
    }
    Some(Some(Sink {
        kind,
        table: name?,
        columns,
        key,
        retain,
        drop,
        merge,
        deletion,
        at: entry.name_at,
    }))
}

/// The name of the table, perhaps behind that of a schema.
fn read_table(entry: Entry<'_>, report: &mut Report) -> Option<Box<str>> {
    let name = text(entry, report)?;
    let mut parts = name.value.split('.');
    let is_known = name.value.matches('.').count() < 2 && parts.all(is_sql_name);
    if !is_known {
        report.push(malformed_sink::bad_name(name.value, name.at));
        return None;
    }
    Some(name.value.into())
}

/// Whether keys of a type have such a sink.
fn takes(kind: SinkKind, data: DataType) -> bool {
    use DataType::*;
    match kind {
        SinkKind::Mirror | SinkKind::Archive => {
            matches!(data, Hash | Json | String | Int | Float | Decimal | Bytes)
        }
        SinkKind::Append => matches!(data, List | Stream),
        SinkKind::Drain => data == List,
    }
}

/// Settings that a kind of sink does not have.
fn foreign_to(kind: SinkKind) -> &'static [&'static str] {
    match kind {
        SinkKind::Mirror => &["retain", "merge", "key", "drop"],
        SinkKind::Archive | SinkKind::Drain => &["deleted", "drop"],
        SinkKind::Append => &["deleted", "merge"],
    }
}

/// A column as the schema names it.
struct Said {
    name: Box<str>,
    from: ColumnSource,
    ty: Option<ColumnType>,
    strip: Option<Box<str>>,
}

struct Reading<'a> {
    pattern: &'a Pattern,
    content: &'a Content,
    secret: (bool, &'a [usize]),
    said: Vec<Said>,
    /// What has a column, or is to have none.
    used: Vec<ColumnSource>,
}

impl<'a> Reading<'a> {
    /// The fields of a row or an item.
    fn object(&self) -> Option<&'a Object> {
        match self.content {
            Content::Fields(object) | Content::Entries(object) => Some(object),
            Content::Json(shape) | Content::Items(shape) => shape.object(),
            _ => None,
        }
    }

    /// Reads `columns`.
    fn read_columns(&mut self, table: &Table<'_>, report: &mut Report) {
        let Some(columns) = table.table("columns", report) else { return };
        let mut split: Option<Box<str>> = None;
        for entry in super::table::entries(columns.value) {
            self.read_column(entry, &mut split, report);
        }
        if let Some(name) = split {
            let ty = None;
            self.said.insert(0, Said { name, from: ColumnSource::SplitName, ty, strip: None });
        }
    }

    fn read_column(
        &mut self,
        entry: Entry<'_>,
        split: &mut Option<Box<str>>,
        report: &mut Report,
    ) -> Option<()> {
        let name_at = entry.name_at;
        let own_name = Located { value: entry.name, at: name_at };
        if let DeValue::Boolean(false) = entry.value.get_ref() {
            let from = self.source(own_name, split, report)?;
            self.used.push(from);
            return Some(());
        }
        if !is_sql_name(entry.name) {
            report.push(malformed_sink::bad_name(entry.name, name_at));
            return None;
        }
        let (from, ty, strip) = match entry.value.get_ref() {
            DeValue::String(from) => {
                (Located { value: &**from, at: entry.value.span().into() }, None, None)
            }
            DeValue::Table(raw) => {
                let table = Table::open(Scope::Column, raw, name_at, report);
                let from = table.text("from", report).unwrap_or(own_name);
                let ty = table.text("type", report);
                let strip = table.text("strip", report);
                (from, ty, strip)
            }
            _ => {
                let expected = "a field, a table, or false";
                report.push(wrong_value::found(entry, expected));
                return None;
            }
        };
        let from = self.source(from, split, report)?;
        let ty = match ty {
            Some(ty) => Some(self.column_type(ty, &from, report)?),
            None => None,
        };
        if let Some(strip) = strip {
            self.check_strip(strip, &from, report)?;
        }
        let strip = strip.map(|strip| strip.value.into());
        self.used.push(from.clone());
        self.said.push(Said { name: entry.name.into(), from, ty, strip });
        Some(())
    }

    /// What a column is filled from.
    fn source(
        &self,
        from: Located<&str>,
        split: &mut Option<Box<str>>,
        report: &mut Report,
    ) -> Option<ColumnSource> {
        if let Some(index) = self.object().and_then(|object| object.field(from.value)) {
            return Some(ColumnSource::Field(index));
        }
        if let Some((before, name, after)) = braced(from.value) {
            let placeholder = self.pattern.placeholder(name);
            if let Some(index) = placeholder.filter(|_| before.is_empty() && after.is_empty()) {
                return Some(ColumnSource::Placeholder(index));
            }
            let splits = self.object().is_some_and(|object| object.extra != Extra::Reject)
                && !(before.is_empty() && after.is_empty())
                && is_name(name)
                && is_sql_name(name)
                && placeholder.is_none();
            if splits && split.as_deref().is_none_or(|other| other == name) {
                *split = Some(name.into());
                return Some(ColumnSource::Split(before.into(), after.into()));
            }
        }
        let whole = match self.content {
            Content::Value(_) | Content::Json(_) => "value",
            Content::Items(_) => "item",
            _ => "",
        };
        if from.value == whole && self.object().is_none() {
            return Some(ColumnSource::Value);
        }
        if from.value == "extra" && self.object().is_some_and(|own| own.extra != Extra::Reject) {
            return Some(ColumnSource::Extra);
        }
        let fields = self.object().map_or(&[][..], |object| &object.fields);
        let fields: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
        report.push(column_source::found(from, &fields, self.pattern));
        None
    }

    /// The shape of what a column is filled from.
    fn shape(&self, from: &ColumnSource) -> Shape {
        let object = self.object();
        match from {
            ColumnSource::Placeholder(index) => {
                crate::schema::shape_of_kind(&self.pattern.placeholders()[*index].kind)
            }
            ColumnSource::Field(index) => match object {
                Some(object) => object.fields[*index].shape.clone(),
                None => Shape::of(Type::String),
            },
            ColumnSource::Split(..) => match object.map(|object| &object.extra) {
                Some(Extra::Typed(shape)) => (**shape).clone(),
                _ => Shape::of(Type::String),
            },
            ColumnSource::Value => match self.content {
                Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
                    shape.clone()
                }
                _ => Shape::of(Type::String),
            },
            ColumnSource::Extra => Shape::of(Type::Json),
            ColumnSource::SplitName
            | ColumnSource::Key
            | ColumnSource::Time
            | ColumnSource::Entry => Shape::of(Type::String),
        }
    }

    fn column_type(
        &self,
        written: Located<&str>,
        from: &ColumnSource,
        report: &mut Report,
    ) -> Option<ColumnType> {
        let Some(ty) = ColumnType::named(written.value) else {
            report.push(column_type::unknown(written));
            return None;
        };
        let shape = self.shape(from);
        let is_of_key = matches!(from, ColumnSource::Placeholder(_));
        if !ty.holds(&shape.ty) || is_of_key && ty == ColumnType::Bytea {
            report.push(column_type::unfit(ty, &shape, written.at));
            return None;
        }
        Some(ty)
    }

    /// Every value must begin with what is stripped.
    fn check_strip(
        &self,
        strip: Located<&str>,
        from: &ColumnSource,
        report: &mut Report,
    ) -> Option<()> {
        let shape = self.shape(from);
        let prefix = shape.limits.prefix.as_deref().unwrap_or_default();
        if !strip.value.is_empty() && prefix.starts_with(strip.value) {
            return Some(());
        }
        report.push(column_type::not_stripped(strip));
        None
    }

    /// All columns in order: those of the key, of the fields, and those that tell when.
    fn columns(
        &mut self,
        (kind, merge, deletion): (SinkKind, Option<Merge>, Deletion),
        at: Span,
        report: &mut Report,
    ) -> Vec<Column> {
        let mut sources = Vec::new();
        let (all_secret, secret) = self.secret;
        let placeholders = self.pattern.placeholders();
        if placeholders.is_empty() && matches!(kind, SinkKind::Mirror | SinkKind::Archive) {
            sources.push((ColumnSource::Key, "key"));
        }
        for (index, placeholder) in placeholders.iter().enumerate() {
            let name = if secret.contains(&index) { "" } else { &*placeholder.name };
            sources.push((ColumnSource::Placeholder(index), name));
        }
        if self.said.iter().any(|said| said.from == ColumnSource::SplitName) {
            sources.push((ColumnSource::SplitName, ""));
        }
        match self.object() {
            Some(object) => {
                for (index, field) in object.fields.iter().enumerate() {
                    let is_open = !all_secret && !field.shape.has_secret() && field.same.is_none();
                    let name = if is_open { &*field.name } else { "" };
                    sources.push((ColumnSource::Field(index), name));
                }
                let splits = self.said.iter().map(|said| said.from.clone());
                let splits = splits.filter(|from| matches!(from, ColumnSource::Split(..)));
                sources.extend(splits.map(|from| (from, "")));
                if object.extra != Extra::Reject {
                    let is_open = !all_secret && !object.secret && !has_secret(&object.extra);
                    sources.push((ColumnSource::Extra, if is_open { "extra" } else { "" }));
                }
            }
            None => {
                let name = if matches!(self.content, Content::Items(_)) { "item" } else { "value" };
                let is_open = !all_secret && !self.shape(&ColumnSource::Value).has_secret();
                sources.push((ColumnSource::Value, if is_open { name } else { "" }));
            }
        }
        match (kind, merge) {
            (SinkKind::Mirror, _) if deletion == Deletion::Mark => {
                sources.push((ColumnSource::Time, "deleted_at"));
            }
            (SinkKind::Mirror, _) | (_, Some(Merge::Add)) => {}
            (SinkKind::Archive, None) => {
                sources.push((ColumnSource::Time, "ended_at"));
                sources.push((ColumnSource::Entry, "entry"));
            }
            (SinkKind::Append | SinkKind::Drain, None) => {
                sources.push((ColumnSource::Time, "pushed_at"));
                sources.push((ColumnSource::Entry, "entry"));
            }
        }
        let mut columns: Vec<Column> = Vec::new();
        for (from, default_name) in sources {
            let said: Vec<&Said> = self.said.iter().filter(|said| said.from == from).collect();
            if said.is_empty() && !default_name.is_empty() && !self.used.contains(&from) {
                if !is_sql_name(default_name) {
                    report.push(malformed_sink::unnamed(default_name, at));
                    continue;
                }
                columns.push(self.column(default_name, from, None, None, kind));
                continue;
            }
            for said in said {
                let from = from.clone();
                columns.push(self.column(&said.name, from, said.ty, said.strip.clone(), kind));
            }
        }
        let mut names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            report.push(malformed_sink::column_twice(twice[0], at));
        }
        columns
    }

    fn column(
        &self,
        name: &str,
        from: ColumnSource,
        ty: Option<ColumnType>,
        strip: Option<Box<str>>,
        kind: SinkKind,
    ) -> Column {
        let shape = self.shape(&from);
        let default = match from {
            ColumnSource::Time => ColumnType::Timestamptz,
            _ => ColumnType::of_shape(&shape),
        };
        let required = match &from {
            ColumnSource::Placeholder(_)
            | ColumnSource::SplitName
            | ColumnSource::Key
            | ColumnSource::Entry => true,
            ColumnSource::Time => kind != SinkKind::Mirror,
            // A split row has none of the other fields.
            ColumnSource::Field(index) => self.object().is_some_and(|object| {
                object.fields[*index].required
                    && !shape.nullable
                    && !self.said.iter().any(|said| said.from == ColumnSource::SplitName)
            }),
            ColumnSource::Value => !shape.nullable,
            ColumnSource::Extra | ColumnSource::Split(..) => false,
        };
        let words = match &shape.ty {
            Type::Kind(Kind::Enum(words)) => words.to_vec(),
            _ => Vec::new(),
        };
        let is_month = shape.ty == Type::Kind(Kind::Month);
        let ty = ty.unwrap_or(default);
        Column { name: name.into(), from, ty, strip, required, words, is_month }
    }
}

fn has_secret(extra: &Extra) -> bool {
    matches!(extra, Extra::Typed(shape) if shape.has_secret())
}

/// `{name}` and what stands on either side of it.
fn braced(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    (!after.contains(['{', '}'])).then_some((before, name, after))
}

/// The columns of the primary key.
fn read_key(
    table: &Table<'_>,
    kind: SinkKind,
    merge: Option<Merge>,
    columns: &[Column],
    report: &mut Report,
) -> Vec<usize> {
    let named = |name: &str| columns.iter().position(|column| &*column.name == name);
    if table.entry("key").is_some() {
        let mut key = Vec::new();
        for name in table.texts("key", report) {
            match named(name.value) {
                Some(index) if !columns[index].required => {
                    report.push(malformed_sink::absent_key(name));
                }
                Some(index) if !key.contains(&index) => key.push(index),
                Some(_) => {}
                None => {
                    let known: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
                    report.push(malformed_sink::no_column(name, &known));
                }
            }
        }
        if !key.is_empty() {
            return key;
        }
    }
    let is_key = |column: &Column| match column.from {
        ColumnSource::Placeholder(_) => kind != SinkKind::Drain || merge.is_none(),
        ColumnSource::Key | ColumnSource::SplitName | ColumnSource::Entry => true,
        ColumnSource::Time => kind == SinkKind::Archive,
        _ => false,
    };
    let key: Vec<usize> = (0..columns.len()).filter(|index| is_key(&columns[*index])).collect();
    if key.is_empty() {
        report.push(malformed_sink::no_key(table.at));
    }
    key
}
