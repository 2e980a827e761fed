//! What is secret or personal: what the schema says of a key, and what follows for others.
//!
//! Owns the reading of a key's `secret` and `personal`, and the way of a secret through
//! derived keys: a value that is secret in its row is secret in the name, in the
//! members and in the scores of every key that Keyward keeps from it. Not here: those
//! of a field (`shape`), what is shown (the rule book).

use std::borrow::Cow;

use toml::de::DeValue;

use super::{KeyDraft, comparison};
use crate::checks::{no_such_placeholder, wrong_value};
use crate::derived::{Binding, Derived, Finds, RankBy, Reference};
use crate::diagnostic::Report;
use crate::lifetime::Lifetime;
use crate::schema::{Content, Key, Schema};
use crate::shape::Field;

/// What `secret` or `personal` of a key says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Secret {
    /// Nothing.
    Nothing,
    /// Its values are.
    Values,
    /// These placeholders are, in order.
    Placeholders(Vec<usize>),
}

/// Reads `secret` or `personal` of a key.
pub(super) fn read(draft: &KeyDraft<'_>, setting: &str, report: &mut Report) -> Secret {
    let Some(entry) = draft.table.entry(setting) else { return Secret::Nothing };
    match entry.value.get_ref() {
        DeValue::Boolean(true) => Secret::Values,
        DeValue::Boolean(false) => Secret::Nothing,
        DeValue::Array(_) => {
            let Some(pattern) = &draft.pattern else { return Secret::Nothing };
            let mut named = Vec::new();
            for name in draft.table.texts(setting, report) {
                match pattern.placeholder(name.value) {
                    Some(index) => named.push(index),
                    None => {
                        let found = no_such_placeholder::found;
                        report.push(found(setting, name.value, pattern, name.at));
                    }
                }
            }
            named.sort_unstable();
            named.dedup();
            Secret::Placeholders(named)
        }
        _ => {
            let expected = "true or false, or an array of placeholders";
            report.push(wrong_value::found(entry, expected));
            Secret::Nothing
        }
    }
}

impl Secret {
    /// Whether it is the values, and which placeholders.
    pub(super) fn into_parts(self) -> (bool, Vec<usize>) {
        match self {
            Secret::Nothing => (false, Vec::new()),
            Secret::Values => (true, Vec::new()),
            Secret::Placeholders(named) => (false, named),
        }
    }
}

/// The placeholders of a derived key that hold a value of its source: which one,
/// and the field that it comes from, or the whole value.
pub(crate) fn filled_from_values(key: &Key) -> Cow<'_, [(usize, Option<usize>)]> {
    match &key.derived {
        Some(Derived::Lookup { finds: Finds::Member { field, slot }, .. }) => {
            Cow::Owned(vec![(*slot, *field)])
        }
        Some(Derived::Members { split, .. }) => {
            Cow::Owned(split.iter().map(|&(slot, field)| (slot, Some(field))).collect())
        }
        _ => Cow::Borrowed(&[]),
    }
}

impl Schema {
    /// The same schema in which everything personal is secret too, and what comes from it: that
    /// by which pages and reports are masked.
    pub fn discreet(&self) -> Schema {
        let mut schema = self.clone();
        let mut keys: Vec<Option<Key>> = schema.keys.drain(..).map(Some).collect();
        for key in keys.iter_mut().flatten() {
            key.content.hide_personal();
            if key.personal {
                key.secret = true;
                key.content.make_secret();
            }
            key.secret_placeholders.extend(&key.personal_placeholders);
            key.secret_placeholders.sort_unstable();
            key.secret_placeholders.dedup();
        }
        spread(&mut keys);
        schema.keys = keys.into_iter().flatten().collect();
        schema
    }
}

/// Makes secret what comes from secrets, until nothing more follows: each round makes at
/// least one placeholder, member or score secret, so there is an end.
pub(super) fn spread(keys: &mut [Option<Key>]) {
    let mut has_news = true;
    while has_news {
        has_news = false;
        for index in 0..keys.len() {
            let Some(key) = &keys[index] else { continue };
            let (mut placeholders, member) = consequences(key, keys);
            let score = has_secret_scores(key, keys);
            placeholders.retain(|at| !key.secret_placeholders.contains(at));
            let member = member && !is_member_secret(&key.content);
            let Some(key) = &mut keys[index] else { continue };
            has_news |= spread_same(key);
            if score && let Content::Scored { score, .. } = &mut key.content {
                has_news |= !score.secret;
                score.make_secret();
            }
            has_news |= member || !placeholders.is_empty();
            key.secret_placeholders.extend(placeholders);
            key.secret_placeholders.sort_unstable();
            key.secret_placeholders.dedup();
            if member {
                make_member_secret(&mut key.content);
            }
        }
    }
}

