//! Schemas of several files: `include`, `[variables]`, and the one text that
//! means the same.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use keyward_schema::{
    Checked, Files, MAX_FILE_BYTES, MAX_INCLUDE_DEPTH, MAX_INCLUDES, Matcher, Schema, check,
    check_file,
};

/// Files in memory.
#[derive(Default)]
struct Memory(BTreeMap<PathBuf, Vec<u8>>);

impl Files for Memory {
    fn identity(&self, path: &Path) -> PathBuf {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => assert!(plain.pop(), "{path:?}"),
                Component::CurDir => {}
                other => plain.push(other),
            }
        }
        plain
    }

    fn read(&self, path: &Path, bytes_max: usize) -> Result<Vec<u8>, String> {
        let bytes = self.0.get(&self.identity(path)).ok_or("no such file")?;
        Ok(bytes[..bytes.len().min(bytes_max + 1)].to_vec())
    }
}

const START: &str = "[keyspace]\nname = 'shop'\n";

/// Reads the first of these files, with what it includes of the others.
fn read(files: &[(&str, &str)]) -> Checked {
    let (path, text) = files[0];
    let stored =
        files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect();
    check_file(Path::new(path), text.as_bytes(), &Memory(stored))
}

/// What is wrong, one to a line: `file:line CODE message`.
fn findings(checked: &Checked) -> Vec<String> {
    let line = |found: &keyward_schema::Diagnostic| {
        let place = checked.source.place(found.primary.span);
        let mut line = format!("{place} {} {}", found.rule.code, found.message);
        for related in &found.related {
            line.push_str(&format!(" | see {}", checked.source.place(related.span)));
        }
        line
    };
    checked.diagnostics.iter().map(line).collect()
}

#[track_caller]
fn told(files: &[(&str, &str)], expected: &[&str]) {
    let checked = read(files);
    assert_eq!(findings(&checked), expected);
    let is_error =
        |found: &keyward_schema::Diagnostic| found.rule.level == keyward_schema::Level::Error;
    assert_eq!(checked.has_errors(), checked.diagnostics.iter().any(is_error));
}

#[track_caller]
fn sound(files: &[(&str, &str)]) -> Schema {
    let checked = read(files);
    assert_eq!(findings(&checked), [""; 0]);
    checked.schema.expect("nothing is wrong")
}

fn patterns(schema: &Schema) -> Vec<&str> {
    schema.keys.iter().map(|key| key.pattern.text()).collect()
}

#[test]
fn keys_functions_and_notes_of_an_included_file_belong_to_the_schema() {
    let shop = format!(
        "include = ['../library/sess.toml']\n{START}[key.'user:{{id}}']\ntype = 'hash'\nttl = {{ with = 'sess:{{id}}' }}\n"
    );
    let library = "[key.'sess:{id}']\ntype = 'string'\nttl = '1d'\n[function.end]\nkeys = ['sess:{id}']\n[[note]]\ntitle = 'Sessions'\ntext = 'All of them.'\n";
    let schema = sound(&[("shop/keyward.toml", &shop), ("library/sess.toml", library)]);
    assert_eq!(patterns(&schema), ["user:{id}", "sess:{id}"]);
    assert_eq!(&*schema.functions[0].name, "end");
    assert_eq!(&*schema.notes[0].title, "Sessions");
    assert_eq!(schema.source.place(schema.keys[0].at), "shop/keyward.toml:4");
    assert_eq!(schema.source.place(schema.keys[1].at), "library/sess.toml:1");
    assert_eq!(schema.source.place(schema.keys[1].lifetime_at), "library/sess.toml:3");
    assert_eq!(schema.source.slice(schema.keys[1].at), "'sess:{id}'");
}

