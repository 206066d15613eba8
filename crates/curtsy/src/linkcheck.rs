//! Which links of a crawled site are broken? A report on a crawl's file, one entry for each target.
//!
//! This report sends no request: every answer is a row of the crawl's file, and a URL without a row
//! was not checked. The text of a link, its fragment and the assets of a page are not in rows; they
//! are read again from the bodies in the file. So an ordinary crawl does nothing for this report.
//!
//! Fragments need a second pass: the fragments in use are known after all pages were read, and each
//! is then looked up in its page.

use std::collections::{BTreeMap, HashMap, HashSet};

use curtsy_core::url::{CrawlUrl, UrlKey};
use curtsy_engine::discover::without_tracking;
use curtsy_parse::html::{self, Use};
use curtsy_sink::OpenError;
use curtsy_sink::read::{LinkingPage, PagesFile, TargetRow};
use curtsy_sink::standing::LinkStanding;

/// What a report looks at, besides links, frames and what pages load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkChecks {
    /// Whether a page has the place that a fragment names.
    pub fragments: bool,
    /// How many pages are named for each target.
    pub from_max: usize,
}

/// A report on links.
#[derive(Clone, Debug, Default)]
pub struct LinkReport {
    /// The problems, the worst first: broken targets before warnings, and targets with many
    /// referring pages before the others.
    pub problems: Vec<LinkProblem>,
    /// Pages whose links were looked at.
    pub pages: u64,
    /// Different targets.
    pub targets: u64,
    /// Targets that were not checked, by reason.
    pub not_checked: BTreeMap<String, u64>,
    /// Links that the crawl did not read, since their pages have too many.
    pub links_cut: u64,
}

/// Something that is wrong with a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkProblem {
    /// What.
    pub kind: ProblemKind,
    /// The target, with its fragment if that is what is wrong; or the reference, if it is no URL.
    pub target: String,
    /// In words.
    pub why: String,
    /// How many pages refer to it.
    pub pages: u64,
    /// The first of them.
    pub from: Vec<Referrer>,
}

impl LinkProblem {
    /// A problem without referring pages.
    fn new(kind: ProblemKind, target: &str, why: &str) -> LinkProblem {
        let (target, why) = (target.to_owned(), why.to_owned());
        LinkProblem { kind, target, why, pages: 0, from: Vec::new() }
    }
}

/// A reference to a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrer {
    /// The page.
    pub page: String,
    /// What for: `link`, `image`, …
    pub used: &'static str,
    /// The words of the link.
    pub text: String,
}

curtsy_core::word_enum! {
    /// What is wrong with a target.
    pub enum ProblemKind {
        /// It is not there.
        Broken = "broken",
        /// The page is there, the place in it is not.
        Fragment = "fragment",
        /// The reference is no URL.
        NotAUrl = "not_a_url",
        /// It has moved for good: a warning.
        Moved = "moved",
        /// A page that is read over https loads something over http: a warning.
        Mixed = "mixed",
        /// A page that is read over https links to http: a warning.
        Insecure = "insecure",
    }
}

impl ProblemKind {
    /// Whether a reader who follows the link does not get what it promises.
    pub const fn is_broken(self) -> bool {
        matches!(self, ProblemKind::Broken | ProblemKind::Fragment | ProblemKind::NotAUrl)
    }
}

/// Reports on the links of a crawl's file.
pub fn report(file: &PagesFile, look: LinkChecks) -> Result<LinkReport, OpenError> {
    let mut known = KnownTargets::read(file)?;
    let mut found = LinkFindings { look, ..LinkFindings::default() };
    file.linking(|page| found.page(&page, &mut known))?;
    if look.fragments {
        found.fragments(file, &known)?;
    }
    found.unlinked(&known);
    let mut report = found.report;
    report.targets = known.met.len() as u64;
    for reason in known.met.into_values().flatten() {
        *report.not_checked.entry(reason).or_default() += 1;
    }
    report.links_cut = file.links_cut()?;
    report.problems = found.problems.into_values().collect();
    report.problems.sort_by(|a, b| {
        let rank = |p: &LinkProblem| (p.kind, std::cmp::Reverse(p.pages));
        rank(a).cmp(&rank(b)).then_with(|| a.target.cmp(&b.target))
    });
    Ok(report)
}

