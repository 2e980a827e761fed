//! References from one key to another: `coupon:{code}`.
//!
//! A template is a pattern whose placeholders are names of its own. It refers
//! to the declared pattern that it could be an instance of: literals equal,
//! or accepted by a placeholder; placeholders against placeholders. Where a
//! type is given, it is that of the declared placeholder. `alignment` reads a
//! template as the declared pattern reads a key.
//! Invariant: a template means one pattern or is an error; the order of the
//! file decides nothing.

mod alignment;

use super::draft::KeyDraft;
use super::table::Located;
use crate::checks::{ambiguous_template, function_key, malformed_pattern, no_such_pattern};
use crate::derived::{Binding, Reference};
use crate::diagnostic::Report;
use crate::pattern::{Kind, Part, Pattern, PatternError, Relation, Steps, relation_within};
use crate::schema::KeyId;
use alignment::{Filling, align};

/// A template and the pattern it refers to.
pub(crate) struct Resolved<'d> {
    pub(crate) template: Pattern,
    pub(crate) key: KeyId,
    pub(crate) target: &'d Pattern,
    /// What stands in the place of each of its placeholders.
    fillings: Vec<Filling>,
}

/// Why a template refers to nothing.
pub(crate) enum Unresolved {
    /// It is not a pattern.
    Malformed(PatternError),
    /// No declared pattern looks like it.
    NoPattern,
    /// Several do, and nothing tells which is meant.
    Ambiguous {
        /// Which ones.
        keys: Vec<KeyId>,
        /// How the template would be written for the first of them.
        exact: String,
    },
}

/// How many patterns that look like a template are weighed against each other.
const MAX_CANDIDATES: usize = 64;

/// Finds the pattern that a template refers to. Where several look like it, a
/// pattern that never sees a key of the template, because a narrower one claims
/// them all, is not meant; then the names of the placeholders decide.
pub(crate) fn resolve<'d>(
    text: &str,
    drafts: &'d [KeyDraft<'_>],
    steps: &Steps,
) -> Result<Resolved<'d>, Unresolved> {
    let template = Pattern::parse(text).map_err(Unresolved::Malformed)?;
    let candidates: Vec<Candidate<'d>> = drafts
        .iter()
        .enumerate()
        .filter_map(|(index, draft)| Some((index, draft.pattern.as_ref()?)))
        .filter_map(|(index, target)| {
            let fillings = align(&template, target)?;
            Some(Candidate { key: KeyId::new(index), target, fillings })
        })
        .collect();
    let meant = match candidates.iter().find(|candidate| candidate.target.text() == text) {
        Some(exact) => vec![exact.clone()],
        None if candidates.len() > MAX_CANDIDATES => candidates,
        None => closest(&template, &candidates, steps),
    };
    match &meant[..] {
        [] => Err(Unresolved::NoPattern),
        [Candidate { key, target, fillings }] => {
            Ok(Resolved { template, key: *key, target, fillings: fillings.clone() })
        }
        [first, ..] => Err(Unresolved::Ambiguous {
            keys: meant.iter().map(|candidate| candidate.key).collect(),
            exact: instance(&template, first).text().to_owned(),
        }),
    }
}

/// As [`resolve`], with a finding where it fails; `setting` is where the
/// template stands.
pub(crate) fn resolve_or_report<'d>(
    setting: &str,
    template: Located<&str>,
    drafts: &'d [KeyDraft<'_>],
    report: &mut Report,
) -> Option<Resolved<'d>> {
    match resolve(template.value, drafts, report.steps()) {
        Ok(resolved) => Some(resolved),
        Err(unresolved) => {
            report_unresolved(unresolved, setting, template, drafts, report);
            None
        }
    }
}

/// Tells why a template refers to nothing.
pub(crate) fn report_unresolved(
    unresolved: Unresolved,
    setting: &str,
    template: Located<&str>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) {
    match unresolved {
        Unresolved::Malformed(error) => {
            report.push(malformed_pattern::found(template.value, &error, template.at));
        }
        Unresolved::NoPattern if setting == "keys" => {
            report.push_with(&function_key::RULE, || function_key::found(template, drafts));
        }
        Unresolved::NoPattern => {
            report.push_with(&no_such_pattern::RULE, || {
                no_such_pattern::found(setting, template, drafts)
            });
        }
        Unresolved::Ambiguous { keys, exact } => {
            let places = keys.iter().map(|key| drafts[key.index()].at);
            report.push(ambiguous_template::found(setting, template, &exact, places));
        }
    }
}

#[derive(Clone)]
struct Candidate<'d> {
    key: KeyId,
    target: &'d Pattern,
    fillings: Vec<Filling>,
}

/// Those that are meant, as far as the steps are enough to tell.
fn closest<'d>(
    template: &Pattern,
    candidates: &[Candidate<'d>],
    steps: &Steps,
) -> Vec<Candidate<'d>> {
    let is_claimed = |candidate: &&Candidate<'d>| {
        let keys = instance(template, candidate);
        candidates.iter().any(|other| {
            let lies = |keys: &Pattern, target: &Pattern| relation_within(keys, target, steps);
            lies(other.target, candidate.target) == Relation::Subset
                && matches!(lies(&keys, other.target), Relation::Subset | Relation::Equal)
        })
    };
    let open: Vec<&Candidate<'d>> =
        candidates.iter().filter(|candidate| !is_claimed(candidate)).collect();
    let closeness = |candidate: &Candidate<'d>| same_names(template, candidate);
    let best = open.iter().map(|candidate| closeness(candidate)).max();
    open.into_iter().filter(|candidate| Some(closeness(candidate)) == best).cloned().collect()
}

