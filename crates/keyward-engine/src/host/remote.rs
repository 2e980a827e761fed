//! Another server, as MIGRATE talks to it.

/// Another server, for MIGRATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote<'a> {
    /// Its name or address.
    pub host: &'a [u8],
    /// Its port, as it was given.
    pub port: &'a [u8],
    /// How long it may take to be connected, to take bytes and to answer, each.
    pub timeout_ms: u64,
}

/// What another server answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchange {
    /// The lines of its replies, without their ends, as many as came.
    pub lines: Vec<Vec<u8>>,
    /// Why there are no more.
    pub failure: Option<ExchangeFailure>,
}

/// Where talking to another server has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeFailure {
    /// It could not be reached.
    Connecting,
    /// It did not take all of the requests.
    Writing,
    /// It did not answer all of them.
    Reading,
}
