//! The dashboard while it is used: what stays over updates, what a narrow screen shows, and what
//! is told of figures and of what is copied.

use crate::Shop;
use crate::chromium::Chromium;
use keyward_testkit::{Server, call, free_port};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;

/// A server of many patterns, each with a key that is larger than that of the pattern before.
fn many(count: usize) -> (Server, SocketAddr, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("many.toml").display().to_string();
    std::fs::write(&file, crate::many(count)).expect("the schema is written");
    let http = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let place = http.to_string();
    let server = Server::keyward(Path::new(crate::PROGRAM), &[&file, "--http", &place]);
    let client = &mut server.client();
    for number in 0..count {
        call(client, &format!("SET many{number}:1 {}", "x".repeat(100 * (number + 1))));
    }
    (server, http, folder)
}

/// Waits for so many updates of the page.
fn updates(chromium: &Chromium, count: usize) {
    for _ in 0..count {
        chromium.run("performance.clearMeasures('shown')");
        chromium.wait("performance.getEntriesByName('shown').length > 0");
    }
}

#[test]
fn the_focus_a_selection_and_scrolling_survive_updates() {
    let (server, http, _folder) = many(40);
    let client = &mut server.client();
    let chromium = Chromium::start(1300, 900);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.querySelectorAll('tbody tr').length === 41");
    chromium.run(
        "const link = document.querySelectorAll('tbody a')[2];
         window.third = link; window.text = link.textContent; link.focus()",
    );
    for round in 0..5 {
        // Figures and the order of rows change.
        call(client, &format!("SET many{round}:1 {}", "y".repeat(100_000 + round * 1000)));
        updates(&chromium, 1);
        let same =
            "document.activeElement === third && third.isConnected && third.textContent === text";
        assert_eq!(chromium.run(&format!("return {same}")), json!(true), "round {round}");
    }
    chromium.wait("document.querySelector('tbody a').textContent === 'many4:{id}'");
    // By Tab from the button of the last column to the first row of the table.
    chromium.run("[...document.querySelectorAll('th button')].pop().focus()");
    chromium.press("\u{e004}");
    assert_eq!(
        chromium.run("return document.activeElement === document.querySelector('tbody a')"),
        json!(true)
    );
    chromium.run(
        "document.activeElement.blur();
         getSelection().selectAllChildren(document.querySelectorAll('tbody a')[6]);
         window.selected = getSelection().toString();",
    );
    call(client, "SET many7:1 short");
    updates(&chromium, 2);
    assert_eq!(
        chromium.run("return getSelection().toString() === selected && selected.length > 5"),
        json!(true)
    );
    // Where the table is wider than the screen.
    chromium.resize(700, 900);
    chromium.wait(
        "innerWidth === 700 && [...document.querySelectorAll('.card')].pop().scrollWidth > 760",
    );
    chromium
        .run("window.card = [...document.querySelectorAll('.card')].pop(); card.scrollLeft = 50");
    call(client, "SET many9:1 short");
    updates(&chromium, 2);
    assert_eq!(chromium.run("return [card.isConnected, card.scrollLeft]"), json!([true, 50]));
    let complaints = chromium.complaints();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn the_treemap_has_the_others_in_one_tile_and_shares_of_all() {
    let (_server, http, _folder) = many(260);
    let chromium = Chromium::start(1300, 900);
    chromium.open(&format!("http://{http}/"));
    chromium.wait("document.querySelectorAll('.treemap rect').length === 200");
    let others = chromium.run("return document.querySelector('.treemap .others').dataset.tip");
    let others = others.as_str().expect("a text");
    assert!(others.starts_with("61 others\n"), "{others}");
    let shares = chromium.run(
        "return [...document.querySelectorAll('.treemap [data-tip]')]
             .reduce((sum, it) => sum + Number(it.dataset.tip.match(/, ([\\d.]+) %/)[1]), 0)",
    );
    let shares = shares.as_f64().expect("a number");
    assert!((shares - 100.0).abs() < 10.0 * 200.0 / 100.0, "{shares}");
    // The share of the largest is one of all memory.
    let (first, whole) = (
        chromium.run("return Number(document.querySelector('.treemap a').dataset.tip.match(/, ([\\d.]+) %/)[1])"),
        chromium.run(
            "return fetch('/api/v1/overview').then((it) => it.json()).then((it) => {
                 const all = it.patterns.map((one) => one.bytes);
                 return Math.round(1000 * Math.max(...all) / all.reduce((a, b) => a + b)) / 10;
             })",
        ),
    );
    assert_eq!(first, whole);
}

#[test]
fn a_telephone_shows_a_pattern_and_its_figures_below() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    call(client, "SET page:a text");
    let chromium = Chromium::start(900, 900);
    chromium.resize(390, 844);
    chromium.open(&format!("http://{}/", shop.http));
    chromium.wait("document.querySelectorAll('tbody tr').length === 5");
    let inside = "(it) => { const area = it.getBoundingClientRect(); return area.width > 0 && area.left >= 0 && area.right <= 390; }";
    for title in
        ["Pattern", "Keys", "Memory", "Reads/s", "Found", "Misses/s", "Writes/s", "Refused"]
    {
        let seen = format!(
            "[...document.querySelectorAll('tbody tr')].every((row) => [row.querySelector('td[data-title=\"{title}\"]')].every({inside}))"
        );
        assert_eq!(chromium.run(&format!("return {seen}")), json!(true), "{title}");
    }
    let below = "const [first, keys] = ['Pattern', 'Keys'].map((it) => document.querySelector(`td[data-title=\"${it}\"]`).getBoundingClientRect());
        return keys.top >= first.bottom - 1";
    assert_eq!(chromium.run(below), json!(true));
    for view in ["memory", "replication", "plan", "slow", "clients"] {
        chromium.open(&format!("http://{}/#/{view}", shop.http));
        chromium
            .wait(&format!("document.querySelector('nav a[aria-current]')?.hash === '#/{view}'"));
        chromium.wait(&format!("[document.querySelector('nav a[aria-current]')].every({inside})"));
        chromium.wait("document.querySelector('main').children.length > 0");
        chromium.wait("document.documentElement.scrollWidth <= 390");
        chromium.wait("[...document.querySelectorAll('.card')].every((it) => it.scrollWidth <= it.clientWidth + 1)");
    }
}

