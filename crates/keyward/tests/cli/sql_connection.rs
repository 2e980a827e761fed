//! How `keyward sql` comes to a database: by a service file, and by a certificate that is its own
//! authority.

use std::os::unix::fs::PermissionsExt;

use keyward_testkit::{Certificates, Postgres};

use crate::run::Folder;

const SCHEMA: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
fields = { name = "string" }
sink = { mirror = "users" }
"#;

/// What `keyward sql --check` says in this environment: the exit code, and both outputs.
fn ask(folder: &Folder, address: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = folder.command(&["sql", "--check", address, "keyward.toml"]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PG") {
            command.env_remove(name);
        }
    }
    // Nobody's own files count here.
    command.env("HOME", folder.path()).envs(environment.iter().copied());
    let output = command.output().expect("the binary runs");
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code(), told)
}

#[test]
fn a_service_says_where_the_database_is_and_its_password() {
    let postgres = Postgres::start();
    postgres.query("CREATE ROLE ann LOGIN PASSWORD 'se-cret'");
    let url = postgres.url();
    let mut words = url.split(' ').filter_map(|word| word.split_once('='));
    let host = words.find(|(name, _)| *name == "host").expect("a host").1;
    let rules = "local all ann scram-sha-256\nlocal all all trust\n";
    std::fs::write(format!("{host}/data/pg_hba.conf"), rules).expect("who may connect");
    postgres.query("SELECT pg_reload_conf()");
    let service = format!(
        "# ours\n[other]\nhost=elsewhere.invalid\n\n[shop]\nhost={host}\n\
         dbname=postgres\nuser=ann\npassword=se-cret\nsslmode=disable\n"
    );
    let folder = Folder::new(&[
        ("keyward.toml", SCHEMA),
        ("services", &service),
        ("pg_service.conf", &service.replace("[shop]", "[system]")),
        (".pg_service.conf", &service.replace("[shop]", "[home]")),
        ("broken", "[shop]\nse-cret\n"),
    ]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (file, directory) = (at("services"), folder.path().display().to_string());
    let files = [("PGSERVICEFILE", &*file), ("PGSYSCONFDIR", &*directory)];
    let reached = |(code, told): (Option<i32>, String)| {
        assert!(code == Some(1) && told.starts_with("there is no table users\n"), "{told}");
    };
    for address in ["service=shop", "postgres://?service=shop", "postgresql:///?service=shop"] {
        reached(ask(&folder, address, &files));
    }
    // What no file of one's own has the system's may have.
    reached(ask(&folder, "service=system", &files));
    reached(ask(&folder, "service=home", &files[1..]));
    let named = [("PGSERVICE", "shop"), files[0], files[1]];
    reached(ask(&folder, "postgres://", &named));
    // What the address says counts first, and what the service says before the environment.
    let (code, told) = ask(&folder, "service=shop user=nobody password=x", &files);
    assert!(code == Some(2) && told.contains("nobody"), "{told}");
    reached(ask(&folder, "service=shop", &[("PGUSER", "nobody"), files[0]]));
    // By the address alone, and without the service, there is no password.
    let ann = url.replace("user=keyward", "user=ann");
    let (code, told) = ask(&folder, &ann, &files);
    assert!(code == Some(2) && told.contains("cannot connect"), "{told}");
    let places = "password missing; it can be put into PGPASSWORD, ~/.pgpass or a service file";
    assert!(told.contains(places), "{told}");
    // A password file that others may read is not used, as libpq has it.
    let passwords = at("passwords");
    for (mode, is_used) in [(0o600, true), (0o640, false), (0o604, false)] {
        std::fs::write(&passwords, "*:*:*:ann:se-cret\n").expect("a password file");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&passwords, mode).expect("its rights");
        let asked = ask(&folder, &ann, &[("PGPASSFILE", &passwords)]);
        match is_used {
            true => reached(asked),
            false => {
                let warning = "is readable by others, so it is not used: chmod 600 it";
                assert!(asked.0 == Some(2) && asked.1.contains(warning), "{}", asked.1);
                assert!(!asked.1.contains("se-cret"), "{}", asked.1);
            }
        }
    }
    let (code, told) = ask(&folder, "service=none", &files);
    assert!(code == Some(2) && told.contains("there is no service none"), "{told}");
    let broken = at("broken");
    for path in [&*broken, "/nowhere/services"] {
        let (code, told) = ask(&folder, "service=shop", &[("PGSERVICEFILE", path)]);
        assert!(code == Some(2) && told.contains("service file"), "{told}");
        assert!(!told.contains("se-cret"), "{told}");
    }
}

