//! The section of a function.

use keyward_schema::facts::{Inline, Line, is_telling, object_within, shape_line};
use keyward_schema::{
    Argument, Binding, DataType, ExampleValue, Function, FunctionKey, KeyId, Target, Type,
    shape_of_kind,
};

use super::anchors::Part;
use super::commands::quote;
use super::fields;
use super::json::compact;
use super::page::{Badge, Block, Language, Role, Section, Table};
use crate::example::captures;

/// Everything about one function.
pub(super) fn section(part: &Part<'_>, index: usize) -> Section {
    let function = &part.schema.functions[index];
    let mut section =
        Section::new(part.links.function_anchor(index), Line::code(&*function.name), Role::Entry);
    section.badges.push(Badge { text: "function".to_owned(), tone: "function" });
    if function.read_only {
        section.badges.push(Badge { text: "read only".to_owned(), tone: "derived" });
    }
    section.blocks.extend(function.doc.as_ref().map(|doc| Block::Prose(doc.to_string())));
    if !function.keys.is_empty() {
        section.blocks.push(Block::Facts(vec![("Keys", keys(part, function))]));
    }
    if !function.args.is_empty() {
        section.blocks.push(Block::Table(arguments(function)));
    }
    if let Some(reply) = &function.reply {
        section.blocks.push(Block::Facts(vec![("Reply", vec![shape_line(reply)])]));
        let object = object_within(reply).filter(|object| is_telling(object));
        section.blocks.extend(object.map(|object| Block::Table(fields::table(object))));
    }
    if !function.errors.is_empty() {
        let mut table = Table::of(["Error", "When"]);
        for (code, meaning) in &function.errors {
            table.push([Line::code(&**code), Line::prose(Some(meaning))]);
        }
        section.blocks.push(Block::Table(table));
    }
    section.blocks.push(Block::Code { language: Language::Redis, text: call(part, function) });
    section
}

fn keys(part: &Part<'_>, function: &Function) -> Vec<Line> {
    let key = |key: &FunctionKey| {
        let repeat = if key.repeated { ", any number of them" } else { "" };
        let line = match &key.targets[..] {
            [target] => part.links.key_link_as(target.reference.key, &key.template),
            targets => {
                let links = targets.iter().map(|target| part.links.key_link(target.reference.key));
                Line::code(&*key.template).and(": ").and_line(Line::join(links, ", "))
            }
        };
        line.and(repeat)
    };
    function.keys.iter().map(key).collect()
}

fn arguments(function: &Function) -> Table {
    let mut table = Table::of(["Argument", "Type", "Required"]);
    for argument in &function.args {
        let required = match argument {
            Argument { repeated: true, .. } => "any number",
            Argument { required: true, .. } => "yes",
            _ => "no",
        };
        table.push([
            Line::code(&*argument.name),
            shape_line(&argument.shape),
            Line::text(required),
        ]);
    }
    table
}

/// An example call, ready for redis-cli.
fn call(part: &Part<'_>, function: &Function) -> String {
    let command = if function.read_only { "FCALL_RO" } else { "FCALL" };
    let Call { targets, values } = Call::of(part, function);
    let keys = targets.iter().map(|target| quote(&filled(part, target, &values)));
    let args = function.args.iter().map(|argument| {
        let known = function.variables.iter().position(|name| *name == argument.name);
        let known = known.map(|index| values[index].clone());
        let row = || match argument.shape.ty {
            Type::Json => json_row(part, &targets),
            _ => None,
        };
        known
            .filter(|value| argument.shape.check(value.as_bytes()).is_ok())
            .or_else(row)
            .or_else(|| part.examples().text(&argument.name, &argument.shape))
            .map_or_else(|| format!("<{}>", argument.name), |value| quote(&value))
    });
    let words = [command.to_owned(), function.name.to_string(), targets.len().to_string()];
    words.into_iter().chain(keys).chain(args).collect::<Vec<_>>().join(" ")
}

