//! Files made to be slow, deep or many: each gets its answer in bounded time.
//!
//! Every one of these once took minutes, or is of the same kind. In a release
//! build each takes less than two seconds; the limit here leaves room for a
//! debug build on a busy machine, and is still far from what a quadratic or
//! cubic step would take.

use std::time::{Duration, Instant};

use keyward_schema::{
    Checked, Level, MAX_DIAGNOSTICS, MAX_KEYS, Pattern, Steps, check, relation_within,
};

const TIME_MAX: Duration = Duration::from_secs(60);

/// Checks a file with these parts beside its keyspace, in bounded time.
#[track_caller]
fn answer(parts: impl IntoIterator<Item = String>) -> Checked {
    let mut file = String::from("[keyspace]\nname = \"hostile\"\n");
    file.extend(parts);
    let start = Instant::now();
    let checked = check("hostile.toml", file.as_bytes());
    assert!(start.elapsed() < TIME_MAX, "took {:?}", start.elapsed());
    assert!(checked.diagnostics.len() <= MAX_DIAGNOSTICS);
    let is_error = |level| level == Level::Error;
    let has_error = checked.diagnostics.iter().any(|found| is_error(found.rule.level));
    assert_eq!(has_error, checked.has_errors());
    checked
}

fn keys(key: impl Fn(usize) -> String) -> impl Iterator<Item = String> {
    (0..MAX_KEYS).map(key)
}

fn hash(pattern: String) -> String {
    format!("[key.\"{pattern}\"]\ntype = \"hash\"\n")
}

