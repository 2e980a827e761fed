//! A client that goes away while the text of its plan is read leaves nobody refused.

use keyward_resp::Frame;
use keyward_testkit::{Server, within};
use std::path::Path;
use std::time::Duration;

const NOTES: &str = "[keyspace]\nname = \"notes\"\n\n\
    [key.\"note:{id:uint}\"]\ntype = \"string\"\nttl = \"none\"\n";

/// A text that takes long: each pattern is compared with each other.
fn long() -> String {
    let letter = |place: u8| char::from(b'a' + place);
    let pairs = (0..6).flat_map(|first| (1..7).map(move |second| (first, second)));
    let keys = pairs.map(|(first, second)| {
        let (first, second) = (letter(first), letter(second));
        format!("[key.\"u:{{a:text({first}-z)}}:{{b:text(a-{second})}}\"]\ntype = \"any\"\n")
    });
    format!("[keyspace]\nname = \"notes\"\n{}", keys.collect::<String>())
}

#[test]
fn a_plan_whose_client_has_gone_stands_in_nobodys_way() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("notes.toml");
    std::fs::write(&file, NOTES).expect("a schema");
    let file = file.to_str().expect("a path in UTF-8");
    let server = Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), &[file]);
    let day = NOTES.replace("\"none\"", "\"1d\"");
    let mut gone = server.client();
    gone.send_command(["KEYWARD", "SCHEMA", "PLAN", &long()]).expect("it is sent");
    let mut other = server.client();
    // It is being read.
    let busy = within(Duration::from_secs(20), || {
        let told = other.call(["KEYWARD", "SCHEMA", "PLAN", &day]).expect("a reply");
        matches!(told, Frame::Error(_)).then_some(told)
    });
    let Some(Frame::Error(busy)) = busy else { panic!("{busy:?}") };
    assert!(busy.starts_with(b"ERR another schema is being planned"), "{busy:?}");
    drop(gone);
    let clients =
        |told: &Frame| String::from_utf8_lossy(told.as_bytes().unwrap_or_default()).lines().count();
    keyward_testkit::wait_until(|| clients(&other.call(["CLIENT", "LIST"]).expect("a reply")) == 1);
    let told = other.call(["KEYWARD", "SCHEMA", "PLAN", &day]).expect("a reply");
    assert!(!matches!(told, Frame::Error(_)), "{told:?}");
}
