//! The thread that evaluates alerts.
//!
//! Owns when: every [`STEP`] while schemas declare some, and once when others have come into
//! force: figures cost whoever publishes them something. What fires and what is over goes to the
//! log, and to a webhook if the settings name one.

use super::evaluation::{Evaluation, Told};
use super::log::AlertLog;
use super::webhook::{Destination, Messenger};
use crate::board::Board;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often figures are looked at.
const STEP: Duration = Duration::from_secs(5);

/// Alerts, while they are watched. It ends when this is dropped.
#[derive(Debug)]
pub struct Watch {
    /// Held for as long as it is to go on.
    is_on: Arc<Mutex<bool>>,
}

impl Watch {
    /// Watches the figures of a board; `wake` tells who publishes that some are wanted.
    ///
    /// # Errors
    /// If there can be no thread for it.
    pub fn start(
        board: Arc<Board>,
        wake: impl Fn() + Send + 'static,
        webhook: Option<Destination>,
        told: Arc<AlertLog>,
    ) -> io::Result<Watch> {
        let messenger = webhook.map(Messenger::start).transpose()?;
        let is_on = Arc::new(Mutex::new(true));
        let of_thread = Arc::clone(&is_on);
        let watch = move || {
            let (mut evaluation, begun) = (Evaluation::default(), Instant::now());
            // The schemas that were looked at last.
            let mut seen = None;
            while *of_thread.lock().unwrap_or_else(PoisonError::into_inner) {
                let is_wanted = evaluation.len() > 0 || seen != Some(board.generation());
                let reading = if is_wanted { board.read(&wake) } else { None };
                if let Some(reading) = reading {
                    seen = Some(reading.generation());
                    let news = evaluation.step(&reading, begun.elapsed(), SystemTime::now());
                    news.iter().for_each(log);
                    told.note(&news);
                    if let Some(messenger) = &messenger {
                        messenger.tell(news);
                    }
                }
                std::thread::sleep(STEP);
            }
        };
        std::thread::Builder::new().name("alerts".to_owned()).spawn(watch)?;
        Ok(Watch { is_on })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        *self.is_on.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// A line of the log.
fn log(told: &Told) {
    let Told { name, severity, summary, description, value, .. } = told;
    let severity = severity.name();
    match told.until {
        None => tracing::warn!(
            "Alert {name} ({severity}) fires: {summary}, it is {value:.4}. {description}"
        ),
        Some(_) => tracing::info!("Alert {name} ({severity}) is over: {summary}"),
    }
}
