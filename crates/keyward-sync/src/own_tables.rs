//! The tables that storing needs for itself: the place up to which changes are stored, which
//! histories were before, what a server has lost that is stored, which tables have the items from
//! before them, what was not loaded from tables, and items that were refused.

/// What they are called, and how they are made.
pub(crate) const ALL: [(&str, &str); 7] = [
    (
        "keyward_place",
        "-- up to which entry of which history of its changefeed a keyspace is stored\n\
         CREATE TABLE keyward_place (\n  \
           keyspace text PRIMARY KEY,\n  \
           history text NOT NULL,\n  \
           entry text NOT NULL,\n  \
           number bigint NOT NULL,\n  \
           highest text NOT NULL,\n  \
           compares boolean NOT NULL,\n  \
           stored_at timestamptz NOT NULL DEFAULT now()\n)",
    ),
    (
        "keyward_histories",
        "-- up to which entry former histories are stored\n\
         CREATE TABLE keyward_histories (\n  \
           keyspace text NOT NULL,\n  \
           history text NOT NULL,\n  \
           stored_to text NOT NULL,\n  \
           number bigint NOT NULL,\n  \
           left_at timestamptz NOT NULL DEFAULT now(),\n  \
           PRIMARY KEY (keyspace, history)\n)",
    ),
    (
        "keyward_forks",
        "-- what is stored here and was lost by the server, which went on behind `lost_after`\n\
         CREATE TABLE keyward_forks (\n  \
           keyspace text NOT NULL,\n  \
           history text NOT NULL,\n  \
           lost_history text NOT NULL,\n  \
           lost_after text NOT NULL,\n  \
           lost_to text NOT NULL,\n  \
           found_at timestamptz NOT NULL DEFAULT now()\n)",
    ),
    (
        "keyward_fills",
        "-- tables that have the items which were in lists before\n\
         CREATE TABLE keyward_fills (\n  \
           keyspace text NOT NULL,\n  \
           table_name text NOT NULL,\n  \
           filled_at timestamptz NOT NULL DEFAULT now(),\n  \
           PRIMARY KEY (keyspace, table_name)\n)",
    ),
    (
        "keyward_loading",
        "-- tables that `keyward fill` has begun to load, and not ended\n\
         CREATE TABLE keyward_loading (\n  \
           keyspace text NOT NULL,\n  \
           table_name text NOT NULL,\n  \
           began_at timestamptz NOT NULL DEFAULT now(),\n  \
           PRIMARY KEY (keyspace, table_name)\n)",
    ),
    (
        "keyward_unloaded",
        "-- rows that `keyward fill` did not load, by what names them, and why\n\
         CREATE TABLE keyward_unloaded (\n  \
           keyspace text NOT NULL,\n  \
           table_name text NOT NULL,\n  \
           key text[] NOT NULL,\n  \
           reason text NOT NULL,\n  \
           found_at timestamptz NOT NULL DEFAULT now()\n)",
    ),
    (
        "keyward_dead_letters",
        "-- items that the database refused, and why\n\
         CREATE TABLE keyward_dead_letters (\n  \
           keyspace text NOT NULL,\n  \
           entry text NOT NULL,\n  \
           table_name text NOT NULL,\n  \
           key bytea NOT NULL,\n  \
           item bytea NOT NULL,\n  \
           reason text NOT NULL,\n  \
           refused_at timestamptz NOT NULL DEFAULT now(),\n  \
           PRIMARY KEY (keyspace, entry)\n)",
    ),
];
