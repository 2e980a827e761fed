//! What the dashboard asks of the server as its user: what expires, plans, misfits, sinks.

use crate::Shop;
use crate::browser::get;
use crate::chromium::Chromium;
use keyward_testkit::{call, free_port};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;

#[test]
fn what_expires_when_is_drawn_of_a_pattern_and_of_all() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    crate::metrics::fresh(&shop);
    for number in 0..30 {
        call(client, &format!("SET page:{number} text"));
    }
    for number in 0..5 {
        call(client, &format!("SET draft:{number} text"));
    }
    call(client, "HSET user:1 email e");
    let ask = |path: &str| -> Value {
        serde_json::from_str(&get(shop.http, path, "").body).expect("JSON")
    };
    let all = ask("/api/v1/expiring");
    let of = |found: &Value, seconds: u64| {
        let entries = found["within"].as_array().expect("entries");
        let own = entries.iter().find(|it| it["seconds"] == seconds).expect("it is there");
        own["keys"].as_u64().expect("a number")
    };
    assert_eq!((of(&all, 300), of(&all, 3600), &all["none"]["keys"]), (5, 30, &json!(2)));
    assert_eq!((&all["keys"], &all["exact"]), (&json!(37), &json!(true)));
    let overview = ask("/api/v1/overview");
    let patterns = overview["patterns"].as_array().expect("patterns");
    let page = patterns.iter().find(|it| it["pattern"] == "page:{name}").expect("it is there");
    let own = ask(&format!("/api/v1/expiring?id={}", page["id"]));
    assert_eq!((of(&own, 300), of(&own, 3600), &own["keys"]), (0, 30, &json!(30)));
    let chromium = Chromium::start(1400, 1000);
    chromium.open(&format!("http://{}/#/expiry", shop.http));
    chromium.wait("document.querySelectorAll('.bars').length === 2");
    chromium.wait("document.querySelectorAll('.column').length === 12 + 24");
    let tip = |at: usize| format!("document.querySelectorAll('.column')[{at}].dataset.tip");
    chromium.wait(&format!("{}.startsWith('5 keys, ')", tip(0)));
    chromium.wait(&format!("{}.startsWith('30 keys, ')", tip(11)));
    chromium.wait(&format!("{}.startsWith('35 keys, ')", tip(12)));
    chromium.wait("document.querySelector('svg.chart .line')");
    // What is under the pointer is told.
    chromium.run(
        "const it = document.querySelectorAll('.column')[11], area = it.getBoundingClientRect();
         dispatchEvent(new PointerEvent('pointermove', { clientX: area.left + 2, clientY: area.bottom - 30 }))",
    );
    chromium.wait("!document.getElementById('tip').hidden && document.getElementById('tip').textContent.startsWith('30 keys')");
    chromium.open(&format!("http://{}/#/pattern/db0/shop/page%3A%7Bname%7D", shop.http));
    chromium.wait(&format!(
        "document.querySelectorAll('.column').length === 36 && {}.startsWith('30 keys, ')",
        tip(11)
    ));
    // Before the server has samples the page draws its own.
    chromium.wait("document.querySelectorAll('.charts svg.chart').length === 4");
    let complaints = chromium.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
    // Who may not ask is told so.
    call(client, "ACL SETUSER scraper on >s1 resetkeys +info");
    let page = get(shop.http, "/api/v1/expiring", "Authorization: Basic c2NyYXBlcjpzMQ==\r\n");
    assert_eq!(page.status, 403, "{page:?}");
}

/// Posts JSON for a plan, with further headers.
fn post(shop: &Shop, headers: &str, body: &str) -> crate::browser::Page {
    let request = format!(
        "POST /api/v1/plan HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        shop.http,
        body.len(),
    );
    crate::browser::exchange(shop.http, request.as_bytes())
}

