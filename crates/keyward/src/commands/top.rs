//! `keyward top`: the patterns of a running server, as they are used.

use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use keyward_backup::{Address, Line};
use keyward_demo::{Column, Key, Output, Top as Table, Wish, read_info};
use keyward_resp::{Frame, FrameLimits, FrameParser, push_request};
use keyward_schema::facts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::backup::duration;
use super::login::{Login, login_words};
use crate::answer::Answer;
use crate::terminal::Terminal;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Show which patterns of a server are used, and how much
///
/// Asks the server for its figures every second and shows them in the terminal, as
/// `keyward demo` does: arrows choose a pattern and the column to sort by, `r` turns the order
/// round, `/` filters, Enter shows a pattern with what the schema says of it
/// (Space and `b` scroll there), `q` ends. Where
/// the output is no terminal, or with --once, the table is written once. A user needs INFO,
/// and for what the schema says SELECT and KEYWARD. Exits with 1 if the server has no schema.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward top\n  keyward top 10.0.0.7:7000 --user reader\n  \
    keyward top rediss://10.0.0.7:6380 --cacert ca.crt\n  \
    keyward top --once --sort reads --filter user: > top.txt")]
pub(crate) struct Top {
    /// Where the server is: HOST[:PORT], redis://[[user:]password@]host[:port] (rediss:// is by
    /// TLS) or the path of a Unix socket; 127.0.0.1:6379 if nothing is said
    address: Option<String>,
    #[command(flatten)]
    login: Login,
    /// How often figures are asked for
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    interval: Duration,
    /// The column to sort by
    #[arg(long, default_value = "memory", value_parser = columns())]
    sort: String,
    /// Show only patterns and keyspaces that hold this text
    #[arg(long, default_value = "", hide_default_value = true)]
    filter: String,
    /// Write the table once; rates are those of one interval
    #[arg(long)]
    once: bool,
}

fn columns() -> PossibleValuesParser {
    PossibleValuesParser::new(Column::ALL.map(Column::name))
}

impl Top {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let sort = Column::ALL.into_iter().find(|column| column.name() == self.sort);
        let mut table = Table::new(sort.unwrap_or(Column::Memory), &self.filter);
        let address = self.login.address(self.address.as_deref())?;
        let mut server = Server::open(&address).with_context(|| address.to_string())?;
        if !server.refresh(&mut table)? {
            terminal.say(&format!("keyward: {address} has no schema"))?;
            return Ok(Answer::No);
        }
        if self.once || terminal.screen().is_none() || !io::stdin().is_terminal() {
            std::thread::sleep(self.interval);
            server.refresh(&mut table)?;
            terminal.write(&table.draw(&address.to_string(), None))?;
            return Ok(Answer::Yes);
        }
        self.watch((&address, &mut server), &mut table, terminal)?;
        Ok(Answer::Yes)
    }

    /// Shows the table until it is to end.
    fn watch(
        &self,
        server: (&Address, &mut Server),
        table: &mut Table,
        terminal: &mut Terminal,
    ) -> anyhow::Result<()> {
        let _raw = Raw::enter()?;
        terminal.write("\x1b[?1049h\x1b[?25l")?;
        let outcome = self.turns(server, table, terminal);
        terminal.write("\x1b[?25h\x1b[?1049l")?;
        terminal.flush()?;
        outcome
    }

    fn turns(
        &self,
        (address, server): (&Address, &mut Server),
        table: &mut Table,
        terminal: &mut Terminal,
    ) -> anyhow::Result<()> {
        let mut title = address.to_string();
        let mut due = Instant::now();
        loop {
            if Instant::now() >= due {
                title = address.to_string();
                if let Err(error) = server.refresh(table).or_else(|_| {
                    *server = Server::open(address)?;
                    server.refresh(table)
                }) {
                    title = format!("{title}: {error:#}");
                }
                due = Instant::now() + self.interval;
            }
            server.explain(table);
            let text = table.draw(&title, terminal.screen());
            // Each line clears what was behind it.
            let text = text.replace('\n', "\x1b[K\r\n");
            terminal.write(&format!("\x1b[H{text}\x1b[K\x1b[J"))?;
            terminal.flush()?;
            for key in keys_within(due.saturating_duration_since(Instant::now()))? {
                match key {
                    Some(key) if table.press(key) == Wish::GoOn => {}
                    _ => return Ok(()),
                }
            }
        }
    }
}

/// A terminal that hands keys on as they are pressed, until this is dropped.
struct Raw(Termios);

