//! Ticks: what time demands, `hz` times a second or when a wait ends.
//!
//! Owns what a tick does, in which order, and when the next one is.

use crate::clock::{self, Instant};
use crate::serve::host::NetStats;
use crate::serve::rates::Totals;
use crate::serve::server::Server;
use crate::serve::{client_limits, commit, delivery, publishing, saving, shutdown, void_rules};
use crate::settings::table::Id;

/// Lets the engine do what time demands, `hz` times a second or when a wait ends.
pub(crate) fn tick_if_due(server: &Server, now_ns: u64) {
    if server.is_behind.get() || now_ns >= server.planned_tick_ns.get() {
        tick(server);
        plan_tick(server);
    }
}

/// One bounded step of background work.
fn tick(server: &Server) {
    let core = &mut *server.core.borrow_mut();
    let now_us = clock::now_us();
    core.host.clock.look_at_wall();
    core.engine.set_time(core.host.clock.now_us());
    core.host.memory.look_at_times(now_us / 1000);
    let has_more = core.engine.tick(&mut core.host);
    let NetStats { input_bytes, output_bytes, .. } = core.host.stats;
    let commands = core.engine.commands_processed();
    let totals = Totals { commands, input_bytes, output_bytes };
    core.host.rates.sample(Instant::now(), totals);
    shutdown::end_if_ready(core);
    commit::collect_log(server, core);
    delivery::deliver(server, core);
    saving::tick_files(server, core);
    client_limits::check_clients(server, core, now_us / 1000);
    client_limits::limit_client_memory(server, core);
    publishing::tell_schemas(core);
    void_rules::go_on(core);
    core.batch.release();
    if core.has_leisure_work() {
        server.leisure.give();
    }
    server.is_behind.set(has_more);
}

/// Decides when the next tick is.
fn plan_tick(server: &Server) {
    let core = &*server.core.borrow();
    let now_ms = core.host.clock.now_us() / 1000;
    let regular = now_ms + 1000 / core.host.settings.int(Id::Hz).max(1);
    let next = core.engine.next_deadline().map_or(regular, |wait| wait.min(regular));
    server.set_tick(core, next);
}

/// When something is to be done if nobody comes before; zero for at once.
pub(crate) fn next_ns(server: &Server) -> u64 {
    if server.is_behind.get() || server.wire.is_ringing() {
        return 0;
    }
    let newcomers_ns = server.core.borrow().host.listeners.next_ns();
    server.planned_tick_ns.get().min(server.agenda.next_ns()).min(newcomers_ns)
}
