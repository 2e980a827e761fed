//! References from one key to another: `coupon:{code}`.
//!
//! A template is a pattern whose placeholders are names of its own. It refers
//! to the declared pattern that it could be an instance of: literals equal,
//! or accepted by a placeholder; placeholders against placeholders. Where a
//! type is given, it is that of the declared placeholder.
//! Invariant: a template means one pattern or is an error; the order of the
//! file decides nothing.

use super::draft::KeyDraft;
use super::table::Located;
use crate::checks::{ambiguous_template, function_key, malformed_pattern, no_such_pattern};
use crate::derived::{Binding, Reference};
use crate::diagnostic::Report;
use crate::pattern::{Kind, Part, Pattern, PatternError, Placeholder, Relation, Segment, relation};
use crate::schema::KeyId;

/// A template and the pattern it refers to.
pub(crate) struct Resolved<'d> {
    pub(crate) template: Pattern,
    pub(crate) key: KeyId,
    pub(crate) target: &'d Pattern,
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
) -> Result<Resolved<'d>, Unresolved> {
    let template = Pattern::parse(text).map_err(Unresolved::Malformed)?;
    let candidates: Vec<Candidate<'d>> = drafts
        .iter()
        .enumerate()
        .filter_map(|(index, draft)| Some((index, draft.pattern.as_ref()?)))
        .filter(|(_, target)| could_be(&template, target))
        .map(|(index, target)| Candidate { key: KeyId::new(index), target })
        .collect();
    let meant = match candidates.iter().find(|candidate| candidate.target.text() == text) {
        Some(exact) => vec![*exact],
        None if candidates.len() > MAX_CANDIDATES => candidates,
        None => closest(&template, &candidates),
    };
    match meant[..] {
        [] => Err(Unresolved::NoPattern),
        [Candidate { key, target }] => Ok(Resolved { template, key, target }),
        [first, ..] => Err(Unresolved::Ambiguous {
            keys: meant.iter().map(|candidate| candidate.key).collect(),
            exact: instance(&template, first.target).text().to_owned(),
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
    match resolve(template.value, drafts) {
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

#[derive(Clone, Copy)]
struct Candidate<'d> {
    key: KeyId,
    target: &'d Pattern,
}

fn closest<'d>(template: &Pattern, candidates: &[Candidate<'d>]) -> Vec<Candidate<'d>> {
    let is_claimed = |candidate: &&Candidate<'d>| {
        let keys = instance(template, candidate.target);
        candidates.iter().any(|other| {
            relation(other.target, candidate.target) == Relation::Subset
                && matches!(relation(&keys, other.target), Relation::Subset | Relation::Equal)
        })
    };
    let open: Vec<&Candidate<'d>> =
        candidates.iter().filter(|candidate| !is_claimed(candidate)).collect();
    let closeness = |candidate: &Candidate<'d>| same_names(template, candidate.target);
    let best = open.iter().map(|candidate| closeness(candidate)).max();
    open.into_iter().filter(|candidate| Some(closeness(candidate)) == best).copied().collect()
}

/// Whether the keys of the template could be keys of the target. A placeholder
/// without a type may stand for one of any type. `rest` may be spelled out.
fn could_be(template: &Pattern, target: &Pattern) -> bool {
    let (own, wanted) = (template.segments(), target.segments());
    let fixed = wanted.len() - usize::from(target.ends_in_rest());
    let spells_rest = || target.ends_in_rest() && literal_tail(template, fixed).is_some();
    (own.len() == wanted.len() || spells_rest())
        && own.iter().zip(wanted).all(|pair| match pair {
            (Segment::Literal(literal), Segment::Literal(wanted)) => literal == wanted,
            (Segment::Literal(literal), Segment::Placeholder(index)) => {
                let wanted = &target.placeholders()[*index];
                wanted.accepts(literal.as_bytes()) || (wanted.kind == Kind::Rest && spells_rest())
            }
            (Segment::Placeholder(_), Segment::Literal(_)) => false,
            (Segment::Placeholder(own), Segment::Placeholder(index)) => {
                stands_for(&template.placeholders()[*own], &target.placeholders()[*index])
            }
        })
}

fn stands_for(own: &Placeholder, target: &Placeholder) -> bool {
    own.tagged == target.tagged
        && (own.kind == Kind::Str
            || (own.kind.is_within(&target.kind) && target.kind.is_within(&own.kind)))
}

/// The segments from `from` on as one text, if they are literals and not empty.
fn literal_tail(template: &Pattern, from: usize) -> Option<String> {
    let literals = template.segments().get(from..)?.iter().map(|segment| match segment {
        Segment::Literal(literal) => Some(&**literal),
        Segment::Placeholder(_) => None,
    });
    let tail = literals.collect::<Option<Vec<&str>>>()?.join(":");
    (!tail.is_empty()).then_some(tail)
}

/// The template with the types of the target's placeholders.
fn instance(template: &Pattern, target: &Pattern) -> Pattern {
    Pattern::of_parts(template.parts().enumerate().map(|(segment, part)| match part {
        Part::Placeholder { name, tagged, kind } => {
            let target = target.placeholders().iter().find(|other| other.segment == segment);
            Part::Placeholder { name, tagged, kind: target.map_or(kind, |p| p.kind.clone()) }
        }
        literal => literal,
    }))
}

/// How many placeholders bear the name of the target's.
fn same_names(template: &Pattern, target: &Pattern) -> usize {
    let is_same = |own: &&Placeholder| {
        let mut others = target.placeholders().iter();
        others.any(|other| other.segment == own.segment && other.name == own.name)
    };
    template.placeholders().iter().filter(is_same).count()
}

impl Resolved<'_> {
    /// The reference, each name of the template bound by `bind`.
    pub(crate) fn reference(&self, mut bind: impl FnMut(&str) -> Binding) -> Reference {
        let fill = |placeholder: &Placeholder| match &self.template.segments()[placeholder.segment]
        {
            Segment::Placeholder(own) => bind(&self.template.placeholders()[*own].name),
            Segment::Literal(_) if placeholder.kind == Kind::Rest => {
                let tail = literal_tail(&self.template, placeholder.segment);
                Binding::Literal(tail.unwrap_or_default().into())
            }
            // The braces of a hash tag are no part of the value.
            Segment::Literal(literal) if placeholder.tagged => {
                Binding::Literal(literal[1..literal.len() - 1].into())
            }
            Segment::Literal(literal) => Binding::Literal(literal.clone()),
        };
        Reference { key: self.key, bindings: self.target.placeholders().iter().map(fill).collect() }
    }

    /// The names of the template and the kind of the placeholder each stands for.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &Kind)> {
        self.template.placeholders().iter().filter_map(|own| {
            let target = self.target.placeholders().iter().find(|p| p.segment == own.segment)?;
            Some((&*own.name, &target.kind))
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
    fn spelling_out_rest_excuses_no_other_segment() {
        check(
            "[key.\"log:{day:date}:{path:rest}\"]\ntype = \"hash\"\n[function.f]\nkeys = [\"log:x:a:b\"]",
            "KW0601 4:9 no key is declared like `log:x:a:b` [matches no pattern]",
        );
    }
}
