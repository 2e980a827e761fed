//! A database that others run too: its settings, its readers, columns that come later.

use crate::rows::SHOP;
use crate::stage::{begun, said};

#[test]
fn what_is_trimmed_is_durable_whatever_the_database_has_as_its_default() {
    for (default, expected) in
        [("off", "on"), ("on", "on"), ("local", "local"), ("remote_apply", "remote_apply")]
    {
        let (stage, server, _client) = begun(SHOP, "SELECT 2\nRPUSH likes one");
        stage.postgres.query(&format!(
            "ALTER DATABASE postgres SET synchronous_commit = {default}; \
             CREATE TABLE seen (setting text); \
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$; \
             CREATE TRIGGER see BEFORE INSERT ON likes FOR EACH ROW EXECUTE FUNCTION see()"
        ));
        said(&stage.sync_once(&server));
        stage.check("SELECT string_agg(setting, ' ') FROM seen", expected);
    }
}
