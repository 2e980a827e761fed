//! The dashboard in a real Chromium.

use crate::browser::get;
use crate::chromium::Chromium;
use crate::{Shop, attempt};
use keyward_testkit::{call, free_port};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// All five systems at work, as `keyward demo` has them, with HTTP.
fn systems() -> (keyward_testkit::Server, SocketAddr) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let names = ["api-billing", "calls-bot", "events", "social", "telegram-gateway"];
    let files: Vec<PathBuf> =
        names.iter().map(|name| folder.join(name).join("keyward.toml")).collect();
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let mut options: Vec<&str> = files.iter().map(String::as_str).collect();
    options.extend(["--http", &place]);
    (keyward_testkit::Server::keyward(Path::new(crate::PROGRAM), &options), http)
}

/// Lets rows of several patterns come to be.
fn fill(server: &keyward_testkit::Server) {
    let client = &mut server.client();
    call(client, "SELECT 3");
    for number in 0..300 {
        attempt(client, &format!("SET telegram:dedup:-100{number}:{number} 1"));
        attempt(client, &format!("GET telegram:dedup:-100{number}:{}", number % 7));
    }
    call(client, "SELECT 0");
    for number in 0..200 {
        let id = format!("00000000-0000-4000-8000-{number:012}");
        attempt(client, &format!("SADD websocket:user:{id} c{number}"));
        attempt(client, &format!("SET search:suggestions:q{number} [\"a{number}\"]"));
        attempt(client, &format!("RPUSH search:recent:{id} one two three"));
    }
    for _ in 0..5 {
        attempt(client, "SET user:session:nobody text");
    }
}

#[test]
fn the_api_tells_what_the_dashboard_shows() {
    let shop = Shop::open(&["--requirepass", "sesame", "--slowlog-log-slower-than", "0"]);
    let client = &mut shop.server.client();
    call(client, "AUTH sesame");
    call(client, "HSET user:1 email e");
    attempt(client, "HSET user:1 age x");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let ask = |path: &str| {
        let page = get(shop.http, path, "Authorization: Basic OnNlc2FtZQ==\r\n");
        assert_eq!(page.status, 200, "{path}: {page:?}");
        serde_json::from_str::<Value>(&page.body).expect("JSON")
    };
    for path in ["/", "/assets/app.js", "/api/v1/overview", "/api/v1/slow"] {
        assert_eq!(get(shop.http, path, "").status, 401, "{path}");
    }
    let overview = ask("/api/v1/overview");
    let patterns = overview["patterns"].as_array().expect("patterns");
    let user = patterns.iter().find(|it| it["pattern"] == "user:{id:uint}").expect("it is there");
    assert_eq!(
        (&user["keys"], &user["refused"], &user["expected"]),
        (&json!(1), &json!(1), &json!(1000))
    );
    assert_eq!(user["reasons"]["value"], json!(1));
    let id = user["id"].as_u64().expect("a number");
    let about = ask(&format!("/api/v1/about?id={id}"));
    assert!(about["text"].as_str().is_some_and(|text| text.contains("expect = 1000")), "{about}");
    assert!(about["facts"].to_string().contains("Lifetime"), "{about}");
    assert!(ask(&format!("/api/v1/history?id={id}"))["samples"].is_array());
    let ties = ask("/api/v1/ties");
    assert!(ties.to_string().contains("lookup"), "{ties}");
    let refusals = ask("/api/v1/refusals");
    assert!(refusals["refusals"][0]["reason"].to_string().contains("age"), "{refusals}");
    assert_eq!(refusals["refusals"][0]["command"], json!(["HSET", "user:1", "age", "x"]));
    assert!(ask("/api/v1/slow").to_string().contains("HSET"));
    assert!(ask("/api/v1/clients")["clients"][0]["addr"].is_string());
    assert_eq!(ask("/api/v1/alerts"), json!({ "declared": 0, "watched": [], "alerts": [] }));
    for path in ["/api/v1/nothing", "/api/v1/about?id=999", "/api/v1/about", "/assets/../x"] {
        let page = get(shop.http, path, "Authorization: Basic OnNlc2FtZQ==\r\n");
        assert_eq!(page.status, 404, "{path}");
    }
}

