//! Decides which URLs are in scope, by the hosts and folders of the roots: the seeds, and the URLs
//! to which seeds were redirected.

use std::collections::{HashMap, HashSet};

use curtsy_core::url::{Authority, CrawlUrl};

use super::Scope;

/// The scope of a crawl.
#[derive(Debug)]
pub(super) struct Roots {
    scope: Scope,
    /// The folders of each host, if the scope is by folders.
    hosts: HashMap<Box<str>, Vec<ScopeFolder>>,
    /// Authorities to which a seed was redirected: the crawl begins there too.
    moved: HashSet<Authority>,
    /// Whether a seed stands for a whole host.
    whole: bool,
}

impl Roots {
    pub(super) fn new(scope: Scope, seeds: &[CrawlUrl]) -> Roots {
        let (hosts, moved) = (HashMap::new(), HashSet::new());
        let mut roots = Roots { scope, hosts, moved, whole: false };
        seeds.iter().for_each(|seed| roots.admit(seed));
        roots
    }

    /// Adds a root.
    pub(super) fn admit(&mut self, root: &CrawlUrl) {
        let host = without_www(root.host().as_str());
        let folders = match self.hosts.get_mut(host) {
            Some(folders) => folders,
            None => self.hosts.entry(host.into()).or_default(),
        };
        if self.scope == Scope::Prefix {
            let folder = ScopeFolder::of(root);
            self.whole |= folder.0.is_empty();
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }

    /// Adds the target of a seed's redirect. A folder that redirects to a home page does not become
    /// the whole site.
    pub(super) fn admit_moved(&mut self, root: &CrawlUrl) {
        if self.scope == Scope::Prefix && !self.whole && ScopeFolder::of(root).0.is_empty() {
            return;
        }
        self.admit(root);
        self.moved.insert(root.authority());
    }

    pub(super) fn is_moved(&self, root: &CrawlUrl) -> bool {
        self.moved.contains(&root.authority())
    }

    /// Returns whether the target of a seed's redirect is known already.
    pub(super) fn knows(&self, root: &CrawlUrl) -> bool {
        self.is_moved(root) && self.contains(root)
    }

    /// Returns whether the scope is the same for all URLs of a host.
    pub(super) fn by_host(&self) -> bool {
        self.scope != Scope::Prefix
    }

    pub(super) fn contains(&self, url: &CrawlUrl) -> bool {
        let host = without_www(url.host().as_str());
        match self.scope {
            Scope::Everywhere => true,
            Scope::Host => self.hosts.contains_key(host),
            Scope::Subdomains => {
                let below = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
                std::iter::once(host).chain(below).any(|name| self.hosts.contains_key(name))
            }
            Scope::Prefix => {
                let folders = self.hosts.get(host).map(Vec::as_slice).unwrap_or_default();
                folders.iter().any(|folder| folder.contains(url))
            }
        }
    }
}

/// Returns the name without `www.`, which makes no other site: one of the two nearly always
/// redirects to the other. For manners they stay two hosts.
fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host)
}

/// A folder of a host.
#[derive(Debug, PartialEq, Eq)]
struct ScopeFolder(Box<str>);

impl ScopeFolder {
    /// Returns the folder of a seed: `/docs/` for `/docs/` and `/docs/index.html`; `/docs` for
    /// itself and everything below.
    fn of(seed: &CrawlUrl) -> ScopeFolder {
        let path = path_of(seed);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match name.contains('.') {
            true => ScopeFolder(folder.into()),
            false => ScopeFolder(path.strip_suffix('/').unwrap_or(path).into()),
        }
    }

