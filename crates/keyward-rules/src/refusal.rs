//! Refusals: what a client reads whose command breaks the schema.
