//! Data that is there before the schema: it observes until it is applied.

use std::path::Path;

use keyward_testkit::{Server, wait_until};

use crate::served::{Served, module, shown, valkey};

/// A Valkey with rows of its own, to which the module came later.
fn with_rows() -> Served {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shop.toml");
    std::fs::write(&file, crate::SCHEMA).expect("the schema is written");
    let options = ["--save", "", "--enable-module-command", "yes"];
    let server = Server::start(&valkey(), &options).unwrap_or_else(|error| panic!("{error}"));
    let client = server.client();
    let mut served = Served { server, client, schema: directory };
    served.check(&[
        ("HSET user:1 status active plan gold email a seen 5", "4"),
        ("HSET user:2 status active plan free email b", "3"),
        ("HSET user:3 status lost plan free", "2"),
        ("SADD active:gold 1 9", "2"),
        ("SET token:1 a", "OK"),
        ("SET stranger x", "OK"),
        (&format!("MODULE LOAD {} {}", module(), file.display()), "OK"),
    ]);
    served
}

/// The name of the plan, and all that it says.
fn plan(served: &mut Served) -> (String, String) {
    let told = served.call("keyward.schema PLAN");
    let name = told.split(' ').nth(1).unwrap_or_default().to_owned();
    (name, told)
}

