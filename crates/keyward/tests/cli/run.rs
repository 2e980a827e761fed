//! Runs the built binary in a directory of its own.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A directory with files in which commands are run.
pub(crate) struct Folder {
    directory: TempDir,
}

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder { directory: TempDir::new().expect("a directory") };
        for (name, text) in files {
            folder.write(name, text.as_bytes());
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("a file")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_keyward"));
        command.args(arguments).current_dir(self.path()).env_remove("CLICOLOR_FORCE");
        command
    }

    /// What a person sees: the exit code, then both streams.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        transcript(self.command(arguments).output().expect("the binary runs"))
    }

    /// The same with bytes on stdin.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        child.stdin.take().expect("a pipe").write_all(input).expect("it reads its input");
        transcript(child.wait_with_output().expect("it ends"))
    }
}

fn transcript(output: Output) -> String {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let code = output.status.code().map_or("killed".to_owned(), |code| code.to_string());
    let mut transcript = format!("exit {code}\n");
    for (name, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        if !bytes.is_empty() {
            transcript.push_str(&format!("--- {name}\n{}", text(bytes)));
        }
    }
    transcript
}
