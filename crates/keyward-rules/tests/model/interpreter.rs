//! A few dozen lines of Redis: enough commands to create, change, move and end
//! rows of each type. Replies are left out; an error is `None`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use keyward_rules::End;

use crate::keyspace::{Bytes, Keyspace, Stored, Value};

/// Runs a command on living rows; `None` if Redis would answer an error.
pub(crate) fn run(keyspace: &mut Keyspace, now_ms: i64, command: &[Bytes]) -> Option<()> {
    let mut run = Run { keyspace, now_ms };
    let words: Vec<&[u8]> = command.iter().map(|word| &word[..]).collect();
    run.command(&words)
}

struct Run<'a> {
    keyspace: &'a mut Keyspace,
    now_ms: i64,
}

impl Run<'_> {
    fn command(&mut self, words: &[&[u8]]) -> Option<()> {
        match words {
            [b"SET", key, value] => self.set(key, value, None),
            [b"SET", key, value, b"PX", ms] => {
                self.set(key, value, Some(self.now_ms + number(ms)?));
            }
            [b"SET", key, value, b"PXAT", ms] => self.set(key, value, Some(number(ms)?)),
            [b"SET", key, value, b"KEEPTTL"] => {
                let deadline = self.row(key).and_then(|row| row.deadline);
                self.set(key, value, deadline);
            }
            [b"MSET", pairs @ ..] => {
                pairs.chunks_exact(2).for_each(|pair| self.set(pair[0], pair[1], None));
            }
            [b"APPEND", key, value] => {
                let deadline = self.row(key).and_then(|row| row.deadline);
                let mut text = match self.row(key).map(|row| &row.value) {
                    Some(Value::Text(text)) => text.clone(),
                    Some(_) => return None,
                    None => Vec::new(),
                };
                text.extend_from_slice(value);
                self.set(key, &text, deadline);
            }
            [b"DEL", keys @ ..] => keys.iter().for_each(|key| self.remove(key)),
            [b"RENAME", from, to] => {
                let row = self.row(from)?.clone();
                self.remove(from);
                self.put(to, row);
            }
            [b"COPY", from, to, b"REPLACE"] => {
                let row = self.row(from)?.clone();
                if from == to {
                    return None;
                }
                self.put(to, row);
            }
            [b"HSET", key, pairs @ ..] => {
                let fields = self.hash(key)?;
                for pair in pairs.chunks_exact(2) {
                    fields.insert(pair[0].into(), pair[1].into());
                }
            }
            [b"HDEL", key, names @ ..] => {
                let fields = self.hash(key)?;
                for name in names {
                    fields.remove(*name);
                }
            }
            [b"SADD", key, members @ ..] => {
                let set = self.members(key)?;
                set.extend(members.iter().map(|member| member.to_vec()));
            }
            [b"SREM", key, members @ ..] => {
                let set = self.members(key)?;
                for member in members {
                    set.remove(*member);
                }
            }
            [b"SMOVE", from, to, member] => {
                self.members(to)?;
                if self.members(from)?.remove(*member) {
                    self.members(to)?.insert(member.to_vec());
                }
            }
            [b"SUNIONSTORE", to, sources @ ..] => self.union(to, sources)?,
            [b"ZADD", key, pairs @ ..] => {
                let zset = self.scores(key)?;
                for pair in pairs.chunks_exact(2) {
                    let score = std::str::from_utf8(pair[0]).ok()?.parse().ok()?;
                    zset.insert(pair[1].into(), score);
                }
            }
            [b"ZREM", key, members @ ..] => {
                let zset = self.scores(key)?;
                for member in members {
                    zset.remove(*member);
                }
            }
            [b"ZREMRANGEBYRANK", key, b"0", last] => self.drop_lowest(key, number(last)?)?,
            [b"LPUSH", key, items @ ..] => self.push(key, End::Head, items)?,
            [b"RPUSH", key, items @ ..] => self.push(key, End::Tail, items)?,
            [b"LPOP", key, count] => self.trim(key, number(count)?, -1)?,
            [b"RPOP", key, count] => self.trim(key, 0, -1 - number(count)?)?,
            [b"LTRIM", key, start, stop] => self.trim(key, number(start)?, number(stop)?)?,
            [b"PEXPIRE", key, ms] => self.expire(key, Some(self.now_ms + number(ms)?)),
            [b"PEXPIREAT", key, ms] => self.expire(key, Some(number(ms)?)),
            [b"PERSIST", key] => self.expire(key, None),
            _ => panic!("the model does not know {words:?}"),
        }
        self.keyspace.rows.retain(|_, row| match &row.value {
            Value::Text(_) => true,
            Value::List(items) => !items.is_empty(),
            Value::Set(members) => !members.is_empty(),
            Value::Zset(members) => !members.is_empty(),
            Value::Hash(fields) => !fields.is_empty(),
            Value::Stream(entries) => !entries.is_empty(),
        });
        Some(())
    }

    fn row(&self, key: &[u8]) -> Option<&Stored> {
        self.keyspace.rows.get(key)
    }

    fn set(&mut self, key: &[u8], value: &[u8], deadline: Option<i64>) {
        self.put(key, Stored { value: Value::Text(value.to_vec()), deadline });
    }

    fn put(&mut self, key: &[u8], row: Stored) {
        self.keyspace.rows.insert(key.to_vec(), row);
    }

    fn remove(&mut self, key: &[u8]) {
        self.keyspace.rows.remove(key);
    }

    fn expire(&mut self, key: &[u8], deadline: Option<i64>) {
        if deadline.is_some_and(|deadline| deadline <= self.now_ms) {
            return self.remove(key);
        }
        if let Some(row) = self.keyspace.rows.get_mut(key) {
            row.deadline = deadline;
        }
    }

    fn edit(&mut self, key: &[u8], empty: Value) -> &mut Value {
        let row = self.keyspace.rows.entry(key.to_vec());
        &mut row.or_insert(Stored { value: empty, deadline: None }).value
    }

    fn hash(&mut self, key: &[u8]) -> Option<&mut BTreeMap<Bytes, Bytes>> {
        match self.edit(key, Value::Hash(BTreeMap::new())) {
            Value::Hash(fields) => Some(fields),
            _ => None,
        }
    }

    fn members(&mut self, key: &[u8]) -> Option<&mut BTreeSet<Bytes>> {
        match self.edit(key, Value::Set(BTreeSet::new())) {
            Value::Set(members) => Some(members),
            _ => None,
        }
    }

    fn scores(&mut self, key: &[u8]) -> Option<&mut BTreeMap<Bytes, f64>> {
        match self.edit(key, Value::Zset(BTreeMap::new())) {
            Value::Zset(members) => Some(members),
            _ => None,
        }
    }

    fn items(&mut self, key: &[u8]) -> Option<&mut VecDeque<Bytes>> {
        match self.edit(key, Value::List(VecDeque::new())) {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    fn union(&mut self, to: &[u8], sources: &[&[u8]]) -> Option<()> {
        let mut union = BTreeSet::new();
        for source in sources {
            match self.row(source).map(|row| &row.value) {
                Some(Value::Set(members)) => union.extend(members.iter().cloned()),
                Some(_) => return None,
                None => {}
            }
        }
        if union.is_empty() {
            self.remove(to);
        } else {
            self.put(to, Stored { value: Value::Set(union), deadline: None });
        }
        Some(())
    }

    fn push(&mut self, key: &[u8], end: End, new: &[&[u8]]) -> Option<()> {
        let items = self.items(key)?;
        for item in new {
            match end {
                End::Head => items.push_front(item.to_vec()),
                End::Tail => items.push_back(item.to_vec()),
            }
        }
        Some(())
    }

    fn trim(&mut self, key: &[u8], start: i64, stop: i64) -> Option<()> {
        let items = self.items(key)?;
        let count = items.len() as i64;
        let place = |index: i64| if index < 0 { count + index } else { index };
        let kept = place(start).max(0)..=place(stop);
        let mut index = -1;
        items.retain(|_| {
            index += 1;
            kept.contains(&index)
        });
        Some(())
    }

    fn drop_lowest(&mut self, key: &[u8], last: i64) -> Option<()> {
        let zset = self.scores(key)?;
        let mut ranked: Vec<(f64, Bytes)> =
            zset.iter().map(|(member, score)| (*score, member.clone())).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        for (_, member) in ranked.into_iter().take(last as usize + 1) {
            zset.remove(&member);
        }
        Some(())
    }
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