#[test]
fn rights_on_commands_are_those_of_the_user_who_asks() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    // Figures of a start may be of before the schema is in force.
    crate::metrics::fresh(&shop);
    call(client, "ACL SETUSER scraper on >s1 resetkeys +info");
    call(client, "ACL SETUSER default resetpass >s4");
    let who = "Authorization: Basic c2NyYXBlcjpzMQ==\r\n";
    assert_eq!(get(shop.http, "/api/v1/overview", who).status, 200);
    for path in ["refusals", "slow", "clients"] {
        let page = get(shop.http, &format!("/api/v1/{path}"), who);
        assert_eq!(page.status, 403, "{path}: {page:?}");
        assert!(page.body.contains("NOPERM"), "{page:?}");
    }
}

#[test]
fn without_a_password_commands_are_shown_without_arguments() {
    let shop = Shop::open(&["--slowlog-log-slower-than", "0"]);
    let client = &mut shop.server.client();
    call(client, "SET page:a private-text");
    attempt(client, "HSET user:1 age private-age");
    std::thread::sleep(std::time::Duration::from_millis(200));
    for path in ["refusals", "slow"] {
        let page = get(shop.http, &format!("/api/v1/{path}"), "");
        assert_eq!(page.status, 200, "{page:?}");
        assert!(!page.body.contains("private"), "{page:?}");
        assert!(page.body.contains("HSET"), "{page:?}");
    }
}