#[test]
fn a_file_amends_keys_of_what_it_includes() {
    let shop = format!(
        "include = ['users.toml']\n{START}[key.'user:{{id}}']\namend = true\nttl = '2h'\n[key.'user:{{id}}'.sink]\nmirror = 'users'\n"
    );
    let users = "[key.'user:{id}']\ntype = 'hash'\nttl = '1d'\nfields = { name = 'string' }\n[key.'pet:{id}']\ntype = 'string'\nttl = { with = 'user:{id}' }\n";
    let files = [("shop.toml", &*shop), ("users.toml", users)];
    let schema = sound(&files);
    assert_eq!(patterns(&schema)[..2], ["user:{id}", "pet:{id}"]);
    let user = &schema.keys[0];
    assert_eq!(schema.source.place(user.at), "users.toml:1");
    assert_eq!(schema.source.place(user.lifetime_at), "shop.toml:6");
    assert_eq!(user.sink.as_ref().map(|sink| &*sink.table), Some("users"));
    // The one text that means the same amends nothing.
    let flat = schema.source.whole_text();
    assert!(!flat.contains("amend"), "{flat}");
    let again = check("flat.toml", flat.as_bytes()).schema.expect("it is sound");
    assert_eq!(again.sink_mark(0), schema.sink_mark(0));
    assert_eq!(patterns(&again).len(), patterns(&schema).len());
    // What is not there is not amended, and no two files claim a key by accident.
    let other = shop.replace("user:{id}", "user:{id:uint}");
    let told = "shop.toml:4 KW0018 no included file has the key `user:{id:uint}`";
    assert_eq!(findings(&read(&[("shop.toml", &other), ("users.toml", users)])), [told]);
    let twice = shop.replace("amend = true", "type = 'hash'");
    let checked = read(&[("shop.toml", &twice), ("users.toml", users)]);
    let found = checked.diagnostics.iter().find(|found| found.rule.code == "KW0107");
    let help = found.and_then(|found| found.help.as_deref()).unwrap_or_default();
    assert!(
        help.starts_with("to give settings to the key of an included file, add `amend"),
        "{help}"
    );
    // Values stand in the place of variables.
    let shop = shop.replace("'users.toml'", "{ file = 'users.toml', with = { p = 'my:' } }");
    let users = users.replace("user:{id}", "${p}user:{id}");
    let users = format!("[variables]\np = ''\n{users}");
    let amended = shop.replace("user:{id}", "my:user:{id}");
    let schema = sound(&[("shop.toml", &*amended), ("users.toml", &*users)]);
    assert_eq!(patterns(&schema)[..2], ["my:user:{id}", "pet:{id}"]);
}

#[test]
fn values_take_the_place_of_variables_in_patterns_templates_functions_and_examples() {
    let library = "[variables]\nprefix = ''\nttl = '1d'\n[key.'${prefix}sess:{id}']\ntype = 'hash'\nttl = '${ttl}'\nexample = '${prefix}sess:7'\n[key.'${prefix}note:{id}']\ntype = 'flag'\nttl = { with = '${prefix}sess:{id}' }\n[function.end]\nkeys = ['${prefix}sess:{id}']\n";
    let with = |include: &str| {
        let shop = format!("include = [{include}]\n{START}");
        sound(&[("a.toml", &shop), ("sess.toml", library)])
    };
    let plain = with("'sess.toml'");
    assert_eq!(patterns(&plain), ["sess:{id}", "note:{id}"]);
    let filled = with("{ file = 'sess.toml', with = { prefix = 'shop:', ttl = '2h' } }");
    assert_eq!(patterns(&filled), ["shop:sess:{id}", "shop:note:{id}"]);
    assert_eq!(filled.keys[0].example.as_ref().map(|own| &*own.key), Some("shop:sess:7"));
    let tenants = with("{ file = 'sess.toml', with = { prefix = '{tenant}:' } }");
    assert_eq!(patterns(&tenants)[0], "{tenant}:sess:{id}");
}

#[test]
fn a_file_that_includes_passes_values_on() {
    let schema = sound(&[
        ("a.toml", &format!("include = [{{ file = 'b.toml', with = {{ p = 'x:' }} }}]\n{START}")),
        (
            "b.toml",
            "include = [{ file = 'c.toml', with = { p = '${p}y:' } }]\n[variables]\np = ''\n",
        ),
        ("c.toml", "[variables]\np = ''\n[key.'${p}z']\ntype = 'hash'\n"),
    ]);
    assert_eq!(patterns(&schema), ["x:y:z"]);
}

