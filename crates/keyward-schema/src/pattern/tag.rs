//! Hash tags: what of a key decides its slot in a cluster.
//!
//! Redis hashes what stands between the first `{` of a key and the first `}` behind it, or the
//! whole key if that is nothing. Owns what a pattern tells of this for all its keys.
//! Invariant: keys of two patterns whose tags are filled with the same values lie in one slot,
//! unless the tag is empty in one of them ([`hash_tag_of`]).

use super::{Element, Part, Pattern};

/// A part of a hash tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagPart {
    /// These very bytes.
    Literal(Box<str>),
    /// The value of the placeholder with this index.
    Placeholder(usize),
}

/// The hash tag of a key; `None` if the whole key is hashed.
pub fn hash_tag_of(key: &[u8]) -> Option<&[u8]> {
    let begin = memchr::memchr(b'{', key)? + 1;
    let length = memchr::memchr(b'}', &key[begin..])?;
    (length > 0).then(|| &key[begin..begin + length])
}

impl Pattern {
    /// What stands in the hash tag of each of its keys. `None` if they have none, or if a value
    /// before it may hold a brace: the tag is elsewhere then.
    pub fn hash_tag(&self) -> Option<Vec<TagPart>> {
        let mut tag: Option<Vec<TagPart>> = None;
        for element in &self.elements {
            let inside = match (element, &mut tag) {
                (Element::Placeholder(index), Some(tag)) => {
                    tag.push(TagPart::Placeholder(*index));
                    continue;
                }
                (Element::Placeholder(index), None) => {
                    if self.placeholders[*index].kind.may_hold(b'{') {
                        return None;
                    }
                    continue;
                }
                (Element::Literal(text), Some(_)) => &**text,
                (Element::Literal(text), None) => match text.split_once('{') {
                    Some((_, inside)) => inside,
                    None => continue,
                },
            };
            let tag = tag.get_or_insert_default();
            let (inside, is_closed) = match inside.split_once('}') {
                Some((inside, _)) => (inside, true),
                None => (inside, false),
            };
            if !inside.is_empty() {
                tag.push(TagPart::Literal(inside.into()));
            }
            if is_closed {
                return (!tag.is_empty()).then(|| std::mem::take(tag));
            }
        }
        None
    }

    /// The pattern with the placeholder of this index in a hash tag, which is the tag of all its
    /// keys; `None` if there is no such pattern.
    pub fn tagged(&self, index: usize) -> Option<Pattern> {
        let parts = self.elements.iter().zip(self.parts()).flat_map(|(element, part)| {
            let is_meant = *element == Element::Placeholder(index);
            let brace = |brace: &str| is_meant.then(|| Part::Literal(brace.into()));
            [brace("{"), Some(part), brace("}")].into_iter().flatten()
        });
        let tagged = Pattern::of_parts(parts).ok()?;
        (tagged.hash_tag()? == [TagPart::Placeholder(index)]).then_some(tagged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_of_a_key_is_what_redis_hashes() {
        for (key, tag) in [
            ("user:{7}:note", Some("7")),
            ("{a}{b}", Some("a")),
            ("x{{a}}", Some("{a")),
            ("user:7", None),
            ("user:{}7", None),
            ("user:{7", None),
            ("}user:{7}", Some("7")),
        ] {
            assert_eq!(hash_tag_of(key.as_bytes()), tag.map(str::as_bytes), "{key}");
        }
    }

    #[track_caller]
    fn check(pattern: &str, expected: Option<&str>) {
        let pattern = Pattern::parse(pattern).expect("a pattern");
        let tag = pattern.hash_tag().map(|tag| {
            let part = |part: &TagPart| match part {
                TagPart::Literal(text) => text.to_string(),
                TagPart::Placeholder(index) => format!("<{}>", pattern.placeholders()[*index].name),
            };
            tag.iter().map(part).collect::<String>()
        });
        assert_eq!(tag.as_deref(), expected, "{pattern}");
    }

    #[test]
    fn a_pattern_tells_the_tag_of_all_its_keys_or_none() {
        check("user:{{{id:uint}}}:note", Some("<id>"));
        check("{{shop}}:user:{id}", Some("shop"));
        check("{{shop-{region}:{id:uint}}}:x", Some("shop-<region>:<id>"));
        check("room:{room:uint}:{{{id}}}", Some("<id>"));
        check("user:{id}", None);
        check("x{{}}:{id}", None);
        check("user:{{{id}", None);
        // What stands before it may hold a brace.
        check("by:{email}:{{{id}}}", None);
        check("by:{what:a|b}:{{{id}}}", Some("<id>"));
    }

    #[test]
    fn a_placeholder_is_put_into_a_tag_where_that_is_the_tag_of_the_key() {
        let tagged = |text: &str, index: usize| {
            let pattern = Pattern::parse(text).expect("a pattern").tagged(index);
            pattern.map(|pattern| pattern.text().to_owned())
        };
        assert_eq!(tagged("user:{id:uint}:note", 0).as_deref(), Some("user:{{{id:uint}}}:note"));
        assert_eq!(tagged("a:{b:uint}:{c}", 1).as_deref(), Some("a:{b:uint}:{{{c}}}"));
        assert_eq!(tagged("a:{b}:{c}", 1), None);
        assert_eq!(tagged("{{shop}}:{b}", 0), None);
    }
}
