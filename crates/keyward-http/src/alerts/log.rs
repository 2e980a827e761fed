//! What alerts were told lately.

use super::evaluation::Told;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Alerts that are remembered.
const TOLD_MAX: usize = 200;

/// What was told lately, newest last.
#[derive(Debug, Default)]
pub struct AlertLog(Mutex<VecDeque<Told>>);

impl AlertLog {
    /// Takes note of what was told. What is over takes the place of what it was before.
    pub(super) fn note(&self, news: &[Told]) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for new in news {
            let is_same = |old: &Told| {
                old.until.is_none()
                    && (&old.name, old.db, &old.keyspace, &old.pattern)
                        == (&new.name, new.db, &new.keyspace, &new.pattern)
            };
            told.retain(|old| !is_same(old));
            told.push_back(new.clone());
            if told.len() > TOLD_MAX {
                told.pop_front();
            }
        }
    }

    /// All of it for the dashboard, what fires first, the newest before.
    pub(crate) fn shown(&self) -> Vec<Value> {
        let seconds = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<&Told> = told.iter().rev().collect();
        all.sort_by_key(|told| told.until.is_some());
        let show = |told: &&Told| {
            json!({
                "name": told.name,
                "severity": told.severity.name(),
                "summary": told.summary,
                "description": told.description,
                "since": seconds(told.since),
                "until": told.until.map(seconds),
            })
        };
        all.iter().map(show).collect()
    }
}