#[test]
fn a_file_counts_once_with_the_same_values_and_again_with_others() {
    let b = "include = ['c.toml', { file = './c.toml', with = { p = '' } }]\n";
    let c = "[variables]\np = ''\n[key.'${p}z']\ntype = 'hash'\n";
    let a = format!("include = ['b.toml', 'c.toml', 'b.toml']\n{START}");
    assert_eq!(patterns(&sound(&[("a.toml", &a), ("b.toml", b), ("c.toml", c)])), ["z"]);
    let a = format!("include = ['c.toml', {{ file = 'c.toml', with = {{ p = 'q:' }} }}]\n{START}");
    assert_eq!(patterns(&sound(&[("a.toml", &a), ("c.toml", c)])), ["z", "q:z"]);
}

#[test]
fn a_circle_is_told_with_its_files() {
    let a = format!("include = ['b/b.toml']\n{START}[key.a]\ntype = 'hash'\n");
    told(
        &[
            ("a.toml", &a),
            ("b/b.toml", "include = ['../c.toml']"),
            ("c.toml", "include = ['b/b.toml']"),
        ],
        &["c.toml:1 KW0014 b/b.toml includes itself: b/b.toml → c.toml → b/b.toml"],
    );
    told(
        &[("a.toml", &format!("include = ['a.toml']\n{START}[key.a]\ntype = 'hash'\n"))],
        &["a.toml:1 KW0014 a.toml includes itself: a.toml → a.toml"],
    );
}

#[test]
fn what_is_wrong_in_an_included_file_is_told_there() {
    let a = format!("include = ['b.toml']\n{START}[key.'x:{{id}}']\ntype = 'hash'\n");
    told(
        &[
            ("a.toml", &a),
            ("b.toml", "[key.'x:{name}']\ntype = 'hash'\nfoo = 1\n[key.l]\ntype = 'list'\n"),
        ],
        &[
            "b.toml:1 KW0107 two patterns accept the same keys | see a.toml:4",
            "b.toml:3 KW0004 [key.\"…\"] has no setting `foo`",
            "b.toml:4 KW0310 `l` may live and grow for ever",
        ],
    );
    told(
        &[("a.toml", &a), ("b.toml", "[key\n")],
        &["b.toml:1 KW0001 not valid TOML: unclosed table, expected `]`"],
    );
    told(
        &[("a.toml", &a), ("b.toml", "[variables]\nx = 1\n[key.'${y}']\ntype = 'hash'\n")],
        &["b.toml:2 KW0006 `x` wants a text in quotes", "b.toml:3 KW0015 there is no variable `y`"],
    );
}

#[test]
fn one_function_in_two_files_is_told() {
    let a = format!("include = ['b.toml']\n{START}[key.x]\ntype = 'hash'\n[function.f]\n");
    told(
        &[("a.toml", &a), ("b.toml", "[function.f]\n")],
        &["b.toml:1 KW0604 `f` is declared in two files | see a.toml:6"],
    );
}

#[test]
fn allow_works_in_an_included_file_for_its_own_keys() {
    let list = |key: &str, allow: &str| format!("[key.{key}]\ntype = 'list'\n{allow}");
    let allow = "allow = ['KW0310: drained']\n";
    let a = |keyspace: &str| format!("include = ['b.toml']\n{START}{keyspace}{}", list("x", ""));
    let x = "a.toml:4 KW0310 `x` may live and grow for ever";
    told(&[("a.toml", &a("")), ("b.toml", &list("y", allow))], &[x]);
    let b = format!("[keyspace]\nname = 'b'\n{allow}{}", list("y", ""));
    told(&[("a.toml", &a("")), ("b.toml", &b)], &[x]);
    told(&[("a.toml", &a(allow)), ("b.toml", &list("y", ""))], &[]);
    let unused = format!("[keyspace]\nname = 'b'\n{allow}[key.y]\ntype = 'hash'\n");
    told(
        &[("a.toml", &a("")), ("b.toml", &unused)],
        &[x, "b.toml:3 KW0011 KW0310 does not occur here"],
    );
}

