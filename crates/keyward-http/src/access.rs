//! Who may ask by HTTP.
//!
//! Owns two questions. Is a request meant for this server: its `Host` is an address, or a name
//! that the settings list, so that no page of elsewhere reads figures through a browser whose
//! name server lies (DNS rebinding). And may its user read figures: who may send INFO may. A
//! user is told by Basic authentication; without it the request is the default user's, as a
//! client's is that has not sent AUTH. Protected mode holds here too.
//!
//! That somebody may is remembered for [`REMEMBERED`], so that figures can be read while the
//! server is busy with a script, and no longer than users stay as they are. Passwords are not kept: only a keyed hash of them is.

use crate::response::{Response, Status};
use crate::visit::Visit;
use keyward_resp::Frame;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long it is remembered that a user may read figures.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Users that are remembered.
const REMEMBERED_MAX: usize = 64;
/// How long a wrong password takes.
const PENALTY: Duration = Duration::from_millis(250);
/// The command that who reads figures may send, in its shortest form.
const PROBE: &[&[u8]] = &[b"INFO", b"cluster"];

/// The names by which a server may be called, besides addresses and `localhost`.
#[derive(Debug, Clone, Default)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// These names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Hosts {
        Hosts(names.into_iter().collect())
    }

    /// Whether a `Host` header is one of this server.
    pub(crate) fn admits(&self, host: Option<&str>) -> bool {
        let Some(host) = host else { return false };
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let name = match host.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((name, "")) => name,
                Some((name, port)) if port.strip_prefix(':').is_some_and(is_port) => name,
                _ => return false,
            },
            None => match host.rsplit_once(':') {
                Some((name, port)) if is_port(port) => name,
                Some(_) => return false,
                None => host,
            },
        };
        let is_known = |known: &String| known.eq_ignore_ascii_case(name);
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(is_known)
    }
}

/// A user's name and password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Vec<u8>,
    pub(crate) password: Vec<u8>,
}

impl Credentials {
    /// What a header says: nobody, somebody, or nonsense.
    pub(crate) fn read(header: Option<&str>) -> Result<Option<Credentials>, Status> {
        let Some(header) = header else { return Ok(None) };
        let (scheme, text) = header.split_once(' ').ok_or(Status::BadRequest)?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(Status::Unauthorized);
        }
        let bytes = from_base64(text.trim()).ok_or(Status::BadRequest)?;
        let mut parts = bytes.splitn(2, |byte| *byte == b':').map(<[u8]>::to_vec);
        let (Some(user), Some(password)) = (parts.next(), parts.next()) else {
            return Err(Status::BadRequest);
        };
        // Browsers can be told a password only.
        let user = if user.is_empty() { b"default".to_vec() } else { user };
        Ok(Some(Credentials { user, password }))
    }
}

/// Reads base64 with padding.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for (place, chunk) in text.chunks(4).enumerate() {
        let is_last = (place + 1) * 4 == text.len();
        let padding = chunk.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || padding > 0 && !is_last {
            return None;
        }
        let mut group = 0_u32;
        for byte in chunk.iter().take(4 - padding) {
            group = group << 6 | u32::from(digit(*byte)?);
        }
        group <<= 6 * padding;
        bytes.extend(group.to_be_bytes().iter().skip(1).take(3 - padding));
    }
    Some(bytes)
}

/// Who was found to be allowed.
#[derive(Debug)]
pub(crate) struct Guard {
    keys: (u64, u64),
    /// Until when, and as which users were.
    allowed: Mutex<HashMap<u128, (Instant, u64)>>,
}

impl Default for Guard {
    fn default() -> Guard {
        let keys = (RandomState::new().hash_one(1), RandomState::new().hash_one(2));
        Guard { keys, allowed: Mutex::default() }
    }
}

impl Guard {
    fn mark(&self, who: Option<&Credentials>) -> u128 {
        let mut hasher = SipHasher13::new_with_keys(self.keys.0, self.keys.1);
        who.map(|who| (&who.user, &who.password)).hash(&mut hasher);
        hasher.write_u8(0);
        hasher.finish128().as_u128()
    }