#[test]
fn a_schema_that_meets_rows_observes_until_its_plan_is_applied() {
    let mut served = with_rows();
    served.check(&[
        ("SET stranger y", "OK"),
        ("SET token:2 a", "OK"),
        ("TTL token:2", "-1"),
        ("HSET user:4 status active plan gold email d", "3"),
        ("EXISTS by_email:d", "0"),
    ]);
    // What it would have done is counted.
    let stats = served.call("keyward.stats");
    for (pattern, figures) in [
        ("user:{id:uint}", "would_refuse 0 would_date 1 would_derive 0"),
        ("by_email:{email}", "would_refuse 0 would_date 0 would_derive 1"),
        ("token:{id}", "would_refuse 0 would_date 1"),
    ] {
        let (_, own) = stats.split_once(&format!("pattern {pattern} ")).expect("its figures");
        let (_, own) = own.split_once("evicted 0 ").expect("what it would have done");
        assert!(own.starts_with(figures), "{pattern}: {own}");
    }
    served.check(&[("HSET user:4 plan lead", "0"), ("HSET user:4 plan gold", "0")]);
    let told = served.call("keyward.refusals 2");
    assert!(told.contains("0 observed SCHEMA user:4: plan must be gold or free"), "{told}");
    assert!(told.contains("0 observed SCHEMA stranger: matches no pattern of shop"), "{told}");
    assert!(served.call("INFO keyward").contains("keyward_observed:2"));
    let refused = served.call("keyward.mode enforce");
    assert!(refused.contains("observes until keyward.schema APPLY"), "{refused}");
    assert!(served.call("INFO keyward").contains("keyward_db0_is_applied:0"));
    let (name, told) = plan(&mut served);
    for part in [
        "pattern by_email:{email} keys 0",
        "pattern active:{plan} keys 1 moved 0 misfits 0 conflicts 0 overlong 0 redated 0 dated 0 \
         shortened 0 built 2 destroyed 1",
        "destroys 1 patterns",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    // What is written meanwhile is looked at again.
    served.check(&[
        ("HSET user:5 status active plan gold email e", "3"),
        (
            &format!("keyward.schema APPLY {name}"),
            "-SCHEMA this plan destroys 1 row or entry of a derived key, not 0; if that is meant, \
             say DESTROY 1",
        ),
        ("EXISTS by_email:a", "0"),
        (&format!("keyward.schema APPLY {name} DESTROY 1"), "OK"),
        ("MGET by_email:a by_email:b by_email:d by_email:e", "1 2 4 5"),
        ("SCARD active:gold", "3"),
        ("SISMEMBER active:gold 9", "0"),
        ("ZSCORE seen 1", "5"),
        ("TTL token:1", "600"),
        ("TTL user:5", "3600"),
        ("SET other x", "-SCHEMA other: matches no pattern of shop (shop.toml)"),
        ("HGET user:3 status", "lost"),
        ("keyward.mode", "shop enforce"),
    ]);
    let misfits = served.call("keyward.misfits COUNT 1000");
    assert!(misfits.contains("key user:3 pattern user:{id:uint} reasons SCHEMA user:3: status"));
    assert_eq!(misfits.matches("reasons").count(), 1, "{misfits}");
    assert!(served.call("INFO keyward").contains("keyward_db0_is_applied:1"));
}

#[test]
fn misfits_are_told_before_anything_is_applied() {
    let mut served = with_rows();
    let misfits = served.call("keyward.misfits COUNT 1000");
    assert!(misfits.contains("key active:gold pattern active:{plan} reasons"), "{misfits}");
    assert!(misfits.contains("key user:3 pattern"), "{misfits}");
}

#[test]
fn a_plan_is_only_applied_by_its_name_and_to_what_it_told_of() {
    let mut served = with_rows();
    served.check(&[
        ("keyward.schema APPLY x", "-ERR there is no plan of that name: keyward.schema PLAN"),
        ("DEL active:gold user:1 user:2 user:3", "4"),
    ]);
    let (name, _) = plan(&mut served);
    // A kind of change that the plan did not tell of.
    served.check(&[("HSET user:7 status active plan gold email g", "3")]);
    let refused = served.call(&format!("keyward.schema APPLY {name}"));
    let says = "-SCHEMA rows came since that this plan did not tell of; if that is meant, say \
                keyward.schema APPLY ";
    let name = refused.strip_prefix(says).unwrap_or_else(|| panic!("{refused}"));
    let apply = format!("keyward.schema APPLY {name}");
    served.check(&[("EXISTS by_email:g", "0"), (&apply, "OK"), ("GET by_email:g", "7")]);
    let transaction = [("MULTI", "OK"), ("keyward.schema PLAN", "QUEUED")];
    served.check(&transaction);
    let told = served.call("EXEC");
    assert!(told.contains("-ERR a plan is waited for"), "{told}");
}

#[test]
fn another_text_of_the_file_is_planned_and_applied_while_the_server_runs() {
    let mut served = Served::start(&[]);
    served.check(&[
        ("HSET user:1 status active plan gold email a seen 5", "4"),
        ("SET token:1 a", "OK"),
        ("EXISTS active:gold", "1"),
        ("HSET user:2 status closed plan gold", "2"),
    ]);
    let without = crate::SCHEMA.replace("ttl   = \"10m\"", "ttl   = \"5m\"").replace(
        "members = { of = \"user:{id}\", when = \"status = active\" }",
        "members = { of = \"user:{id}\", when = \"status = closed\" }",
    );
    assert_ne!(without, crate::SCHEMA);
    std::fs::write(served.schema.path().join("shop.toml"), without).expect("it is written");
    // A mode that was chosen stays.
    served.check(&[("keyward.mode warn", "OK")]);
    let (name, told) = plan(&mut served);
    assert!(told.contains("changes active:{plan}: "), "{told}");
    served.check(&[
        (&format!("keyward.schema APPLY {name} DESTROY 1"), "OK"),
        ("SMEMBERS active:gold", "2"),
        ("keyward.mode", "shop warn"),
        ("SET token:1 b", "OK"),
        ("TTL token:1", "300"),
    ]);
    let stats = served.call("keyward.stats");
    assert!(stats.contains("pattern token:{id} writes 2 "), "{stats}");
    // A file with an error changes nothing.
    std::fs::write(served.schema.path().join("shop.toml"), "[keyspace]\n").expect("it is written");
    let refused = served.call("keyward.schema PLAN");
    assert!(refused.contains("error[KW"), "{refused}");
    served.check(&[("SMEMBERS active:gold", "2")]);
}

#[test]
fn a_start_under_the_same_schema_has_it_in_force_and_another_one_observes() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().display().to_string();
    let options = ["--dir", &place, "--appendonly", "yes", "--appendfsync", "always"];
    let start =
        |schema: &str| Served::with(schema, &options).unwrap_or_else(|error| panic!("{error}"));
    let is_applied = |served: &mut Served| {
        wait_until(|| served.call("INFO keyward").contains("keyward_db0_schema:"));
        served.call("INFO keyward").contains("keyward_db0_is_applied:1")
    };
    let mut served = start(crate::SCHEMA);
    served.check(&[("HSET user:1 status active plan gold email a seen 5", "4")]);
    assert!(Path::new(&place).join("dump.rdb.keyward").exists());
    // An orderly end changes nothing of it.
    let _ = served.client.call(["SHUTDOWN"]);
    drop(served);
    let mut served = start(&format!("# The same, with a comment.\n{}", crate::SCHEMA));
    served.check(&[
        ("SET stranger 1", "-SCHEMA stranger: matches no pattern of shop (shop.toml)"),
        ("DEL user:1", "1"),
        ("EXISTS by_email:a", "0"),
        ("SET token:1 a", "OK"),
    ]);
    assert!(is_applied(&mut served));
    drop(served);
    let other = crate::SCHEMA.replace("ttl   = \"10m\"", "ttl   = \"5m\"");
    let mut served = start(&other);
    served.check(&[("SET stranger 1", "OK"), ("DEL stranger", "1")]);
    assert!(!is_applied(&mut served));
    let log = std::fs::read_to_string(served.server.directory().join("log")).expect("a log");
    assert!(log.contains("database 0: rows are there that this schema has not governed"), "{log}");
    let (name, _) = plan(&mut served);
    served.check(&[(&format!("keyward.schema APPLY {name}"), "OK")]);
    drop(served);
    let mut served = start(&other);
    assert!(is_applied(&mut served));
    // What was only observed for some time has to be applied again.
    served.check(&[
        ("keyward.mode observe", "OK"),
        ("HSET user:1 status active plan gold email a", "3"),
        ("keyward.mode schema", "OK"),
        ("EXISTS by_email:a", "0"),
    ]);
    drop(served);
    let mut served = start(&other);
    assert!(!is_applied(&mut served));
    let (name, _) = plan(&mut served);
    served.check(&[(&format!("keyward.schema APPLY {name}"), "OK"), ("GET by_email:a", "1")]);
}

