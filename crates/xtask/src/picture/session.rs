//! A shell in a pseudo-terminal, beside the demonstration site, and a record of what it shows.
//!
//! The pseudo-terminal is that of `script`. The shell and the site run in namespaces of their own (`unshare`): port 8080 is free there,
//! nothing else on this machine is reached, and the kernel ends all processes with the first one. The working folder, the state and the
//! cache are in a temporary folder, which is removed at the end.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, bail};

use super::screen::{Screen, ScreenRow};
use crate::files::TemporaryFolder;

/// A prompt and what follows it: a command and its output.
pub(crate) struct RecordedCommand {
    /// The row of the prompt, with the command.
    pub prompt: ScreenRow,
    /// The number of the first column that was typed.
    pub typed_from: usize,
    /// The screens below the prompt while the command ran, with their time since its start.
    pub frames: Vec<(Duration, Vec<ScreenRow>)>,
    /// How long the command ran.
    pub time: Duration,
    /// What is below the prompt at the end.
    pub output: Vec<ScreenRow>,
}

pub(crate) struct TerminalSession {
    shell: Child,
    keys: Option<ChildStdin>,
    printed: Receiver<Vec<u8>>,
    screen: Screen,
    /// Declared last: the folder is removed after the processes that write into it have ended.
    _folder: TemporaryFolder,
}

/// Brings loopback up, serves the site, waits until it answers, and hands the terminal to a shell. Standard input is closed when this program
/// is killed: then the shell ends, and the folder is removed here.
const SETUP: &str = r#"
ip link set lo up || exit 1
: >../site.log
curtsy site --moods demo --port 8080 >../site.log 2>&1 </dev/null &
tries=0
until grep -q '^ready' ../site.log; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
        echo "the demonstration site did not start:" >&2
        cat ../site.log >&2
        exit 1
    fi
    sleep 0.1
done
script --quiet --flush --return --command "stty cols $COLUMNS rows 40; exec bash --noprofile --norc --noediting" /dev/null
cd / && rm -rf "${FOLDER:?}"
"#;

/// An empty row, a green `$`, and bold for what is typed after it.
const PROMPT: &str = "\n\x1b[1;32m$\x1b[0;1m ";

/// What the shell prints before it runs a command: the end of bold.
const BEFORE: &str = "\x1b[0m";

/// The slowest command is the crawl, which takes 9 s.
const DEADLINE: Duration = Duration::from_secs(60);

/// Output that comes closer together is one frame: a program that erases and prints again does both at once.
const FRAME: Duration = Duration::from_millis(20);

impl TerminalSession {
    /// Starts the site and a shell whose folder has a `curtsy.toml` with these settings, and waits for the prompt.
    pub(crate) fn start(
        curtsy: &Path,
        settings: &str,
        columns: usize,
    ) -> anyhow::Result<TerminalSession> {
        let folder = TemporaryFolder::new("picture")?;
        let home = folder.0.join("town");
        let bin = folder.0.join("bin");
        for path in [&home, &bin] {
            fs::create_dir(path).with_context(|| format!("making `{}`", path.display()))?;
        }
        symlink(curtsy, bin.join("curtsy")).context("linking the program")?;
        fs::write(home.join("curtsy.toml"), settings).context("writing `curtsy.toml`")?;
        let path = env::var("PATH").unwrap_or_default();

        let mut shell = Command::new("unshare")
            .args(["--map-root-user", "--net", "--pid", "--fork", "--kill-child"])
            .args(["sh", "-c", SETUP])
            .current_dir(&home)
            .env_clear()
            .env("PATH", format!("{}:{path}:/usr/sbin:/sbin", bin.display()))
            .env("HOME", &home)
            .env("FOLDER", &folder.0)
            .env("XDG_STATE_HOME", folder.0.join("state"))
            .env("XDG_CACHE_HOME", folder.0.join("cache"))
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .env("COLUMNS", columns.to_string())
            .env("HISTFILE", "/dev/null")
            .env("PS1", PROMPT)
            .env("PS0", BEFORE)
            // Ctrl-C ends this program only; the closed input then ends the shell, which leaves time to remove the folder.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting `unshare` (of util-linux)")?;
        let keys = shell.stdin.take();
        let mut output = shell.stdout.take().context("the shell has no output")?;
        let (send, printed) = channel();
        thread::spawn(move || forward(&mut output, &send));

        let screen = Screen::new(columns);
        let mut session = TerminalSession { shell, keys, printed, screen, _folder: folder };
        session.until_prompt(|_, _| {})?;
        Ok(session)
    }

    /// Types a command, waits for the next prompt, and returns what was to be seen.
    pub(crate) fn run(&mut self, command: &str) -> anyhow::Result<RecordedCommand> {
        let prompt = self.screen.row();
        let typed_from = self.screen.rows()[prompt].0.len();
        let keys = self.keys.as_mut().context("the terminal is closed")?;
        keys.write_all(format!("{command}\n").as_bytes()).context("typing")?;

        let mut frames: Vec<(Duration, Vec<ScreenRow>)> = Vec::new();
        let time = self.until_prompt(|since, screen| {
            let rows = below(screen, prompt, screen.rows().len());
            match frames.last_mut() {
                Some((_, last)) if *last == rows => {}
                Some((then, last)) if since - *then < FRAME => *last = rows,
                _ => frames.push((since, rows)),
            }
        })?;
        // The next prompt is in the cursor's row, below an empty row.
        let output = below(&self.screen, prompt, self.screen.row() - 1);
        let prompt = self.screen.rows()[prompt].clone();
        if !prompt.text().ends_with(command) {
            bail!("typed `{command}`, but the terminal shows `{}`", prompt.text());
        }
        Ok(RecordedCommand { prompt, typed_from, frames, time, output })
    }

    /// Prints into the screen until the shell waits for a command. Calls `see` after each change before that, and returns the time taken.
    fn until_prompt(&mut self, mut see: impl FnMut(Duration, &Screen)) -> anyhow::Result<Duration> {
        // The terminal prints a carriage return before each new line.
        let prompt = PROMPT.replace('\n', "\r\n");
        let begin = Instant::now();
        let mut seen = Vec::new();
        loop {
            let bytes = match self.printed.recv_timeout(DEADLINE.saturating_sub(begin.elapsed())) {
                Ok(bytes) => bytes,
                Err(RecvTimeoutError::Timeout) => bail!("no prompt after {DEADLINE:?}"),
                Err(RecvTimeoutError::Disconnected) => bail!(
                    "the shell ended without a prompt; it needs `unshare`, `script`, `ip` and `bash`, \
                     and a kernel that lets this user make namespaces"
                ),
            };
            let since = begin.elapsed();
            self.screen.print(&bytes)?;
            seen.extend(bytes);
            if seen.ends_with(prompt.as_bytes()) {
                return Ok(since);
            }
            see(since, &self.screen);
        }
    }
}

impl Drop for TerminalSession {
    fn drop(&mut self) {
        // `unshare` ends its child with itself, and the kernel ends the rest of the namespace with that child.
        self.keys = None;
        _ = self.shell.kill();
        _ = self.shell.wait();
    }
}

/// The rows between the prompt and `end`, without empty ones at the end.
fn below(screen: &Screen, prompt: usize, end: usize) -> Vec<ScreenRow> {
    let rows = screen.rows().get(prompt + 1..end).unwrap_or_default();
    let used = rows.iter().rposition(|row| !row.text().is_empty()).map_or(0, |last| last + 1);
    rows[..used].to_vec()
}

fn forward(from: &mut impl Read, to: &Sender<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.send(buffer[..read].to_vec()).is_err() {
            return;
        }
    }
}