impl Raw {
    fn enter() -> io::Result<Raw> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Raw(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// The keys that are pressed within a time, as soon as there are some; nothing for Ctrl-C and
/// for the end of input.
fn keys_within(patience: Duration) -> io::Result<Vec<Option<Key>>> {
    let stdin = io::stdin();
    let patience = Timespec::try_from(patience).map_err(io::Error::other)?;
    let mut sources = [PollFd::new(&stdin, PollFlags::IN)];
    match poll(&mut sources, Some(&patience)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let mut bytes = [0; 256];
    let read = rustix::io::read(&stdin, &mut bytes)?;
    if read == 0 {
        return Ok(vec![None]);
    }
    Ok(keys(&bytes[..read]))
}

/// The keys that bytes of a terminal mean.
fn keys(bytes: &[u8]) -> Vec<Option<Key>> {
    let mut found = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    while let Some(sign) = rest.chars().next() {
        let arrows = [("A", Key::Up), ("B", Key::Down), ("C", Key::Right), ("D", Key::Left)];
        let arrow = ["\x1b[", "\x1bO"].iter().find_map(|start| {
            let end = rest.strip_prefix(start)?;
            arrows.iter().find_map(|(name, key)| Some((end.strip_prefix(name)?, *key)))
        });
        if let Some((behind, key)) = arrow {
            found.push(Some(key));
            rest = behind;
            continue;
        }
        rest = &rest[sign.len_utf8()..];
        match sign {
            '\x03' | '\x04' => found.push(None),
            '\x1b' if rest.starts_with(['[', 'O']) => {
                // Another key of the terminal's, up to the letter or the tilde that ends it.
                let end = rest.char_indices().skip(1).find(|(_, it)| matches!(it, '@'..='~'));
                rest = end.map_or("", |(at, it)| &rest[at + it.len_utf8()..]);
            }
            '\x1b' => found.push(Some(Key::Escape)),
            '\r' | '\n' => found.push(Some(Key::Enter)),
            '\x7f' | '\x08' => found.push(Some(Key::Backspace)),
            sign if !sign.is_control() => found.push(Some(Key::Text(sign))),
            _ => {}
        }
    }
    found
}

/// The server that is asked.
struct Server {
    connection: Line,
    /// The pattern that was explained last.
    explained: Option<(usize, String, String)>,
}

impl Server {
    fn open(address: &Address) -> anyhow::Result<Server> {
        let connection = address.connect()?;
        connection.set_patience(PATIENCE, PATIENCE)?;
        let mut server = Server { connection, explained: None };
        if let Some(words) = login_words(address) {
            server.ask(&words)?;
        }
        Ok(server)
    }

    /// Sends a command; an error is one here too.
    fn ask(&mut self, words: &[impl AsRef<[u8]>]) -> anyhow::Result<Frame> {
        let mut request = Vec::new();
        push_request(&mut request, words.iter());
        self.connection.write_all(&request)?;
        self.connection.flush()?;
        let mut parser = FrameParser::new(FrameLimits::default());
        let (mut received, mut buffer) = (Vec::new(), [0; 16 * 1024]);
        loop {
            match parser.next(&received)? {
                Some(Frame::Error(line)) => bail!("{}", String::from_utf8_lossy(&line)),
                Some(reply) => return Ok(reply),
                None => {}
            }
            match self.connection.read(&mut buffer)? {
                0 => bail!("the server closed the connection"),
                read => received.extend_from_slice(&buffer[..read]),
            }
        }
    }

    /// Takes new figures; whether there are any.
    fn refresh(&mut self, table: &mut Table) -> anyhow::Result<bool> {
        let reply = self.ask(&["INFO", "patterns"])?;
        let text = String::from_utf8_lossy(reply.as_bytes().unwrap_or_default()).into_owned();
        let patterns = read_info(&text);
        let is_governed = !patterns.is_empty();
        table.take(patterns, Instant::now());
        Ok(is_governed)
    }

    /// Has the table show what the schema says of a pattern. Who may not ask is not told.
    fn explain(&mut self, table: &mut Table) {
        let wanted = table
            .detailed()
            .map(|(db, keyspace, pattern)| (db, keyspace.to_owned(), pattern.to_owned()));
        if wanted == self.explained {
            return;
        }
        self.explained.clone_from(&wanted);
        let Some((db, keyspace, pattern)) = wanted else { return };
        let told = self.facts(db, &keyspace, &pattern);
        table.tell(told.unwrap_or_else(|error| {
            vec![("What the schema says".to_owned(), vec![format!("{error:#}")])]
        }));
    }

    fn facts(
        &mut self,
        db: usize,
        keyspace: &str,
        pattern: &str,
    ) -> anyhow::Result<Vec<(String, Vec<String>)>> {
        self.ask(&["SELECT", &db.to_string()])?;
        let reply = self.ask(&["KEYWARD", "SCHEMA", "SHOW", keyspace])?;
        let checked = keyward_schema::check("schema", reply.as_bytes().unwrap_or_default());
        let schema = checked.schema.context("its schema is not sound")?;
        let mut ids = schema.ids();
        let id = ids.find(|id| schema.key(*id).pattern.text() == pattern);
        let Some(id) = id else { return Ok(Vec::new()) };
        let doc = schema.key(id).doc.as_ref().map(|doc| ("What it is", vec![doc.to_string()]));
        let told = doc.into_iter().chain(facts::of_key(&schema, id));
        Ok(told.map(|(title, lines)| (title.to_owned(), lines)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read() {
        let check = |bytes: &[u8], expected: &[Option<Key>]| assert_eq!(keys(bytes), expected);
        check(b"q", &[Some(Key::Text('q'))]);
        check(b"\x1b[A\x1bOBx", &[Some(Key::Up), Some(Key::Down), Some(Key::Text('x'))]);
        check(b"\x1b", &[Some(Key::Escape)]);
        check(b"\x1b[5~\r", &[Some(Key::Enter)]);
        check(b"\x03", &[None]);
        check("é\x7f".as_bytes(), &[Some(Key::Text('é')), Some(Key::Backspace)]);
        check(b"\x1b[", &[]);
        check(b"\xff\x00", &[Some(Key::Text('\u{fffd}'))]);
    }
}
