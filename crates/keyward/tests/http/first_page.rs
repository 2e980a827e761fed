//! The first page, and what plots, lists and errors have in common: axes, what is told of a place,
//! alerts that fire, keyspaces in the treemap, what leads, what is refused to who looks.

use crate::browser::get;
use crate::chromium::Chromium;
use crate::{Shop, attempt};
use keyward_testkit::{Server, call, free_port};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;

/// A server of some schemas, each in a database of its own.
fn serve(schemas: &[(&str, &str)], settings: &[&str]) -> (Server, SocketAddr, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a directory");
    let mut files = Vec::new();
    for (name, text) in schemas {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("the schema is written");
        files.push(file.display().to_string());
    }
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let mut options: Vec<&str> = files.iter().map(String::as_str).collect();
    options.extend(["--http", &place]);
    options.extend(settings);
    (Server::keyward(Path::new(crate::PROGRAM), &options), http, folder)
}

/// Moves the pointer over a plot, to a share of its width.
fn point(chromium: &Chromium, plot: usize, share: f64) {
    chromium.run(&format!(
        "const area = document.querySelectorAll('.field')[{plot}].getBoundingClientRect();
         dispatchEvent(new PointerEvent('pointermove', {{ clientX: area.left + area.width * {share}, clientY: area.top + 20 }}))",
    ));
}

#[test]
fn plots_have_axes_and_tell_of_the_place_under_the_pointer() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    for number in 0..3000 {
        call(client, &format!("SET page:{number} {}", "x".repeat(100)));
    }
    let chromium = Chromium::start(1400, 1000);
    chromium.open(&format!("http://{}/", shop.http));
    // Memory, reads and writes of all patterns, once there are samples.
    chromium.wait("document.querySelectorAll('.field').length === 3");
    let labels = |side: &str, plot: usize| {
        let script = format!(
            "return [...document.querySelectorAll('.plot')[{plot}].querySelectorAll('.{side} span')].map((it) => it.textContent)"
        );
        let found = chromium.run(&script);
        found.as_array().expect("labels").iter().map(|it| it.to_string()).collect::<Vec<_>>()
    };
    let values = labels("ys", 0);
    assert!(values.len() >= 3 && values[0] == "\"0 B\"", "{values:?}");
    assert!(values.iter().skip(1).all(|it| it.contains("kB")), "{values:?}");
    let times = labels("xs", 0);
    assert!(times.len() >= 4, "{times:?}");
    // A line stands within its scale: the greatest value is below the uppermost label.
    let top = "document.querySelector('.chart .line').getBoundingClientRect().top
        >= document.querySelector('.field').getBoundingClientRect().top - 1";
    chromium.wait(top);
    point(&chromium, 0, 0.99);
    chromium
        .wait("document.querySelector('.cursor.on i') && !document.getElementById('tip').hidden");
    let told = chromium.run("return document.getElementById('tip').textContent");
    let told = told.as_str().expect("a text");
    let (value, time) = told.split_once('\n').expect("a value and a time");
    assert!(value.ends_with(" kB"), "{told}");
    assert_eq!(time.matches(':').count(), 2, "{told}");
    // It stays over updates, and is told of two lines at once.
    point(&chromium, 1, 0.99);
    chromium.wait("document.querySelectorAll('.cursor.on i').length === 2");
    chromium.run("performance.clearMeasures('shown')");
    chromium.wait("performance.getEntriesByName('shown').length > 0");
    chromium.wait("document.querySelectorAll('.cursor.on i').length === 2");
    let told = chromium.run("return document.getElementById('tip').textContent").to_string();
    assert!(told.contains("reads ") && told.contains("missed "), "{told}");
    // The server's samples of all patterns together are what their own are.
    let ask = |path: &str| -> Value {
        serde_json::from_str(&get(shop.http, path, "").body).expect("JSON")
    };
    let history = ask("/api/v1/history");
    let last = history["samples"].as_array().expect("samples").last().expect("one").clone();
    for name in ["keys", "bytes", "reads", "writes", "misses"] {
        assert!(last[name].is_f64(), "{last}");
    }
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}