#[test]
fn unloading_under_load_and_loading_again_observes_what_was_written_without() {
    let mut served = Served::start(&["--enable-module-command", "yes", "--io-threads", "4"]);
    let address = served.server.address();
    let writer = move |number: usize| {
        let mut client = keyward_testkit::Client::connect(address).expect("a connection");
        for id in 0..400 {
            let id = number * 1000 + id;
            let write = format!("HSET user:{id} status active plan gold email m{id} seen {id}");
            assert_eq!(crate::served::told(&mut client, &write), "4");
        }
    };
    let writers: Vec<_> = (1..5).map(|number| std::thread::spawn(move || writer(number))).collect();
    wait_until(|| served.call("DBSIZE").parse::<usize>().is_ok_and(|count| count > 50));
    served.check(&[("MODULE UNLOAD keyward", "OK")]);
    for writer in writers {
        writer.join().expect("it wrote all");
    }
    let entries = served.call("ZCARD seen").parse::<usize>().expect("a number");
    assert!((1..1600).contains(&entries), "{entries} of 1600 came while the module was there");
    let file = served.schema.path().join("shop.toml");
    served.check(&[(&format!("MODULE LOAD {} {}", module(), file.display()), "OK")]);
    assert!(served.call("INFO keyward").contains("keyward_db0_is_applied:0"));
    let (name, _) = plan(&mut served);
    served.check(&[
        (&format!("keyward.schema APPLY {name}"), "OK"),
        ("ZCARD seen", "1600"),
        ("SCARD active:gold", "1600"),
    ]);
}

#[test]
fn many_rows_are_planned_while_others_are_served() {
    let mut served = with_rows();
    let fill = "for id=10,5009 do redis.call('HSET','user:'..id,'status','active','plan','gold',\
                'email','m'..id,'seen',id) end return 1";
    let filled = served.client.call(["EVAL", fill, "0"]).expect("a reply");
    assert_eq!(shown(&filled), "1");
    let mut other = served.server.client();
    served.client.send_command(["keyward.schema", "PLAN"]).expect("it is sent");
    let mut id = 6000;
    let told = loop {
        // Others write as long as it takes.
        let write = format!("HSET user:{id} status active plan gold email m{id} seen {id}");
        assert_eq!(crate::served::told(&mut other, &write), "4");
        id += 1;
        if let Some(reply) = served.client.try_receive().expect("a reply") {
            break shown(&reply.frame);
        }
    };
    assert!(id > 6001, "nobody else was served");
    let name = told.split(' ').nth(1).unwrap_or_default().to_owned();
    served.check(&[(&format!("keyward.schema APPLY {name} DESTROY 1"), "OK")]);
    let rows = 5000 + (id - 6000) + 1;
    served.check(&[
        ("ZCARD seen", &rows.to_string()),
        ("SCARD active:gold", &rows.to_string()),
        ("GET by_email:m4000", "4000"),
        (&format!("GET by_email:m{}", id - 1), &(id - 1).to_string()),
    ]);
    assert!(served.call("INFO keyward").contains("keyward_panics:0"));
}
