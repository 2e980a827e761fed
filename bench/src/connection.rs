//! A connection that sends many commands at once.

use anyhow::bail;
use keyward_resp::push_request;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

pub(crate) struct Connection {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> anyhow::Result<Connection> {
        stream.set_nodelay(true)?;
        Ok(Connection { replies: BufReader::new(stream.try_clone()?), stream })
    }

    /// What it answers to one command, a line for each text.
    pub(crate) fn call(&mut self, command: &[&str]) -> anyhow::Result<String> {
        Ok(self.exchange(&[command])?.concat().join("\n"))
    }

    /// Sends commands and answers the texts of each reply; an error of the server is one
    /// here.
    pub(crate) fn exchange<C, W>(&mut self, commands: &[C]) -> anyhow::Result<Vec<Vec<String>>>
    where
        C: AsRef<[W]>,
        W: AsRef<[u8]>,
    {
        let mut requests = Vec::new();
        commands.iter().for_each(|command| push_request(&mut requests, command.as_ref().iter()));
        self.stream.write_all(&requests)?;
        commands.iter().map(|_| self.reply()).collect()
    }

    fn reply(&mut self) -> anyhow::Result<Vec<String>> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            bail!("the server has closed the connection");
        }
        let number = || line[1..].trim_end().parse::<i64>();
        match line.as_bytes().first() {
            Some(b'*') => {
                let parts = (0..number()?).map(|_| self.reply());
                Ok(parts.collect::<anyhow::Result<Vec<_>>>()?.concat())
            }
            Some(b'$') if number()? < 0 => Ok(Vec::new()),
            Some(b'$') => {
                let mut text = vec![0; number()? as usize + 2];
                self.replies.read_exact(&mut text)?;
                text.truncate(text.len() - 2);
                Ok(vec![String::from_utf8(text)?])
            }
            Some(b'+' | b':') => Ok(vec![line[1..].trim_end().to_owned()]),
            _ => bail!("{}", line.trim_end()),
        }
    }
}
