//! Our own tools by TLS.

use crate::{Encrypted, keyward, program, redis};
use keyward_testkit::{Certificates, call, wait_until};
use std::process::Command;

#[test]
fn a_backup_is_taken_by_tls() {
    let files = Certificates::make();
    let servers = [keyward(&files, "server", &[]), redis(&files, "server", &[])];
    for Encrypted { server, port } in &servers {
        call(&mut server.client(), "MSET a 1 b 2 c 3");
        let to = tempfile::tempdir().expect("a directory");
        let backup = |options: &[&str]| {
            let mut command = Command::new(program());
            command.args(["backup", "--to"]).arg(to.path()).args(options).output().expect("it runs")
        };
        let url = format!("rediss://127.0.0.1:{port}");
        let (authority, other) = (files.path("ca.crt"), files.path("other-ca.crt"));
        let pair = ["--cert", &files.path("client.crt"), "--key", &files.path("client.key")];
        let with = |first: &[&str]| backup(&[first, &pair].concat());
        let output = with(&["--url", &url, "--cacert", &authority]);
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("3 keys, "), "{output:?}");
        // Of another name, since it may be taken within the same second.
        let port = port.to_string();
        let output = with(&["--tls", "--port", &port, "--cacert", &authority, "--name", "by-port"]);
        assert!(output.status.success(), "{output:?}");
        for output in [with(&["--url", &url, "--cacert", &other]), with(&["--url", &url])] {
            assert_eq!(output.status.code(), Some(2), "{output:?}");
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(text.contains("invalid peer certificate: unknown issuer"), "{text}");
        }
    }
}

/// Who names certificates does not mean to send a password in plain.
#[test]
fn certificates_without_tls_are_refused() {
    let files = Certificates::make();
    let Encrypted { server, .. } = keyward(&files, "server", &[]);
    let plain = server.address().to_string();
    let url = format!("redis://{plain}");
    let (authority, certificate) = (files.path("ca.crt"), files.path("client.crt"));
    let key = files.path("client.key");
    for place in [&plain, &url] {
        for (option, given) in [
            ("--cacert", &["--cacert", &authority][..]),
            ("--cacertdir", &["--cacertdir", "/etc/ssl/certs"]),
            ("--cert", &["--cert", &certificate, "--key", &key]),
        ] {
            let output = Command::new(program()).arg("ping").arg(place).args(given).output();
            let output = output.expect("it runs");
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains(&format!("{option} is for TLS: add --tls")), "{text}");
        }
    }
    let output = Command::new(program()).args(["ping", &plain]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
}

/// At the level at which Redis says so, and in words.
#[test]
fn a_handshake_that_fails_is_a_warning_in_words() {
    let files = Certificates::make();
    let Encrypted { server, port } = keyward(&files, "server", &[]);
    let place = format!("127.0.0.1:{port}");
    let _ = Command::new(program()).args(["ping", &place]).output().expect("it runs");
    let url = format!("rediss://{place}");
    let authority = files.path("ca.crt");
    let output = Command::new(program()).args(["ping", &url, "--cacert", &authority]).output();
    assert_eq!(output.expect("it runs").status.code(), Some(1));
    let told = |reason: &str| {
        let log = crate::log(&server);
        log.lines().any(|line| {
            line.contains(" # Error accepting a client connection: ") && line.contains(reason)
        })
    };
    wait_until(|| told("what came is no TLS (") && told("peer sent no certificates (addr="));
}

#[test]
fn our_tools_come_by_tls_as_a_user_whose_password_stands_in_no_command() {
    let files = Certificates::make();
    let Encrypted { server, port } = keyward(&files, "server", &[]);
    let mut client = server.client();
    call(&mut client, "SET a 1");
    call(&mut client, "ACL SETUSER bob on >pw allkeys allchannels +@all");
    call(&mut client, "ACL SETUSER default off");
    let (url, authority) = (format!("rediss://127.0.0.1:{port}"), files.path("ca.crt"));
    let pair = ["--cert", &files.path("client.crt"), "--key", &files.path("client.key")];
    let to = tempfile::tempdir().expect("a directory");
    let to = to.path().to_str().expect("a path in UTF-8");
    for first in [vec!["ping", &url], vec!["backup", "--to", to, "--url", &url]] {
        let run = |user: &[&str], password: Option<&str>| {
            let mut command = Command::new(program());
            command.args(&first).args(["--cacert", &authority]).args(pair).args(user);
            match password {
                Some(password) => command.env("REDISCLI_AUTH", password),
                None => command.env_remove("REDISCLI_AUTH"),
            };
            command.output().expect("it runs")
        };
        let output = run(&["--user", "bob"], Some("pw"));
        assert!(output.status.success(), "{output:?}");
        assert!(!run(&["--user", "bob"], Some("another")).status.success());
        assert!(!run(&[], None).status.success());
        let output = run(&["--user", "bob"], None);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains("a password is needed for bob: set REDISCLI_AUTH"), "{told}");
    }
}
