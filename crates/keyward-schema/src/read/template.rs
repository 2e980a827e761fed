//! References from one key to another: `coupon:{code}`.
//!
//! A template is a pattern whose placeholders are names of its own. It refers
//! to the declared pattern that it could be an instance of: literals equal,
//! or accepted by a placeholder; placeholders against placeholders.

use crate::derived::{Binding, Reference};
use crate::pattern::{Kind, Pattern, Segment};
use crate::schema::KeyId;

use super::key::KeyDraft;

/// A template and the pattern it refers to.
pub(crate) struct Resolved<'d> {
    pub(crate) template: Pattern,
    pub(crate) key: KeyId,
    pub(crate) target: &'d Pattern,
}

/// Why a template refers to nothing.
pub(crate) enum Unresolved {
    /// It is not a pattern.
    Malformed(crate::pattern::PatternError),
    /// No declared pattern looks like it.
    NoPattern,
}

/// Finds the pattern that a template refers to. Where several look like it,
/// the one whose text is equal, or whose placeholders bear the same names, or
/// else the first that is written wins.
pub(crate) fn resolve<'d>(
    text: &str,
    drafts: &'d [KeyDraft<'_>],
) -> Result<Resolved<'d>, Unresolved> {
    let template = Pattern::parse(text).map_err(Unresolved::Malformed)?;
    let candidates = drafts.iter().enumerate().filter_map(|(index, draft)| {
        let target = draft.pattern.as_ref()?;
        could_be(&template, target).then(|| (closeness(&template, target), index, target))
    });
    // Of equal closeness the first is wanted, and `max_by_key` takes the last.
    let best = candidates.max_by_key(|(closeness, index, _)| (*closeness, usize::MAX - index));
    match best {
        Some((_, index, target)) => Ok(Resolved { key: KeyId::new(index), target, template }),
        None => Err(Unresolved::NoPattern),
    }
}

fn could_be(template: &Pattern, target: &Pattern) -> bool {
    template.segments().len() == target.segments().len()
        && template.segments().iter().zip(target.segments()).all(|pair| match pair {
            (Segment::Literal(literal), Segment::Literal(wanted)) => literal == wanted,
            (Segment::Literal(literal), Segment::Placeholder(index)) => {
                target.placeholders()[*index].accepts(literal.as_bytes())
            }
            (Segment::Placeholder(_), Segment::Literal(_)) => false,
            (Segment::Placeholder(own), Segment::Placeholder(index)) => {
                template.placeholders()[*own].tagged == target.placeholders()[*index].tagged
            }
        })
}

fn closeness(template: &Pattern, target: &Pattern) -> (bool, usize) {
    let same_names = template
        .placeholders()
        .iter()
        .filter(|own| {
            target.placeholders().iter().any(|other| {
                other.segment == own.segment
                    && other.name == own.name
                    && (own.kind == Kind::Str || own.kind == other.kind)
            })
        })
        .count();
    (template.text() == target.text(), same_names)
}

impl Resolved<'_> {
    /// The reference, each name of the template bound by `bind`.
    pub(crate) fn reference(&self, mut bind: impl FnMut(&str) -> Binding) -> Reference {
        let fill = |placeholder: &crate::pattern::Placeholder| match &self.template.segments()
            [placeholder.segment]
        {
            Segment::Literal(literal) => Binding::Literal(literal.clone()),
            Segment::Placeholder(own) => bind(&self.template.placeholders()[*own].name),
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