#[test]
fn the_keyspace_of_an_included_file_may_say_nothing_else() {
    let a = format!("include = ['b.toml']\n{START}mode = 'warn'\n");
    let b = |said: &str| {
        format!("[keyspace]\nname = 'b'\ndoc = 'B.'\n{said}\n[key.y]\ntype = 'hash'\n")
    };
    let schema = sound(&[("a.toml", &a), ("b.toml", &b("mode = 'warn'\ndb = 0"))]);
    assert_eq!((&*schema.keyspace.name, schema.keyspace.doc), ("shop", None));
    told(
        &[("a.toml", &a), ("b.toml", &b("mode = 'enforce'\nmax_memory = '1gb'"))],
        &[
            "b.toml:4 KW0016 `mode` of the keyspace that includes this file is warn | see a.toml:3",
            "b.toml:5 KW0016 `max_memory` of the keyspace that includes this file is not limited | see a.toml:3",
        ],
    );
}

#[test]
fn what_cannot_be_followed_is_told_where_it_is_wanted() {
    let a = |include: &str| {
        format!(
            "include = {include}\n{START}[key.a]\ntype = 'hash'\nttl = {{ with = 'gone:{{id}}' }}\n"
        )
    };
    told(
        &[("a.toml", &a("['gone.toml']"))],
        &["a.toml:1 KW0013 cannot read gone.toml: no such file"],
    );
    told(
        &[("a.toml", &a("'gone.toml'").replace("ttl", "# ttl"))],
        &["a.toml:1 KW0006 `include` wants an array of files"],
    );
    told(
        &[("a.toml", &a("[7, { path = 'x' }]").replace("ttl", "# ttl"))],
        &[
            "a.toml:1 KW0006 `include` wants files in quotes",
            "a.toml:1 KW0007 `file` is missing",
            "a.toml:1 KW0004 include has no setting `path`",
        ],
    );
    told(
        &[
            ("a.toml", &a("[{ file = 'b.toml', with = { q = '1' } }]").replace("ttl", "# ttl")),
            ("b.toml", "[variables]\np = ''\n"),
        ],
        &["a.toml:1 KW0015 b.toml declares no variable `q`"],
    );
}

#[test]
fn a_text_that_is_no_file_includes_nothing() {
    let text = format!("include = ['a.toml']\n{START}[key.a]\ntype = 'hash'\n");
    let checked = check("wire.toml", text.as_bytes());
    assert_eq!(
        findings(&checked),
        [
            "wire.toml:1 KW0013 a schema that does not come from a file includes nothing; send what `keyward flatten FILE` writes"
        ]
    );
}

#[test]
fn files_depth_and_bytes_are_bounded() {
    let deep: Vec<(String, String)> = (0..MAX_INCLUDE_DEPTH + 2)
        .map(|n| (format!("{n}.toml"), format!("include = ['{}.toml']\n", n + 1)))
        .collect();
    let mut deep: Vec<(&str, &str)> = deep.iter().map(|(a, b)| (&**a, &**b)).collect();
    let first = format!("{}{START}", deep[0].1);
    deep[0].1 = &first;
    let found =
        format!("{MAX_INCLUDE_DEPTH}.toml:1 KW0013 more than 8 files include each other in a row");
    told(&deep, &[&found]);

    let many: String = (0..=MAX_INCLUDES).map(|_| "'b.toml',\n").collect();
    let a = format!("include = [{many}]\n{START}");
    told(
        &[("a.toml", &a), ("b.toml", "[key.a]\ntype = 'hash'\n")],
        &[&format!("a.toml:{} KW0009 there are more than 64 includes", MAX_INCLUDES + 1)],
    );

    let large = "#".repeat(MAX_FILE_BYTES / 2);
    let a = format!("include = ['b.toml', 'c.toml']\n{START}[key.a]\ntype = 'hash'\n");
    told(
        &[("a.toml", &a), ("b.toml", &large), ("c.toml", &large)],
        &["a.toml:1 KW0013 with c.toml the files have more than 8388608 bytes together"],
    );

    let doc = "${p}".repeat(10_000);
    let b =
        format!("[variables]\np = '{}'\n[key.a]\ntype = 'hash'\ndoc = '{doc}'\n", "x".repeat(1000));
    told(
        &[("a.toml", &format!("include = ['b.toml']\n{START}")), ("b.toml", &b)],
        &["b.toml:5 KW0002 values of variables add more than 8388608 bytes | see a.toml:1"],
    );
}

