//! CLIENT TRACKING, CACHING, GETREDIR, TRACKINGINFO.

use crate::engine::context::{Ctx, Outcome};
use crate::sessions::tracking::{Policy, Tracker};
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_store::keyspace::client_id::ClientId;
use std::collections::BTreeSet;

/// What CLIENT TRACKING was asked for.
#[derive(Default)]
struct Request<'a> {
    redirect: Option<ClientId>,
    is_broadcast: bool,
    is_optin: bool,
    is_optout: bool,
    skips_own: bool,
    prefixes: Vec<&'a [u8]>,
}

impl<'a> Request<'a> {
    fn parse(ctx: &Ctx<'a>) -> Result<Request<'a>, WireError> {
        let mut request = Request::default();
        let mut options = Options::new(ctx.args, 3);
        while let Some(word) = options.next() {
            if args::is(word, "REDIRECT") && options.left() > 0 {
                if request.redirect.is_some() {
                    let text = "A client can only redirect to a single other client";
                    return Err(WireError::Err(text));
                }
                let id = ClientId(args::integer(options.value()?)? as u64);
                if !ctx.shared.sessions.contains(id) {
                    let text = "The client ID you want redirect to does not exist";
                    return Err(WireError::Err(text));
                }
                request.redirect = Some(id);
            } else if args::is(word, "PREFIX") && options.left() > 0 {
                request.prefixes.push(options.value()?);
            } else if args::is(word, "BCAST") {
                request.is_broadcast = true;
            } else if args::is(word, "OPTIN") {
                request.is_optin = true;
            } else if args::is(word, "OPTOUT") {
                request.is_optout = true;
            } else if args::is(word, "NOLOOP") {
                request.skips_own = true;
            } else {
                return Err(WireError::Syntax);
            }
        }
        Ok(request)
    }

    /// Whether the options agree with each other and with what the client does now.
    fn check(&self, now: Option<&Tracker>) -> Outcome {
        let had = |policy: Policy| now.is_some_and(|now| now.policy == policy);
        let switches = "before disabling tracking for this client, and then re-enabling it with a different mode.";
        if !self.is_broadcast && !self.prefixes.is_empty() {
            return Err(WireError::Err("PREFIX option requires BCAST mode to be enabled"));
        }
        if now.is_some() && had(Policy::Broadcast) != self.is_broadcast {
            let parts =
                [b"ERR You can't switch BCAST mode on/off ".as_slice(), switches.as_bytes()];
            return Err(WireError::line(&parts));
        }
        if self.is_broadcast && (self.is_optin || self.is_optout) {
            return Err(WireError::Err("OPTIN and OPTOUT are not compatible with BCAST"));
        }
        if self.is_optin && self.is_optout {
            return Err(WireError::Err("You can't specify both OPTIN mode and OPTOUT mode"));
        }
        if self.is_optin && had(Policy::OptOut) || self.is_optout && had(Policy::OptIn) {
            let parts =
                [b"ERR You can't switch OPTIN/OPTOUT mode ".as_slice(), switches.as_bytes()];
            return Err(WireError::line(&parts));
        }
        self.check_prefixes(now)
    }

    /// One change of a key must not be told twice.
    fn check_prefixes(&self, now: Option<&Tracker>) -> Outcome {
        let overlap = |a: &[u8], b: &[u8]| a.starts_with(b) || b.starts_with(a);
        let error = |new: &[u8], relation: &[u8], other: &[u8]| {
            let end = b"'. Prefixes for a single client must not overlap.";
            Err(WireError::line(&[b"ERR Prefix '", new, relation, other, end]))
        };
        for (at, prefix) in self.prefixes.iter().enumerate() {
            let mut existing = now.iter().flat_map(|now| &now.prefixes);
            if let Some(other) = existing.find(|other| overlap(other, prefix)) {
                return error(prefix, b"' overlaps with an existing prefix '", other);
            }
            if let Some(other) = self.prefixes[at + 1..].iter().find(|o| overlap(o, prefix)) {
                return error(prefix, b"' overlaps with another provided prefix '", other);
            }
        }
        Ok(())
    }

    fn into_tracker(self) -> Tracker {
        let policy = match (self.is_broadcast, self.is_optin, self.is_optout) {
            (true, ..) => Policy::Broadcast,
            (_, true, _) => Policy::OptIn,
            (.., true) => Policy::OptOut,
            _ => Policy::Read,
        };
        let mut prefixes: BTreeSet<Box<[u8]>> =
            self.prefixes.iter().map(|prefix| (*prefix).into()).collect();
        if policy == Policy::Broadcast && prefixes.is_empty() {
            prefixes.insert(Box::default());
        }
        Tracker {
            policy,
            redirect: self.redirect,
            is_redirect_broken: false,
            skips_own: self.skips_own,
            is_caching_given: false,
            prefixes,
            prefix_bytes: 0,
        }
    }
}

pub(crate) fn tracking(ctx: &mut Ctx<'_>) -> Outcome {
    let request = Request::parse(ctx)?;
    let word = ctx.args.at(2);
    if args::is(word, "ON") {
        request.check(ctx.session.tracker.as_deref())?;
        ctx.shared.tracking.enable(ctx.session, request.into_tracker());
    } else if args::is(word, "OFF") {
        ctx.shared.tracking.disable(ctx.session);
    } else {
        return Err(WireError::Syntax);
    }
    ctx.keys.changes.is_tracked = ctx.shared.tracking.is_on();
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn caching(ctx: &mut Ctx<'_>) -> Outcome {
    let Some(tracker) = &mut ctx.session.tracker else {
        let text = "CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled";
        return Err(WireError::Err(text));
    };
    let word = ctx.args.at(2);
    let (policy, refusal) = if args::is(word, "YES") {
        let text = "CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.";
        (Policy::OptIn, text)
    } else if args::is(word, "NO") {
        let text = "CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.";
        (Policy::OptOut, text)
    } else {
        return Err(WireError::Syntax);
    };
    if tracker.policy != policy {
        return Err(WireError::Err(refusal));
    }
    tracker.is_caching_given = true;
    ctx.reply.ok();
    Ok(())
}

/// Whom a client redirects to as Redis shows it: -1 if it does not track, 0 for nobody.
pub(crate) fn shown_redirect(tracker: Option<&Tracker>) -> i64 {
    tracker.map_or(-1, |tracker| tracker.redirect.map_or(0, |id| id.0 as i64))
}

pub(crate) fn getredir(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.integer(shown_redirect(ctx.session.tracker.as_deref()));
    Ok(())
}

pub(crate) fn trackinginfo(ctx: &mut Ctx<'_>) -> Outcome {
    let tracker = ctx.session.tracker.as_deref();
    let is = |policy: Policy| tracker.is_some_and(|tracker| tracker.policy == policy);
    let is_given = tracker.is_some_and(|tracker| tracker.is_caching_given);
    let flags = [
        ("on", tracker.is_some()),
        ("off", tracker.is_none()),
        ("bcast", is(Policy::Broadcast)),
        ("optin", is(Policy::OptIn)),
        ("caching-yes", is(Policy::OptIn) && is_given),
        ("optout", is(Policy::OptOut)),
        ("caching-no", is(Policy::OptOut) && is_given),
        ("noloop", tracker.is_some_and(|tracker| tracker.skips_own)),
        ("broken_redirect", tracker.is_some_and(|tracker| tracker.is_redirect_broken)),
    ];
    ctx.reply.map(3);
    ctx.reply.bulk(b"flags");
    ctx.reply.set(flags.iter().filter(|(_, is_set)| *is_set).count());
    for (name, _) in flags.iter().filter(|(_, is_set)| *is_set) {
        ctx.reply.bulk(name.as_bytes());
    }
    ctx.reply.bulk(b"redirect");
    ctx.reply.integer(shown_redirect(tracker));
    ctx.reply.bulk(b"prefixes");
    ctx.reply.array(tracker.map_or(0, |tracker| tracker.prefixes.len()));
    for prefix in tracker.iter().flat_map(|tracker| &tracker.prefixes) {
        ctx.reply.bulk(prefix);
    }
    Ok(())
}
