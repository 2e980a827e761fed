//! The commands that make a derived row hold what it must.
//!
//! Elements come before others leave, so that a row that goes on does not vanish
//! in between.

use super::wanted::State;
use crate::view::{Row, RowType};
use keyward_resp::ArgBuf;
use keyward_resp::number::push_f64;
use keyward_schema::KeyId;

/// Room for a score of common length.
const SCORE_BYTES: usize = 16;

/// What a derived row lacks and has too much.
#[derive(Debug)]
pub(crate) struct Repair {
    /// The row's key.
    pub(crate) key: Vec<u8>,
    /// Its table.
    pub(crate) table: KeyId,
    /// How many elements come, leave or get another score.
    pub(crate) changed: usize,
    /// How many elements come.
    pub(crate) added: usize,
    /// How many elements leave.
    pub(crate) taken: usize,
    /// In the order in which they are to run.
    pub(crate) commands: Vec<ArgBuf>,
}

impl Repair {
    /// Of the row as it is now, by the elements that must change. `None` if each
    /// is what it must be.
    pub(crate) fn of(
        table: KeyId,
        key: Vec<u8>,
        row: Option<&dyn Row>,
        row_type: RowType,
        elements: impl IntoIterator<Item = (Vec<u8>, State)>,
    ) -> Option<Repair> {
        let (put, take) = match row_type {
            RowType::Set => ("SADD", "SREM"),
            RowType::Zset => ("ZADD", "ZREM"),
            _ => ("SET", "DEL"),
        };
        let command = |name: &str, element: &[u8]| {
            let mut command =
                ArgBuf::with_capacity(4, name.len() + key.len() + element.len() + SCORE_BYTES);
            command.push(name.as_bytes());
            command.push(&key);
            command
        };
        let (mut puts, mut takes) = (None, None);
        let (mut put_count, mut take_count, mut added) = (0, 0, 0);
        for (element, state) in elements {
            let now = State::of(row, row_type, &element);
            if now == state {
                continue;
            }
            if state == State::Absent {
                take_count += 1;
                let takes = takes.get_or_insert_with(|| command(take, &element));
                if row_type != RowType::String {
                    takes.push(&element);
                }
                continue;
            }
            put_count += 1;
            let puts = puts.get_or_insert_with(|| command(put, &element));
            added += usize::from(now == State::Absent);
            match state {
                State::Absent => {}
                State::Text(text) => puts.push(&text),
                State::Member => puts.push(&element),
                State::Score(score) => {
                    let mut text = Vec::new();
                    push_f64(&mut text, score);
                    puts.push(&text);
                    puts.push(&element);
                }
            }
        }
        let mut commands = Vec::with_capacity(1);
        // A row of another type, left over from another schema, makes way.
        if put_count > 0 && row.is_some_and(|row| row.row_type() != row_type) {
            commands.push(command("DEL", b""));
        }
        commands.extend(puts);
        commands.extend(takes);
        let changed = put_count + take_count;
        (changed > 0).then_some(Repair { key, table, changed, added, taken: take_count, commands })
    }
}
