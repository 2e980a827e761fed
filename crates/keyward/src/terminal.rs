//! Where output goes: data to stdout, messages to stderr.
//!
//! Invariants: escape sequences reach a terminal only, and none that is told
//! `NO_COLOR`: who draws asks for a screen first. Data goes byte by byte as it is, control
//! characters of keys included, in large pieces, and before any message that follows it.

use std::io::{self, BufWriter, IsTerminal, Write};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use keyward_demo::{Output, Screen};
use keyward_schema::escape;
use serde_json::Value;

/// The two streams of a program.
pub(crate) struct Terminal {
    data: BufWriter<Box<dyn Write>>,
    messages: Box<dyn Write>,
}

impl Terminal {
    /// The streams of this process. Messages are without colours where they are not wanted.
    pub(crate) fn standard() -> Terminal {
        Terminal {
            data: BufWriter::new(Box::new(io::stdout())),
            messages: Box::new(AutoStream::auto(io::stderr())),
        }
    }

    /// Writes data as it is.
    pub(crate) fn write(&mut self, data: &str) -> io::Result<()> {
        self.data.write_all(data.as_bytes())
    }

    /// Writes data that is meant for a file: on a terminal control characters are escaped.
    pub(crate) fn write_for_file(&mut self, data: &str) -> io::Result<()> {
        if !io::stdout().is_terminal() {
            return self.write(data);
        }
        let lines: Vec<_> = data.split('\n').map(escape).collect();
        self.write(&lines.join("\n"))
    }

    /// Writes a picture of a finding as data, with a line behind it.
    pub(crate) fn write_picture(&mut self, picture: &str) -> io::Result<()> {
        match AutoStream::choice(&io::stdout()) {
            ColorChoice::Never => writeln!(self.data, "{}", strip_str(picture)),
            _ => writeln!(self.data, "{picture}"),
        }
    }

    /// Writes a record on a line of its own.
    pub(crate) fn write_record(&mut self, record: &Value) -> io::Result<()> {
        self.write(&json_line(record))
    }

    /// Writes a message on a line of its own. What it quotes, such as a path,
    /// may hold control characters: they are made visible.
    pub(crate) fn say(&mut self, message: &str) -> io::Result<()> {
        self.data.flush()?;
        writeln!(self.messages, "{}", escape(message))
    }

    /// Writes a picture of a finding as a message.
    pub(crate) fn say_picture(&mut self, picture: &str) -> io::Result<()> {
        self.data.flush()?;
        writeln!(self.messages, "{picture}")
    }

    /// Writes out all data.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.data.flush()
    }
}

/// A demonstration is data.
impl Output for Terminal {
    fn write(&mut self, text: &str) -> io::Result<()> {
        Terminal::write(self, text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Terminal::flush(self)
    }

    fn screen(&self) -> Option<Screen> {
        let stdout = io::stdout();
        if !stdout.is_terminal() || AutoStream::choice(&stdout) == ColorChoice::Never {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(stdout).ok()?;
        let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
        (columns > 0 && rows > 0).then_some(Screen { columns, rows })
    }
}

/// A record as one line of JSON, in which every control character is escaped:
/// JSON itself asks that only of those below the space.
fn json_line(record: &Value) -> String {
    let mut line = String::new();
    for c in record.to_string().chars() {
        if c.is_control() {
            line.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            line.push(c);
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_have_no_control_characters_and_keep_their_meaning() {
        let record = json!({ "key": "a\u{9b}\u{7f}\u{1b}\n" });
        let line = json_line(&record);
        assert_eq!(line, "{\"key\":\"a\\u009b\\u007f\\u001b\\n\"}\n");
        assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON"), record);
    }
}