#[test]
fn what_address_and_service_leave_open_the_environment_says() {
    let postgres = Postgres::start();
    postgres.query("CREATE DATABASE shop");
    let url = postgres.url();
    let words: Vec<(&str, &str)> = url.split(' ').filter_map(|word| word.split_once('=')).collect();
    let word = |name: &str| words.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
    let folder = Folder::new(&[("keyward.toml", SCHEMA)]);
    let said = [
        ("PGHOST", word("host").expect("a host")),
        ("PGPORT", word("port").unwrap_or("5432")),
        ("PGUSER", word("user").expect("a user")),
        ("PGDATABASE", "shop"),
    ];
    for address in ["postgres://", "postgresql:///", ""] {
        let (code, told) = ask(&folder, address, &said);
        assert!(code == Some(1) && told.starts_with("there is no table users\n"), "{told}");
    }
    // The address counts first.
    let (code, told) = ask(&folder, "dbname=absent", &said);
    assert!(code == Some(2) && told.contains("absent"), "{told}");
    let (code, told) = ask(&folder, "postgres://", &[said[0], said[2], ("PGPORT", "many")]);
    assert!(code == Some(2) && told.contains("the environment has a setting"), "{told}");
    assert!(told.contains("port"), "{told}");
}

#[test]
fn a_certificate_that_is_its_own_authority_is_believed_as_libpq_believes_it() {
    let certificates = Certificates::make();
    let postgres = Postgres::start_with_tls(&certificates, "alone");
    let folder = Folder::new(&[("keyward.toml", SCHEMA)]);
    let own = certificates.path("alone.crt");
    let url = postgres.tls_url();
    // It takes nobody without encryption, and one is told what to say.
    let (code, told) = ask(&folder, url.trim_end_matches("?sslmode=require"), &[]);
    assert!(code == Some(2) && told.contains("with sslmode=require the connection"), "{told}");
    for mode in ["require", "verify-full"] {
        let url = url.replace("sslmode=require", &format!("sslmode={mode}"));
        let (code, told) = ask(&folder, &url, &[("PGSSLROOTCERT", &own)]);
        assert!(code == Some(1) && told.starts_with("there is no table users"), "{mode}: {told}");
        for other in ["ca.crt", "alone-too.crt"] {
            let other = certificates.path(other);
            let (code, told) = ask(&folder, &url, &[("PGSSLROOTCERT", &other)]);
            assert!(code == Some(2) && told.contains("cannot connect"), "{mode}: {told}");
        }
        // The address may name the file, too.
        let named = format!("{url}&sslrootcert={}", own.replace('/', "%2F"));
        assert_eq!(ask(&folder, &named, &[]).0, Some(1));
    }
}

#[test]
fn a_setting_that_is_not_known_is_named() {
    let folder = Folder::new(&[("keyward.toml", SCHEMA)]);
    for address in ["postgres://ann:se-cret@h/d?sslkey=x", "host=h password=se-cret sslkey = x"] {
        let (code, told) = ask(&folder, address, &[]);
        let expected =
            "the address of the database has the setting sslkey, which is not known here";
        assert!(code == Some(2) && told.contains(expected), "{told}");
        assert!(!told.contains("se-cret"), "{told}");
    }
    // What cannot be read may be a part of a password that was not written as it should.
    for address in [
        "host=h port=many",
        "host=h password=se-cret se-cond=x",
        "postgres://ann:se-cret@h/d?se-cret=x",
        "postgres://ann:x?se-cret=se-cret",
    ] {
        let (code, told) = ask(&folder, address, &[]);
        assert!(code == Some(2) && told.contains("cannot be read"), "{told}");
        assert!(!told.contains("se-c"), "{told}");
    }
}

#[test]
fn a_host_that_says_nothing_does_not_keep_others_from_being_tried() {
    let postgres = Postgres::start();
    let folder = Folder::new(&[("keyward.toml", SCHEMA)]);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("an address").port();
    let url = postgres.url();
    let socket = url.strip_prefix("host=").and_then(|rest| rest.split(' ').next());
    let socket = socket.expect("a socket");
    let rest = "user=keyward dbname=postgres connect_timeout=2";
    let address = format!("host=127.0.0.1,127.0.0.1,{socket} port={silent},{silent},5432 {rest}");
    let (code, told) = ask(&folder, &address, &[]);
    assert!(code == Some(1) && told.starts_with("there is no table users"), "{told}");
    let address = format!("host=127.0.0.1,127.0.0.1 port={silent},{silent} {rest}");
    let (code, told) = ask(&folder, &address, &[]);
    let expected = "it has let nobody in for 2 seconds (the last of 2 addresses that were tried)";
    assert!(code == Some(2) && told.contains(expected), "{told}");
}
