//! Libraries of functions in files beside a schema, at a start over what a log holds of them
//! and at SIGHUP: the files are loaded together.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_for};
use std::fs;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_keyward");
const SCHEMA: &str = "[keyspace]\nname = \"shop\"\n\n[key.\"user:{id:uint}\"]\ntype = \"string\"\n";

/// The text of a library with these functions, each of which returns the library's name.
fn library(name: &str, functions: &[&str]) -> String {
    let register = |function: &&str| {
        format!("redis.register_function('{function}', function() return '{name}' end)\n")
    };
    let functions: String = functions.iter().map(register).collect();
    format!("#!lua name={name}\n{functions}")
}

/// A folder with a schema, libraries and the data of the servers that ran there.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a directory"));
        folder.write("shop.toml", SCHEMA);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path().join(name)).expect("it was there");
    }

    fn arguments(&self) -> [String; 7] {
        let place = |name: &str| self.path().join(name).display().to_string();
        let [schema, log, dir] = [place("shop.toml"), place("log"), place("")];
        let [log_name, dir_name, on_name] =
            ["--logfile", "--dir", "--appendonly"].map(str::to_owned);
        [schema, log_name, log, dir_name, dir, on_name, "yes".to_owned()]
    }

    fn start(&self) -> Server {
        Server::keyward(Path::new(PROGRAM), &self.arguments().each_ref().map(String::as_str))
    }

    /// What a server that must not start says.
    fn refusal(&self) -> String {
        let output = Command::new(PROGRAM)
            .arg("serve")
            .args(self.arguments())
            .args(["--port", "0", "--unixsocket"])
            .arg(self.path().join("socket"))
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }

    /// Sends SIGHUP; what the log says of the reload.
    fn reload(&self, server: &Server) -> String {
        let before = self.log().len();
        let id = server.process_id().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().expect("kill runs").success());
        wait_for(|| {
            let new = self.log()[before..].to_owned();
            if new.contains("reloaded: ") { Ok(new) } else { Err(new) }
        })
    }
}

fn call(client: &mut Client, words: &[&str]) -> String {
    match client.call(words).expect("a reply") {
        Frame::Error(text) | Frame::Simple(text) | Frame::Bulk(text) => {
            String::from_utf8_lossy(&text).into_owned()
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn functions_that_are_only_declared_or_only_registered_are_told() {
    let folder = Folder::new();
    let declared = "\n[function.redeem]\nkeys = [\"user:{id}\"]\n";
    folder.write("shop.toml", &format!("{SCHEMA}{declared}"));
    drop(folder.start());
    let absent = "shop declares the function redeem, which no library registers";
    assert!(folder.log().contains(absent), "{}", folder.log());
    folder.write("functions/a.lua", &library("a", &["redeeem"]));
    fs::write(folder.path().join("log"), "").expect("the log");
    let server = folder.start();
    let log = folder.log();
    assert!(log.contains(absent), "{log}");
    let undeclared = "The libraries register the function redeeem, which no schema declares";
    assert!(log.contains(undeclared), "{log}");
    folder.write("functions/a.lua", &library("a", &["Redeem", "other", "third"]));
    let log = folder.reload(&server);
    assert!(!log.contains("which no library registers"), "{log}");
    assert!(log.contains("The libraries register 2 functions (other, third), which"), "{log}");
    folder.write("functions/a.lua", &library("a", &["redeem"]));
    let log = folder.reload(&server);
    assert!(!log.contains("The libraries register"), "{log}");
}

#[test]
fn a_function_may_move_to_another_file_between_two_starts() {
    let folder = Folder::new();
    folder.write("functions/a.lua", &library("a", &["f1"]));
    folder.write("functions/b.lua", &library("b", &["f2", "f3"]));
    drop(folder.start());
    folder.write("functions/a.lua", &library("a", &["f1", "f3"]));
    folder.write("functions/b.lua", &library("b", &["f2"]));
    let server = folder.start();
    assert_eq!(call(&mut server.client(), &["FCALL", "f3", "0"]), "a");
    // And back, while it runs and once more by a start from what that logged.
    folder.write("functions/a.lua", &library("a", &["f1"]));
    folder.write("functions/b.lua", &library("b", &["f2", "f3"]));
    let log = folder.reload(&server);
    assert!(!log.contains("not reloaded"), "{log}");
    assert_eq!(call(&mut server.client(), &["FCALL", "f3", "0"]), "b");
    drop(server);
    assert_eq!(call(&mut folder.start().client(), &["FCALL", "f3", "0"]), "b");
}

#[test]
fn a_library_may_be_renamed_between_two_starts_and_at_sighup() {
    let folder = Folder::new();
    let code = library("old", &["f1", "f2"]);
    folder.write("functions/old.lua", &code);
    drop(folder.start());
    folder.remove("functions/old.lua");
    folder.write("functions/new.lua", &code.replacen("name=old", "name=new", 1));
    let server = folder.start();
    let mut client = server.client();
    assert_eq!(call(&mut client, &["FCALL", "f1", "0"]), "old");
    assert_eq!(call(&mut client, &["FUNCTION", "DELETE", "old"]), "ERR Library not found");
    let log = folder.log();
    assert!(log.contains("library old is called new now"), "{log}");
    folder.remove("functions/new.lua");
    folder.write("functions/newer.lua", &code.replacen("name=old", "name=newer", 1));
    let log = folder.reload(&server);
    assert!(!log.contains("not reloaded"), "{log}");
    assert!(log.contains("library new is called newer now"), "{log}");
    assert_eq!(call(&mut client, &["FUNCTION", "DELETE", "new"]), "ERR Library not found");
    assert_eq!(call(&mut client, &["FCALL", "f2", "0"]), "old");
}

#[test]
fn a_function_that_a_clients_library_has_is_refused_by_that_name_with_the_way_out() {
    let folder = Folder::new();
    let server = folder.start();
    let mut client = server.client();
    let mine = library("mine", &["f3", "mine_only"]);
    assert_eq!(call(&mut client, &["FUNCTION", "LOAD", &mine]), "mine");
    folder.write("functions/a.lua", &library("a", &["f1", "f3"]));
    let told = "f3 is a function of the library mine already";
    let log = folder.reload(&server);
    assert!(log.contains("not reloaded") && log.contains(told), "{log}");
    assert!(log.contains("FUNCTION DELETE mine"), "{log}");
    drop(server);
    let said = folder.refusal();
    assert!(said.contains("functions/a.lua") && said.contains(told), "{said}");
    assert!(said.contains("FUNCTION DELETE mine"), "{said}");
    // Nothing was lost by it.
    folder.remove("functions/a.lua");
    assert_eq!(call(&mut folder.start().client(), &["FCALL", "f3", "0"]), "mine");
}

#[test]
fn what_is_wrong_with_libraries_is_told_with_the_file() {
    let folder = Folder::new();
    folder.write("functions/a.lua", &library("a", &["f1"]));
    folder.write("functions/b.lua", "#!lua name=b\nthis is not Lua\n");
    let said = folder.refusal();
    assert!(said.contains("functions/b.lua: ERR Error compiling function"), "{said}");
    folder.write("functions/b.lua", &library("b", &["f1"]));
    let said = folder.refusal();
    assert!(said.contains("functions/b.lua: ERR Function f1 already exists"), "{said}");
    folder.write("functions/b.lua", &library("b", &["f2"]));
    let server = folder.start();
    folder.write("functions/b.lua", "#!lua name=b\nthis is not Lua\n");
    let log = folder.reload(&server);
    assert!(log.contains("functions/b.lua: ERR Error compiling function"), "{log}");
}
