//! Recognises redirects to a login.
//!
//! A site that wants to know its visitors redirects them to a page with a login form. The query
//! mostly has the requested address, so that the login can send the visitor back. A redirect leads
//! to a login if its target looks like one (a word in the path, or a host or endpoint that serves
//! only logins) and either has such a return address or is no document of the site. A page *about*
//! logins that moved is followed: it has no return address and is among documents.
//!
//! [`html::HtmlPage::login`](crate::html::HtmlPage) recognises login forms.

use curtsy_core::url::CrawlUrl;

/// Returns whether a redirect from `asked` to `target` leads to a login.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_parse::login::leads_to_login;
/// let url = |text| CrawlUrl::parse(text).unwrap();
/// let asked = url("https://example.org/reports");
/// assert!(leads_to_login(&asked, &url("https://example.org/login?next=/reports")));
/// assert!(leads_to_login(&asked, &url("https://login.microsoftonline.com/x/oauth2/authorize?client_id=1")));
/// assert!(!leads_to_login(&asked, &url("https://example.org/docs/login")));
/// // A request for the login itself is not redirected away from its page.
/// assert!(!leads_to_login(&url("http://example.org/login"), &url("https://example.org/login/")));
/// ```
pub fn leads_to_login(asked: &CrawlUrl, target: &CrawlUrl) -> bool {
    let (from, to) = (LoginAddress::of(asked), LoginAddress::of(target));
    if from.is_login() {
        // The same login in another spelling, or its next step. A login on another host is a wall.
        return asked.host() != target.host() && to.is_endpoint();
    }
    if to.is_endpoint() {
        return true;
    }
    match to.returns_to(&from) {
        Returns::ToAsked => to.is_login() || to.is_about_accounts(),
        Returns::Somewhere => to.is_login(),
        Returns::No => to.is_login() && !to.is_document(),
    }
}

/// Returns whether the words of a URL say that it is a login.
pub fn is_login_address(url: &CrawlUrl) -> bool {
    let address = LoginAddress::of(url);
    address.is_endpoint() || address.is_login() && !address.is_document()
}

/// Returns whether a text of a page (a title, a heading, a button) names a login.
pub(crate) fn names_login(text: &str) -> bool {
    let text = text.to_lowercase();
    LOGIN_WORDS.lines().any(|word| text.contains(word))
}

/// Returns whether a text of a page names a registration.
pub(crate) fn names_registration(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("join ") || REGISTRATION_WORDS.lines().any(|word| text.contains(word))
}

/// The parts of a URL, in lower case, with percent signs decoded.
struct LoginAddress {
    host: String,
    /// The parts of the path without file name endings (`.php`) and empty parts.
    path: Vec<String>,
    /// The whole path.
    whole_path: String,
    query: Vec<(String, String)>,
}

/// The address to which a login sends its visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Returns {
    /// The requested address.
    ToAsked,
    /// Some address.
    Somewhere,
    /// The query has no return address.
    No,
}

