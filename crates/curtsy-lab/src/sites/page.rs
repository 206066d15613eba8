//! The bytes of a page: generated ones, scripted ones, traps and walls.
//!
//! A generated page is a function of the seed and its number, and costs next to nothing to make:
//! its links are written, the rest is cut from one text. So nothing is kept, whatever the number of
//! pages.

use std::io::Write;
use std::sync::OnceLock;

use super::answer::PageParts;
use super::scene::{Pages, Trap, TrapKind};
use curtsy_sim::Chance;

/// The number of the generated page at this path.
pub(super) fn number_of(path: &str) -> Option<u32> {
    if path == "/" {
        return Some(0);
    }
    let digits = path.strip_prefix("/p/")?;
    let canonical = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| canonical)
}

/// Writes a generated page.
pub(super) fn generated(pages: &Pages, number: u32, host: &str, seed: u64, out: &mut Vec<u8>) {
    let begin = out.len();
    let title = format_args!("Page {number} of {host}");
    head(out, title, "");
    let _ = write!(out, "<h1>{title}</h1>\n<nav>\n");
    if number == 0 {
        for link in &pages.home_links {
            anchor(out, link);
        }
    }
    let mut linked = 0;
    let first = u64::from(number) * u64::from(pages.links) + 1;
    for child in first..first + u64::from(pages.links) {
        if child < u64::from(pages.count) {
            page_anchor(out, child);
            linked += 1;
        }
    }
    let mut chance = Chance::new(seed ^ u64::from(number).wrapping_mul(0x9E37_79B9));
    if pages.count > 1 {
        for _ in linked..pages.links {
            page_anchor(out, chance.below(u64::from(pages.count)));
        }
    }
    out.extend_from_slice(b"</nav>\n");
    fill(out, begin, pages.bytes as usize, chance.draw());
}

/// Writes a page made of parts.
pub(super) fn of_parts(parts: &PageParts, path: &str, out: &mut Vec<u8>) {
    let begin = out.len();
    let title = if parts.title.is_empty() { path } else { &parts.title };
    let title = escaped(title);
    head(out, format_args!("{title}"), &parts.head);
    let _ = write!(out, "<h1>{title}</h1>\n<nav>\n");
    for link in &parts.links {
        anchor(out, link);
    }
    out.extend_from_slice(b"</nav>\n");
    fill(out, begin, parts.bytes as usize, 0);
}

/// Writes the page of a trap, or says that there is none at this path.
pub(super) fn of_trap(trap: &Trap, target: &str, chance: &mut Chance, out: &mut Vec<u8>) -> bool {
    let Some(rest) = target.strip_prefix(trap.path.as_str()) else {
        return false;
    };
    let path = trap.path.as_str();
    let links = match trap.kind {
        TrapKind::Calendar => {
            let mut parts = rest.split('/').map(|part| part.parse::<u64>().ok());
            let (year, month) = match (parts.next().flatten(), parts.next().flatten()) {
                (Some(year), Some(month)) if (1..=12).contains(&month) => (year.min(99_999), month),
                _ => (2026, 1),
            };
            let at = year * 12 + month - 1;
            let month = |at: u64| format!("{path}{}/{}", at / 12, at % 12 + 1);
            vec![month(at.saturating_sub(1)), month(at + 1)]
        }
        TrapKind::Session => {
            let session = |page: u64, chance: &mut Chance| {
                format!("{path}?page={page}&sid={:016x}", chance.draw())
            };
            (1..4).map(|page| session(page, chance)).collect()
        }
        // Resolved against `…/more/`, this leads to `…/more/more/`.
        TrapKind::Repeat => vec!["more/".to_owned(), "more/less/".to_owned()],
    };
    let title = format!("Trap at {}", rest.chars().take(60).collect::<String>());
    of_parts(&PageParts { title, links, bytes: 600, ..PageParts::default() }, target, out);
    true
}

/// Writes what a visitor of a walled site gets to see.
pub(super) fn wall(out: &mut Vec<u8>) {
    out.extend_from_slice(
        b"<!DOCTYPE html><html lang=\"en-US\"><head><title>Just a moment...</title>\
        <meta name=\"robots\" content=\"noindex,nofollow\"></head><body>\
        <noscript>Enable JavaScript and cookies to continue</noscript>\
        <script>window._cf_chl_opt={cType:'managed'};\
        var s=document.createElement('script');s.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1';\
        </script></body></html>\n",
    );
}

fn head(out: &mut Vec<u8>, title: std::fmt::Arguments<'_>, more: &str) {
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n{more}</head>\n<body>\n"
    );
}

fn anchor(out: &mut Vec<u8>, link: &str) {
    let link = escaped(link);
    let _ = writeln!(out, "<a href=\"{link}\">{link}</a>");
}

fn page_anchor(out: &mut Vec<u8>, number: u64) {
    if number == 0 {
        out.extend_from_slice(b"<a href=\"/\">home</a>\n");
    } else {
        let _ = writeln!(out, "<a href=\"/p/{number}\">page {number}</a>");
    }
}

/// Fills the page with paragraphs up to its length, counted from `begin`, and ends it.
fn fill(out: &mut Vec<u8>, begin: usize, bytes: usize, draw: u64) {
    let text = filler();
    let mut at = (draw % FILLER_PARAGRAPHS as u64) as usize * PARAGRAPH_BYTES;
    let end = begin + bytes.saturating_sub(END.len());
    while out.len() < end {
        let part = (end - out.len()).min(PARAGRAPH_BYTES);
        if part < PARAGRAPH_BYTES {
            // A cut paragraph might end inside a tag: the rest is dots.
            out.resize(end, b'.');
        } else {
            out.extend_from_slice(&text[at..at + PARAGRAPH_BYTES]);
        }
        at = (at + PARAGRAPH_BYTES) % text.len();
    }
    out.extend_from_slice(END);
}

/// One text for all pages: paragraphs of equal length, with the markup of ordinary ones.
fn filler() -> &'static [u8] {
    static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    TEXT.get_or_init(|| {
        let words = [
            "the", "weather", "in", "town", "is", "mild", "and", "shops", "open", "at", "nine",
            "every", "morning", "bread", "fish", "letters", "a", "harbour", "of", "old", "boats",
            "waits",
        ];
        let mut chance = Chance::new(7);
        let mut text = Vec::with_capacity(FILLER_PARAGRAPHS * PARAGRAPH_BYTES);
        for paragraph in 1..=FILLER_PARAGRAPHS {
            let end = paragraph * PARAGRAPH_BYTES - b"</p>\n".len();
            text.extend_from_slice(b"<p>");
            while text.len() + 40 < end {
                let word = chance.pick(&words);
                let marked = chance.percent(5);
                let _ =
                    if marked { write!(text, "<em>{word}</em> ") } else { write!(text, "{word} ") };
            }
            text.resize(end, b'.');
            text.extend_from_slice(b"</p>\n");
        }
        text
    })
}

/// Text that is no markup, in a page or in XML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c => safe.push(c),
        }
    }
    safe
}

const END: &[u8] = b"</body>\n</html>\n";
const PARAGRAPH_BYTES: usize = 512;
const FILLER_PARAGRAPHS: usize = 64;