    /// Whether somebody may read figures; `users` says which there are, `connect` is the way to
    /// the server.
    ///
    /// # Errors
    /// The response for who may not.
    pub(crate) fn admit(
        &self,
        who: Option<&Credentials>,
        users: u64,
        connect: impl FnOnce() -> io::Result<Visit>,
    ) -> Result<(), Response> {
        let (mark, now) = (self.mark(who), Instant::now());
        let is_remembered = {
            let allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
            allowed.get(&mark).is_some_and(|(until, of)| *until > now && *of == users)
        };
        if is_remembered {
            return Ok(());
        }
        let busy = || Response::text(Status::Unavailable, "the server does not answer");
        let verdict = connect().and_then(|mut visit| ask(&mut visit, who)).map_err(|_| busy())?;
        match verdict {
            Verdict::Allowed => {
                let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
                allowed.retain(|_, (until, of)| *until > now && *of == users);
                if allowed.len() < REMEMBERED_MAX {
                    allowed.insert(mark, (now + REMEMBERED, users));
                }
                Ok(())
            }
            Verdict::Unknown => {
                if who.is_some() {
                    std::thread::sleep(PENALTY);
                }
                Err(Response::text(Status::Unauthorized, "a user and a password are needed"))
            }
            // Somebody else may.
            Verdict::Denied if who.is_none() => {
                Err(Response::text(Status::Unauthorized, "a user and a password are needed"))
            }
            Verdict::Denied => {
                Err(Response::text(Status::Forbidden, "this user may not read figures (INFO)"))
            }
            Verdict::Full => Err(busy()),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Allowed,
    /// A wrong password, or none where one is needed.
    Unknown,
    /// A user without the right.
    Denied,
    /// The server takes no more clients.
    Full,
}

/// Asks the server.
fn ask(visit: &mut Visit, who: Option<&Credentials>) -> io::Result<Verdict> {
    let auth: Option<[&[u8]; 3]> = who.map(|who| [&b"AUTH"[..], &who.user, &who.password]);
    let commands: Vec<&[&[u8]]> =
        auth.iter().map(|words| &words[..]).chain(std::iter::once(PROBE)).collect();
    Ok(judge(&visit.call(&commands)?, who.is_some()))
}

fn judge(replies: &[Frame], has_credentials: bool) -> Verdict {
    let code = |reply: &Frame| match reply {
        Frame::Error(text) => {
            let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
            String::from_utf8_lossy(code).into_owned()
        }
        _ => String::new(),
    };
    let codes: Vec<String> = replies.iter().map(code).collect();
    // AUTH without any password to compare with is an error that says nothing of the user.
    let is_wrong = has_credentials && codes.first().is_some_and(|code| code == "WRONGPASS");
    match codes.last().map(String::as_str) {
        _ if is_wrong => Verdict::Unknown,
        Some("NOAUTH") => Verdict::Unknown,
        Some("NOPERM") => Verdict::Denied,
        // What is busy has asked for rights before.
        Some("" | "BUSY" | "LOADING" | "MISCONF" | "MASTERDOWN") => Verdict::Allowed,
        _ => Verdict::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_listed_is_of_elsewhere() {
        let hosts = Hosts::new(["metrics.example".to_owned()]);
        for host in [
            "127.0.0.1:9121",
            "127.0.0.1",
            "[::1]:9121",
            "[::1]",
            "localhost:80",
            "LOCALHOST",
            "metrics.example",
            "Metrics.Example:9121",
            "10.1.2.3:9121",
        ] {
            assert!(hosts.admits(Some(host)), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9121",
            "",
            "127.0.0.1.evil.example",
            "[::1",
            "[::1]x",
            "localhost:80:80",
            "localhost:a",
            "metrics.example.evil",
        ] {
            assert!(!hosts.admits(Some(host)), "{host}");
        }
        assert!(!hosts.admits(None));
    }

    #[test]
    fn credentials_are_read() {
        let read = |header: &str| Credentials::read(Some(header));
        let somebody = |user: &str, password: &str| {
            let (user, password) = (user.as_bytes().to_vec(), password.as_bytes().to_vec());
            Ok(Some(Credentials { user, password }))
        };
        assert_eq!(read("Basic YWxpY2U6czpjcmV0"), somebody("alice", "s:cret"));
        assert_eq!(read("basic OnNlY3JldA=="), somebody("default", "secret"));
        assert_eq!(Credentials::read(None), Ok(None));
        for header in
            ["Basic", "Basic =", "Basic YWxpY2U", "Basic Y===", "Basic YW=pY2U6", "Basic YWxpY2U="]
        {
            assert!(read(header).is_err(), "{header}");
        }
        assert_eq!(read("Bearer x"), Err(Status::Unauthorized));
    }

    #[test]
    fn replies_are_judged() {
        let error = |text: &str| Frame::Error(text.as_bytes().to_vec());
        let (ok, info) = (Frame::Simple(b"OK".to_vec()), Frame::Bulk(Vec::new()));
        let check = |replies: &[Frame], has_credentials, expected| {
            assert_eq!(judge(replies, has_credentials), expected, "{replies:?}");
        };
        check(std::slice::from_ref(&info), false, Verdict::Allowed);
        check(&[error("NOAUTH Authentication required.")], false, Verdict::Unknown);
        check(&[error("NOPERM no")], false, Verdict::Denied);
        check(&[ok.clone(), info.clone()], true, Verdict::Allowed);
        check(&[error("WRONGPASS no"), info.clone()], true, Verdict::Unknown);
        check(&[error("WRONGPASS no"), error("NOAUTH no")], true, Verdict::Unknown);
        check(&[ok.clone(), error("NOPERM no")], true, Verdict::Denied);
        check(&[ok, error("LOADING yes")], true, Verdict::Allowed);
        check(&[error("ERR max number of clients reached")], false, Verdict::Full);
        check(
            &[error("ERR AUTH <password> called without any password"), info],
            true,
            Verdict::Allowed,
        );
    }
}
