//! Commands about keys of any type.

pub(crate) mod databases;
pub(crate) mod dump;
pub(crate) mod keys;
pub(crate) mod lifetime;
pub(crate) mod migrate;
pub(crate) mod object;
pub(crate) mod relocate;
pub(crate) mod scan;
pub(crate) mod sort;
pub(crate) mod wait;
