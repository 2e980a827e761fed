//! Which sets mirror which, as far as `inverse` says.
//!
//! Worked out once before the derivations are read, since a set that says
//! nothing itself is mirrored all the same.

use super::draft::KeyDraft;
use super::template::resolve;
use crate::pattern::Steps;

/// For each key the one that its `inverse` names, and the keys that name it.
pub(crate) struct Mirrors {
    named: Vec<Option<usize>>,
    namers: Vec<Vec<usize>>,
}

impl Mirrors {
    pub(super) fn of(drafts: &[KeyDraft<'_>]) -> Mirrors {
        let steps = Steps::among(drafts.len());
        let named: Vec<Option<usize>> =
            drafts.iter().map(|draft| named(draft, drafts, &steps)).collect();
        let mut namers = vec![Vec::new(); drafts.len()];
        for (namer, named) in named.iter().enumerate() {
            if let Some(named) = named {
                namers[*named].push(namer);
            }
        }
        Mirrors { named, namers }
    }

    /// Whether the first key's `inverse` names the second.
    pub(crate) fn names(&self, key: usize, other: usize) -> bool {
        self.named[key] == Some(other)
    }

    /// Whether another key's `inverse` names this one.
    pub(crate) fn is_mirrored(&self, key: usize) -> bool {
        !self.namers[key].is_empty()
    }

    /// A key other than `key` whose `inverse` names `other` too.
    pub(crate) fn rival(&self, key: usize, other: usize) -> Option<usize> {
        self.namers[other].iter().copied().find(|&namer| namer != key)
    }
}

fn named(draft: &KeyDraft<'_>, drafts: &[KeyDraft<'_>], steps: &Steps) -> Option<usize> {
    let template = draft.table.entry("inverse")?.value.get_ref().as_str()?;
    resolve(template, drafts, steps).ok().map(|resolved| resolved.key.index())
}