/// A field that must equal a placeholder is secret if that is, and the other way round;
/// whether anything became so.
fn spread_same(key: &mut Key) -> bool {
    let Key { content, secret_placeholders, .. } = key;
    if !content.has_same() {
        return false;
    }
    let mut has_news = false;
    comparison::each_same(content, &mut |field: &mut Field| {
        let Some(same) = &field.same else { return };
        let place = secret_placeholders.binary_search(&same.placeholder);
        match (place, field.shape.secret) {
            (Ok(_), false) => {
                field.shape.make_secret();
                has_news = true;
            }
            (Err(place), true) => {
                secret_placeholders.insert(place, same.placeholder);
                has_news = true;
            }
            (Ok(_), true) | (Err(_), false) => {}
        }
    });
    has_news
}

/// What of a key is secret because of the keys it is derived from or lives with.
fn consequences(key: &Key, keys: &[Option<Key>]) -> (Vec<usize>, bool) {
    let mut placeholders = Vec::new();
    let mut member = false;
    let derived = key.derived.as_ref().map(Derived::source);
    let leader = match &key.lifetime {
        Lifetime::With { key } => Some(key),
        _ => None,
    };
    for Reference { key: of, bindings } in derived.into_iter().chain(leader) {
        let Some(source) = &keys[of.index()] else { continue };
        for at in &source.secret_placeholders {
            match bindings.get(*at) {
                Some(Binding::Bound(own)) => placeholders.push(*own),
                Some(Binding::Member) => member = true,
                Some(Binding::Literal(_)) | None => {}
            }
        }
    }
    if let Some(source) = derived.and_then(|of| keys[of.key.index()].as_ref()) {
        let from_values = filled_from_values(key);
        placeholders.extend(
            from_values
                .iter()
                .filter(|(_, field)| is_value_secret(source, *field))
                .map(|(slot, _)| *slot),
        );
        if let Some(Derived::Lookup { finds: Finds::Field(held), .. }) = &key.derived {
            member |= is_value_secret(source, Some(*held));
        }
        // The mirror of a set has the set's members in its name.
        if let Some(Derived::Inverse { slot, .. }) = &key.derived
            && is_member_secret(&source.content)
        {
            placeholders.push(*slot);
        }
    }
    (placeholders, member)
}

/// Whether it ranks by a value that is secret: then that is its score.
fn has_secret_scores(key: &Key, keys: &[Option<Key>]) -> bool {
    match &key.derived {
        Some(Derived::Rank { of, by, .. }) => {
            keys[of.key.index()].as_ref().is_some_and(|source| match *by {
                RankBy::Field(field) => is_value_secret(source, Some(field)),
                RankBy::Placeholder(index) => source.secret_placeholders.contains(&index),
            })
        }
        _ => false,
    }
}

fn is_value_secret(source: &Key, field: Option<usize>) -> bool {
    match (field, &source.content) {
        (Some(field), content) => content
            .object()
            .and_then(|object| object.fields.get(field))
            .is_some_and(|field| field.shape.secret),
        (None, Content::Value(shape)) => shape.secret,
        _ => false,
    }
}

fn is_member_secret(content: &Content) -> bool {
    match content {
        Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => shape.secret,
        Content::Scored { member, .. } => member.secret,
        // None of them has members.
        Content::Fields(_) | Content::Entries(_) | Content::Opaque => true,
    }
}

