//! The parts of a page that a crawl needs, each with a limit: its links as URLs, and its own
//! statements.

use std::collections::BTreeMap;

use curtsy_core::headers::RobotsRules;
use curtsy_core::time::Time;
use curtsy_core::url::{CrawlUrl, Together, UrlError, UrlKey};

use super::address::CrawlAddresses;
use super::login;
use super::markup::Markup;
use crate::charset::Charset;

/// A page as the crawl reads it.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_parse::html::{PageLimits, HtmlPage};
/// let url = CrawlUrl::parse("https://example.org/a/").unwrap();
/// let html = b"<title>Hi</title><a href=b>b</a><a href='b#top' rel=nofollow>b</a><a href=mailto:me>me</a>";
/// let page = HtmlPage::read(&url, Some("text/html; charset=utf-8"), html, &PageLimits::default());
/// assert_eq!(page.title.as_deref(), Some("Hi"));
/// let links: Vec<_> = page.links.iter().map(|link| (link.url.as_str(), link.nofollow)).collect();
/// assert_eq!(links, [("https://example.org/a/b", false)]);
/// ```
#[derive(Clone, Debug)]
pub struct HtmlPage {
    /// The encoding and its source.
    pub charset: Charset,
    /// The base of references; `None` if it cannot be crawled.
    pub base: Option<CrawlUrl>,
    /// The title, if there is one.
    pub title: Option<String>,
    /// The canonical URL.
    pub canonical: Option<CrawlUrl>,
    /// The target of a refresh, which also counts as a link.
    pub refresh: Option<CrawlUrl>,
    /// Name and content of `meta` elements with robots rules: `robots`, or the agent of the limits.
    pub robots: Vec<(String, String)>,
    /// The links, each URL once, in the order of the page. The page itself is not among them.
    pub links: Vec<PageLink>,
    /// The URLs in frames, each once.
    pub frames: Vec<CrawlUrl>,
    /// The number of references that are no URL which can be crawled.
    pub unusable: usize,
    /// Whether the page is a login: a form with a password field, and hardly anything else.
    pub login: bool,
    /// What the limits removed.
    pub cut: PageCut,
}

/// A link of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLink {
    /// The URL.
    pub url: CrawlUrl,
    /// Whether every link to it says `nofollow`.
    pub nofollow: bool,
}

/// Limits on what is read and kept of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Bytes of a body that are read.
    pub body_bytes_max: usize,
    /// Different URLs of a page's links that are kept, and as many of its frames. The rest are
    /// counted. A repeated URL, also with another fragment, does not count again.
    pub links_max: usize,
    /// Bytes of the text of these URLs: a page of 16 MiB with a long base can name gigabytes.
    pub links_bytes_max: usize,
    /// Bytes of a title that are kept.
    pub title_bytes_max: usize,
    /// A product token whose own `meta` elements count in addition to `robots`.
    pub agent: Option<String>,
}

impl Default for PageLimits {
    fn default() -> PageLimits {
        PageLimits {
            body_bytes_max: 16 * 1024 * 1024,
            links_max: 100_000,
            links_bytes_max: 32 * 1024 * 1024,
            title_bytes_max: 1_024,
            agent: None,
        }
    }
}

/// What the limits removed from a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCut {
    /// The number of bytes of the body that were not read.
    pub body_bytes: usize,
    /// Whether the end is missing, because the nesting would take too long to read.
    pub nesting: bool,
    /// The number of different URLs of links and frames that were not kept.
    pub links: usize,
    /// Whether the title was cut.
    pub title: bool,
    /// The number of robots rules that were not kept.
    pub robots: usize,
}