/// The template with the types of the target's placeholders.
fn instance(template: &Pattern, candidate: &Candidate<'_>) -> Pattern {
    let mut own = 0;
    let parts = template.parts().map(|part| match part {
        Part::Placeholder { name, kind } => {
            let target = candidate.fillings.iter().position(|f| *f == Filling::Placeholder(own));
            own += 1;
            let target = target.map(|index| candidate.target.placeholders()[index].kind.clone());
            Part::Placeholder { name, kind: target.unwrap_or(kind) }
        }
        literal => literal,
    });
    Pattern::of_parts(parts).unwrap_or_else(|_| template.clone())
}

/// How many placeholders bear the name of the target's.
fn same_names(template: &Pattern, candidate: &Candidate<'_>) -> usize {
    let pairs = candidate.target.placeholders().iter().zip(&candidate.fillings);
    let is_same = |(target, filling): &(&crate::pattern::Placeholder, &Filling)| match filling {
        Filling::Placeholder(own) => template.placeholders()[*own].name == target.name,
        Filling::Text(_) => false,
    };
    pairs.filter(is_same).count()
}

impl Resolved<'_> {
    /// The reference, each name of the template bound by `bind`.
    pub(crate) fn reference(&self, mut bind: impl FnMut(&str) -> Binding) -> Reference {
        let fill = |filling: &Filling| match filling {
            Filling::Placeholder(own) => bind(&self.template.placeholders()[*own].name),
            Filling::Text(text) => Binding::Literal(text.clone()),
        };
        Reference { key: self.key, bindings: self.fillings.iter().map(fill).collect() }
    }

    /// The names of the template and the kind of the placeholder each stands for.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &Kind)> {
        let pairs = self.target.placeholders().iter().zip(&self.fillings);
        pairs.filter_map(|(target, filling)| match filling {
            Filling::Placeholder(own) => {
                Some((&*self.template.placeholders()[*own].name, &target.kind))
            }
            Filling::Text(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;
    use crate::derived::Binding;
    use crate::read::check as check_file;

    /// The pattern that a function's key refers to and what fills it.
    fn resolved(patterns: &[&str], template: &str) -> (String, Vec<Binding>) {
        let keys: String =
            patterns.iter().map(|key| format!("[key.\"{key}\"]\ntype = \"hash\"\n")).collect();
        let file =
            format!("{keys}[function.f]\nkeys = [\"{template}\"]\n[keyspace]\nname = \"x\"\n");
        let checked = check_file("x", file.as_bytes());
        let schema = checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        let reference = &schema.functions[0].keys[0].targets[0].reference;
        (schema.key(reference.key).pattern.to_string(), reference.bindings.clone())
    }

    fn literal(text: &str) -> Binding {
        Binding::Literal(text.into())
    }

    #[test]
    fn a_literal_key_belongs_to_the_narrowest_pattern_whatever_the_order() {
        for patterns in [["u:{name}", "u:{id:uint}"], ["u:{id:uint}", "u:{name}"]] {
            assert_eq!(resolved(&patterns, "u:42"), ("u:{id:uint}".into(), vec![literal("42")]));
            assert_eq!(resolved(&patterns, "u:ann"), ("u:{name}".into(), vec![literal("ann")]));
        }
    }

    #[test]
    fn a_name_does_not_lead_to_a_pattern_that_never_sees_the_key() {
        let patterns = ["u:{id}:{x}", "u:active:{y}"];
        let (pattern, bindings) = resolved(&patterns, "u:active:{x}");
        assert_eq!((&*pattern, bindings), ("u:active:{y}", vec![Binding::Bound(0)]));
    }

    #[test]
    fn the_braces_of_a_hash_tag_are_no_part_of_a_literal() {
        let found = resolved(&["cart:{{{id}}}"], "cart:{{7}}");
        assert_eq!(found, ("cart:{{{id}}}".into(), vec![literal("7")]));
    }

    #[test]
    fn rest_may_be_spelled_out() {
        let found = resolved(&["log:{path:rest}"], "log:a::b");
        assert_eq!(found, ("log:{path:rest}".into(), vec![literal("a::b")]));
        let found = resolved(&["log:{path:rest}"], "log:{any}");
        assert_eq!(found, ("log:{path:rest}".into(), vec![Binding::Bound(0)]));
    }

    #[test]
    fn text_beside_placeholders_is_told_from_values() {
        let found = resolved(&["task-{id:uuid}.{n:uint}"], "task-{id}.7");
        let expected = vec![Binding::Bound(0), literal("7")];
        assert_eq!(found, ("task-{id:uuid}.{n:uint}".into(), expected));
        let found = resolved(&["{q:rest}.{n:uint}"], "a.b.{n}");
        assert_eq!(found, ("{q:rest}.{n:uint}".into(), vec![literal("a.b"), Binding::Bound(0)]));
        let found = resolved(&["{a:ip}:{port:uint}"], "::1:{p}");
        assert_eq!(found, ("{a:ip}:{port:uint}".into(), vec![literal("::1"), Binding::Bound(0)]));
    }

    #[test]
    fn a_value_is_a_name_or_a_text_and_not_both() {
        check(
            "[key.\"u:{name}\"]\ntype = \"hash\"\n[function.f]\nkeys = [\"u:x-{id}\"]",
            "KW0601 4:9 no key is declared like `u:x-{id}` [matches no pattern]",
        );
    }

    #[test]
    fn spelling_out_rest_excuses_no_other_segment() {
        check(
            "[key.\"log:{day:date}:{path:rest}\"]\ntype = \"hash\"\n[function.f]\nkeys = [\"log:x:a:b\"]",
            "KW0601 4:9 no key is declared like `log:x:a:b` [matches no pattern]",
        );
    }
}
