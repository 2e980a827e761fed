//! What other servers are asked on threads: MIGRATE.
//!
//! Owns the job that hands answers to the engine; the threads, and what waits for one, are in
//! `queue`.
//! Not here: what is said to another server (`net/exchange.rs`), whose commands wait for it
//! (`keyward-engine`).

pub(crate) mod queue;

use crate::serve::agenda::received;
use crate::serve::server::Server;
use crate::serve::{commit, delivery};
use std::rc::Rc;

/// Hands answers to the engine, for ever.
pub(crate) async fn hand_over_answers(server: Rc<Server>) {
    let answers = server.core.borrow_mut().host.errands.answers.take();
    let answers = answers.expect("there is one such job");
    loop {
        let (client, answer) = received(&answers).await;
        let core = &mut *server.core.borrow_mut();
        core.host.errands.under_way -= 1;
        core.host.errands.start_some(&core.host.alarm);
        core.engine.set_time(core.host.clock.now_us());
        core.engine.exchanged(&mut core.host, client, answer);
        commit::collect_log(&server, core);
        delivery::deliver(&server, core);
    }
}
