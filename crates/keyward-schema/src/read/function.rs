//! Functions from TOML.

use toml::de::DeValue;

use super::draft::KeyDraft;
use super::table::{Entry, Located, Table, table, text};
use super::template::{Resolved, Unresolved, report_unresolved, resolve, resolve_or_report};
use super::{comparison, shape};
use crate::checks::malformed_shape::Place;
use crate::checks::{
    function_key, function_variable, malformed_function, malformed_shape, null_in_text, too_many,
    wrong_value,
};
use crate::derived::Binding;
use crate::diagnostic::Report;
use crate::function::{Argument, Function, FunctionKey, Target};
use crate::pattern::{Kind, Pattern, is_name};
use crate::settings::Scope;
use crate::shape::parse_expr;
use crate::source::Span;

/// The suffix of a key or argument that repeats.
const REPEAT: &str = "...";

/// The most patterns that the words of one key may choose among.
const MAX_TARGETS: usize = 64;

/// The most keys, and the most arguments, that one function may declare.
const MAX_FUNCTION_PARTS: usize = 32;

pub(super) fn read(
    entry: Entry<'_>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Option<Function> {
    let raw = table(entry, report)?;
    let at = entry.name_at;
    if !is_name(entry.name) {
        report.push(malformed_function::name(entry.name, at));
    }
    let table = Table::open(Scope::Function, raw.value, at, report);
    let mut variables = Variables::default();
    let keys = read_keys(&table, drafts, &mut variables, report);
    let args = read_args(&table, report);
    let reply = match table.entry("reply") {
        Some(reply) => {
            let mut reply = shape::read(reply, report)?;
            comparison::refuse_same(&mut reply, report);
            Some(reply)
        }
        None => None,
    };
    let errors = read_errors(&table, report);
    Some(Function {
        name: entry.name.into(),
        doc: table.owned_text("doc", report),
        group: table.owned_text("group", report),
        keys: keys?,
        variables: variables.known.into_iter().map(|variable| variable.name).collect(),
        args: args?,
        reply,
        errors,
        read_only: table.switch("read_only", report).is_some_and(|read_only| read_only.value),
        at,
        keyspace: 0,
    })
}

/// The names of a function's placeholders, and what their uses so far allow.
#[derive(Default)]
struct Variables {
    known: Vec<Variable>,
}

struct Variable {
    name: Box<str>,
    kind: Kind,
    at: Span,
}

impl Variables {
    fn bind(&mut self, name: &str, kind: &Kind, at: Span, report: &mut Report) -> usize {
        if let Some(index) = self.known.iter().position(|known| &*known.name == name) {
            let known = &mut self.known[index];
            if kind.is_within(&known.kind) {
                // From here on it is what the narrower use says.
                if known.kind != *kind {
                    (known.kind, known.at) = (kind.clone(), at);
                }
            } else if !known.kind.is_within(kind) {
                report.push(
                    function_variable::found(name, kind, &known.kind, at)
                        .see(known.at, "used here"),
                );
            }
            return index;
        }
        self.known.push(Variable { name: name.into(), kind: kind.clone(), at });
        self.known.len() - 1
    }
}

/// The texts of a setting, as many as a function may have.
fn limited<'t>(
    table: &Table<'t>,
    name: &'static str,
    report: &mut Report,
) -> Vec<Located<&'t str>> {
    let mut texts = table.texts(name, report);
    if let Some(beyond) = texts.get(MAX_FUNCTION_PARTS) {
        report.push(too_many::found(name, MAX_FUNCTION_PARTS, beyond.at));
        texts.truncate(MAX_FUNCTION_PARTS);
    }
    texts
}

