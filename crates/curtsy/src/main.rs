//! The program: reads its arguments, runs one command, and ends with that command's exit code.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use curtsy::cli::{Cli, Console, Outcome};

/// What the system's allocator keeps at the end of its memory for the next time: a batch of rows, and some.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

fn main() -> ExitCode {
    keep_freed_memory();
    // clap prints help to stdout with code 0 and usage errors to stderr with code 2.
    let cli = Cli::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut err = io::stderr().lock();
    let mut console = Console { out: &mut out, err: &mut err, variables: variables() };
    let ended = cli.run(&mut console).and_then(|outcome| Ok(out.flush().map(|()| outcome)?));
    match ended {
        Ok(outcome) => outcome.into(),
        Err(error) if is_closed_pipe(&error) => ExitCode::from(CLOSED_PIPE),
        Err(error) => {
            // Nobody is left to tell if this can't be written.
            let _ = writeln!(err, "error: {error:#}");
            Outcome::Usage.into()
        }
    }
}

/// glibc gives memory back to the system whenever 128 KiB at the end of a heap are free, and asks for it again a page at a time: with
/// batches of rows that come and go that is thousands of calls a second. It learns from the largest piece that was ever freed, so one is.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(KEPT_BYTES)));
}

/// The reader of our output went away (`curtsy … | head`): not an error worth a word, but no success either.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The process's variables; one that isn't UTF-8 can't be one of ours.
fn variables() -> curtsy_core::policy::Variables {
    let pairs = std::env::vars_os();
    pairs
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// What a shell reports for a program that a closed pipe ended (128 + SIGPIPE).
const CLOSED_PIPE: u8 = 141;
