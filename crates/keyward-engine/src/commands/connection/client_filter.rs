//! Which clients CLIENT LIST and CLIENT KILL mean.
//!
//! Owns the filters: those of Redis 7.0, with its error texts, and what Valkey 9.1 takes
//! besides (MAXAGE, IDLE, FLAGS, NAME, LIB-NAME, LIB-VER, DB, CAPA, IP, several IDs, and
//! `NOT-` before most of them), with Valkey's. A filter that is given twice counts as the
//! last one says, but for IDs, which add up.
//! Not here: what is done with the clients.

use super::client_list::{Kind, flags, parse_kind, session};
use crate::engine::context::Ctx;
use crate::sessions::session::Session;
use keyward_commands::args::{self, Options};
use keyward_commands::{CommandId, WireError};
use keyward_store::keyspace::client_id::ClientId;

/// Every flag that a client of Valkey 9.1 may have.
const FLAGS: &[u8] = b"bcdeirtuxABEIMNOPRSTU";

/// Every capability that a client of Valkey 9.1 may claim; here nobody can claim any.
const CAPABILITIES: &[u8] = b"r";

/// What is asked of a client.
#[derive(Default)]
struct Wanted<'a> {
    ids: Vec<ClientId>,
    kind: Option<Kind>,
    user: Option<&'a [u8]>,
    address: Option<&'a [u8]>,
    local_address: Option<&'a [u8]>,
    ip: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    library: Option<&'a [u8]>,
    library_version: Option<&'a [u8]>,
    flags: Option<&'a [u8]>,
    capabilities: Option<&'a [u8]>,
    db: Option<usize>,
}

/// Which clients are meant.
#[derive(Default)]
pub(super) struct Filter<'a> {
    wanted: Wanted<'a>,
    unwanted: Wanted<'a>,
    age_s_min: Option<i64>,
    idle_s_min: Option<i64>,
    /// Whether the client itself is left out, if SKIPME says.
    pub(super) skips_self: Option<bool>,
}

