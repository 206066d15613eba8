//! schemathesis makes up calls from the API's description, right ones and wrong ones: none of them
//! is answered with a 500, and every answer is as the description has it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{Folder, Service, TOKEN, spec_with};
use crate::sites::{business, page, serve};

/// The release that `./test` installs.
const RELEASE: &str = "4.32.5";
/// Calls that are made up for each operation in each phase.
const EXAMPLES: &str = "15";

/// The program, in the virtual environment that `./test` makes.
fn schemathesis() -> PathBuf {
    let target = std::env::current_exe().expect("a program");
    // target/debug/deps/service-…
    let target = target.ancestors().nth(3).expect("the target folder").to_owned();
    let program = target.join(format!("venv/schemathesis-{RELEASE}/bin/schemathesis"));
    assert!(program.exists(), "`{}` is missing\nhint: `./test` installs it", program.display());
    program
}

#[test]
fn no_call_that_can_be_made_up_is_answered_with_a_500() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    // Made-up addresses lead to this machine and nowhere else, and nobody is waited for.
    let mut spec = spec_with(
        folder.store(),
        &[
            ("patience", "0s"),
            ("pace.delay", "1ms"),
            ("risk.delay", "1ms,1ms,1ms"),
            ("timeout.connect", "1s"),
            ("retry.max", "0"),
        ],
    );
    spec.way.pins = vec!["*=127.0.0.1".parse().unwrap()];
    let service = Service::start(spec);
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis");
    let ran = Command::new(schemathesis())
        .arg("--config-file")
        .arg(files.join("schemathesis.toml"))
        .args(["run", &format!("http://{}/openapi.json", service.address)])
        .args(["--header", &format!("Authorization: Bearer {TOKEN}")])
        .args(["--max-examples", EXAMPLES, "--seed", "1", "--continue-on-failure", "--no-color"])
        .args(["--request-timeout", "30", "--suppress-health-check", "all"])
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", &files)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("CURTSY_SITE", page(&sites, "shop.test", "/"))
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}\n{err}");
    service.get("/healthz").ends(200);
}