/// What the first of the keys with JSON in it holds: an argument of which no
/// more is known than that it is JSON is most likely such a row.
fn json_row(part: &Part<'_>, targets: &[&Target]) -> Option<String> {
    targets.iter().map(|target| target.reference.key).find_map(|key| {
        match (part.schema.key(key).data, &part.examples().get(key).value) {
            (DataType::Json, Some(ExampleValue::Text(json))) => Some(compact(json)),
            _ => None,
        }
    })
}

/// A call in the making: a pattern for each key, a value for each variable.
struct Call<'s> {
    targets: Vec<&'s Target>,
    values: Vec<String>,
}

impl<'s> Call<'s> {
    /// Takes for each key the first pattern that agrees with the words that
    /// earlier ones have settled.
    fn of(part: &Part<'s>, function: &'s Function) -> Call<'s> {
        let mut settled: Vec<Option<&str>> = vec![None; function.variables.len()];
        let mut targets = Vec::new();
        for key in &function.keys {
            let agrees = |target: &&Target| {
                target.words.iter().all(|(variable, word)| {
                    settled[*variable].is_none_or(|settled| settled == &**word)
                })
            };
            let Some(target) = key.targets.iter().find(agrees).or(key.targets.first()) else {
                continue;
            };
            for (variable, word) in &target.words {
                settled[*variable].get_or_insert(word);
            }
            targets.push(target);
        }
        let value = |variable: usize| match settled[variable] {
            Some(word) => word.to_owned(),
            None => value_of(part, &targets, variable, &function.variables[variable]),
        };
        Call { values: (0..settled.len()).map(value).collect(), targets }
    }
}

/// A value that fits wherever the keys use the variable: from the example of
/// one of these keys if it can be.
fn value_of(part: &Part<'_>, targets: &[&Target], variable: usize, name: &str) -> String {
    let uses: Vec<(KeyId, usize)> = targets
        .iter()
        .flat_map(|target| {
            let bindings = target.reference.bindings.iter().enumerate();
            bindings
                .filter(|(_, binding)| **binding == Binding::Bound(variable))
                .map(|(place, _)| (target.reference.key, place))
        })
        .collect();
    let kind =
        |&(key, place): &(KeyId, usize)| &part.schema.key(key).pattern.placeholders()[place].kind;
    let fits = |value: &str| uses.iter().all(|place| kind(place).accepts(value.as_bytes()));
    let shown = uses.iter().find_map(|&(key, place)| {
        let captures = captures(&part.schema.key(key).pattern, &part.examples().get(key).key)?;
        captures.get(place).filter(|value| fits(value)).map(|value| (*value).to_owned())
    });
    let generated = || {
        let text = |place| part.examples().text(name, &shape_of_kind(kind(place)));
        uses.iter().filter_map(text).find(|value| fits(value))
    };
    shown.or_else(generated).unwrap_or_else(|| format!("<{name}>"))
}

fn filled(part: &Part<'_>, target: &Target, values: &[String]) -> String {
    let bound = target.reference.bindings.iter().map(|binding| match binding {
        Binding::Bound(variable) => &*values[*variable],
        Binding::Literal(literal) => literal,
        Binding::Member => unreachable!("a function's keys have no members"),
    });
    let pattern = &part.schema.key(target.reference.key).pattern;
    String::from_utf8_lossy(&pattern.fill(&bound.collect::<Vec<_>>())).into_owned()
}

/// The functions at a glance.
pub(super) fn summary(part: &Part<'_>, functions: &[usize]) -> Table {
    let mut table = Table::of(["Function", "What it does"]);
    for &index in functions {
        let doc = part.schema.functions[index].doc.as_deref();
        let doc = doc.map(|doc| Inline::Prose(doc.trim().to_owned()));
        table.push([part.links.function_link(index), Line(doc.into_iter().collect())]);
    }
    table.without_empty_columns()
}