#[test]
fn every_view_is_shown_and_stays_live() {
    let (server, http) = systems();
    fill(&server);
    let chromium = Chromium::start(1400, 1000);
    chromium.open(&format!("http://{http}/"));
    // Memory: a tile for what takes some, a row for every pattern.
    chromium.wait("document.querySelectorAll('.treemap rect').length > 3");
    let rows = chromium.run("return document.querySelectorAll('tbody tr').length");
    let patterns = chromium
        .run("return fetch('/api/v1/overview').then(r => r.json()).then(o => o.patterns.length)");
    assert_eq!(rows, patterns);
    chromium.picture("memory.png");
    // Sorting by a column, and the other way round.
    let first = "document.querySelector('tbody tr td').textContent";
    chromium.run(
        "[...document.querySelectorAll('th button')].find(b => b.textContent === 'Keys').click()",
    );
    chromium
        .wait("document.querySelector('th[aria-sort=descending] button')?.textContent === 'Keys'");
    let most = chromium.run(&format!("return {first}"));
    chromium.run(
        "[...document.querySelectorAll('th button')].find(b => b.textContent === 'Keys').click()",
    );
    chromium.wait("document.querySelector('th[aria-sort=ascending]')");
    assert_ne!(chromium.run(&format!("return {first}")), most);
    // The filter, by the keyboard alone.
    chromium.press("/telegram:dedup");
    chromium.wait("document.querySelectorAll('tbody tr').length < 4");
    chromium.press("\u{e00c}");
    chromium.wait("document.querySelectorAll('tbody tr').length > 50");
    // Figures come by themselves.
    let client = &mut server.client();
    call(client, "SELECT 3");
    for number in 0..500 {
        attempt(client, &format!("SET telegram:dedup:-200{number}:1 1"));
    }
    chromium.wait("[...document.querySelectorAll('tbody tr')].some(r => r.textContent.includes('telegram:dedup') && r.textContent.includes('800'))");
    // A pattern's own page has an address.
    chromium.run("[...document.querySelectorAll('tbody a')].find(a => a.textContent.includes('telegram:dedup')).click()");
    chromium.wait("location.hash.startsWith('#/pattern/db3/telegram-gateway/')");
    chromium.wait("document.querySelector('h1')?.textContent.includes('telegram:dedup')");
    chromium.wait("document.querySelector('pre')?.textContent.includes('[key.\"telegram:dedup')");
    chromium.picture("pattern.png");
    for (key, title, name) in [
        ("2", "What expires when, in all databases", "expiry.png"),
        ("3", "telegram-gateway, db3", "ties.png"),
        ("4", "What was refused", "refusals.png"),
        ("5", "Slow log", "slow.png"),
        ("6", "clients", "clients.png"),
        ("7", "Alerts", "alerts.png"),
        ("8", "Keys", "document.png"),
        ("9", "Replicas", "replication.png"),
        ("0", "What would another schema do", "plan.png"),
        ("1", "Memory by pattern", "memory-again.png"),
    ] {
        chromium.press(key);
        chromium
            .wait(&format!("[...document.querySelectorAll('main h2')].some(it => it.textContent.includes('{title}'))"));
        chromium.picture(name);
    }
    // Dark by a key, and on a telephone.
    let ground = "getComputedStyle(document.body).backgroundColor";
    let before = chromium.run(&format!("return {ground}"));
    chromium.press("t");
    chromium.wait(&format!("{ground} !== {before}"));
    chromium.picture("dark.png");
    chromium.resize(390, 844);
    chromium.wait("innerWidth === 390");
    chromium.picture("phone.png");
    chromium.wait("document.documentElement.scrollWidth <= 390");
    let complaints = chromium.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn hostile_texts_are_harmless_and_a_server_that_goes_is_told() {
    let hostile = "<img src=x onerror=document.title='owned'>\u{202e}";
    let shop = Shop::open(&["--requirepass", "sesame"]);
    let mut client = shop.server.client();
    call(&mut client, "AUTH sesame");
    client.call(["HSET", "user:1", "age", hostile]).expect("it is refused");
    client.call(["CLIENT", "SETNAME", "a<b>"]).expect("it has a name");
    client.call(["SET", hostile, "1"]).expect("it is refused");
    let chromium = Chromium::start(1200, 900);
    let address = format!("http://default:sesame@{}/", shop.http);
    chromium.open(&format!("{address}#/refusals"));
    chromium.wait("document.querySelectorAll('tbody tr').length >= 2");
    let body = chromium.run("return document.body.innerText").to_string();
    assert!(body.contains("<img src=x") && body.contains("u202e"), "{body}");
    assert_eq!(chromium.run("return document.querySelectorAll('main img').length"), json!(0));
    assert_eq!(chromium.run("return document.title"), json!("Keyward"));
    chromium.open(&format!("{address}#/clients"));
    chromium.wait("document.body.innerText.includes('a<b>')");
    // The server goes; the page says so, and goes on when it is back.
    drop(shop);
    chromium.wait("document.getElementById('state').textContent.includes('does not answer')");
}

/// A schema with secrets in names and in values.
const SECRETS: &str = r#"
[keyspace]
name = "bank"

[key."account:{id:uint}"]
doc = "An account of a person."
type = "hash"
ttl = "none"
[key."account:{id:uint}".fields]
owner = "str"
pin = { type = "str", secret = true }

[key."token:{token}"]
type = "string"
ttl = "1h"
secret = ["token"]

[key."session:{id}"]
type = "string"
ttl = { after = "30m", renew = "access" }
"#;

#[test]
fn keys_are_shown_masked_to_who_may_read_them() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("bank.toml").display().to_string();
    std::fs::write(&file, SECRETS).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let options = [&*file, "--http", &place];
    let server = keyward_testkit::Server::keyward(Path::new(crate::PROGRAM), &options);
    let mut client = server.client();
    let owner = "<b>Ann</b>\u{202e}";
    client.call(["HSET", "account:7", "owner", owner, "pin", "4711"]).expect("it is set");
    call(&mut client, "SET token:abcdef hello");
    call(&mut client, "SET session:1 now");
    keyward_testkit::wait_until(|| {
        get(http, "/api/v1/overview", "").body.contains("\"pattern\":\"session:{id}\"")
    });
    let id = |pattern: &str| {
        let body = get(http, "/api/v1/overview", "Authorization: Basic OnNlc2FtZQ==\r\n").body;
        let overview: Value = serde_json::from_str(&body).expect("JSON");
        let patterns = overview["patterns"].as_array().expect("patterns");
        let found = patterns.iter().find(|it| it["pattern"] == pattern).expect("it is there");
        found["id"].as_u64().expect("a number")
    };
    // Where nobody needs a password nothing is shown.
    let page = get(http, &format!("/api/v1/keys?id={}", id("account:{id:uint}")), "");
    assert_eq!(page.status, 200, "{page:?}");
    assert!(!page.body.contains("account:7") && page.body.contains("password"), "{page:?}");
    call(&mut client, "ACL SETUSER default resetpass >sesame");
    call(
        &mut client,
        "ACL SETUSER clerk on >s1 ~token:* +info +select +scan +type +pttl +getrange",
    );
    let look = |who: &str, pattern: &str| {
        let path = format!("/api/v1/keys?id={}", id(pattern));
        get(http, &path, &format!("Authorization: Basic {who}\r\n"))
    };
    // Figures say whether a password is set.
    keyward_testkit::wait_until(|| {
        !look("OnNlc2FtZQ==", "account:{id:uint}").body.contains("where a password is set")
    });
    let page = look("OnNlc2FtZQ==", "account:{id:uint}");
    assert!(page.body.contains("account:7") && page.body.contains("<b>Ann"), "{page:?}");
    assert!(!page.body.contains("4711") && page.body.contains("(redacted)"), "{page:?}");
    let page = look("OnNlc2FtZQ==", "token:{token}");
    assert!(page.body.contains("hello") && !page.body.contains("abcdef"), "{page:?}");
    // A look does not renew a lifetime.
    let page = look("OnNlc2FtZQ==", "session:{id}");
    assert!(page.body.contains("session:1") && !page.body.contains("now"), "{page:?}");
    // Rights are the user's own.
    let page = look("Y2xlcms6czE=", "token:{token}");
    assert!(page.body.contains("hello"), "{page:?}");
    let page = look("Y2xlcms6czE=", "account:{id:uint}");
    assert!(page.status == 403 && !page.body.contains("Ann"), "{page:?}");
    // Who may read some of them sees those.
    client.call(["HSET", "account:8", "owner", "Bob", "pin", "1"]).expect("it is set");
    let teller = "ACL SETUSER teller on >s3 ~account:7 +info +select +scan +type +pttl +hscan";
    call(&mut client, teller);
    let page = look("dGVsbGVyOnMz", "account:{id:uint}");
    assert!(page.status == 200 && page.body.contains("<b>Ann"), "{page:?}");
    assert!(!page.body.contains("account:8") && !page.body.contains("Bob"), "{page:?}");
    // What is cut is told with its length.
    client.call(["SET", "token:long", &"x".repeat(1000)]).expect("it is set");
    let page = look("OnNlc2FtZQ==", "token:{token}");
    assert!(page.body.contains("\"length\":1000"), "{page:?}");
    // On the page: by a button, as text. That nobody needed a password is remembered a while.
    let path = format!("/api/v1/keys?id={}", id("account:{id:uint}"));
    let page = get(http, &path, "");
    assert_eq!(page.status, 401, "{page:?}");
    keyward_testkit::wait_until(|| get(http, "/", "").status == 401);
    let chromium = Chromium::start(1300, 1000);
    let pattern = "account%3A%7Bid%3Auint%7D";
    chromium.open(&format!("http://default:sesame@{http}/#/pattern/db0/bank/{pattern}"));
    chromium.wait("document.querySelector('button.look')");
    chromium.run("document.querySelector('button.look').click()");
    chromium.wait("document.querySelector('.mask')?.textContent === 'masked'");
    let body = chromium.run("return document.body.innerText").to_string();
    assert!(body.contains("<b>Ann</b>") && body.contains("u202e"), "{body}");
    assert!(!body.contains("4711"), "{body}");
    assert_eq!(chromium.run("return document.querySelectorAll('main td b').length"), json!(0));
    chromium.run("document.querySelector('.mask').scrollIntoView({ block: 'center' })");
    chromium.picture("keys.png");
}