#[test]
fn alerts_that_fire_are_on_the_first_page() {
    const WATCHED: &str = "[keyspace]\nname = \"shop\"\n\
        alert.clients = { when = \">= 0\", for = \"1s\", severity = \"critical\", say = \"Somebody <b>is</b> there.\" }\n\
        alert.memory = \"> 1gb\"\n[key.a]\ntype = \"string\"\nttl = \"1h\"\n";
    let (_server, http, _folder) = serve(&[("shop.toml", WATCHED)], &[]);
    let chromium = Chromium::start(1300, 900);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.querySelector('.fires.critical .pill')?.textContent === 'critical'");
    let said = chromium.run("return document.querySelector('.fires').innerText").to_string();
    for text in ["shop: clients >= 0", "Somebody <b>is</b> there.", "since "] {
        assert!(said.contains(text), "{text} is not in {said}");
    }
    chromium.picture("fires.png");
    chromium.run("document.querySelector('.fires a').click()");
    chromium
        .wait("location.hash === '#/alerts' && document.querySelectorAll('.alert').length === 1");
    // What is watched is listed, whether it fires or not.
    chromium.wait("document.querySelectorAll('.watched li').length === 2");
    let said = chromium.run("return document.querySelector('.watched').innerText").to_string();
    assert!(said.contains("shop: memory > 1gb") || said.contains("shop: memory > "), "{said}");
    let calm = "[keyspace]\nname = \"calm\"\nalert.memory = \"> 1gb\"\n[key.a]\ntype = \"string\"\nttl = \"1h\"\n";
    let (_server, http, _folder) = serve(&[("calm.toml", calm)], &[]);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.querySelector('.calm')?.textContent.startsWith('1 alert is watched')");
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}

#[test]
fn patterns_are_inside_their_keyspace_and_those_that_lead_are_listed() {
    let of = |name: &str, db: usize, key: &str| {
        format!(
            "[keyspace]\nname = \"{name}\"\ndb = {db}\n[key.\"{key}:{{id}}\"]\ntype = \"string\"\nttl = \"1h\"\nvalue = \"int\"\n\
             [key.\"{key}s:{{id}}\"]\ntype = \"set\"\nttl = \"1h\"\n"
        )
    };
    let (one, two) = (of("one", 0, "apple"), of("two", 1, "pear"));
    let (server, http, _folder) = serve(&[("one.toml", &one), ("two.toml", &two)], &[]);
    let client = &mut server.client();
    for number in 0..200 {
        attempt(client, &format!("SET apple:{number} {number}"));
        attempt(client, &format!("SADD apples:{number} a b c"));
        attempt(client, &format!("GET apple:none{number}"));
    }
    attempt(client, "SET apple:1 text");
    attempt(client, "SELECT 1");
    for number in 0..200 {
        attempt(client, &format!("SET pear:{number} {number}"));
    }
    let chromium = Chromium::start(1300, 1000);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.querySelectorAll('.treemap .frame').length === 2");
    chromium.wait("document.querySelectorAll('.treemap .leaf').length === 3");
    let names = chromium.run(
        "return [...document.querySelectorAll('.treemap .frame text')].map((it) => it.textContent.split('  ')[0])",
    );
    assert_eq!(names, json!(["one, db0", "two, db1"]));
    // Every tile lies in the frame of its tone, below its name.
    let inside = chromium.run(
        "const box = (it) => it.getBoundingClientRect();
         const toned = (style) => [...document.querySelectorAll('.treemap ' + style)];
         return toned('.leaf').every((leaf) => {
             const tone = [...leaf.classList].find((it) => it.startsWith('tone'));
             const frame = toned('.frame').find((it) => it.classList.contains(tone));
             const [a, b] = [box(leaf.querySelector('rect')), box(frame.querySelector('path'))];
             const name = box(frame.querySelector('text'));
             return a.left >= b.left && a.right <= b.right && a.top >= name.bottom - 4 && a.bottom <= b.bottom;
         })",
    );
    assert_eq!(inside, json!(true));
    let leads = |title: &str| {
        format!(
            "[...document.querySelectorAll('main section.card')].find((it) => it.querySelector('h2').textContent === '{title}')?.querySelector('.leaders a')?.textContent"
        )
    };
    chromium.wait(&format!("{} === 'apple:{{id}}'", leads("Refused most")));
    chromium.wait(&format!("{} === 'apple:{{id}}'", leads("Missed most")));
    chromium.wait("document.querySelectorAll('.leaders li').length >= 3");
    // The filter is for lists too.
    chromium.open(&format!("http://{http}/#/refusals?filter=nothing%20has%20this"));
    chromium.wait(
        "document.querySelector('main .note')?.textContent === 'None of them has this text.'",
    );
    chromium.open(&format!("http://{http}/#/refusals?filter=apple"));
    chromium.wait("document.querySelector('tbody a')?.textContent === 'apple:{id}'");
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}