/// Checks that the one text has the same keys as the files, and includes nothing.
#[track_caller]
fn means_the_same(files: &[(&str, &str)]) -> String {
    let schema = sound(files);
    let flat = schema.source.whole_text().to_owned();
    let checked = check("flat.toml", flat.as_bytes());
    let again = checked.schema.unwrap_or_else(|| panic!("{:?}\n{flat}", checked.diagnostics));
    assert_eq!(again.source.whole_text(), flat);
    let [files_say, text_says] = [&schema, &again].map(|schema| {
        let facts = |id| {
            let key = schema.key(id);
            let facts = keyward_schema::facts::of_key(schema, id);
            format!("{} {facts:?} {:?}", key.pattern, key.example)
        };
        let mut said: Vec<String> = schema.ids().map(facts).collect();
        said.sort();
        let functions = schema.functions.iter();
        said.extend(functions.map(|own| format!("{} {:?} {:?}", own.name, own.doc, own.args)));
        said.push(format!("{:?} {:?}", schema.notes, schema.keyspace.max_memory));
        said
    });
    assert_eq!(files_say, text_says, "{flat}");
    flat
}

const LIBRARY: &str = "# Sessions.\n[variables]\nprefix = ''\n[key.\"${prefix}sess:{id}\"]\ntype = \"json\"\ndoc = \"\"\"Two\nlines, and $${x}.\"\"\"\nmax_size = 0x1000\nttl.after = \"1d\"\nttl.renew = \"access\"\n[key.\"${prefix}sess:{id}\".fields]\nn = { type = \"float\", min = -1.5 }\n\"a b\" = \"a | b\"\n[function.f]\ndoc = 'F.'\nargs = ['n: uint']\n[[note]]\ntitle = 'T'\ntext = 'x'\n";

#[test]
fn one_text_means_the_same_as_all_files() {
    let shop = "# The shop.\ninclude = [\n  { file = \"l.toml\", with = { prefix = \"shop:\" } },\n] # all\n\n[keyspace]\nname = \"shop\"\nmax_memory = \"1gb\"\n[key.\"user:{id}\"]\ntype = \"hash\" # a user\n";
    let flat = means_the_same(&[("shop.toml", shop), ("l.toml", LIBRARY)]);
    let own = "# The shop.\n\n\n # all\n\n[keyspace]\nname = \"shop\"\nmax_memory = \"1gb\"\n[key.\"user:{id}\"]\ntype = \"hash\" # a user\n";
    let rest = flat.strip_prefix(own).unwrap_or_else(|| panic!("{flat}"));
    assert!(
        rest.starts_with("\n# l.toml:4\n[key.\"shop:sess:{id}\"]\ntype = \"json\"\n"),
        "{rest}"
    );
}

#[test]
fn one_text_keeps_its_own_variables_and_tables_that_cannot_grow() {
    let own = "include = ['l.toml']\n[variables]\np = 'u'\n[keyspace]\nname = 'shop'\nmax_memory = '1gb'\n[key.'${p}:{id}']\ntype = 'hash'\n";
    let flat = means_the_same(&[("shop.toml", own), ("l.toml", LIBRARY)]);
    assert!(flat.contains("lines, and $${x}."), "{flat}");
    let inline = "include = ['l.toml']\nnote = []\nkeyspace = { name = 'shop' }\nkey = { 'u:{id}' = { type = 'hash' } }\n";
    means_the_same(&[("shop.toml", inline), ("l.toml", LIBRARY)]);
    let tables = "keyspace.name = 'shop'\nkey.a.type = 'hash'\n[[include]]\nfile = 'l.toml'\n[include.with]\nprefix = 'p:'\n[key.b]\ntype = 'hash'\n";
    means_the_same(&[("shop.toml", tables), ("l.toml", LIBRARY)]);
}

