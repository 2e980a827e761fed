//! Nodes of a cluster: keys that lie in one slot, and slots that move.
//!
//! A schema of which ties reach into other slots is not loaded on a node. Owns what that leaves
//! to be seen before a command runs: that the keys it names have the hash tags of their patterns,
//! and that their slot is at rest. While a slot moves key by key, what a command's key is tied to
//! may lie on either node.
//! Not here: which ties stay within a slot (`keyward_rules::host`). What CLUSTER MIGRATESLOTS
//! moves is whole before anybody writes to it, and needs none of this.

use keyward_commands::args;
use keyward_resp::Args;
use keyward_rules::RuleBook;
use keyward_schema::hash_tag_of;

use crate::api::{Ctx, Run};
use crate::routes::Route;

/// Redis's own word for a slot that moves.
const TRY_AGAIN: &str = "TRYAGAIN Multiple keys request during rehashing of slot";

/// Why a command cannot run on this node now, as an error; it has not begun.
pub(crate) fn hindrance(
    ctx: Ctx<'_>,
    book: &RuleBook,
    route: &Route,
    args: Args<'_>,
) -> Option<String> {
    let keys = route.keys(args).unwrap_or_default();
    let keys = keys.iter().filter_map(|(index, _)| args.get(*index));
    let is_tied = |key: &&[u8]| {
        let traits = book.table_of(key).map(|table| book.traits(table));
        traits.is_some_and(|traits| traits.is_tied() || traits.leader.is_some())
    };
    let mut tied = keys.filter(is_tied);
    let first = tied.next()?;
    let untagged = std::iter::once(first).chain(tied).find(|key| hash_tag_of(key).is_none());
    if let Some(key) = untagged {
        let key = key.escape_ascii();
        return Some(format!(
            "SCHEMA {key}: its hash tag is empty, so that keys tied to it lie in other slots"
        ));
    }
    (!is_at_rest(ctx, hash_tag_of(first)?)).then(|| TRY_AGAIN.to_owned())
}

/// Whether all keys of a slot are on this node. The server tells: of a slot that moves it serves
/// no two keys that are not there. SMOVE counts no misses, and does nothing without a set.
fn is_at_rest(ctx: Ctx<'_>, tag: &[u8]) -> bool {
    let named = |number: &[u8]| [b"{", tag, b"}:keyward:", number].concat();
    let words: [&[u8]; 4] = [b"SMOVE", &named(b"1"), &named(b"2"), b"keyward"];
    !ctx.call(Run::Read, words.into_iter()).is_error()
}

/// Whether a command moves keys between nodes, with all that is tied to them: it is not judged.
pub(crate) fn moves_keys(name: &[u8]) -> bool {
    ["MIGRATE", "RESTORE-ASKING"].iter().any(|own| args::is(name, own))
}