#[test]
fn what_a_user_may_not_see_is_told_in_its_place() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    crate::metrics::fresh(&shop);
    attempt(client, "SET user:1 text");
    call(client, "ACL SETUSER scraper on >s1 resetkeys +info");
    call(client, "ACL SETUSER default resetpass >sesame");
    keyward_testkit::wait_until(|| get(shop.http, "/", "").status == 401);
    let chromium = Chromium::start(1200, 900);
    chromium.open(&format!("http://scraper:s1@{}/#/slow", shop.http));
    chromium.wait("document.querySelector('main .note')?.textContent.includes('NOPERM')");
    chromium.wait("document.getElementById('live').className === 'dot good'");
    assert_eq!(chromium.run("return document.getElementById('state').textContent"), json!(""));
    // So it is on the page of a pattern.
    chromium.open(&format!(
        "http://scraper:s1@{}/#/pattern/db0/shop/user%3A%7Bid%3Auint%7D",
        shop.http
    ));
    chromium.wait(
        "[...document.querySelectorAll('main .card')].some((it) => it.textContent.startsWith('The last refusalsNOPERM'))",
    );
    // Figures are shown all the same, and another view is.
    chromium.open(&format!("http://scraper:s1@{}/#/memory", shop.http));
    chromium.wait("document.querySelectorAll('tbody tr').length === 5");
    drop(shop);
    chromium.wait("document.getElementById('live').className === 'dot bad'");
    chromium.wait("document.getElementById('state').textContent.includes('does not answer')");
    chromium.wait("document.querySelector('main.stale tbody tr')");
}

#[test]
fn the_others_of_a_treemap_are_inside_their_keyspace() {
    let first = crate::many(150);
    let second = first.replace("many", "more").replace("\"more\"\n", "\"more\"\ndb = 1\n");
    let (server, http, _folder) = serve(&[("many.toml", &first), ("more.toml", &second)], &[]);
    let client = &mut server.client();
    for (db, name) in [(0, "many"), (1, "more")] {
        call(client, &format!("SELECT {db}"));
        for number in 0..150 {
            call(client, &format!("SET {name}{number}:1 {}", "x".repeat(100 * (number + 1))));
        }
    }
    let chromium = Chromium::start(1300, 1000);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.querySelectorAll('.treemap .others').length === 2");
    chromium.wait("document.querySelectorAll('.treemap .leaf').length === 199");
    let said = chromium.run(
        "return [...document.querySelectorAll('.treemap .others')].map((it) => it.dataset.tip)",
    );
    let said: Vec<&str> = said.as_array().expect("tips").iter().filter_map(Value::as_str).collect();
    let others = said.iter().filter_map(|it| it.split(' ').next()?.parse::<usize>().ok());
    assert_eq!(others.sum::<usize>(), 300 - 199, "{said:?}");
    assert!(
        ["many", "more"].iter().all(|name| said.iter().any(|it| it.contains(name))),
        "{said:?}"
    );
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}

#[test]
fn a_plot_is_of_the_shortest_time_that_has_all_samples_and_its_scale_is_round() {
    let shop = Shop::open(&[]);
    let chromium = Chromium::start(1400, 900);
    chromium.open(&format!("http://{}/", shop.http));
    chromium.wait("document.querySelectorAll('tbody tr').length === 5");
    chromium.run(
        "const real = window.fetch;
         window.samples = 0;
         window.fetch = (url, options) => String(url).endsWith('/history')
             ? Promise.resolve(new Response(JSON.stringify({ every: 15, samples: Array.from({ length: samples },
                 () => ({ keys: 7, bytes: 3 * 1024 * 1024 - 1, reads: 250, writes: 0.3, misses: 20 })) })))
             : real(url, options);",
    );
    for (samples, time) in [
        (10, "the last 5 minutes"),
        (30, "the last 15 minutes"),
        (100, "the last 30 minutes"),
        (200, "the last hour"),
        (240, "the last hour"),
    ] {
        chromium.run(&format!("window.samples = {samples}"));
        chromium.wait(&format!(
            "document.querySelector('.plot')?.closest('figure').textContent.startsWith('Memory of all keys, {time}3 MB')"
        ));
        chromium.wait("[...document.querySelectorAll('.plot .xs span')].every((it) => /^\\d\\d:\\d\\d$/.test(it.textContent))");
    }
    let scales = chromium.run(
        "return [...document.querySelectorAll('.plot .ys')].map((it) => [...it.children].map((label) => label.textContent).join())",
    );
    assert_eq!(scales, json!(["0 B,1 MB,2 MB,3 MB", "0,100,200,300", "0,0.1,0.2,0.3"]));
    // The line of an hour begins at the left.
    chromium.wait(
        "(([line, field]) => Math.abs(line.left - field.left) < 8 && Math.abs(line.right - field.right) < 3)(
             ['.chart .line', '.field'].map((it) => document.querySelector(it).getBoundingClientRect()))",
    );
    assert!(chromium.complaints().is_empty(), "{:#?}", chromium.complaints());
}
