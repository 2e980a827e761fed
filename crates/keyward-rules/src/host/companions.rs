//! Rows that live with others, where their keys can be told from the others' keys.
//!
//! A host with an index finds them by it; one without needs that every placeholder of the
//! companion is one of its leader's.

use keyward_schema::{Binding, KeyId, Lifetime};

use crate::book::RuleBook;

impl RuleBook {
    /// Whether the key of a companion can be told from that of the row it lives with: at most one
    /// lives with each. True of tables that live with none.
    pub fn is_named_by_leader(&self, table: KeyId) -> bool {
        let declared = self.schema().key(table);
        let Lifetime::With { key: leader } = &declared.lifetime else { return true };
        (0..declared.pattern.placeholders().len())
            .all(|index| leader.bindings.contains(&Binding::Bound(index)))
    }

    /// The keys that may live with this one, of the tables of which they can be told
    /// ([`RuleBook::is_named_by_leader`]). Whether there are such rows is the host's to see.
    pub fn named_companions(&self, key: &[u8]) -> Vec<Vec<u8>> {
        let Some(table) = self.table_of(key) else { return Vec::new() };
        let companions = self.traits(table).companions.iter();
        companions.filter_map(|companion| self.named_companion(table, key, *companion)).collect()
    }

    fn named_companion(&self, table: KeyId, key: &[u8], companion: KeyId) -> Option<Vec<u8>> {
        let declared = self.schema().key(companion);
        let Lifetime::With { key: leader } = &declared.lifetime else { return None };
        let own = self.placeholders(table, key);
        let mut values = vec![None; declared.pattern.placeholders().len()];
        for (binding, value) in leader.bindings.iter().zip(own.iter()) {
            match binding {
                Binding::Bound(index) => *values.get_mut(*index)? = Some(*value),
                Binding::Literal(text) if text.as_bytes() != *value => return None,
                Binding::Literal(_) | Binding::Member => {}
            }
        }
        let values: Option<Vec<&[u8]>> = values.into_iter().collect();
        let named = declared.pattern.fill_readably(&values?)?;
        (self.table_of(&named) == Some(companion)).then_some(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(text: &str) -> RuleBook {
        let text = format!("[keyspace]\nname = \"x\"\n{text}");
        RuleBook::new(keyward_schema::check("x", text.as_bytes()).schema.expect("a sound schema"))
    }

    #[test]
    fn a_companion_is_named_by_its_leader_if_it_has_no_name_of_its_own() {
        let book = book(
            r#"
            [key."coupon:{code}"]
            type = "string"
            ttl = "1h"
            [key."coupon:{code}:users"]
            type = "set"
            ttl = { with = "coupon:{code}" }
            [key."coupon:{code}:note:{n:uint}"]
            type = "string"
            ttl = { with = "coupon:{code}" }
            "#,
        );
        let named = book.named_companions(b"coupon:a");
        assert_eq!(named, [b"coupon:a:users"]);
        let table = |key: &[u8]| book.table_of(key).expect("a table");
        assert!(book.is_named_by_leader(table(b"coupon:a:users")));
        assert!(!book.is_named_by_leader(table(b"coupon:a:note:1")));
        assert!(book.named_companions(b"coupon:a:users").is_empty());
    }
}
