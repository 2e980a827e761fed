use insta::assert_snapshot;

use crate::run::Folder;

#[test]
fn help_lists_the_commands() {
    assert_snapshot!(Folder::new(&[]).run(&["--help"]));
}

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new(&[]);
    let help = folder.run(&["--help"]);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.contains(&"check"), "{commands:?}");
    for command in commands {
        let help = folder.run(&[command, "--help"]);
        assert!(help.starts_with("exit 0\n"), "{help}");
        assert!(help.contains("Example"), "{command} has no example");
        assert!(help.contains(&format!("\n  keyward {command} ")), "{help}");
    }
}

#[test]
fn wrong_arguments_could_not_run() {
    let folder = Folder::new(&[]);
    for arguments in [&["check"][..], &["chekc"], &["check", "--format", "xml", "a"], &[]] {
        assert!(folder.run(arguments).starts_with("exit 2\n"), "{arguments:?}");
    }
}