/// What the file knows of the targets of links.
#[derive(Default)]
struct KnownTargets {
    rows: HashMap<UrlKey, LinkTarget>,
    queued: HashSet<UrlKey>,
    /// Hosts whose pages were read for links.
    hosts: HashSet<String>,
    /// Whether URLs may be queued that are not among these.
    is_at_work: bool,
    /// Targets that some page refers to, with the reason if they were not checked.
    met: HashMap<UrlKey, Option<String>>,
}

struct LinkTarget {
    url: String,
    standing: LinkStanding,
    /// Where it has moved for good.
    moved: Option<String>,
    /// Whether its text was read and kept, so that places can be looked for in it.
    has_text: bool,
    /// Whether it is an HTML page.
    is_page: bool,
    /// Whether it belongs to the crawl as it is now.
    is_current: bool,
}

impl KnownTargets {
    fn read(file: &PagesFile) -> Result<KnownTargets, OpenError> {
        let mut known = KnownTargets { hosts: file.linking_hosts()?, ..KnownTargets::default() };
        let moved = file.moved_for_good()?;
        let mut rows = HashMap::new();
        let hosts = &known.hosts;
        file.targets(|row: TargetRow<'_>| {
            let external = !hosts.contains(row.host);
            let key = row.url.key();
            let target = LinkTarget {
                url: row.url.as_str().to_owned(),
                standing: row.standing(external),
                moved: moved.contains(&key).then(|| row.final_url.to_owned()),
                has_text: row.has_text,
                is_page: row.is_page,
                is_current: row.is_current,
            };
            rows.insert(key, target);
        })?;
        known.rows = rows;
        known.is_at_work = file.is_at_work()?;
        for (url, silent) in file.queued()? {
            let Some(error) = silent else {
                known.queued.insert(url.key());
                continue;
            };
            // Its host is asked again later; a reader would get nothing now.
            let why = format!("its server does not answer ({})", error.replace('_', " "));
            let target = LinkTarget {
                url: url.as_str().to_owned(),
                standing: LinkStanding::Broken(why),
                moved: None,
                has_text: false,
                is_page: false,
                is_current: true,
            };
            known.rows.insert(url.key(), target);
        }
        Ok(known)
    }

    /// Returns the target of a link and its key: under its own address, or under the address
    /// without tracking parameters.
    fn find(&self, url: &CrawlUrl) -> (UrlKey, Option<&LinkTarget>) {
        let key = url.key();
        if let Some(row) = self.rows.get(&key) {
            return (key, Some(row));
        }
        match without_tracking(url).map(|bare| bare.key()) {
            Some(bare) if self.rows.contains_key(&bare) || self.queued.contains(&bare) => {
                (bare, self.rows.get(&bare))
            }
            _ => (key, None),
        }
    }

    /// Why a target without a row was not checked.
    fn why_no_row(&self, url: &CrawlUrl, key: UrlKey, used: Use, nofollow: bool) -> &'static str {
        if self.queued.contains(&key) {
            "it is still queued: the same crawl goes on with it"
        } else if !self.hosts.contains(url.host().as_str()) {
            "it is on another site: `--external` asks there"
        } else if self.is_at_work {
            "it is not decided yet: the crawl is at work, or was killed"
        } else if used.is_asset() || used == Use::Related {
            "it is a part of a page: `--assets` asks for images, scripts and style sheets"
        } else if nofollow {
            "the page says nofollow: `--follow-nofollow` follows it all the same"
        } else {
            "it lies outside of the crawl: scope, depth or filters"
        }
    }
}

/// What was found so far.
#[derive(Default)]
struct LinkFindings {
    look: LinkChecks,
    report: LinkReport,
    problems: HashMap<(ProblemKind, String), LinkProblem>,
    /// Pages that were looked at, by where they were found.
    read: HashSet<UrlKey>,
    /// The page that was counted last for each problem.
    counted: HashMap<(ProblemKind, String), u64>,
    /// Fragments that are used, by the page that should have such a place.
    wanted: HashMap<UrlKey, HashMap<String, Used>>,
    fragments: usize,
}

