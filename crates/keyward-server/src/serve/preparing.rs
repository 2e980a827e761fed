//! What commands wait for that is read on another thread: certificates (CONFIG SET), the file
//! of users (ACL LOAD).
//!
//! Owns the job that has it read and lets the command go on. One is read at a time, in the
//! order in which they came: a file may be slow, and takes one thread then. What is no regular
//! file is not opened.
//! Not here: what is read (`keyward-tls`, `files/users.rs`), what comes of it (`host`).

pub(crate) mod wanted;

use crate::serve::agenda::on_thread;
use crate::serve::server::Server;
use crate::serve::{commit, delivery};
use std::rc::Rc;

/// Reads what commands wait for, for ever.
pub(crate) async fn prepare(server: Rc<Server>) {
    let notice = Rc::clone(&server.core.borrow().host.preparations.notice);
    let alarm = server.core.borrow().host.alarm.clone();
    loop {
        notice.taken().await;
        loop {
            let next = server.core.borrow_mut().host.preparations.next();
            let Some((client, wanted)) = next else { break };
            let prepared = on_thread(alarm.clone(), move || wanted.read()).await;
            let core = &mut *server.core.borrow_mut();
            if core.host.preparations.is_wanted_by(client) {
                // It was unblocked, and waits for another.
                continue;
            }
            core.host.preparations.put(client, prepared);
            core.engine.set_time(core.host.clock.now_us());
            core.engine.prepared(&mut core.host, client);
            // Whoever has gone takes nothing.
            core.host.preparations.take(client);
            core.refuse_writes_if_needed();
            commit::collect_log(&server, core);
            delivery::deliver(&server, core);
        }
    }
}