impl LoginAddress {
    fn of(url: &CrawlUrl) -> LoginAddress {
        let (path, query) =
            url.path_and_query().split_once('?').unwrap_or((url.path_and_query(), ""));
        let whole_path = decoded(path);
        let parts = whole_path.split('/').filter(|part| !part.is_empty()).take(PARTS_MAX);
        LoginAddress {
            host: url.host().as_str().to_owned(),
            path: parts.map(|part| without_ending(part).to_owned()).collect(),
            query: query
                .split(['&', ';'])
                .filter(|pair| !pair.is_empty())
                .take(PARTS_MAX)
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (decoded(name), decoded(value)))
                .collect(),
            whole_path,
        }
    }

    /// Returns whether a part of the path, or the action in the query, names a login.
    fn is_login(&self) -> bool {
        let named = |part: &String| lists(LOGIN_PARTS, part) || is_special_page(part);
        // The parts before the last two say where the login is mounted.
        let late = self.path.iter().rev().take(2);
        late.into_iter().any(named)
            || self.query.iter().any(|(name, value)| {
                let last = value.rsplit(['/', ':', '.']).next().unwrap_or_default();
                // A `q` without a path (`user/login`) is a search.
                let acts = lists(ACTION_PARAMETERS, name) && (name != "q" || value.contains('/'));
                acts && (lists(LOGIN_PARTS, last) || is_special_page(value))
                    || value.is_empty() && lists(LOGIN_PARTS, name)
            })
    }

    /// Returns whether the URL serves only logins: the hosts and protocols of single sign-on.
    fn is_endpoint(&self) -> bool {
        let has = |name: &str| self.query.iter().any(|(other, _)| other == name);
        let path = self.whole_path.as_str();
        let on = |host: &str| {
            self.host == host
                || self.host.strip_suffix(host).is_some_and(|rest| rest.ends_with('.'))
        };
        has("samlrequest")
            || has("client_id") && (has("redirect_uri") || has("response_type"))
            || has("wtrealm")
            || LOGIN_ENDPOINTS.lines().any(|endpoint| path.contains(endpoint))
            || LOGIN_HOSTS.lines().any(on)
            || on("accounts.google.com")
            || [".okta.com", ".auth0.com", ".onelogin.com", ".cloudflareaccess.com"]
                .iter()
                .any(|host| self.host.ends_with(host))
                && (self.is_login() || path.contains("/authorize") || path.contains("/access/"))
    }

    /// Returns whether the page is among documents, where a word in the path is a subject.
    fn is_document(&self) -> bool {
        let above = self.path.iter().rev().skip(1);
        self.path.len() > DEPTH_MAX || above.into_iter().any(|part| lists(DOCUMENT_PARTS, part))
    }

    /// Returns whether the path is about accounts, which alone does not make the page a login.
    fn is_about_accounts(&self) -> bool {
        self.path.iter().any(|part| lists(ACCOUNT_PARTS, part))
    }

    fn returns_to(&self, asked: &LoginAddress) -> Returns {
        let mut found = Returns::No;
        for (name, value) in &self.query {
            let is_address = value.starts_with('/') || value.contains("://");
            let is_root = asked.whole_path == "/";
            if !is_root && is_address && value.contains(&asked.whole_path) {
                return Returns::ToAsked;
            }
            let known = lists(RETURN_PARAMETERS, &name.replace(['_', '-'], ""));
            if known && (is_address || !value.is_empty()) {
                found = match is_root && value.ends_with('/') {
                    true => return Returns::ToAsked,
                    false => Returns::Somewhere,
                };
            }
        }
        found
    }
}

/// Returns whether a list, one word a line, has this word.
fn lists(list: &str, wanted: &str) -> bool {
    list.lines().any(|word| word == wanted)
}

/// Returns the part without a file name ending (`login.php`) or parameters (`login;jsessionid=1`).
fn without_ending(part: &str) -> &str {
    let part = part.split_once(';').map_or(part, |(part, _)| part);
    match part.rsplit_once('.') {
        Some((name, ending)) if lists(FILE_ENDINGS, ending) => name,
        _ => part,
    }
}

/// Returns whether a wiki page is `Special:UserLogin`, in any language of the first word.
fn is_special_page(part: &str) -> bool {
    part.rsplit_once(':').is_some_and(|(_, page)| page.starts_with("userlogin"))
}

/// Decodes percent signs and returns the text in lower case.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| str::from_utf8(pair).ok());
        match (byte, pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                rest = &after[2..];
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).to_lowercase()
}