/// Adds a referring page, in the order of the pages' URLs: the order in which a crawl reads pages
/// differs each time, and reports are compared.
fn keep_first(
    from: &mut Vec<Referrer>,
    max: usize,
    (page, used, text): (&str, &'static str, &str),
) {
    let at = from.partition_point(|other| *other.page <= *page);
    if at < max {
        from.insert(at, Referrer { page: page.to_owned(), used, text: text.to_owned() });
        from.truncate(max);
    }
}

/// Who uses a fragment.
#[derive(Default)]
struct Used {
    pages: u64,
    last: u64,
    from: Vec<Referrer>,
}

impl LinkFindings {
    fn page(&mut self, page: &LinkingPage<'_>, known: &mut KnownTargets) {
        let Ok(url) = CrawlUrl::parse(page.final_url) else {
            return;
        };
        // A page that several addresses lead to is one page.
        if !self.read.insert(url.key()) {
            return;
        }
        self.report.pages += 1;
        // Words and fragments are in the body; links that the tree has are in their column.
        let mut words: HashMap<UrlKey, String> = HashMap::new();
        let mut assets: Vec<(CrawlUrl, Use, String)> = Vec::new();
        if let Some(body) = page.body {
            html::mentions(&url, page.content_type, body, |mention| {
                let used = mention.used;
                match mention.target {
                    Ok(target) => {
                        if let Some(fragment) = mention.fragment.filter(|_| used == Use::Link) {
                            self.want(page, known, &target, &fragment, &mention.text);
                        }
                        if used.is_asset() || used == Use::Related {
                            assets.push((target, used, mention.text));
                        } else if matches!(used, Use::Link | Use::Frame) {
                            words.entry(target.key()).or_insert(mention.text);
                        }
                    }
                    Err(reference) => {
                        let why = "this is no URL".to_owned();
                        let said = (mention.text.as_str(), used.name());
                        self.note(ProblemKind::NotAUrl, &reference, &why, page.final_url, said);
                    }
                }
            });
        }
        let mut refer = |target: &CrawlUrl, used: Use, text: &str, nofollow| {
            self.refer(page, known, target, used, (text, nofollow));
        };
        let nofollow: HashSet<UrlKey> = page.nofollow().iter().map(CrawlUrl::key).collect();
        for target in page.links() {
            let text = words.get(&target.key()).map(String::as_str).unwrap_or_default();
            refer(&target, Use::Link, text, nofollow.contains(&target.key()));
        }
        for target in page.frames() {
            refer(&target, Use::Frame, "", false);
        }
        if let Some(target) = page.refresh.and_then(|text| CrawlUrl::parse(text).ok()) {
            refer(&target, Use::Link, "(refresh)", false);
        }
        for (target, used, text) in &assets {
            refer(target, *used, text, false);
        }
    }

    fn refer(
        &mut self,
        page: &LinkingPage<'_>,
        known: &mut KnownTargets,
        target: &CrawlUrl,
        used: Use,
        (text, nofollow): (&str, bool),
    ) {
        let (key, row) = known.find(target);
        let said = (text, used.name());
        let mut not_checked = None;
        match row.map(|row| (&row.standing, &row.moved)) {
            Some((LinkStanding::Broken(why), _)) => {
                self.note(ProblemKind::Broken, target.as_str(), why, page.final_url, said);
            }
            Some((LinkStanding::NotChecked(why), _)) => not_checked = Some((*why).to_owned()),
            Some((LinkStanding::Fine, Some(to))) => {
                let why = format!("moved for good to {to}");
                self.note(ProblemKind::Moved, target.as_str(), &why, page.final_url, said);
            }
            Some((LinkStanding::Fine, None)) => {}
            None => not_checked = Some(known.why_no_row(target, key, used, nofollow).to_owned()),
        }
        let is_http = |url: &str| url.starts_with("http:");
        if page.final_url.starts_with("https:") && is_http(target.as_str()) {
            let (kind, why) = match used.is_asset() || used == Use::Frame {
                true => (ProblemKind::Mixed, "a page over https loads it over http"),
                false => (ProblemKind::Insecure, "a page over https links to http"),
            };
            self.note(kind, target.as_str(), why, page.final_url, said);
        }
        known.met.insert(key, not_checked);
    }

    /// Notes a problem that a page has with a target; a page counts once for each.
    fn note(
        &mut self,
        kind: ProblemKind,
        target: &str,
        why: &str,
        page: &str,
        (text, used): (&str, &'static str),
    ) {
        let key = (kind, target.to_owned());
        let now = self.report.pages;
        if self.counted.insert(key.clone(), now) == Some(now) {
            return;
        }
        let problem = self.problems.entry(key);
        let problem = problem.or_insert_with(|| LinkProblem::new(kind, target, why));
        problem.pages += 1;
        keep_first(&mut problem.from, self.look.from_max, (page, used, text));
    }

    /// Remembers that a place of a page is linked to.
    fn want(
        &mut self,
        page: &LinkingPage<'_>,
        known: &KnownTargets,
        target: &CrawlUrl,
        fragment: &str,
        text: &str,
    ) {
        // What comes after `:~:` is for the browser: words to show.
        let fragment = fragment.split(":~:").next().unwrap_or_default();
        if !self.look.fragments || fragment.is_empty() || fragment.eq_ignore_ascii_case("top") {
            return;
        }
        let (key, row) = known.find(target);
        let Some(row) = row.filter(|row| row.standing == LinkStanding::Fine && row.is_page) else {
            return;
        };
        let mut skip = |why: &str| *self.report.not_checked.entry(why.to_owned()).or_default() += 1;
        if fragment.starts_with(['/', '!']) {
            return skip("a fragment that a script reads");
        }
        if !row.has_text {
            return skip("a fragment of a page whose text is not kept");
        }
        let wanted = self.wanted.entry(key).or_default();
        if !wanted.contains_key(fragment) {
            if self.fragments >= FRAGMENTS_MAX {
                return skip("a fragment beyond the two million that are looked up");
            }
            self.fragments += 1;
        }
        let used = wanted.entry(fragment.to_owned()).or_default();
        let now = self.report.pages;
        if std::mem::replace(&mut used.last, now) != now {
            used.pages += 1;
            let referrer = (page.final_url, Use::Link.name(), text);
            keep_first(&mut used.from, self.look.from_max, referrer);
        }
    }

    /// Looks up the places that are linked to.
    fn fragments(&mut self, file: &PagesFile, known: &KnownTargets) -> Result<(), OpenError> {
        for (key, mut wanted) in std::mem::take(&mut self.wanted) {
            let target = &known.rows[&key];
            file.text_of(key, |final_url, content_type, body| {
                let Ok(url) = CrawlUrl::parse(final_url) else {
                    return;
                };
                html::places(&url, content_type, body, |name| {
                    // By the name as written, or decoded (HTML standard, "find a potential
                    // indicated element").
                    wanted.remove(name);
                });
                let mut decoded: HashMap<Vec<u8>, Vec<String>> = HashMap::new();
                for fragment in wanted.keys().filter(|fragment| fragment.contains('%')) {
                    decoded.entry(percent_decoded(fragment)).or_default().push(fragment.clone());
                }
                if !decoded.is_empty() {
                    html::places(&url, content_type, body, |name| {
                        for fragment in decoded.remove(name.as_bytes()).into_iter().flatten() {
                            wanted.remove(&fragment);
                        }
                    });
                }
            })?;
            for (fragment, used) in wanted {
                let name = format!("{}#{fragment}", target.url);
                let problem = LinkProblem {
                    pages: used.pages,
                    from: used.from,
                    ..LinkProblem::new(ProblemKind::Fragment, &name, "the page has no such place")
                };
                self.problems.insert((ProblemKind::Fragment, name), problem);
            }
        }
        Ok(())
    }

    /// What is broken and no page links to: a seed, or what a sitemap lists.
    fn unlinked(&mut self, known: &KnownTargets) {
        for (key, row) in &known.rows {
            if let LinkStanding::Broken(why) = &row.standing
                && row.is_current
                && !known.met.contains_key(key)
            {
                let problem = LinkProblem::new(ProblemKind::Broken, &row.url, why);
                self.problems.insert((ProblemKind::Broken, row.url.clone()), problem);
            }
        }
    }
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let mut rest = text.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let [byte, after @ ..] = rest {
        let escape = match rest {
            [b'%', high, low, ..] => digit(high).zip(digit(low)),
            _ => None,
        };
        out.push(escape.map_or(*byte, |(high, low)| high * 16 + low));
        rest = if escape.is_some() { &rest[3..] } else { after };
    }
    out
}

/// Different fragments that are looked up: some hundred megabytes.
pub(crate) const FRAGMENTS_MAX: usize = 2_000_000;