/// The codes that were found, each once.
fn codes(checked: &Checked) -> Vec<&'static str> {
    let mut codes: Vec<&str> = checked.diagnostics.iter().map(|found| found.rule.code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

#[test]
fn as_many_sound_keys_as_there_may_be() {
    assert!(answer(keys(|n| hash(format!("k{n}:{{id}}")))).schema.is_some());
}

#[test]
fn millions_of_pairs_that_overlap() {
    let crossed = answer(keys(|n| match n % 2 {
        0 => hash(format!("a{n}:{{x}}:{{y}}")),
        _ => hash(format!("{{x}}:b{n}:{{y}}")),
    }));
    // Those behind the first that were found are not compared.
    assert_eq!((codes(&crossed), crossed.diagnostics.len()), (vec!["KW0107"], 50));
    let equal = answer(keys(|n| hash(format!("a:{{x{n}}}"))));
    assert_eq!((codes(&equal), equal.diagnostics.len()), (vec!["KW0107"], 50));
}

#[test]
fn every_word_of_twelve_enums_but_one_claimed() {
    let bits = |n: usize| (0..12).map(move |bit| if n >> bit & 1 == 1 { "y" } else { "n" });
    let enums: Vec<String> = (0..12).map(|bit| format!("{{p{bit}:y|n}}")).collect();
    let found = answer(keys(|n| match n {
        0 => hash(enums.join(":")),
        _ => hash(bits(n).collect::<Vec<_>>().join(":")),
    }));
    assert!(found.schema.is_some());
}

#[test]
fn enums_of_a_hundred_words_in_every_pattern() {
    let words = |n: usize| {
        (0..100).map(|word| format!("{:x}", n * 100 + word)).collect::<Vec<_>>().join("|")
    };
    let closed = answer(keys(|n| hash(format!("{{w:{}}}", words(n)))));
    assert_eq!(codes(&closed), ["KW0009"]);
    let open = answer(keys(|n| hash(format!("{{w:{}}}:{{r:rest}}", words(n)))));
    assert_eq!(codes(&open), ["KW0009"]);
}

#[test]
fn a_circle_of_all_keys() {
    let found = answer(keys(|n| {
        let next = (n + 1) % MAX_KEYS;
        hash(format!("a{n}:{{x}}")) + &format!("ttl = {{ with = \"a{next}:{{x}}\" }}\n")
    }));
    assert_eq!((codes(&found), found.diagnostics.len()), (vec!["KW0308"], 1));
}

#[test]
fn references_that_are_nearly_every_pattern() {
    let stem = "a".repeat(50);
    let found = answer(keys(|n| {
        hash(format!("{stem}{n}:{{x}}")) + &format!("ttl = {{ with = \"{stem}b{n}:{{x}}\" }}\n")
    }));
    assert_eq!((codes(&found), found.diagnostics.len()), (vec!["KW0501"], MAX_DIAGNOSTICS));
}

#[test]
fn mirrors_of_one_silent_set() {
    let set = |pattern: String| format!("[key.\"{pattern}\"]\ntype = \"set\"\nmax_members = 9\n");
    let found = answer(keys(|n| match n {
        0 => set("b:{x}".to_owned()),
        _ => set(format!("a{n}:{{x}}")) + "inverse = \"b:{member}\"\n",
    }));
    assert_eq!((codes(&found), found.diagnostics.len()), (vec!["KW0512"], MAX_DIAGNOSTICS));
}

#[test]
fn flags_that_guard_thousands_of_keys() {
    let found = answer(keys(|n| {
        let data = if n % 2 == 0 { "flag" } else { "hash" };
        format!("[key.\"a{n}:{{x}}\"]\ntype = \"{data}\"\nttl = \"{}m\"\n", n + 1)
    }));
    assert_eq!((codes(&found), found.diagnostics.len()), (vec!["KW0311"], MAX_DIAGNOSTICS));
}

#[test]
fn enums_of_a_hundred_thousand_words() {
    let words: Vec<String> = (0..100_000).map(|n| format!("w{n}")).collect();
    let value = format!("[key.a]\ntype = \"string\"\nvalue = \"{}\"\n", words.join("|"));
    assert_eq!(codes(&answer([value])), ["KW0202"]);
    let cases = words.iter().map(|word| format!("ttl.{word} = \"1h\"\n"));
    let head = "[key.a]\ntype = \"hash\"\nfields = { s = \"x | y\" }\nttl.by = \"s\"\n";
    assert_eq!(codes(&answer([head.to_owned()].into_iter().chain(cases))), ["KW0304"]);
}

#[test]
fn functions_with_endless_keys_and_arguments() {
    let list = |name: &str, item: &dyn Fn(usize) -> String| {
        let items: String = (0..100_000).map(|n| format!("\"{}\",", item(n))).collect();
        hash("a:{x}".to_owned()) + &format!("[function.f]\n{name} = [{items}]\n")
    };
    assert_eq!(codes(&answer([list("args", &|n| format!("a{n}: int"))])), ["KW0009"]);
    assert_eq!(codes(&answer([list("keys", &|n| format!("q{n}:{{x}}"))])), ["KW0009", "KW0601"]);
}

#[test]
fn a_table_of_unknown_settings() {
    let settings = (0..100_000).map(|n| format!("maxlen{n} = 1\n"));
    let found = answer([hash("a".to_owned())].into_iter().chain(settings));
    assert_eq!((codes(&found), found.diagnostics.len()), (vec!["KW0004"], MAX_DIAGNOSTICS));
}

/// Allowed warnings once took the places of the report, so that allowances
/// beyond the five hundredth seemed to silence nothing.
#[test]
fn thousands_of_warnings_that_are_allowed() {
    let found = answer(keys(|n| {
        format!("[key.\"k{n}:{{id}}\"]\ntype = \"list\"\nallow = [\"KW0310: drained hourly\"]\n")
    }));
    assert_eq!(codes(&found), [""; 0]);
}

#[test]
fn an_error_behind_hundreds_of_warnings_is_still_an_error() {
    let lists = (0..600).map(|n| format!("[key.\"k{n}:{{id}}\"]\ntype = \"list\"\n"));
    let found = answer(lists.chain(["[key.z]\ntype = \"hsah\"\n".to_owned()]));
    assert!(found.has_errors() && codes(&found).contains(&"KW0201"));
}

#[test]
fn nesting_without_end() {
    for open in ["[", "{a=", "a.", "[[", "\"\"\"", "[a.", "'''", "a=[", "#"] {
        let file = open.repeat(200_000);
        let start = Instant::now();
        assert!(check("deep.toml", file.as_bytes()).has_errors(), "{open}");
        assert!(start.elapsed() < TIME_MAX, "{open} took {:?}", start.elapsed());
    }
}

#[test]
fn types_that_nest_by_tables_and_brackets_together() {
    let mut shape = "\"int\"".to_owned();
    for _ in 0..15 {
        let ty = format!(
            "{}object{}",
            "(".repeat(15),
            "[][][][][]".to_owned() + &")[][][][]".repeat(15)
        );
        shape = format!("{{ type = \"{ty}\", fields = {{ a = {shape} }} }}");
    }
    let found = answer([format!("[key.a]\ntype = \"json\"\nvalue = {shape}\n")]);
    assert_eq!(codes(&found), ["KW0202"]);
}

/// Patterns whose comparison would take hours: of each a number of its own makes the lengths.
fn long_texts(pattern: impl Fn(usize) -> String) -> Checked {
    answer((0..16).map(|n| hash(pattern(n))))
}

#[test]
fn texts_of_many_lengths_are_not_compared_without_end() {
    let checks: [&dyn Fn(usize) -> String; 2] = [
        &|n| {
            format!("a{{x:text(a-z,256)}}b{{y:text(a-z,{})}}c{{z:text(a-z,{})}}", 200 + n, 180 + n)
        },
        &|n| format!("a{{x:rest}}b{{y:text(a-z,{})}}c{{z:text(a-z,{})}}", 200 + n, 180 + n),
    ];
    for pattern in checks {
        let checked = long_texts(pattern);
        assert_eq!(codes(&checked), ["KW0110"]);
        assert_eq!(
            checked.diagnostics[0].message,
            "the patterns are too entangled: which keys two of them share takes more than 524288 \
             steps, or more than 589824 for all of them"
        );
    }
}

#[test]
fn what_programs_write_is_compared_in_few_steps() {
    let folder = |path: &str| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let library = std::fs::read_dir(folder("../../library")).expect("the library");
    let systems = std::fs::read_dir(folder("../../systems")).expect("the systems");
    let of_systems = systems.flatten().map(|entry| entry.path().join("keyward.toml"));
    let files = library.flatten().map(|entry| entry.path()).chain(of_systems);
    let texts = files.filter_map(|path| std::fs::read_to_string(path).ok());
    let patterns: Vec<Pattern> = texts
        .flat_map(|text| {
            let lines = text.lines().filter_map(|line| line.strip_prefix("[key.\""));
            let names: Vec<String> = lines
                .filter_map(|line| Some(line.split_once("\"]")?.0.replace("${prefix}", "")))
                .collect();
            names
        })
        .filter_map(|text| Pattern::parse(&text).ok())
        .collect();
    assert!(patterns.len() > 150, "{}", patterns.len());
    let steps = Steps::among(patterns.len());
    for (index, pattern) in patterns.iter().enumerate() {
        for other in &patterns[..index] {
            relation_within(other, pattern, &steps);
        }
    }
    assert!(steps.taken() < steps.allowed() / 3, "{} steps", steps.taken());
}
