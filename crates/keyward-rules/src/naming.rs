//! From one key to another: the keys that a reference of the schema names.
//!
//! Owns both directions: from the key that refers to the one it names
//! ([`named_key`]), and back ([`Origin`]). Invariant: a key made here belongs to
//! the pattern it was made for only if each value fits its placeholder; who
//! cannot be sure of that asks the matcher.

use keyward_schema::{Binding, MAX_PLACEHOLDERS, Pattern, Reference, Values};

/// The values of the placeholders of a key that belongs to this pattern.
pub(crate) fn values_of<'k>(pattern: &Pattern, key: &'k [u8]) -> Values<'k> {
    pattern.split(key).unwrap_or_else(|| Values::empty(pattern.placeholders().len()))
}

/// The key that a reference names, seen from a key with these placeholders; none if it would be
/// read as other values than these. The member is not looked at where the reference has none.
pub(crate) fn named_key(
    reference: &Reference,
    target: &Pattern,
    own: &[&[u8]],
    member: &[u8],
) -> Option<Vec<u8>> {
    let value = |binding| match binding {
        &Binding::Bound(index) => own[index],
        Binding::Member => member,
        Binding::Literal(text) => text.as_bytes(),
    };
    let values: Vec<&[u8]> = reference.bindings.iter().map(value).collect();
    target.fill_readably(&values)
}

/// Where a named key was named from: the values of the placeholders of the key
/// that refers, as far as the reference tells them, and the member.
pub(crate) struct Origin<'k> {
    /// By the index of the placeholder.
    pub(crate) placeholders: [Option<&'k [u8]>; MAX_PLACEHOLDERS],
    /// Empty where the reference has no member.
    pub(crate) member: &'k [u8],
}

impl<'k> Origin<'k> {
    /// Reads a reference backwards: `target` are the placeholders of a key of the
    /// pattern that it names. `None` if no key refers to this one, because the reference has another
    /// text in the place of a placeholder.
    pub(crate) fn of(reference: &Reference, target: &[&'k [u8]]) -> Option<Origin<'k>> {
        let mut origin = Origin { placeholders: [None; MAX_PLACEHOLDERS], member: &[] };
        for (binding, value) in reference.bindings.iter().zip(target) {
            match binding {
                Binding::Member => origin.member = value,
                Binding::Literal(text) if text.as_bytes() != *value => return None,
                Binding::Literal(_) => {}
                Binding::Bound(index) => match origin.placeholders[*index].replace(value) {
                    Some(other) if other != *value => return None,
                    _ => {}
                },
            }
        }
        Some(origin)
    }

    /// The key that refers, once all its placeholders are known and if they read back from it.
    pub(crate) fn key(&self, own: &Pattern) -> Option<Vec<u8>> {
        own.fill_readably(&self.values(own)?)
    }

    /// The values of the key that refers, once all are known.
    pub(crate) fn values(&self, own: &Pattern) -> Option<Vec<&'k [u8]>> {
        self.placeholders[..own.placeholders().len()].iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).expect(text)
    }

    fn reference(bindings: Vec<Binding>) -> Reference {
        let file = b"[keyspace]\nname = \"x\"\n[key.\"a\"]\ntype = \"hash\"\n[function.f]\nkeys = [\"a\"]\n";
        let schema = keyward_schema::check("x", file).schema.expect("a sound schema");
        Reference { key: schema.functions[0].keys[0].targets[0].reference.key, bindings }
    }

    #[test]
    fn the_values_of_placeholders_are_the_matchers() {
        let patterns = [
            "user:{id}:by:{name}",
            "tagged:{{{id}}}:x:{other}",
            "log:{day}:{path:rest}",
            "plain:key",
            "task-{id}.{n:uint}",
            "queue:{q:rest}\u{6}{n:uint}",
        ];
        let keys: [&[u8]; 9] = [
            b"user:7:by:ann",
            b"user:{7}:by:x",
            b"tagged:{a}:x:{b}",
            b"tagged:{a}:x:b",
            b"log:1:a:b:c",
            b"log:1:a",
            b"plain:key",
            b"task-a-b.7",
            b"queue:a:b\x067",
        ];
        let patterns = patterns.map(pattern);
        let matcher = keyward_schema::Matcher::new(&patterns).expect("they are told apart");
        for key in keys {
            let found = matcher.find(key).expect("it is of one of them");
            let expected: Vec<&[u8]> = found.placeholders().collect();
            assert_eq!(*values_of(&patterns[found.pattern], key), *expected, "{key:?}");
        }
    }

    #[test]
    fn a_reference_leads_there_and_back() {
        let target = pattern("msg:{channel}:{kind:text|image}:{id}");
        let reference =
            reference(vec![Binding::Bound(0), Binding::Literal("text".into()), Binding::Member]);
        assert_eq!(
            named_key(&reference, &target, &[b"c1"], b"9").as_deref(),
            Some(&b"msg:c1:text:9"[..])
        );
        assert_eq!(named_key(&reference, &target, &[b"c1"], b"9:x"), None);
        let back = Origin::of(&reference, &[b"c1", b"text", b"9"]).expect("it is named");
        assert_eq!(back.member, b"9");
        assert_eq!(back.key(&pattern("recent:{channel}")), Some(b"recent:c1".to_vec()));
        assert!(Origin::of(&reference, &[b"c1", b"image", b"9"]).is_none());
    }

    #[test]
    fn a_name_used_twice_must_mean_the_same() {
        let reference = reference(vec![Binding::Bound(0), Binding::Bound(0), Binding::Member]);
        assert!(Origin::of(&reference, &[b"a", b"a", b"m"]).is_some());
        assert!(Origin::of(&reference, &[b"a", b"b", b"m"]).is_none());
    }

    #[test]
    fn a_placeholder_that_comes_from_elsewhere_leaves_the_key_open() {
        let reference = reference(vec![Binding::Member]);
        let back = Origin::of(&reference, &[b"m"]).expect("it is named");
        assert_eq!(back.key(&pattern("by_code:{code}")), None);
    }
}
