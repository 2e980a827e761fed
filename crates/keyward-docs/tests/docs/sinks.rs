//! What a document says of rows that go to tables.

use keyward_docs::markdown;

use crate::schema;

#[test]
fn tables_are_named_and_nobody_is_told_to_write_the_changefeed() {
    let text = "[keyspace]\nname = 'shop'\n[key.\"user:{id:uint}\"]\ntype = 'hash'\nttl = 'none'\n\
        fields = { name = 'string' }\nsink = { mirror = 'users', deleted = 'mark', columns = { user_id = '{id}' } }\n";
    let text = markdown(&[&schema("shop.toml", text)]);
    let expected = "Mirrored in the table `users`, which has each row as it is \
        now; of one that is gone `deleted_at` says since when.";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("Columns: `user_id` from `id`."), "{text}");
    assert!(text.contains("### `keyward:changefeed:shop`"), "{text}");
    assert!(!text.contains("XADD") && !text.contains("DEL keyward"), "{text}");
}