#[test]
fn a_wrong_password_shows_nothing() {
    let shop = Shop::open(&["--requirepass", "sesame"]);
    let chromium = Chromium::start(900, 600);
    chromium.open(&format!("http://default:wrong@{}/", shop.http));
    let body = chromium.run("return document.body.innerText").to_string();
    assert!(!body.contains("Memory") && !body.contains("user:{id"), "{body}");
    chromium.open(&format!("http://default:sesame@{}/", shop.http));
    chromium.wait("document.body.innerText.includes('user:{id:uint}')");
}

#[test]
fn a_thousand_patterns_are_shown_fast() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("many.toml").display().to_string();
    std::fs::write(&file, crate::many(1000)).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let server =
        keyward_testkit::Server::keyward(Path::new(crate::PROGRAM), &[&file, "--http", &place]);
    let client = &mut server.client();
    for number in 0..1000 {
        call(client, &format!("SET many{number}:1 {}", "x".repeat(number + 1)));
    }
    let chromium = Chromium::start(1400, 1000);
    chromium.open(&format!("http://{http}/#/memory?sort=-Keys"));
    chromium.wait("document.querySelectorAll('tbody tr').length === 1001");
    // An address says what is sorted and filtered by.
    chromium
        .wait("document.querySelector('th[aria-sort=descending] button').textContent === 'Keys'");
    // From a key to a table of it, the server's answer included.
    let took = chromium.run(
        "const filter = document.getElementById('filter'), begun = performance.now();
         filter.value = 'many99'; filter.dispatchEvent(new Event('input'));
         return new Promise((done) => {
             const look = () => document.querySelectorAll('tbody tr').length === 11
                 ? done(performance.now() - begun) : requestAnimationFrame(look);
             look();
         })",
    );
    let took = took.as_f64().expect("a number");
    assert!(chromium.run("return location.hash").to_string().contains("filter=many99"));
    // The whole table anew.
    let drawn = chromium.run(
        "const filter = document.getElementById('filter'), begun = performance.now();
         filter.value = ''; filter.dispatchEvent(new Event('input'));
         return new Promise((done) => {
             const look = () => document.querySelectorAll('tbody tr').length === 1001
                 ? done(performance.now() - begun) : requestAnimationFrame(look);
             look();
         })",
    );
    let drawn = drawn.as_f64().expect("a number");
    // The first paint of a page that is opened anew, and an update, the server's answer included.
    chromium.open("about:blank");
    chromium.open(&format!("http://{http}/#/memory"));
    chromium.wait("document.querySelectorAll('tbody tr').length === 1001");
    let figure = |script: &str| chromium.run(script).as_f64().expect("a number");
    let paint =
        figure("return performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let update = figure("return performance.getEntriesByName('shown')[0].duration");
    let figures = format!(
        "first paint {paint:.0} ms, update {update:.0} ms, filter {took:.0} ms, all rows {drawn:.0} ms"
    );
    if let Some(pictures) = std::env::var_os("KEYWARD_SCREENSHOTS") {
        std::fs::write(Path::new(&pictures).join("thousand.txt"), &figures).expect("it is kept");
    }
    let most = [took, drawn, paint, update].into_iter().fold(0.0, f64::max);
    assert!(most < 5000.0, "{figures}");
    chromium.picture("thousand.png");
}

#[test]
fn a_server_that_restarts_is_found_again() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("shop.toml").display().to_string();
    std::fs::write(&file, crate::SHOP).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let start =
        || keyward_testkit::Server::keyward(Path::new(crate::PROGRAM), &[&file, "--http", &place]);
    let server = start();
    let chromium = Chromium::start(1000, 800);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.body.innerText.includes('user:{id:uint}')");
    drop(server);
    chromium.wait("document.getElementById('state').textContent.includes('does not answer')");
    chromium.picture("away.png");
    let server = start();
    chromium.wait("document.getElementById('state').textContent === ''");
    call(&mut server.client(), "SET page:after 1");
    chromium.wait(
        "[...document.querySelectorAll('tbody tr')].some(row => row.cells[0].textContent === 'page:{name}' && row.cells[2].textContent === '1')",
    );
}
