//! Checks a built site: every link with curtsy itself, over HTTP, and that no page loads anything from elsewhere.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde_json::Value as Json;

use crate::files::{self, TemporaryFolder, has_end};

/// Serves a folder on a free port of 127.0.0.1 and prints the port. Ends when its standard input does, so it never outlives us.
const SERVER: &str = "
import functools, http.server, sys, threading
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
handler = functools.partial(Handler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
";

/// Crawls the site and fails if a link, an image, a script or a fragment is broken. Other sites are not asked.
pub(crate) fn links(site: &Path, curtsy: &Path, python: &Path) -> anyhow::Result<()> {
    let folder = TemporaryFolder::new("site")?;
    let server = FolderServer::start(site, python)?;
    let crawl = Command::new(curtsy)
        .arg("links")
        .arg(format!("http://127.0.0.1:{}/", server.port))
        .args(["--fragments", "--strict", "--all", "--json", "--quiet", "--delay", "0"])
        .args(["--into", "site.db"])
        .current_dir(&folder.0)
        .env_clear()
        .env("HOME", &folder.0)
        .env("XDG_STATE_HOME", folder.0.join("state"))
        .env("XDG_CACHE_HOME", folder.0.join("cache"))
        .output()
        .with_context(|| format!("starting `{}`", curtsy.display()))?;
    let report = read_report(&crawl.stdout)
        .with_context(|| String::from_utf8_lossy(&crawl.stderr).trim().to_owned())?;
    for problem in &report.problems {
        crate::say(problem);
    }
    ensure!(report.problems.is_empty(), "{} broken links or warnings", report.problems.len());
    ensure!(crawl.status.success(), "the crawl did not finish: {}", crawl.status);
    // A page that no link leads to is as lost as one that is broken. `404.html` is for the server.
    let built = files::below(site)?.iter().filter(|file| has_end(file, "html")).count() - 1;
    ensure!(
        report.pages >= built as u64,
        "{built} pages were built, but links lead to {} only",
        report.pages
    );
    crate::say(&format!(
        "{} pages, {} targets: nothing is broken; not checked: {}",
        report.pages, report.targets, report.not_checked
    ));
    Ok(())
}

/// Fails if a page or style sheet loads something from another host.
pub(crate) fn nothing_from_elsewhere(site: &Path) -> anyhow::Result<()> {
    for file in files::below(site)? {
        let finder: fn(&str) -> Option<&str> = match file.extension().and_then(|end| end.to_str()) {
            Some("html") => foreign_tag,
            Some("css") => foreign_rule,
            _ => continue,
        };
        let text = files::read_text(&file)?;
        if let Some(found) = finder(&text) {
            bail!("`{}` loads from elsewhere: {found}", file.display());
        }
    }
    Ok(())
}

/// The first tag that makes a browser send a request to another host. A link does not: it waits for a reader.
fn foreign_tag(html: &str) -> Option<&str> {
    let mut tags = html.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    tags.find(|tag| {
        let name = tag.split_whitespace().next().unwrap_or_default();
        let loads = ["script", "link", "img", "iframe", "source", "video", "audio", "object"];
        let starts = ["=\"http", "=\"//", "=http", "=//"];
        loads.contains(&name) && starts.iter().any(|start| tag.contains(start))
    })
}

/// The first rule of a style sheet that does.
fn foreign_rule(css: &str) -> Option<&str> {
    let starts = ["url(http", "url(//", "url(\"http", "url('http", "@import"];
    let at = starts.iter().filter_map(|start| css.find(start)).min()?;
    css[at..].split([')', ';']).next()
}

struct SiteReport {
    problems: Vec<String>,
    pages: u64,
    targets: u64,
    not_checked: String,
}

fn read_report(lines: &[u8]) -> anyhow::Result<SiteReport> {
    let mut report =
        SiteReport { problems: Vec::new(), pages: 0, targets: 0, not_checked: String::new() };
    let mut is_whole = false;
    for line in serde_json::Deserializer::from_slice(lines).into_iter::<Json>() {
        let line = line.context("reading curtsy's report")?;
        let word = |member: &str| line[member].as_str().unwrap_or_default();
        match line.get("summary") {
            Some(summary) => {
                is_whole = true;
                report.pages = summary["pages"].as_u64().unwrap_or_default();
                report.targets = summary["targets"].as_u64().unwrap_or_default();
                report.not_checked = summary["not_checked"].to_string();
            }
            None => report.problems.push(format!(
                "{}: {} {}, linked from {}",
                word("problem"),
                word("target"),
                word("why"),
                line["from"]
            )),
        }
    }
    ensure!(is_whole, "curtsy's report has no summary");
    Ok(report)
}

struct FolderServer {
    child: Child,
    port: u16,
}

impl FolderServer {
    fn start(site: &Path, python: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(python)
            .args(["-c", SERVER])
            .arg(site)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting the server")?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let read = BufReader::new(stdout).read_line(&mut line);
        let mut server = Self { child, port: 0 };
        read.context("reading the server's port")?;
        server.port = line.trim().parse().context("the server printed no port")?;
        Ok(server)
    }
}

impl Drop for FolderServer {
    fn drop(&mut self) {
        // It ends by itself when its input does; if not, by this.
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_other_hosts_are_found() {
        for tag in [
            "<p><script src=\"https://cdn.example/x.js\"></script>",
            "<link rel=\"stylesheet\" href=\"//fonts.example/css\">",
            "<img alt=\"\" src=\"http://e.org/a.png\">",
        ] {
            assert!(foreign_tag(tag).is_some(), "{tag}");
        }
        for rule in ["a{background:url(https://e.org/a.png)}", "@import \"https://e.org/a.css\";"] {
            assert!(foreign_rule(rule).is_some(), "{rule}");
        }
    }

    #[test]
    fn links_and_files_of_the_site_are_not_requests_to_other_hosts() {
        let page = "<a href=\"https://e.org/\">e</a> <script src=\"../x.js\"></script>";
        assert_eq!(foreign_tag(page), None);
        assert_eq!(foreign_rule("a{background:url(a.png)}"), None);
    }

    #[test]
    fn a_report_without_its_end_is_an_error() {
        assert!(read_report(b"{\"problem\":\"broken\",\"target\":\"x\",\"why\":\"404\"}").is_err());
        let whole = b"{\"problem\":\"broken\",\"target\":\"x\",\"why\":\"404\"}\n{\"summary\":{\"pages\":2,\"targets\":3}}";
        let report = read_report(whole).unwrap();
        assert_eq!((report.problems.len(), report.pages, report.targets), (1, 2, 3));
    }
}
