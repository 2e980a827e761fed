//! The Redis protocol, versions 2 and 3, as pure functions on byte buffers.
//!
//! - [`RequestParser`] turns a connection's read buffer into a [`Batch`] of commands.
//!   Each command is an [`Args`]: ranges in the read buffer, no copy, no allocation.
//! - [`ReplyWriter`] appends replies to a byte buffer in the client's [`Protocol`].
//! - [`push_request`] and [`FrameParser`] are the client's side: commands to bytes,
//!   replies to [`Frame`] trees.
//! - [`number`] reads and prints numbers exactly as Redis does.
//!
//! The server's loop with them:
//!
//! ```
//! use keyward_resp::{Batch, Protocol, ReplyWriter, RequestLimits, RequestParser};
//!
//! let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
//! let mut input = b"*1\r\n$4\r\nPING\r\nECHO \"a b\"\r\n*2\r\n$3\r\nGE".to_vec();
//! let mut output = Vec::new();
//!
//! let parsed = parser.parse(&mut input, &RequestLimits::default(), &mut batch);
//! for command in batch.commands(&input) {
//!     ReplyWriter::new(&mut output, Protocol::Resp2).bulk(command.at(0));
//! }
//! // An error is answered after the commands before it, then the connection is closed.
//! if let Err(error) = parsed {
//!     ReplyWriter::new(&mut output, Protocol::Resp2).protocol_error(&error);
//! }
//! batch.clear();
//! parser.consume(&mut input);
//!
//! assert_eq!(output, b"$4\r\nPING\r\n$4\r\nECHO\r\n");
//! assert_eq!(input, b"*2\r\n$3\r\nGE");
//! ```
//!
//! Not here: sockets, timeouts, the meaning of any command.

mod args;
mod frame;
mod inline;
pub mod number;
mod reply;
mod request;

pub use args::{ArgBuf, ArgRange, Args};
pub use frame::{Frame, FrameError, FrameLimits, FrameParser};
pub use inline::split_words;
pub use reply::{Deferred, Protocol, ReplyWriter};
pub use request::{
    Batch, LINE_BYTES_MAX, Parsed, ProtocolError, RequestLimits, RequestParser,
    UNAUTHENTICATED_ARGS_MAX, UNAUTHENTICATED_BULK_BYTES_MAX, push_request,
};