impl HtmlPage {
    /// Reads a page. The caller decides whether a body is one (see
    /// [`content_type`](crate::content_type)).
    pub fn read(
        url: &CrawlUrl,
        content_type: Option<&str>,
        body: &[u8],
        limits: &PageLimits,
    ) -> HtmlPage {
        let kept = &body[..body.len().min(limits.body_bytes_max).min(TEXT_BYTES_MAX)];
        let charset = Charset::of(kept, content_type, Some(url.host().as_str()));
        let text = charset.decode(kept);
        let markup = Markup::read(&text);

        let mut cut = PageCut {
            body_bytes: body.len() - kept.len(),
            nesting: !markup.complete,
            ..PageCut::default()
        };
        let addresses = CrawlAddresses::new(url, markup.base.as_deref(), charset.encoding);
        let expected = markup.links.len().min(limits.links_max);
        let mut targets = Targets::new(&addresses, url, limits, expected);
        for link in &markup.links {
            targets.add(&link.href, link.has_rel("nofollow"));
        }
        let links = targets.finish();
        let frames = match markup.frames.as_slice() {
            [] => KeptReferences::default(),
            frames => {
                let mut targets = Targets::new(&addresses, url, limits, 0);
                frames.iter().for_each(|src| targets.add(src, false));
                targets.finish()
            }
        };
        cut.links = links.cut + frames.cut;

        let title = markup.title.clone().map(|title| {
            cut.title = title.len() > limits.title_bytes_max;
            shortened(title, limits.title_bytes_max)
        });
        let is_ours = |name: &str| {
            name.eq_ignore_ascii_case("robots")
                || limits.agent.as_deref().is_some_and(|agent| name.eq_ignore_ascii_case(agent))
        };
        let mut robots: Vec<(String, String)> = markup
            .directives
            .iter()
            .filter(|directive| is_ours(&directive.name))
            .map(|d| (d.name.clone().into_owned(), d.content.clone().into_owned()))
            .collect();
        cut.robots = robots.len().saturating_sub(ROBOTS_MAX);
        robots.truncate(ROBOTS_MAX);

        HtmlPage {
            charset,
            base: addresses.base().cloned(),
            title,
            canonical: markup.canonical(|href| addresses.resolve(href).ok()),
            refresh: markup.refresh(|target| usable(addresses.resolve(target))).flatten(),
            robots,
            links: links.links,
            frames: frames.links.into_iter().map(|link| link.url).collect(),
            unusable: links.unusable + frames.unusable,
            login: markup.password && login::is_login(&text, markup.title.as_deref()),
            cut,
        }
    }

    /// Returns the robots rules for us, of the page and of its `X-Robots-Tag` lines.
    pub fn rules<'a>(
        &self,
        header_lines: impl IntoIterator<Item = &'a str>,
        agent: &str,
        now: Time,
    ) -> RobotsRules {
        let mut rules = RobotsRules::default();
        for line in header_lines {
            rules.add_header(line, agent, now);
        }
        for (name, content) in &self.robots {
            rules.add_meta(name, content, agent, now);
        }
        rules
    }
}

/// Returns the target of a refresh. A refresh whose reference is no URL does not count. One to a
/// URL that cannot be crawled counts, and has no target.
fn usable(target: Result<CrawlUrl, UrlError>) -> Option<Option<CrawlUrl>> {
    match target {
        Ok(url) => Some(Some(url)),
        Err(UrlError::Syntax(_)) => None,
        Err(_) => Some(None),
    }
}