fn read_keys(
    table: &Table<'_>,
    drafts: &[KeyDraft<'_>],
    variables: &mut Variables,
    report: &mut Report,
) -> Option<Vec<FunctionKey>> {
    let templates = limited(table, "keys", report);
    let last = templates.len().saturating_sub(1);
    let mut keys = Vec::new();
    for (index, template) in templates.into_iter().enumerate() {
        let (text, repeated) = strip_repeat(template.value);
        if repeated && index < last {
            report.push(malformed_function::repeat_not_last(template.at));
        }
        let template = Located { value: text, at: template.at };
        keys.push(
            read_key(template, drafts, variables, report)
                .map(|key| FunctionKey { repeated, ..key }),
        );
    }
    keys.into_iter().collect()
}

fn read_key(
    template: Located<&str>,
    drafts: &[KeyDraft<'_>],
    variables: &mut Variables,
    report: &mut Report,
) -> Option<FunctionKey> {
    let targets = match resolve(template.value, drafts, report.steps()) {
        Ok(resolved) => vec![target(&resolved, Vec::new(), template.at, variables, report)],
        Err(Unresolved::NoPattern) => read_choices(template, drafts, variables, report)?,
        Err(unresolved) => {
            report_unresolved(unresolved, "keys", template, drafts, report);
            return None;
        }
    };
    Some(FunctionKey { template: template.value.into(), targets, repeated: false })
}

/// A template whose words choose among patterns: `{kind:team|news}:{id}:likes`.
fn read_choices(
    template: Located<&str>,
    drafts: &[KeyDraft<'_>],
    variables: &mut Variables,
    report: &mut Report,
) -> Option<Vec<Target>> {
    let pattern = Pattern::parse(template.value).ok()?;
    let Some(choices) = pattern.spelled_out(MAX_TARGETS) else {
        report.push_with(&function_key::RULE, || function_key::found(template, drafts));
        return None;
    };
    let mut targets = Vec::new();
    for choice in choices {
        let spelled = Located { value: choice.pattern.text(), at: template.at };
        let resolved = resolve_or_report("keys", spelled, drafts, report)?;
        let settle = |(index, word): (usize, Box<str>)| {
            let placeholder = &pattern.placeholders()[index];
            (variables.bind(&placeholder.name, &placeholder.kind, template.at, report), word)
        };
        let words = choice.words.into_iter().map(settle).collect();
        targets.push(target(&resolved, words, template.at, variables, report));
    }
    Some(targets)
}

fn target(
    resolved: &Resolved<'_>,
    words: Vec<(usize, Box<str>)>,
    at: Span,
    variables: &mut Variables,
    report: &mut Report,
) -> Target {
    for (name, kind) in resolved.names() {
        variables.bind(name, kind, at, report);
    }
    let index = |name: &str| variables.known.iter().position(|known| &*known.name == name);
    let reference = resolved.reference(|name| index(name).map_or(Binding::Member, Binding::Bound));
    Target { reference, words }
}

fn strip_repeat(text: &str) -> (&str, bool) {
    match text.trim().strip_suffix(REPEAT) {
        Some(repeated) => (repeated.trim_end(), true),
        None => (text.trim(), false),
    }
}

fn read_args(table: &Table<'_>, report: &mut Report) -> Option<Vec<Argument>> {
    let texts = limited(table, "args", report);
    let last = texts.len().saturating_sub(1);
    let mut args: Vec<Argument> = Vec::new();
    let mut sound = true;
    for (index, text) in texts.into_iter().enumerate() {
        let Some(argument) = read_arg(text, report) else {
            sound = false;
            continue;
        };
        if argument.repeated && index < last {
            report.push(malformed_function::repeat_not_last(text.at));
        }
        let is_left_out = |before: &Argument| !before.required && !before.repeated;
        if argument.required && args.last().is_some_and(is_left_out) {
            report.push(malformed_function::required_behind_optional(&argument.name, text.at));
        }
        if args.iter().any(|before| before.name == argument.name) {
            report.push(malformed_function::repeated_argument(&argument.name, text.at));
        }
        args.push(argument);
    }
    sound.then_some(args)
}

fn read_arg(text: Located<&str>, report: &mut Report) -> Option<Argument> {
    let (declaration, repeated) = strip_repeat(text.value);
    let Some((name, ty)) = declaration.split_once(':').filter(|(name, _)| is_name(name.trim()))
    else {
        report.push(malformed_function::argument(text));
        return None;
    };
    match parse_expr(ty.trim(), None) {
        Ok((shape, _)) if shape.nullable && !shape.ty.is_json() => {
            report.push(null_in_text::argument(name.trim(), &shape, text.at));
            None
        }
        Ok((shape, optional)) => Some(Argument {
            name: name.trim().into(),
            shape,
            required: !optional && !repeated,
            repeated,
        }),
        Err(error) => {
            let before = text.value.len() - text.value.trim_start().len();
            let start = before + declaration.len() - ty.trim_start().len();
            let place = Place::Argument(text, start..start + ty.trim().len());
            report.push(malformed_shape::found(&error, &place));
            None
        }
    }
}

fn read_errors(table: &Table<'_>, report: &mut Report) -> Vec<(Box<str>, Box<str>)> {
    let Some(entry) = table.entry("errors") else { return Vec::new() };
    let DeValue::Table(errors) = entry.value.get_ref() else {
        report.push(wrong_value::found(entry, "a table of codes and their meanings"));
        return Vec::new();
    };
    let mut read = |entry: Entry<'_>| {
        let code_like =
            |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        if entry.name.is_empty() || !entry.name.bytes().all(code_like) {
            report.push(malformed_function::error_code(entry.name, entry.name_at));
        }
        Some((entry.name.into(), text(entry, report)?.value.into()))
    };
    super::table::entries(errors).into_iter().filter_map(&mut read).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Function, check};

    fn function(keys: &str) -> Result<Function, Vec<String>> {
        let schema = format!(
            "[keyspace]\nname = 'social'
            [key.'team:{{id}}:likes']\ntype = 'set'\nmax_members = 9
            [key.'news:{{id}}:likes']\ntype = 'set'\nmax_members = 9
            [key.'seen:{{kind}}:{{id}}']\ntype = 'flag'
            [function.like]\nkeys = [{keys}]"
        );
        let checked = check("social.toml", schema.as_bytes());
        let told = checked.diagnostics.iter().map(|found| found.message.clone()).collect();
        checked.schema.map(|mut schema| schema.functions.remove(0)).ok_or(told)
    }

    #[test]
    fn words_choose_among_patterns() {
        let like = function("'seen:{kind}:{id}', '{kind:team|news}:{id}:likes'").expect("sound");
        assert_eq!(like.variables, ["kind".into(), "id".into()]);
        let targets: Vec<_> = like.keys[1]
            .targets
            .iter()
            .map(|target| (target.reference.key.index(), &*target.words))
            .collect();
        assert_eq!(targets, [(0, &[(0, "team".into())][..]), (1, &[(0, "news".into())][..])]);
        assert_eq!(like.keys[0].targets.len(), 1);
    }

    #[test]
    fn every_word_must_lead_to_a_pattern() {
        let told = function("'{kind:team|blog}:{id}:likes'").expect_err("no blogs");
        assert_eq!(told, ["no key is declared like `blog:{id}:likes`"]);
        assert!(function("'{kind}:{id}:likes'").is_err(), "a placeholder without words");
    }
}