fn make_member_secret(content: &mut Content) {
    match content {
        Content::Value(shape) | Content::Json(shape) | Content::Items(shape) => {
            shape.make_secret();
        }
        Content::Scored { member, .. } => member.make_secret(),
        Content::Fields(_) | Content::Entries(_) | Content::Opaque => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::check;

    /// The keys with the names of their secret placeholders, `*` where members or
    /// values are secret.
    fn secrets(keys: &str) -> Vec<String> {
        let file = format!("[keyspace]\nname = 'x'\n{keys}");
        let checked = check("x", file.as_bytes());
        let schema = checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        let line = |key: &crate::Key| {
            let names = key
                .secret_placeholders
                .iter()
                .map(|at| key.pattern.placeholders()[*at].name.to_string());
            let content = key.holds_secret().then(|| "*".to_owned());
            let names: Vec<String> = names.chain(content).collect();
            format!("{} {}", key.pattern.text().split(':').next().unwrap_or(""), names.join(" "))
        };
        schema.keys.iter().map(line).filter(|line| !line.ends_with(' ')).collect()
    }

    #[test]
    fn a_lookup_of_a_secret_field_has_a_secret_name() {
        let keys = "[key.'user:{id}']\ntype = 'hash'\nttl = 'none'\n\
            fields = { code = { type = 'str', secret = true }, name = 'str' }\n\
            [key.'code:{c}']\ntype = 'string'\nlookup = { of = 'user:{id}', field = 'code' }\n\
            [key.'name:{n}']\ntype = 'string'\nlookup = { of = 'user:{id}', field = 'name' }\n";
        assert_eq!(secrets(keys), ["user *", "code c"]);
    }

    #[test]
    fn a_lookup_that_holds_a_secret_field_holds_a_secret() {
        let keys = "[key.'card:{id}']\ntype = 'hash'\nttl = 'none'\n\
            fields = { pin = { type = 'uint', secret = true }, user = 'uint' }\n\
            [key.'pin:{id}']\ntype = 'string'\nlookup = { of = 'card:{id}', value = 'pin' }\n\
            [key.'user:{id}']\ntype = 'string'\nlookup = { of = 'card:{id}', value = 'user' }\n";
        assert_eq!(secrets(keys), ["card *", "pin *"]);
    }

    #[test]
    fn a_secret_placeholder_is_secret_as_a_member_and_in_other_names() {
        let keys = "[key.'login:{code}']\ntype = 'hash'\nttl = '1h'\nsecret = ['code']\n\
            fields = { at = 'uint', on = 'yes | no' }\n\
            [key.'recent']\ntype = 'zset'\nrank = { of = 'login:{code}', by = 'at' }\n\
            [key.'all']\ntype = 'set'\nmembers = { of = 'login:{code}' }\n\
            [key.'trial:{code}']\ntype = 'string'\nttl = { with = 'login:{code}' }\n";
        assert_eq!(secrets(keys), ["login code", "recent *", "all *", "trial code"]);
    }

    #[test]
    fn a_rank_by_a_secret_field_has_secret_scores_and_no_secret_members() {
        let keys = "[key.'user:{id}']\ntype = 'hash'\nttl = 'none'\n\
            fields = { at = { type = 'uint', secret = true }, age = 'uint' }\n\
            [key.'by_at']\ntype = 'zset'\nrank = { of = 'user:{id}', by = 'at' }\n\
            [key.'by_age']\ntype = 'zset'\nrank = { of = 'user:{id}', by = 'age' }\n";
        assert_eq!(secrets(keys), ["user *", "by_at *"]);
        let file = format!("[keyspace]\nname = 'x'\n{keys}");
        let schema = check("x", file.as_bytes()).schema.expect("it is sound");
        let crate::Content::Scored { member, score } = &schema.keys[1].content else {
            panic!("a rank is a sorted set")
        };
        assert!(score.secret && !member.secret);
    }

    #[test]
    fn the_mirror_of_a_secret_set_has_a_secret_name_and_so_the_other_way() {
        let follows = |a: &str, b: &str| {
            format!(
                "[key.'follows:{{a}}']\ntype = 'set'\nttl = 'none'\n\
                 inverse = 'followers:{{member}}'\n{a}\
                 [key.'followers:{{b}}']\ntype = 'set'\nttl = 'none'\n\
                 inverse = 'follows:{{member}}'\n{b}"
            )
        };
        let secret = "secret = true\n";
        assert_eq!(secrets(&follows(secret, "")), ["follows *", "followers b"]);
        assert_eq!(secrets(&follows("", secret)), ["follows a", "followers *"]);
        assert_eq!(secrets(&follows("secret = ['a']\n", "")), ["follows a", "followers *"]);
        assert_eq!(secrets(&follows("", "secret = ['b']\n")), ["follows *", "followers b"]);
    }

    #[test]
    fn what_is_public_makes_nothing_secret() {
        let keys = "[key.'login:{tenant}:{code}']\ntype = 'hash'\nttl = '1h'\nsecret = ['code']\n\
            fields = { at = 'uint' }\n\
            [key.'recent:{code}']\ntype = 'zset'\n\
            rank = { of = 'login:{tenant}:{code}', by = 'at' }\n";
        assert_eq!(secrets(keys), ["login code", "recent code"]);
    }

    #[test]
    fn what_is_personal_is_secret_in_the_discreet_schema_alone_and_spreads_there() {
        let keys = "[key.'user:{id}']\ntype = 'hash'\nttl = 'none'\n\
            fields = { email = { type = 'str', personal = true }, name = 'str' }\n\
            [key.'mail:{m}']\ntype = 'string'\nlookup = { of = 'user:{id}', field = 'email' }\n\
            [key.'visit:{who}:{n}']\ntype = 'string'\nttl = '1h'\npersonal = ['who']\n\
            [key.'note:{n}']\ntype = 'string'\nttl = '1h'\npersonal = true\n\
            [key.'plain:{n}']\ntype = 'string'\nttl = '1h'\npersonal = false\n";
        assert!(secrets(keys).is_empty(), "to the server nothing of it is secret");
        let file = format!("[keyspace]\nname = 'x'\n{keys}");
        let schema = check("x", file.as_bytes()).schema.expect("it is sound");
        let personal: Vec<bool> = schema.keys.iter().map(crate::Key::has_personal).collect();
        assert_eq!(personal, [true, false, true, true, false]);
        let discreet = schema.discreet();
        let hidden: Vec<(&[usize], bool)> = discreet
            .keys
            .iter()
            .map(|key| (&key.secret_placeholders[..], key.holds_secret()))
            .collect();
        let none: &[usize] = &[];
        assert_eq!(
            hidden,
            [(none, true), (&[0], false), (&[0], false), (none, true), (none, false)]
        );
    }
}