fn shortened(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// Resolves references, each different URL once.
struct Targets<'a> {
    addresses: &'a CrawlAddresses,
    limits: &'a PageLimits,
    own: UrlKey,
    urls: Together,
    /// The key of each URL, its reference, and whether that says `nofollow`.
    from: Vec<(UrlKey, &'a str, bool)>,
    unusable: usize,
    /// The indexes of recent references, counted from one. A page repeats its menu, and a parse
    /// costs more than a look-up. A newer reference replaces an older one, so no page can make the
    /// look-ups long.
    seen: [u32; SEEN],
    /// The number of entries that need no counting.
    uncounted_max: usize,
    /// The index in `from` of each different URL except the page's own, once there are more entries
    /// than that.
    counted: Option<BTreeMap<UrlKey, usize>>,
    /// The URLs without room, including repetitions: at most as many as the page has references.
    beyond: Vec<UrlKey>,
}

/// The references of a page that are within the limits.
#[derive(Default)]
struct KeptReferences {
    links: Vec<PageLink>,
    /// The number of references that are no URL which can be crawled.
    unusable: usize,
    /// The number of different URLs without room.
    cut: usize,
}

impl<'a> Targets<'a> {
    fn new(
        addresses: &'a CrawlAddresses,
        url: &CrawlUrl,
        limits: &'a PageLimits,
        expected: usize,
    ) -> Targets<'a> {
        Targets {
            addresses,
            limits,
            own: url.key(),
            urls: Together::with_capacity(expected),
            from: Vec::with_capacity(expected),
            unusable: 0,
            seen: [0; SEEN],
            uncounted_max: limits.links_max.min(UNCOUNTED_MAX),
            counted: None,
            beyond: Vec::new(),
        }
    }

    fn add(&mut self, reference: &'a str, nofollow: bool) {
        let slot = slot(reference);
        if let Some(at) = (self.seen[slot] as usize).checked_sub(1)
            && self.from[at].1 == reference
        {
            self.from[at].2 &= nofollow;
            return;
        }
        match self.addresses.resolve_into(reference, &mut self.urls) {
            Ok(text) => {
                let key = UrlKey::of(text);
                if self.from.len() >= self.uncounted_max && !self.admit(key, nofollow) {
                    self.urls.take_back();
                    return;
                }
                self.from.push((key, reference, nofollow));
                self.seen[slot] = self.from.len() as u32;
            }
            Err(_) => self.unusable += 1,
        }
    }

    /// Returns whether there is room for a URL on a page with many: it is new, and neither limit is
    /// reached.
    #[cold]
    fn admit(&mut self, key: UrlKey, nofollow: bool) -> bool {
        let (own, from) = (self.own, &mut self.from);
        let counted = self.counted.get_or_insert_with(|| {
            let places = from.iter().enumerate().rev().map(|(at, (key, ..))| (*key, at));
            places.filter(|(key, _)| *key != own).collect()
        });
        if key == own {
            return false;
        }
        if let Some(at) = counted.get(&key) {
            from[*at].2 &= nofollow;
            return false;
        }
        let bytes = self.urls.text_bytes();
        if counted.len() >= self.limits.links_max || bytes > self.limits.links_bytes_max {
            self.beyond.push(key);
            return false;
        }
        counted.insert(key, from.len());
        true
    }

    /// Returns each URL once, at its first place, except the page's own.
    fn finish(mut self) -> KeptReferences {
        let mut order: Vec<(UrlKey, usize)> =
            self.from.iter().enumerate().map(|(at, (key, ..))| (*key, at)).collect();
        order.sort_unstable();
        // For each URL that is kept, whether all links to it say `nofollow`.
        let mut kept = vec![None; self.from.len()];
        for group in order.chunk_by(|(a, _), (b, _)| a == b) {
            let (key, first) = group[0];
            let nofollow = group.iter().all(|&(_, at)| self.from[at].2);
            kept[first] = (key != self.own).then_some(nofollow);
        }
        let mut links = Vec::with_capacity(kept.iter().flatten().count());
        let pairs = self.urls.finish().zip(kept);
        links.extend(pairs.filter_map(|(url, kept)| Some(PageLink { url, nofollow: kept? })));
        self.beyond.sort_unstable();
        self.beyond.dedup();
        KeptReferences { links, unusable: self.unusable, cut: self.beyond.len() }
    }
}

fn slot(reference: &str) -> usize {
    let hash = reference
        .bytes()
        .fold(0_u32, |hash, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(byte));
    (hash ^ hash >> 15) as usize % SEEN
}

/// With fewer URLs, repetitions are found together at the end of a page. With more, each URL is
/// looked up when it comes, and a repetition takes no room: an index has hundreds of thousands of
/// references to some thousand pages.
const UNCOUNTED_MAX: usize = 4_096;
/// The number of references that are remembered.
const SEEN: usize = 256;
/// Places in the text have 32 bits, and decoding can turn one byte into three.
const TEXT_BYTES_MAX: usize = 1 << 30;
/// Limit of the elements with robots rules. Further ones are only counted.
pub(crate) const ROBOTS_MAX: usize = 64;
