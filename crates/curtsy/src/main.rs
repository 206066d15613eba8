//! The program: reads its arguments, runs one command, and ends with that command's exit code.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::FromArgMatches;
use curtsy::cli::{Cli, CommandFailure, Console, Exit};

/// Memory that the system's allocator keeps for later: more than a batch of rows.
const KEPT_BYTES: usize = 16 * 1024 * 1024;

fn main() -> ExitCode {
    keep_freed_memory();
    // Known before the arguments are: what is wrong with them is told as JSON too.
    let json = std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|a| a == "--json");
    let matches = Cli::grouped().try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // Help and the version go to stdout with code 0, wrong arguments to stderr with code 2.
        Err(error) if json && error.use_stderr() => {
            let _ = CommandFailure::of_arguments(&error).tell_json(&mut io::stderr());
            return Exit::Usage.into();
        }
        Err(error) => error.exit(),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    let mut err = io::stderr().lock();
    let mut console = Console { out: &mut out, err: &mut err, variables: variables(), json };
    let ended = cli.run(&mut console).and_then(|outcome| Ok(out.flush().map(|()| outcome)?));
    match ended {
        Ok(outcome) => outcome.into(),
        Err(error) if is_closed_pipe(&error) => Exit::Unread.into(),
        Err(error) => {
            let failure = CommandFailure::of(&error);
            // Nobody is left to tell if this can't be written.
            let _ =
                if json { failure.tell_json(&mut err) } else { failure.tell(&mut err, "error: ") };
            Exit::Usage.into()
        }
    }
}

/// glibc returns memory to the system whenever 128 KiB at the end of a heap are free, and requests
/// it again page by page: with batches of rows that is thousands of system calls a second. glibc
/// raises this limit to the largest block that was ever freed, so a large block is freed here.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(KEPT_BYTES)));
}

/// The reader of the output closed it (`curtsy … | head`): no error message, but no success either.
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
