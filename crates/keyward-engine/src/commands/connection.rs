//! Commands about the client's own connection, and about other clients.

pub(crate) mod basics;
pub(crate) mod client;
mod client_filter;
pub(crate) mod client_list;
pub(crate) mod pause;
