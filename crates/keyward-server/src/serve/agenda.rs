//! Jobs that go in steps: loading, saving, sending snapshots, leisure.
//!
//! A job is an `async fn` on the thread that serves, polled by the event loop
//! (`event_loop`), a small executor of our own. There are a handful of jobs and a poll of
//! one that waits costs nanoseconds, so nobody is woken by name: whenever anything is due
//! every job is polled once, and says on the [`Agenda`] what it goes on waiting for.
//!
//! Invariants: between two polls of the jobs every connection that is ready has its turn.
//! A job that waits has demanded a poll, or put a time on the agenda, or waits for a
//! [`Notice`] or a thread, which demand the poll when they have something to tell.

use crate::clock;
use crate::net::selector::Alarm;
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// When jobs are to be polled.
#[derive(Debug)]
pub(crate) struct Agenda {
    is_demanded: Cell<bool>,
    /// The earliest time that a job waits for.
    due_ns: Cell<u64>,
}

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda { is_demanded: Cell::new(false), due_ns: Cell::new(u64::MAX) }
    }
}

impl Agenda {
    /// Jobs are polled at the next occasion.
    pub(crate) fn demand(&self) {
        self.is_demanded.set(true);
    }

    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        self.is_demanded.get() || now_ns >= self.due_ns.get()
    }

    /// The next time jobs are to be polled if nothing happens before; zero for at once.
    pub(crate) fn next_ns(&self) -> u64 {
        if self.is_demanded.get() { 0 } else { self.due_ns.get() }
    }

    /// Lets everybody else have a turn.
    pub(crate) async fn pause(&self) {
        let mut is_over = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut is_over, true) {
                return Poll::Ready(());
            }
            self.demand();
            Poll::Pending
        })
        .await;
    }

    /// Waits for some time.
    pub(crate) async fn sleep(&self, time: Duration) {
        let until_ns = clock::monotonic_ns().saturating_add(time.as_nanos() as u64);
        std::future::poll_fn(|_| {
            if clock::monotonic_ns() >= until_ns {
                return Poll::Ready(());
            }
            self.due_ns.set(self.due_ns.get().min(until_ns));
            Poll::Pending
        })
        .await;
    }
}

/// A wish that a job waits for. Several wishes before it looks are one.
#[derive(Debug)]
pub(crate) struct Notice {
    agenda: Rc<Agenda>,
    is_given: Cell<bool>,
}

impl Notice {
    pub(crate) fn new(agenda: &Rc<Agenda>) -> Notice {
        Notice { agenda: Rc::clone(agenda), is_given: Cell::new(false) }
    }

    pub(crate) fn give(&self) {
        self.is_given.set(true);
        self.agenda.demand();
    }

    /// Waits until it is given, and takes it.
    pub(crate) async fn taken(&self) {
        std::future::poll_fn(|_| match self.is_given.take() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }
}

/// What a thread has come to. The thread rings the alarm after it has sent it.
pub(crate) async fn received<T>(from: &Receiver<T>) -> T {
    std::future::poll_fn(|_| match from.try_recv() {
        Ok(outcome) => Poll::Ready(outcome),
        Err(TryRecvError::Empty) => Poll::Pending,
        Err(TryRecvError::Disconnected) => panic!("a thread has ended without an outcome"),
    })
    .await
}

/// Does something that takes a while on a thread of its own.
pub(crate) async fn on_thread<T: Send + 'static>(
    alarm: Alarm,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (outcome, done) = channel();
    std::thread::spawn(move || {
        // Nobody waits for it when the server goes down.
        let _ = outcome.send(work());
        alarm.ring();
    });
    received(&done).await
}

/// The jobs there are.
#[derive(Default)]
pub(crate) struct Jobs {
    running: Vec<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Jobs {
    /// Begins a job when jobs are next polled.
    pub(crate) fn add(&mut self, agenda: &Agenda, job: impl Future<Output = ()> + 'static) {
        self.running.push(Box::pin(job));
        agenda.demand();
    }

    /// Polls each job once.
    pub(crate) fn advance(&mut self, agenda: &Agenda) {
        agenda.is_demanded.set(false);
        agenda.due_ns.set(u64::MAX);
        let mut context = Context::from_waker(Waker::noop());
        self.running.retain_mut(|job| job.as_mut().poll(&mut context).is_pending());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn jobs_take_turns_and_end() {
        let (agenda, told) = (Rc::new(Agenda::default()), Rc::new(RefCell::new(Vec::new())));
        let mut jobs = Jobs::default();
        for name in ["a", "b"] {
            let (agenda, told) = (Rc::clone(&agenda), Rc::clone(&told));
            let job = async move {
                for step in 0..2 {
                    told.borrow_mut().push((name, step));
                    agenda.pause().await;
                }
            };
            jobs.add(&Agenda::default(), job);
        }
        while !jobs.running.is_empty() {
            jobs.advance(&agenda);
            assert_eq!(agenda.next_ns() == 0, !jobs.running.is_empty());
        }
        assert_eq!(*told.borrow(), [("a", 0), ("b", 0), ("a", 1), ("b", 1)]);
    }

    #[test]
    fn a_job_that_waits_says_until_when_or_for_whom() {
        let agenda = Rc::new(Agenda::default());
        let notice = Rc::new(Notice::new(&agenda));
        let mut jobs = Jobs::default();
        let (waited_for, of_job) = (Rc::clone(&notice), Rc::clone(&agenda));
        jobs.add(&agenda, async move {
            waited_for.taken().await;
            of_job.sleep(Duration::from_secs(3600)).await;
        });
        jobs.advance(&agenda);
        assert_eq!(agenda.next_ns(), u64::MAX, "nobody has given the notice");
        notice.give();
        assert!(agenda.is_due(0));
        jobs.advance(&agenda);
        let left_ns = agenda.next_ns() - clock::monotonic_ns();
        assert!((1..=3600 * 1_000_000_000).contains(&left_ns), "{left_ns}");
    }
}
