//! Which crawl's file does a command read that was not told one?

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use curtsy_core::url::{CrawlUrl, HostKey};
use curtsy_crawl::file_named_after;
use curtsy_sink::read::PagesFile;

use super::Console;
use super::flags::Values;
use super::refusal;

/// Files that are looked at, the newest first.
pub(crate) const FILES_MAX: usize = 100;

/// Returns the named file. Without a name: the file that `into` in `curtsy.toml` names; else the
/// crawl in this folder that knows the URL, the file named after its host first; else the newest
/// crawl. The choice is noted on stderr.
pub(super) fn find(
    named: Option<&Path>,
    urls: &[CrawlUrl],
    flags: &Values,
    console: &mut Console<'_>,
) -> anyhow::Result<PathBuf> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let chosen = match flags.clone().settings()?.crawl_file() {
        Some(path) => path,
        None => choose(urls)?,
    };
    console.note(&format!("in {}", chosen.display()))?;
    Ok(chosen)
}

/// The databases in this folder, the file named after a URL's host first, then the newest.
fn candidates(urls: &[CrawlUrl]) -> anyhow::Result<impl Iterator<Item = PathBuf>> {
    let mut files: Vec<(bool, SystemTime, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(".")?.flatten() {
        let path = PathBuf::from(entry.file_name());
        if path.extension().is_some_and(|ending| ending == "db")
            && let Some(written) = written(&path)
        {
            let own = urls.iter().any(|url| file_named_after(url) == path);
            files.push((own, written, path));
        }
    }
    files.sort_unstable();
    Ok(files.into_iter().rev().take(FILES_MAX).map(|(_, _, path)| path))
}

/// Every crawl's file in this folder that has rows of a host, and the one that `curtsy.toml` names.
pub(super) fn of_host(host: &HostKey, flags: &Values) -> anyhow::Result<Vec<PathBuf>> {
    let set = flags.clone().settings()?.crawl_file();
    let mut files: Vec<PathBuf> = set.into_iter().collect();
    for path in candidates(&[])? {
        let Ok(pages) = PagesFile::open(&path) else { continue };
        let has = pages.hosts()?.iter().any(|row| row.host == host.as_str());
        if has && !files.contains(&path) {
            files.push(path);
        }
    }
    Ok(files)
}

fn choose(urls: &[CrawlUrl]) -> anyhow::Result<PathBuf> {
    let mut first = None;
    for path in candidates(urls)? {
        let Ok(pages) = PagesFile::open(&path) else { continue };
        let knows = |url: &CrawlUrl| {
            pages.row(url).is_ok_and(|row| row.is_some())
                || pages.sitemap_row(url).is_ok_and(|row| row.is_some())
                || pages.decisions(url).is_ok_and(|decisions| !decisions.is_empty())
        };
        if urls.iter().any(knows) {
            return Ok(path);
        }
        first.get_or_insert(path);
    }
    match first {
        Some(path) => Ok(path),
        None => Err(refusal(
            "missing_file",
            "there is no crawl in this folder\nhint: `curtsy crawl URL` begins one; name the file of another with `--in FILE`",
        )),
    }
}

/// When a crawl's file was last written: what is new is in the log beside it.
fn written(path: &Path) -> Option<SystemTime> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let at = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    at(path).max(at(Path::new(&log)))
}
