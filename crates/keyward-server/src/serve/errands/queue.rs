//! What is to be said to other servers, and the threads that say it.

use crate::net::exchange;
use crate::net::selector::Alarm;
use keyward_engine::{ClientId, Exchange, ExchangeFailure, Remote};
use keyward_tls::rustls::ClientConfig;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Servers that are talked to at a time.
const THREADS_MAX: usize = 32;

/// What is to be said to another server, for a client.
#[derive(Debug)]
pub(crate) struct Errand {
    client: ClientId,
    host: Vec<u8>,
    port: Vec<u8>,
    timeout_ms: u64,
    tls: Option<Arc<ClientConfig>>,
    requests: Vec<u8>,
    reply_count: usize,
}

impl Errand {
    pub(crate) fn new(
        client: ClientId,
        remote: Remote<'_>,
        tls: Option<Arc<ClientConfig>>,
        requests: Vec<u8>,
        reply_count: usize,
    ) -> Errand {
        let (host, port) = (remote.host.to_vec(), remote.port.to_vec());
        Errand { client, host, port, timeout_ms: remote.timeout_ms, tls, requests, reply_count }
    }

    fn run(self) -> Exchange {
        let remote = Remote { host: &self.host, port: &self.port, timeout_ms: self.timeout_ms };
        exchange::exchange(remote, self.tls, &self.requests, self.reply_count)
    }
}

/// Errands that are under way, and those that wait for a thread.
#[derive(Debug)]
pub(crate) struct Errands {
    waiting: VecDeque<Errand>,
    pub(super) under_way: usize,
    sender: Sender<(ClientId, Exchange)>,
    /// Until the job has it.
    pub(super) answers: Option<Receiver<(ClientId, Exchange)>>,
}

impl Default for Errands {
    fn default() -> Errands {
        let (sender, answers) = channel();
        Errands { waiting: VecDeque::new(), under_way: 0, sender, answers: Some(answers) }
    }
}

impl Errands {
    pub(crate) fn add(&mut self, alarm: &Alarm, errand: Errand) {
        self.waiting.push_back(errand);
        self.start_some(alarm);
    }

    /// Starts those that there are threads for.
    pub(super) fn start_some(&mut self, alarm: &Alarm) {
        while self.under_way < THREADS_MAX
            && let Some(errand) = self.waiting.pop_front()
        {
            self.under_way += 1;
            let (client, answers, rings) = (errand.client, self.sender.clone(), alarm.clone());
            let started = std::thread::Builder::new().name("errand".to_owned()).spawn(move || {
                // Nobody waits for it when the server goes down.
                let _ = answers.send((client, errand.run()));
                rings.ring();
            });
            if let Err(error) = started {
                tracing::warn!(%error, "MIGRATE cannot have a thread");
                let failure = Some(ExchangeFailure::Connecting);
                let _ = self.sender.send((client, Exchange { lines: Vec::new(), failure }));
                alarm.ring();
            }
        }
    }
}