#[test]
fn a_schema_that_is_pasted_in_is_planned_and_not_applied() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    crate::metrics::fresh(&shop);
    for number in 0..7 {
        call(client, &format!("SET page:{number} text"));
    }
    let shorter = crate::SHOP.replace("ttl = \"1h\"", "ttl = \"10m\"");
    let body = json!({ "db": 0, "keyspace": "", "text": shorter }).to_string();
    let json = "Content-Type: application/json\r\n";
    let page = post(&shop, json, &body);
    assert_eq!(page.status, 200, "{page:?}");
    let plan: Value = serde_json::from_str(&page.body).expect("JSON");
    let pages = &plan["patterns"][0];
    assert_eq!(pages["pattern"], "page:{name}", "{plan}");
    assert_eq!(plan["destroys"], 0, "{plan}");
    assert!(pages["figures"]["overlong"] == 7 || pages["figures"]["shortened"] == 7, "{plan}");
    let command = plan["command"].as_str().expect("a command");
    assert!(command.starts_with("KEYWARD SCHEMA APPLY "), "{command}");
    // Nothing is applied until somebody says so.
    assert!(get(shop.http, "/api/v1/text?db=0", "").body.contains("1h"));
    // What is wrong with a text is told; a page of elsewhere, a body that is too large and
    // other paths are refused.
    let wrong = json!({ "db": 0, "text": "[keyspace]\nname = 1\n" }).to_string();
    let page = post(&shop, json, &wrong);
    assert!(page.status == 400 && page.body.contains("KW00"), "{page:?}");
    for (headers, status) in [
        ("Content-Type: text/plain\r\n", 403),
        ("Content-Type: application/json\r\nOrigin: http://evil.example\r\n", 403),
        ("Content-Type: application/json\r\nSec-Fetch-Site: cross-site\r\n", 403),
    ] {
        assert_eq!(post(&shop, headers, &body).status, status, "{headers}");
    }
    assert_eq!(post(&shop, json, &"x".repeat(600 * 1024)).status, 413);
    assert_eq!(post(&shop, json, "{}").status, 400);
    assert_eq!(get(shop.http, "/api/v1/plan", "").status, 404);
    let elsewhere =
        format!("POST /metrics HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\n\r\n", shop.http);
    assert_eq!(crate::browser::exchange(shop.http, elsewhere.as_bytes()).status, 405);
    // In the browser, from the text in force to the command, which then does it.
    let chromium = Chromium::start(1400, 1200);
    chromium.open(&format!("http://{}/#/plan", shop.http));
    chromium.wait("document.querySelector('#plan-keyspace option')");
    chromium.run("document.getElementById('plan-show').click()");
    chromium.wait("document.getElementById('plan-text').value.includes('name = \"shop\"')");
    chromium.run(
        "const text = document.getElementById('plan-text');
         text.value = text.value.replace('ttl = \"1h\"', 'ttl = \"10m\"');
         document.getElementById('plan-make').click()",
    );
    chromium.wait("document.getElementById('plan-command')");
    chromium.picture("planned.png");
    // Figures that come meanwhile leave what is typed in alone.
    std::thread::sleep(std::time::Duration::from_secs(3));
    chromium.wait("document.getElementById('plan-text').value.includes('10m')");
    let command = chromium.run("return document.getElementById('plan-command').innerText");
    call(client, command.as_str().expect("a text").trim());
    assert!(get(shop.http, "/api/v1/text?db=0", "").body.contains("10m"));
    let complaints = chromium.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
    // Who may not plan gets none.
    call(client, "ACL SETUSER scraper on >s1 resetkeys +info +select");
    let who = format!("{json}Authorization: Basic c2NyYXBlcjpzMQ==\r\n");
    let page = post(&shop, &who, &body);
    assert!(page.status == 403 && page.body.contains("NOPERM"), "{page:?}");
}

#[test]
fn what_waits_to_be_stored_is_shown_beside_its_sinks() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("hotel.toml").display().to_string();
    let schema = "[keyspace]\nname = \"hotel\"\n[key.\"guest:{id:uint}\"]\ntype = \"hash\"\n\
        ttl = \"none\"\nsink = { mirror = \"guests\" }\n[key.\"guest:{id:uint}\".fields]\nname = \"str\"\n";
    std::fs::write(&file, schema).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let server =
        keyward_testkit::Server::keyward(Path::new(crate::PROGRAM), &[&file, "--http", &place]);
    let client = &mut server.client();
    for number in 0..3 {
        call(client, &format!("HSET guest:{number} name ada"));
    }
    let sinks = || get(http, "/api/v1/sinks", "").body;
    keyward_testkit::wait_until(|| sinks().contains("guests"));
    let sinks: Value = serde_json::from_str(&sinks()).expect("JSON");
    assert_eq!(sinks["sinks"][0]["pattern"], "guest:{id:uint}", "{sinks}");
    let feed = &sinks["feeds"][0];
    assert_eq!((&feed["keyspace"], &feed["db"]), (&json!("hotel"), &json!("db0")), "{sinks}");
    let entries = feed["entries"].as_u64().expect("a number");
    assert!(entries >= 3 && feed["oldest"].as_f64().is_some(), "{sinks}");
    let chromium = Chromium::start(1200, 900);
    chromium.open(&format!("http://{http}/#/replication"));
    chromium.wait("document.body.innerText.includes('hotel, db0') && document.body.innerText.includes('guests')");
    chromium.wait(&format!(
        "[...document.querySelectorAll('td')].some(it => it.textContent === '{entries}')"
    ));
    chromium.open(&format!("http://{http}/#/ties"));
    chromium.wait(
        "[...document.querySelectorAll('.graph text')].some(it => it.textContent === 'guests')",
    );
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}

