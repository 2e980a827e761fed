//! A connection that sends many commands at once.

use anyhow::bail;
use keyward_resp::{Frame, push_request};
use keyward_testkit::Client;
use std::net::SocketAddr;

pub(crate) struct Connection {
    client: Client,
}

impl Connection {
    pub(crate) fn new(address: SocketAddr) -> anyhow::Result<Connection> {
        Ok(Connection { client: Client::connect(address)? })
    }

    /// What it answers to one command, a line for each text.
    pub(crate) fn call(&mut self, command: &[&str]) -> anyhow::Result<String> {
        Ok(self.exchange(&[command])?.concat().join("\n"))
    }

    /// Sends commands and returns the texts of each reply; an error of the server is one
    /// here.
    pub(crate) fn exchange<C, W>(&mut self, commands: &[C]) -> anyhow::Result<Vec<Vec<String>>>
    where
        C: AsRef<[W]>,
        W: AsRef<[u8]>,
    {
        let mut requests = Vec::new();
        commands.iter().for_each(|command| push_request(&mut requests, command.as_ref().iter()));
        self.client.send(&requests)?;
        let replies = self.client.receive_batch(commands.len())?;
        replies.into_iter().map(|reply| texts(reply.frame)).collect()
    }
}

/// The texts and numbers of a reply, in order.
fn texts(reply: Frame) -> anyhow::Result<Vec<String>> {
    match reply {
        Frame::Array(parts) => {
            let parts = parts.into_iter().map(texts);
            Ok(parts.collect::<anyhow::Result<Vec<_>>>()?.concat())
        }
        Frame::NullBulk | Frame::NullArray => Ok(Vec::new()),
        Frame::Integer(number) => Ok(vec![number.to_string()]),
        Frame::Simple(text) | Frame::Bulk(text) => Ok(vec![String::from_utf8(text)?]),
        Frame::Error(text) => bail!("-{}", String::from_utf8_lossy(&text)),
        other => bail!("{other:?} is no reply of RESP2"),
    }
}
