//! Rows as COMMAND INFO and COMMAND DOCS answer them.
//!
//! The order of subcommands is the table's; Redis's changes from start to start.
//! Not here: which commands were asked for, which is the handler's part.

use keyward_resp::ReplyWriter;

use crate::argument::Argument;
use crate::command::{Command, KeyPositions, KeySpec};

/// One element of COMMAND's and COMMAND INFO's reply.
pub fn write_info(command: &Command, reply: &mut ReplyWriter<'_>) {
    reply.array(10);
    text(reply, command.name);
    reply.integer(command.arity.wire());
    write_words(reply, command.flags.wire_names());
    reply.integer(command.legacy_keys.first);
    reply.integer(command.legacy_keys.last);
    reply.integer(command.legacy_keys.step);
    let categories = command.acl.wire_names();
    reply.set(categories.clone().count());
    for category in categories {
        reply.simple(&format!("@{category}"));
    }
    reply.set(command.tips.len());
    for tip in command.tips {
        text(reply, tip);
    }
    reply.set(command.keys.len());
    for spec in command.keys {
        write_key_spec(spec, reply);
    }
    if command.subcommand_count == 0 {
        return reply.set(0);
    }
    reply.array(command.subcommands().len());
    for subcommand in command.subcommands() {
        write_info(subcommand, reply);
    }
}

/// One value of COMMAND DOCS' reply; its key is the command's name.
pub fn write_docs(command: &Command, reply: &mut ReplyWriter<'_>) {
    let place = reply.defer();
    let mut fields = 0;
    let mut field = |reply: &mut ReplyWriter<'_>, name: &str| {
        fields += 1;
        text(reply, name);
    };
    let complexity = Some(command.complexity).filter(|text| !text.is_empty());
    field(reply, "summary");
    text(reply, command.summary);
    field(reply, "since");
    text(reply, command.since);
    field(reply, "group");
    text(reply, command.group.wire_name());
    if let Some(complexity) = complexity {
        field(reply, "complexity");
        text(reply, complexity);
    }
    if !command.doc_flags.is_empty() {
        field(reply, "doc_flags");
        write_words(reply, command.doc_flags.wire_names());
    }
    for (name, value) in
        [("deprecated_since", command.deprecated_since), ("replaced_by", command.replaced_by)]
    {
        if let Some(value) = value {
            field(reply, name);
            text(reply, value);
        }
    }
    if !command.history.is_empty() {
        field(reply, "history");
        reply.set(command.history.len());
        for (version, change) in command.history {
            reply.array(2);
            text(reply, version);
            text(reply, change);
        }
    }
    if !command.args.is_empty() {
        field(reply, "arguments");
        write_arguments(command.args, reply);
    }
    if command.subcommand_count > 0 {
        field(reply, "subcommands");
        reply.map(command.subcommands().len());
        for subcommand in command.subcommands() {
            text(reply, subcommand.name);
            write_docs(subcommand, reply);
        }
    }
    reply.end_map(place, fields);
}

fn write_key_spec(spec: &KeySpec, reply: &mut ReplyWriter<'_>) {
    reply.map(3 + usize::from(spec.notes.is_some()));
    if let Some(notes) = spec.notes {
        text(reply, "notes");
        text(reply, notes);
    }
    text(reply, "flags");
    write_words(reply, spec.flags.wire_names());
    text(reply, "begin_search");
    match spec.positions {
        KeyPositions::One(first)
        | KeyPositions::NumKeys(first)
        | KeyPositions::Range { first, .. } => typed(reply, "index", &[("index", first.into())]),
        KeyPositions::After(word) => {
            head(reply, "keyword", 2);
            text(reply, "keyword");
            text(reply, word);
            number(reply, "startfrom", -2);
        }
        KeyPositions::Behind { word, from } | KeyPositions::HalfAfter { word, from } => {
            head(reply, "keyword", 2);
            text(reply, "keyword");
            text(reply, word);
            number(reply, "startfrom", from.into());
        }
        KeyPositions::Unknown => typed(reply, "unknown", &[]),
    }
    text(reply, "find_keys");
    match spec.positions {
        KeyPositions::One(_) | KeyPositions::Behind { .. } => range(reply, 0, 1),
        KeyPositions::Range { first, last, step } => {
            // Here a last key counted from the front is relative to the first.
            let relative = if last < 0 { last.into() } else { i64::from(last) - i64::from(first) };
            range(reply, relative, step.into());
        }
        KeyPositions::NumKeys(_) => {
            typed(reply, "keynum", &[("keynumidx", 0), ("firstkey", 1), ("keystep", 1)]);
        }
        KeyPositions::After(_) => range(reply, -1, 1),
        KeyPositions::HalfAfter { .. } => {
            typed(reply, "range", &[("lastkey", -1), ("keystep", 1), ("limit", 2)]);
        }
        KeyPositions::Unknown => typed(reply, "unknown", &[]),
    }
}

fn range(reply: &mut ReplyWriter<'_>, last: i64, step: i64) {
    typed(reply, "range", &[("lastkey", last), ("keystep", step), ("limit", 0)]);
}

/// A map of a type and its numbers.
fn typed(reply: &mut ReplyWriter<'_>, kind: &str, numbers: &[(&str, i64)]) {
    head(reply, kind, numbers.len());
    for (name, value) in numbers {
        number(reply, name, *value);
    }
}

/// The beginning of a map of a type and so many details.
fn head(reply: &mut ReplyWriter<'_>, kind: &str, count: usize) {
    reply.map(2);
    text(reply, "type");
    text(reply, kind);
    text(reply, "spec");
    reply.map(count);
}

fn number(reply: &mut ReplyWriter<'_>, name: &str, value: i64) {
    text(reply, name);
    reply.integer(value);
}

fn write_arguments(arguments: &[Argument], reply: &mut ReplyWriter<'_>) {
    reply.array(arguments.len());
    for argument in arguments {
        write_argument(argument, reply);
    }
}

fn write_argument(argument: &Argument, reply: &mut ReplyWriter<'_>) {
    let place = reply.defer();
    text(reply, "name");
    text(reply, argument.name);
    text(reply, "type");
    text(reply, argument.kind.wire_name());
    let mut fields = 2;
    if let Some(index) = argument.key_spec {
        fields += 1;
        text(reply, "key_spec_index");
        reply.integer(index.into());
    }
    for (name, value) in [
        ("token", argument.token),
        ("since", argument.since),
        ("deprecated_since", argument.deprecated_since),
    ] {
        if let Some(value) = value {
            fields += 1;
            text(reply, name);
            text(reply, value);
        }
    }
    let flags = [
        ("optional", argument.optional),
        ("multiple", argument.multiple),
        ("multiple_token", argument.multiple_token),
    ];
    let flags = flags.iter().filter(|(_, set)| *set).map(|(name, _)| *name);
    if flags.clone().next().is_some() {
        fields += 1;
        text(reply, "flags");
        write_words(reply, flags);
    }
    if !argument.arguments.is_empty() {
        fields += 1;
        text(reply, "arguments");
        write_arguments(argument.arguments, reply);
    }
    reply.end_map(place, fields);
}

fn text(reply: &mut ReplyWriter<'_>, text: &str) {
    reply.bulk(text.as_bytes());
}

/// A set of simple strings, as flags are told.
pub fn write_words(reply: &mut ReplyWriter<'_>, words: impl Iterator<Item = &'static str> + Clone) {
    reply.set(words.clone().count());
    for word in words {
        reply.simple(word);
    }
}