#[test]
fn misfits_and_refusals_of_a_pattern_are_on_its_page_and_what_is_personal_is_masked() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("club.toml").display().to_string();
    let schema = r#"
[keyspace]
name = "club"
mode = "warn"
[key."member:{id:uint}"]
type = "hash"
ttl = "none"
[key."member:{id:uint}".fields]
email = { type = "str", personal = true }
age = "uint?"
[key."by_email:{email}"]
type = "string"
lookup = { of = "member:{id}", field = "email" }
[key."note:{id:uint}"]
type = "string"
ttl = "none"
value = "uint"
"#;
    std::fs::write(&file, schema).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let options =
        [&*file, "--http", &place, "--requirepass", "sesame", "--slowlog-log-slower-than", "0"];
    let server = keyward_testkit::Server::keyward(Path::new(crate::PROGRAM), &options);
    let mut client = server.client();
    call(&mut client, "AUTH sesame");
    call(&mut client, "HSET member:1 email ann@example age 30");
    call(&mut client, "HSET member:2 email bob@example age old");
    call(&mut client, "SET note:7 <b>text</b>");
    let ask = |path: &str| {
        let page = get(http, path, "Authorization: Basic OnNlc2FtZQ==\r\n");
        assert_eq!(page.status, 200, "{path}: {page:?}");
        page.body
    };
    keyward_testkit::wait_until(|| ask("/api/v1/overview").contains("note:{id:uint}"));
    let id = |pattern: &str| {
        let overview: Value = serde_json::from_str(&ask("/api/v1/overview")).expect("JSON");
        let patterns = overview["patterns"].as_array().expect("patterns");
        let found = patterns.iter().find(|it| it["pattern"] == pattern).expect("it is there");
        found["id"].as_u64().expect("a number")
    };
    let notes = ask(&format!("/api/v1/misfits?id={}", id("note:{id:uint}")));
    assert!(notes.contains("note:7") && notes.contains("whole number"), "{notes}");
    let members = ask(&format!("/api/v1/misfits?id={}", id("member:{id:uint}")));
    assert!(members.contains("member:2") && members.contains("masked"), "{members}");
    let lookups = ask(&format!("/api/v1/keys?id={}", id("by_email:{email}")));
    assert!(lookups.contains("by_email:(redacted)") && !lookups.contains("@"), "{lookups}");
    let keys = ask(&format!("/api/v1/keys?id={}", id("member:{id:uint}")));
    assert!(keys.contains("30") && keys.contains("(redacted)") && !keys.contains("@"), "{keys}");
    for path in ["refusals", "slow"] {
        let told = ask(&format!("/api/v1/{path}"));
        assert!(told.contains("member:2") && !told.contains("@"), "{path}: {told}");
    }
    // To clients nothing of it is hidden.
    let told = format!("{:?}", client.call(["KEYWARD", "REFUSALS"]));
    assert!(told.contains("98, 111, 98, 64") || told.contains("bob@"), "{told}");
    let chromium = Chromium::start(1300, 1000);
    chromium
        .open(&format!("http://default:sesame@{http}/#/pattern/db0/club/note%3A%7Bid%3Auint%7D"));
    chromium.wait("[...document.querySelectorAll('main h2')].some(it => it.textContent === 'Misfits, 1 in all')");
    chromium.wait("[...document.querySelectorAll('main h2')].some(it => it.textContent === 'The last refusals')");
    let body = chromium.run("return document.body.innerText").to_string();
    assert!(body.contains("note:7") && body.contains("<b>text</b>"), "{body}");
}