    fn contains(&self, url: &CrawlUrl) -> bool {
        let below = path_of(url).strip_prefix(&*self.0);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

fn path_of(url: &CrawlUrl) -> &str {
    let target = url.path_and_query();
    &target[..target.find('?').unwrap_or(target.len())]
}

#[cfg(test)]
mod tests {
    use super::{Roots, Scope};
    use curtsy_core::url::CrawlUrl;

    fn check(scope: Scope, seeds: &str, url: &str, expected: bool) {
        let read = |text: &str| CrawlUrl::parse(&format!("http://{text}")).unwrap();
        let seeds: Vec<CrawlUrl> = seeds.split_whitespace().map(read).collect();
        assert_eq!(
            Roots::new(scope, &seeds).contains(&read(url)),
            expected,
            "{scope} {seeds:?} {url}"
        );
    }

    #[test]
    fn the_host_of_a_seed_whatever_scheme_port_and_www() {
        check(Scope::Host, "a.org", "a.org/x", true);
        check(Scope::Host, "a.org", "a.org:8080/x", true);
        check(Scope::Host, "a.org", "www.a.org/x", true);
        check(Scope::Host, "www.a.org", "a.org/x", true);
        check(Scope::Host, "a.org", "b.a.org", false);
        check(Scope::Host, "a.org", "notawww.a.org", false);
        check(Scope::Host, "a.org b.org", "b.org/y", true);
        check(Scope::Host, "a.org", "a.org.evil.com", false);
        check(Scope::Host, "www.com", "com", false);
        check(Scope::Host, "127.0.0.1", "127.0.0.1:81/", true);
        check(Scope::Host, "", "a.org", false);
    }

    #[test]
    fn names_below_the_host_of_a_seed() {
        check(Scope::Subdomains, "a.org", "b.a.org/x", true);
        check(Scope::Subdomains, "a.org", "c.b.a.org/x", true);
        check(Scope::Subdomains, "www.a.org", "b.a.org/x", true);
        check(Scope::Subdomains, "a.org", "ba.org/x", false);
        check(Scope::Subdomains, "b.a.org", "a.org", false);
        check(Scope::Subdomains, "a.org", "org", false);
        check(Scope::Subdomains, "127.0.0.1", "1.127.0.0.1.example", false);
    }

    #[test]
    fn the_folder_of_a_seed() {
        check(Scope::Prefix, "a.org/docs/", "a.org/docs/x?y", true);
        check(Scope::Prefix, "a.org/docs/", "a.org/docs", true);
        check(Scope::Prefix, "a.org/docs", "a.org/docs/x", true);
        check(Scope::Prefix, "a.org/docs", "a.org/docs?x", true);
        check(Scope::Prefix, "a.org/docs", "a.org/docsets", false);
        check(Scope::Prefix, "a.org/docs/index.html", "a.org/docs/x", true);
        check(Scope::Prefix, "a.org/docs/index.html", "a.org/other", false);
        check(Scope::Prefix, "a.org/index.html", "a.org/other", true);
        check(Scope::Prefix, "a.org", "a.org/other", true);
        check(Scope::Prefix, "a.org/docs/", "b.org/docs/", false);
        check(Scope::Prefix, "a.org/docs/ a.org/blog/", "a.org/blog/x", true);
        check(Scope::Prefix, "a.org/docs/", "www.a.org/docs/x", true);
        check(Scope::Everywhere, "", "b.org", true);
    }

    #[test]
    fn a_seed_that_moved_is_at_home_where_it_went() {
        let read = |text: &str| CrawlUrl::parse(text).unwrap();
        let mut roots = Roots::new(Scope::Host, &[read("http://a.org/")]);
        assert!(!roots.contains(&read("https://b.org/x")));
        roots.admit_moved(&read("https://b.org/home"));
        assert!(
            roots.contains(&read("https://b.org/x")) && roots.is_moved(&read("https://b.org/x"))
        );
        assert!(!roots.is_moved(&read("http://b.org/x")), "another authority, another robots.txt");
    }

    #[test]
    fn a_folder_that_moved_to_a_home_page_is_not_the_whole_site() {
        let check = |seed: &str, to: &str, url: &str, expected: bool| {
            let read = |text: &str| CrawlUrl::parse(&format!("http://{text}")).unwrap();
            let mut roots = Roots::new(Scope::Prefix, &[read(seed)]);
            roots.admit_moved(&read(to));
            assert_eq!(roots.contains(&read(url)), expected, "{seed} {to} {url}");
        };
        check("a.org/docs/", "a.org/", "a.org/x", false);
        check("a.org/docs/", "a.org/index.html", "a.org/x", false);
        check("a.org/docs/", "a.org/en/docs/", "a.org/en/docs/x", true);
        check("a.org/", "b.org/", "b.org/x", true);
        check("a.org/", "b.org/en/", "b.org/x", false);
    }
}