impl<'a> Filter<'a> {
    /// The client of this address.
    pub(super) fn at(address: &'a [u8]) -> Filter<'a> {
        let wanted = Wanted { address: Some(address), ..Wanted::default() };
        Filter { wanted, ..Filter::default() }
    }

    /// Reads the filters from an argument on.
    pub(super) fn parse(ctx: &Ctx<'a>, first: usize) -> Result<Filter<'a>, WireError> {
        let mut filter = Filter::default();
        let mut options = Options::new(ctx.args, first);
        while let Some(word) = options.next() {
            let value = options.value()?;
            let is = |name: &str| args::is(word, name);
            if is("SKIPME") {
                filter.skips_self = Some(match (args::is(value, "YES"), args::is(value, "NO")) {
                    (true, _) => true,
                    (_, true) => false,
                    _ => return Err(WireError::Syntax),
                });
            } else if is("MAXAGE") {
                filter.age_s_min = Some(seconds("maxage", value)?);
            } else if is("IDLE") {
                filter.idle_s_min = Some(seconds("idle", value)?);
            } else if let Some(name) = word.get(4..).filter(|_| args::is(&word[..4], "NOT-")) {
                filter.unwanted.read(name, true, value, &mut options, ctx)?;
            } else {
                filter.wanted.read(word, false, value, &mut options, ctx)?;
            }
        }
        Ok(filter)
    }

    /// Whether a client is meant.
    pub(super) fn includes(&self, ctx: &Ctx<'_>, id: ClientId) -> bool {
        let Some(session) = session(ctx, id) else { return false };
        if id == ctx.session.id && self.skips_self == Some(true) {
            return false;
        }
        let now_s = ctx.keys.now_ms() / 1000;
        let is_past =
            |since_ms: i64, min: Option<i64>| min.is_none_or(|min| now_s - since_ms / 1000 >= min);
        is_past(session.connected_ms, self.age_s_min)
            && is_past(session.active_ms, self.idle_s_min)
            && self.wanted.matches(ctx, session).into_iter().flatten().all(|fits| fits)
            && !self.unwanted.matches(ctx, session).into_iter().flatten().any(|fits| fits)
    }
}

impl<'a> Wanted<'a> {
    /// Reads a filter whose name and first value have been taken.
    fn read(
        &mut self,
        name: &[u8],
        is_negated: bool,
        value: &'a [u8],
        options: &mut Options<'a>,
        ctx: &Ctx<'_>,
    ) -> Result<(), WireError> {
        let is = |wanted: &str| args::is(name, wanted);
        let place = match () {
            () if is("ID") => {
                let is_of_redis = !is_negated && ctx.command.id == CommandId::ClientKill;
                return self.read_ids(is_of_redis, value, options);
            }
            () if is("TYPE") => {
                self.kind = Some(parse_kind(value)?);
                return Ok(());
            }
            () if is("DB") => {
                self.db = Some(database(is_negated, value, ctx.keys.database_count())?);
                return Ok(());
            }
            () if is("USER") => {
                if ctx.shared.acl.user(value).is_none() {
                    return Err(WireError::line(&[b"ERR No such user '", value, b"'"]));
                }
                &mut self.user
            }
            () if is("FLAGS") => {
                check_letters("flags", is_negated, value, FLAGS)?;
                &mut self.flags
            }
            () if is("CAPA") => {
                check_letters("capa", is_negated, value, CAPABILITIES)?;
                &mut self.capabilities
            }
            () if is("ADDR") => &mut self.address,
            () if is("LADDR") => &mut self.local_address,
            () if is("IP") => &mut self.ip,
            () if is("NAME") => &mut self.name,
            () if is("LIB-NAME") => &mut self.library,
            () if is("LIB-VER") => &mut self.library_version,
            () => return Err(WireError::Syntax),
        };
        *place = Some(value);
        Ok(())
    }

    /// Reads ids up to the next word. What is no number at all is Redis 7.0's error, where it
    /// knows the filter.
    fn read_ids(
        &mut self,
        is_of_redis: bool,
        first: &[u8],
        options: &mut Options<'a>,
    ) -> Result<(), WireError> {
        let invalid = || WireError::Err("client-id should be greater than 0");
        let no_number = if is_of_redis { invalid() } else { WireError::Syntax };
        let mut id = args::integer_or(first, no_number)?;
        loop {
            let known = u64::try_from(id).ok().filter(|id| *id > 0);
            self.ids.push(ClientId(known.ok_or_else(invalid)?));
            match options.clone().next().map(args::integer) {
                Some(Ok(next)) => id = next,
                _ => return Ok(()),
            }
            options.next();
        }
    }

    /// What is asked, and whether it is so of a client.
    fn matches(&self, ctx: &Ctx<'_>, session: &Session) -> [Option<bool>; 12] {
        let connection = ctx.host.connection(session.id);
        let address = connection.address.as_bytes();
        let user = session.user.as_ref();
        let shown_flags = || flags(ctx.keys, ctx.shared, session, connection.is_unix);
        let is = |text: Option<&[u8]>, wanted: &[u8]| text == Some(wanted);
        [
            (!self.ids.is_empty()).then(|| self.ids.contains(&session.id)),
            self.kind.map(|kind| Kind::of(session) == kind),
            self.user.map(|wanted| user.is_some_and(|user| *user.name == *wanted)),
            self.address.map(|wanted| address == wanted),
            self.local_address.map(|wanted| connection.local_address.as_bytes() == wanted),
            self.ip.map(|wanted| is(ip_of(address), wanted)),
            self.name.map(|wanted| is(session.name.as_deref(), wanted)),
            self.library.map(|wanted| is(session.library.name.as_deref(), wanted)),
            self.library_version.map(|wanted| is(session.library.version.as_deref(), wanted)),
            self.flags.map(|wanted| {
                let flags = shown_flags();
                wanted.iter().all(|flag| flags.as_bytes().contains(flag))
            }),
            self.capabilities.map(<[u8]>::is_empty),
            self.db.map(|wanted| session.db == wanted),
        ]
    }
}

/// The part of an address before its port, without brackets.
fn ip_of(address: &[u8]) -> Option<&[u8]> {
    let colon = address.iter().rposition(|byte| *byte == b':')?;
    let ip = &address[..colon];
    Some(ip.strip_prefix(b"[").and_then(|ip| ip.strip_suffix(b"]")).unwrap_or(ip))
}

fn seconds(name: &str, value: &[u8]) -> Result<i64, WireError> {
    let text = |problem: &str| WireError::line(&[b"ERR ", name.as_bytes(), problem.as_bytes()]);
    let seconds = args::integer_or(value, text(" is not an integer or out of range"))?;
    if seconds > 0 { Ok(seconds) } else { Err(text(" should be greater than 0")) }
}

fn database(is_negated: bool, value: &[u8], databases: usize) -> Result<usize, WireError> {
    let name = if is_negated { "NOT-DB" } else { "DB" };
    let text = |problem: String| WireError::line(&[format!("ERR {name} {problem}").as_bytes()]);
    let number = args::integer_or(value, text("is not an integer or out of range".to_owned()))?;
    let known = usize::try_from(number).ok().filter(|number| *number < databases);
    known.ok_or_else(|| text(format!("number should be between 0 and {}", databases - 1)))
}

fn check_letters(
    what: &str,
    is_negated: bool,
    value: &[u8],
    known: &[u8],
) -> Result<(), WireError> {
    if value.iter().all(|letter| known.contains(letter)) {
        return Ok(());
    }
    let filter = match is_negated {
        true => format!("NOT-{}", what.to_ascii_uppercase()),
        false => "provided".to_owned(),
    };
    let head = format!("ERR Unknown {what} found in the {filter} filter: ");
    Err(WireError::line(&[head.as_bytes(), value]))
}