/// Limit of the parts of a path, and of the pairs of a query, that are read.
const PARTS_MAX: usize = 32;
/// Limit of the parts of a login path; a deeper page is a document.
const DEPTH_MAX: usize = 5;
/// Parts of a path, each of which names a login.
const LOGIN_PARTS: &str = include_str!("login/path_parts.txt");
/// Paths of single sign-on protocols that serve only logins.
const LOGIN_ENDPOINTS: &str = include_str!("login/endpoints.txt");
/// Hosts that serve only logins.
const LOGIN_HOSTS: &str = include_str!("login/hosts.txt");
/// Parts of a path about accounts. With a return address, the page is a login.
const ACCOUNT_PARTS: &str = include_str!("login/account_parts.txt");
/// Parts of a path above a document about logins.
const DOCUMENT_PARTS: &str = include_str!("login/document_parts.txt");
/// Query parameters that hold a return address, without `_` and `-`.
const RETURN_PARAMETERS: &str = include_str!("login/return_parameters.txt");
/// Query parameters that name the action of a page.
const ACTION_PARAMETERS: &str = include_str!("login/action_parameters.txt");
/// File name endings that frameworks append to a path.
const FILE_ENDINGS: &str = include_str!("login/file_endings.txt");
/// Texts in titles, headings and buttons of login pages, in lower case.
const LOGIN_WORDS: &str = include_str!("login/login_words.txt");
/// Texts in titles, headings and buttons of registration pages, in lower case.
const REGISTRATION_WORDS: &str = include_str!("login/registration_words.txt");

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &str, target: &str, expected: bool) {
        let asked = CrawlUrl::parse(&format!("https://example.org{asked}")).unwrap();
        let to = asked.join(target).unwrap();
        assert_eq!(leads_to_login(&asked, &to), expected, "{asked} to {to}");
    }

    /// An empty word would match every text.
    #[test]
    fn words_are_not_empty_and_in_lower_case() {
        let lists = [LOGIN_PARTS, LOGIN_ENDPOINTS, LOGIN_HOSTS, LOGIN_WORDS, REGISTRATION_WORDS];
        for word in lists.into_iter().flat_map(str::lines) {
            assert!(!word.is_empty() && word == word.trim().to_lowercase(), "{word:?}");
        }
    }

    #[test]
    fn logins_of_frameworks_are_known_by_their_address() {
        for target in [
            "/login",
            "/signin",
            "/wp-login.php?redirect_to=https%3A%2F%2Fexample.org%2Fa&reauth=1",
            "/accounts/login/?next=/a",
            "/users/sign_in",
            "/Account/Login?ReturnUrl=%2Fa",
            "/Account?ReturnUrl=%2Fa",
            "/auth?returnUrl=/a",
            "/index.php?title=Special:UserLogin&returnto=A",
            "/wiki/Spezial:UserLogin?returnto=A",
            "/user/login?destination=node/1",
            "/admin/login/?next=/a",
            "/app/login",
            "/de/anmelden",
            "/doku.php?id=a&do=login",
            "/index.php?route=account/login",
            "/?q=user/login&destination=node/1",
            "/login.jsp;jsessionid=1",
            "/Login.aspx?ReturnUrl=%2fa",
            "/?action=login&back=%2Fa",
            "/cas/login?service=https%3A%2F%2Fexample.org%2Fa",
            "/hub/login?next=%2Fhub%2F",
            "https://login.microsoftonline.com/t/oauth2/v2.0/authorize?client_id=1",
            "https://accounts.google.com/ServiceLogin?continue=https://example.org/a",
            "https://dev-1.okta.com/oauth2/v1/authorize?client_id=1&redirect_uri=x",
            "https://a.eu.auth0.com/authorize?client_id=1&response_type=code",
            "https://id.example.org/realms/r/protocol/openid-connect/auth?client_id=1",
            "https://idp.example.net/sso?SAMLRequest=fZ&RelayState=x",
            "https://sts.example.org/adfs/ls/?wa=wsignin1.0&wtrealm=x",
            "https://team.cloudflareaccess.com/cdn-cgi/access/login/example.org?kid=1",
        ] {
            check("/a", target, true);
        }
        check("/", "/login?next=%2F", true);
    }

    #[test]
    fn pages_about_logins_and_other_moves_are_followed() {
        for target in [
            "/b",
            "/docs/login",
            "/docs/v2/reference/authentication",
            "/blog/2024/how-we-changed-sign-in/",
            "/en/stable/topics/auth",
            "/cookies?returnUrl=%2Fa",
            "/age-check?redirect=/a",
            "/search?q=login",
            "/maintenance?from=/a",
            "/blogin",
            "/login-guide",
            "https://www.example.org/a?next=2",
            "https://accounts.example.org/",
            "/products/loginizer",
            "/session/2024",
        ] {
            check("/a", target, false);
        }
    }

    #[test]
    fn who_asks_for_the_login_gets_it() {
        check("/login", "/login/", false);
        check("/login?next=/a", "/accounts/login/?next=/a", false);
        check("/wp-login.php", "/login", false);
        check("/login", "https://id.example.com/realms/r/protocol/openid-connect/auth?x=1", true);
    }
}
