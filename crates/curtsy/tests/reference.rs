//! Reference pages that the program writes itself. `UPDATE_DOCS=1 cargo test -p curtsy --features fleet,serve --test reference` writes them
//! anew; they show every command, so both features must be there.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_reference_of_commands_is_fresh() {
    let mut text = String::from(
        "# Commands\n\nThis page shows the help of every command, as `curtsy help COMMAND` prints it. It is generated\nfrom the program. [Exit codes](exit-codes.md) lists the exit codes of all commands.\n",
    );
    for command in commands() {
        let _ = write!(text, "\n## curtsy {command}\n\n```text\n{}```\n", help(&[&command]));
    }
    is_fresh("commands.md", &text);
}

#[test]
fn the_reference_of_exit_codes_is_fresh() {
    let mut text = String::from(
        "# Exit codes\n\nThis page lists the exit codes of curtsy. It is generated from the program's help. Every command\nuses the codes of the first list in the same sense.\n",
    );
    let _ = write!(text, "\n```text\n{}```\n", exit_codes(&help(&[])).expect("for all commands"));
    for command in commands() {
        if let Some(codes) = exit_codes(&help(&[&command])) {
            let _ = write!(text, "\n## curtsy {command}\n\n```text\n{codes}```\n");
        }
    }
    is_fresh("exit-codes.md", &text);
}

#[test]
fn the_reference_of_the_settings_file_is_fresh() {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("init-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("curtsy.toml");
    let ran = Command::new(env!("CARGO_BIN_EXE_curtsy")).arg("init").arg(&file).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let text = format!(
        "# curtsy.toml\n\nThis page shows the settings file that `curtsy init` writes, with every key. Commands that crawl or\ndecide read `curtsy.toml` in the folder where they run; `--config FILE` names another file. A flag\nand an [environment variable](environment.md) override it.\n\n```toml\n{written}```\n"
    );
    is_fresh("curtsy-toml.md", &text);
}

/// The commands in the order of the program's help.
fn commands() -> Vec<String> {
    let help = help(&[]);
    let command = |line: &str| {
        let name = line.strip_prefix("  ")?.split_once("  ")?.0;
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains(' ');
        (is_name && name != "help").then(|| name.to_owned())
    };
    let list = help.split("\nOptions:").next().unwrap();
    let commands: Vec<String> = list.lines().filter_map(command).collect();
    assert!(commands.len() >= 25, "{commands:?}");
    commands
}

fn help(command: &[&str]) -> String {
    let ran =
        Command::new(env!("CARGO_BIN_EXE_curtsy")).arg("help").args(command).output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).unwrap();
    // Clap fills lines up.
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The paragraph on exit codes, up to the next empty line.
fn exit_codes(help: &str) -> Option<String> {
    let from = help.find("\nExit codes")? + 1;
    let end = help[from..].find("\n\n").map_or(help.len(), |end| from + end + 1);
    Some(help[from..end].to_owned())
}

#[track_caller]
fn is_fresh(name: &str, text: &str) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/reference", name].iter().collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/reference/{name} is stale\nhint: UPDATE_DOCS=1 cargo test -p curtsy --features fleet,serve --test reference"
    );
}
