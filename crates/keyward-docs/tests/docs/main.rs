//! Documents: the exact text a person sees, that nothing of a schema is
//! missing from it, and that its markup is sound.

mod complete;
mod markup;
mod sinks;
mod text;

use keyward_schema::{Schema, check};

const SHOP: &str = include_str!("shop.toml");

/// A schema that has no problem but perhaps warnings.
fn schema(name: &str, text: &str) -> Schema {
    let checked = check(name, text.as_bytes());
    let told: Vec<&str> = checked.diagnostics.iter().map(|found| &*found.message).collect();
    checked.schema.unwrap_or_else(|| panic!("{name}: {told:?}"))
}
