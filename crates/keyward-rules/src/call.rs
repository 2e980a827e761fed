//! Calls of declared functions: FCALL and FCALL_RO.
//!
//! Owns the check of keys and arguments against what the schema declares, before
//! the function runs. A name has the same value in all keys of a call, except
//! that each of the keys that may be repeated has its own. An optional argument
//! that is empty counts as left out, since arguments have their meaning by place.
//! Not here: what a function does; the commands that it calls are judged as they run, and at its end.

use keyward_resp::{Args, number};
use keyward_schema::{Argument, Binding, Function, FunctionKey, Target};

use crate::book::{RuleBook, placeholder};
use crate::reason::Reason;
use crate::refusal::{Refusal, shown_value};

/// The arguments of FCALL: its name, the function's, the number of keys.
const FIRST_KEY: usize = 3;

impl RuleBook {
    /// Why a call of a function does not fit its declaration. A function that is
    /// not declared may be called in any way, and what Redis itself refuses is
    /// left to it.
    pub fn call_misfit(&self, args: Args<'_>) -> Option<Refusal> {
        let name = args.get(1)?;
        let function = self.function(name)?;
        let key_count = usize::try_from(number::parse_i64(args.get(2)?)?).ok()?;
        let given = args.from(FIRST_KEY);
        if key_count > given.len() {
            return None;
        }
        let (keys, given) = given.split_at(key_count);
        let problem =
            self.keys_misfit(function, keys).or_else(|| self.arguments_misfit(function, given))?;
        let at = Some(function.at);
        Some(Refusal::new(&self.schema().source, (None, Reason::Call), name, problem, at))
    }

    /// Under a schema with secrets any argument may be one: none is repeated where the
    /// call is let pass and the log has what is wrong with it. A refusal is for who sent it.
    fn arguments_misfit(&self, function: &Function, given: Args<'_>) -> Option<String> {
        let problem = arguments_misfit(&function.args, given)?;
        if !self.has_secrets() || self.is_strict_in(function.keyspace) {
            return Some(problem);
        }
        let mut declared = function.args.clone();
        declared.iter_mut().for_each(|argument| argument.shape.make_secret());
        arguments_misfit(&declared, given)
    }

    /// What the schema declares of a function. FCALL takes its name in any case.
    fn function(&self, name: &[u8]) -> Option<&Function> {
        let mut functions = self.schema().functions.iter();
        functions.find(|function| function.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether a misfitting call of a function is refused.
    pub(crate) fn is_call_strict(&self, args: Args<'_>) -> bool {
        let name = args.get(1).unwrap_or_default();
        self.function(name).is_none_or(|function| self.would_be_strict_in(function.keyspace))
    }

    fn keys_misfit<'k>(&self, function: &'k Function, keys: Args<'k>) -> Option<String> {
        let declared = &function.keys;
        let repeats = declared.last().is_some_and(|last| last.repeated);
        let least = declared.len() - usize::from(repeats);
        if keys.len() < least || (!repeats && keys.len() > least) {
            let templates: Vec<&str> = declared.iter().map(|key| &*key.template).collect();
            let found = counted(keys.len(), "key");
            return Some(match &templates[..] {
                [] => format!("takes no keys, not {found}"),
                templates => format!("takes the keys {}, not {found}", templates.join(", ")),
            });
        }
        let mut variables = vec![None; function.variables.len()];
        keys.iter().enumerate().find_map(|(index, key)| {
            let expected = declared.get(index).or(declared.last())?;
            let fits = self.key_fits(expected, key, &mut variables);
            (!fits).then(|| {
                let (place, template) = (index + 1, &expected.template);
                format!(
                    "key {place} must be {template}, not {}",
                    shown_value(&self.shown_name(key))
                )
            })
        })
    }

    /// Whether a key is what is declared, given the names that have values.
    fn key_fits<'k>(
        &self,
        expected: &'k FunctionKey,
        key: &'k [u8],
        variables: &mut [Option<&'k [u8]>],
    ) -> bool {
        let Some(table) = self.table_of(key) else { return false };
        let mut targets = expected.targets.iter().filter(|target| target.reference.key == table);
        targets.any(|target| {
            let mut settled = variables.to_vec();
            let fits = self.target_fits(target, key, &mut settled);
            if fits && !expected.repeated {
                variables.copy_from_slice(&settled);
            }
            fits
        })
    }

    fn target_fits<'k>(
        &self,
        target: &'k Target,
        key: &'k [u8],
        settled: &mut [Option<&'k [u8]>],
    ) -> bool {
        let pattern = &self.schema().key(target.reference.key).pattern;
        let mut settle =
            |variable: usize, value: &'k [u8]| *settled[variable].get_or_insert(value) == value;
        let bindings = target.reference.bindings.iter().enumerate();
        let mut fits = true;
        for (index, binding) in bindings {
            let value = placeholder(pattern, key, index);
            fits &= match binding {
                Binding::Bound(variable) => settle(*variable, value),
                Binding::Literal(text) => text.as_bytes() == value,
                Binding::Member => true,
            };
        }
        fits && target.words.iter().all(|(variable, word)| settle(*variable, word.as_bytes()))
    }
}

fn arguments_misfit(declared: &[Argument], given: Args<'_>) -> Option<String> {
    let repeats = declared.last().is_some_and(|last| last.repeated);
    let least = declared.iter().filter(|argument| argument.required).count();
    if given.len() < least || (!repeats && given.len() > declared.len()) {
        let names: Vec<String> = declared.iter().map(name_of).collect();
        let found = counted(given.len(), "argument");
        return Some(match &names[..] {
            [] => format!("takes no arguments, not {found}"),
            names => format!("takes the arguments {}, not {found}", names.join(", ")),
        });
    }
    given.iter().enumerate().find_map(|(index, value)| {
        let argument = declared.get(index).or(declared.last())?;
        if value.is_empty() && !argument.required && !argument.repeated {
            return None;
        }
        let misfit = argument.shape.check(value).err()?;
        let dot = if misfit.path().is_empty() { "" } else { "." };
        Some(format!("{}{dot}{} {}", argument.name, misfit.path(), misfit.problem()))
    })
}

fn name_of(argument: &Argument) -> String {
    let mark = match argument {
        Argument { repeated: true, .. } => "...",
        Argument { required: false, .. } => "?",
        _ => "",
    };
    format!("{}{mark}", argument.name)
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests;