#[test]
fn the_matcher_finds_included_keys() {
    let schema = sound(&[
        ("a.toml", &format!("include = ['b.toml']\n{START}[key.'a:{{x}}']\ntype = 'hash'\n")),
        ("b.toml", "[key.'b:{x}']\ntype = 'hash'\n"),
    ]);
    let patterns: Vec<_> = schema.keys.iter().map(|key| &key.pattern).collect();
    let matcher = Matcher::new(patterns).expect("they do not overlap");
    assert_eq!(matcher.find(b"b:7").map(|found| found.pattern), Some(1));
}

#[test]
fn a_finding_tells_the_value_of_a_variable_and_which_include_gave_it() {
    let own = format!(
        "include = [\n  {{ file = 'b.toml', with = {{ q = 'a\"b' }} }},\n  \
         {{ file = 'b.toml', with = {{ p = 'other', q = 'soon' }} }},\n]\n{START}"
    );
    let other =
        "[variables]\np = 'p'\nq = '1h'\n[key.'${p}:{id}']\ntype = 'string'\nttl = '${q}'\n";
    let checked = read(&[("a.toml", &own), ("b.toml", other)]);
    let told: Vec<String> = checked
        .diagnostics
        .iter()
        .flat_map(|found| &found.related)
        .map(|label| format!("{} {}", checked.source.place(label.span), label.text))
        .collect();
    assert_eq!(told, ["a.toml:2 `q` is `a\"b` by this", "a.toml:3 `q` is `soon` by this"]);
}

#[test]
fn a_key_is_not_said_to_be_missing_from_a_file_that_cannot_be_read() {
    let shop = format!(
        "include = ['gone.toml']\n{START}[key.'user:{{id:uint}}']\namend = true\nttl = '1h'\n"
    );
    told(&[("shop.toml", &shop)], &["shop.toml:1 KW0013 cannot read gone.toml: no such file"]);
}

#[test]
fn a_file_is_named_without_folders_that_its_path_leaves_again() {
    let shop = format!("include = ['../shop/gone.toml']\n{START}[key.a]\ntype = 'hash'\n");
    told(
        &[("team2/shop.toml", &shop)],
        &["team2/shop.toml:1 KW0013 cannot read shop/gone.toml: no such file"],
    );
}

#[test]
fn no_other_name_is_offered_for_keys_of_an_included_file() {
    let shop = format!("include = ['lib.toml']\n{START}[key.'page:{{path}}']\ntype = 'hash'\n");
    let checked = read(&[("shop.toml", &shop), ("lib.toml", "[key.'page:{id}']\ntype = 'hash'\n")]);
    let help = checked.diagnostics.iter().find_map(|found| found.help.as_deref());
    let help = help.expect("a help");
    assert!(help.contains("narrower") && !help.contains("yours to name"), "{help}");
}

#[test]
fn two_included_files_that_claim_the_same_keys_are_told_once() {
    let lib = "[key.'job:{id}']\ntype = 'hash'\n[key.'work:{id}']\ntype = 'hash'\n[key.'jobs']\ntype = 'hash'\n";
    let with = |name: &str| format!("include = ['lib.toml']\n[keyspace]\nname = '{name}'\n");
    let (one, two) = (with("one"), with("two"));
    let mut files = [
        read(&[("one.toml", &one), ("lib.toml", lib)]),
        read(&[("two.toml", &two), ("lib.toml", lib)]),
    ];
    keyward_schema::check_together(&mut files);
    let [found] = &files[1].diagnostics[..] else { panic!("{:?}", files[1].diagnostics) };
    assert_eq!(
        found.message,
        "`job:{id}` accepts `job:42` as `job:{id}` of another file does (lib.toml:1), and 2 more \
         patterns of the same two files likewise"
    );
    assert!(found.help.as_deref().is_some_and(|help| help.contains("prefix")), "{found:?}");
}