#[test]
fn texts_are_sorted_from_a_and_what_was_never_read_is_last() {
    let shop = Shop::open(&[]);
    let client = &mut shop.server.client();
    call(client, "SET page:a text");
    call(client, "GET page:a");
    call(client, "GET draft:none");
    let chromium = Chromium::start(1300, 900);
    chromium.open(&format!("http://{}/", shop.http));
    chromium.wait("document.querySelectorAll('tbody tr').length === 5");
    let click = |title: &str| {
        chromium.run(&format!("[...document.querySelectorAll('th button')].find((it) => it.textContent === '{title}').click()"));
    };
    click("Pattern");
    chromium.wait(
        "document.querySelector('th[aria-sort=ascending] button')?.textContent === 'Pattern'",
    );
    let names = chromium.run(
        "return [...document.querySelectorAll('tbody tr')].map((it) => it.cells[0].textContent)",
    );
    assert_eq!(
        names,
        json!([
            "(no pattern)",
            "draft:{name}",
            "page:{name}",
            "user:{id:uint}",
            "users:by_email:{email}"
        ])
    );
    let found = "[...document.querySelectorAll('tbody td[data-title=Found]')].map((it) => it.textContent).join()";
    click("Found");
    chromium.wait(&format!("{found} === '100 %,0 %,–,–,–'"));
    click("Found");
    chromium.wait(&format!("{found} === '0 %,100 %,–,–,–'"));
}

#[test]
fn figures_that_are_old_are_told_with_their_time() {
    let shop = Shop::open(&["--busy-reply-threshold", "100"]);
    let chromium = Chromium::start(1000, 800);
    chromium.open(&format!("http://{}/", shop.http));
    chromium.wait("document.querySelectorAll('tbody tr').length === 5");
    let mut busy = shop.server.client();
    busy.send_command(["EVAL", "while true do end", "0"]).expect("it is sent");
    chromium.wait(
        "/figures of \\d\\d:\\d\\d:\\d\\d/.test(document.getElementById('state').textContent)",
    );
    call(&mut shop.server.client(), "SCRIPT KILL");
    chromium.wait("document.getElementById('state').textContent === ''");
}

#[test]
fn a_plan_goes_when_its_text_changes_and_its_command_is_copied_or_selected() {
    let shop = Shop::open(&[]);
    crate::metrics::fresh(&shop);
    let chromium = Chromium::start(1300, 1000);
    chromium.open(&format!("http://{}/#/plan", shop.http));
    chromium.wait("document.querySelector('#plan-keyspace option')");
    chromium.run("document.getElementById('plan-show').click()");
    chromium.wait("document.getElementById('plan-text').value.includes('name = \"shop\"')");
    let plan = || {
        chromium.run("document.getElementById('plan-make').click()");
        chromium.wait("document.getElementById('plan-command')");
    };
    plan();
    let copy = "const copied = (write) => {
            Object.defineProperty(navigator, 'clipboard', { value: write && { writeText: write }, configurable: true });
            getSelection().removeAllRanges();
            document.getElementById('plan-copy').click();
        };";
    chromium.run(&format!("{copy} copied(async (text) => {{ window.copied = text; }})"));
    chromium.wait("document.getElementById('plan-copy').textContent === 'Copied'");
    chromium.wait("copied === document.getElementById('plan-command').textContent");
    chromium.run(&format!("{copy} copied(undefined)"));
    chromium.wait(
        "getSelection().toString().trim() === document.getElementById('plan-command').textContent",
    );
    chromium.run(
        "const text = document.getElementById('plan-text');
         text.value += '\\n# more'; text.dispatchEvent(new Event('input', { bubbles: true }))",
    );
    chromium.wait("!document.getElementById('plan-command')");
}

#[test]
fn signs_that_are_not_seen_are_shown_as_escapes_and_the_axis_is_an_hour() {
    let shop = Shop::open(&["--requirepass", "sesame"]);
    let mut client = shop.server.client();
    call(&mut client, "AUTH sesame");
    let unseen = "a\u{61c}b\u{ad}c\u{e0041}d\u{180e}e\u{34f}f\u{3164}g";
    client.call(["HSET", "user:1", "age", unseen]).expect("it is refused");
    let chromium = Chromium::start(1200, 900);
    let address = format!("http://default:sesame@{}/", shop.http);
    chromium.open(&format!("{address}#/refusals"));
    chromium.wait("document.querySelectorAll('tbody tr').length >= 1");
    let body = chromium.run("return document.body.innerText");
    let body = body.as_str().expect("a text");
    assert!(body.contains(r"a\u061cb\u00adc\u{e0041}d\u180ee\u034ff\u3164g"), "{body}");
    chromium.open(&format!("{address}#/pattern/db0/shop/page%3A%7Bname%7D"));
    chromium
        .wait("document.querySelector('.charts .xs')?.textContent === 'now−15 s−30 s−45 s−1 min'");
    chromium.wait("[...document.querySelectorAll('main h2')].some((it) => it.textContent === 'Its figures, the last minute')");
}
