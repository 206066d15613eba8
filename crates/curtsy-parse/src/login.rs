//! Does a redirect lead to a login?
//!
//! A site that wants to know its visitors sends them to a page with a login form, mostly with the address that they asked for in the
//! query, so that the login can send them back. Two things make such a redirect: the target looks like a login (a word in its path, a
//! host or an endpoint that serves nothing else), and it carries a return address or is none of the site's texts. A page *about*
//! logins that moved is followed: it has no return address and stands among documents.
//!
//! Forms are recognised by [`html::Page::login`](crate::html::Page).

use curtsy_core::url::CrawlUrl;

/// Whether a redirect from `asked` to `target` leads to a login.
///
/// ```
/// use curtsy_core::url::CrawlUrl;
/// use curtsy_parse::login::leads_to_login;
/// let url = |text| CrawlUrl::parse(text).unwrap();
/// let asked = url("https://example.org/reports");
/// assert!(leads_to_login(&asked, &url("https://example.org/login?next=/reports")));
/// assert!(leads_to_login(&asked, &url("https://login.microsoftonline.com/x/oauth2/authorize?client_id=1")));
/// assert!(!leads_to_login(&asked, &url("https://example.org/docs/login")));
/// // Who asks for the login itself gets it.
/// assert!(!leads_to_login(&url("http://example.org/login"), &url("https://example.org/login/")));
/// ```
pub fn leads_to_login(asked: &CrawlUrl, target: &CrawlUrl) -> bool {
    let (from, to) = (LoginAddress::of(asked), LoginAddress::of(target));
    if from.is_login() {
        // The same login in another spelling, or one step of its own; another host's login is a wall all the same.
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

/// Whether an address is that of a login, by its own words.
pub fn is_login_address(url: &CrawlUrl) -> bool {
    let address = LoginAddress::of(url);
    address.is_endpoint() || address.is_login() && !address.is_document()
}

/// Whether a text of a page (a title, a heading, the words on a button) names a login.
pub(crate) fn names_login(text: &str) -> bool {
    let text = text.to_lowercase();
    SAYS_LOGIN.iter().any(|word| text.contains(word))
}

/// Whether such a text names the making of an account.
pub(crate) fn names_registration(text: &str) -> bool {
    let text = text.to_lowercase();
    SAYS_REGISTRATION.iter().any(|word| text.contains(word))
}

/// The parts of a URL, in lower case, with percent signs decoded.
struct LoginAddress {
    host: String,
    /// The parts of the path without their endings (`.php`), empty ones left out.
    path: Vec<String>,
    /// The whole path.
    whole_path: String,
    query: Vec<(String, String)>,
}

/// Where a login is to send its visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Returns {
    /// To the address that was asked for.
    ToAsked,
    /// To some address.
    Somewhere,
    /// It carries none.
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

    /// Whether its words say that it is a login: a part of its path, or the action that its query names.
    fn is_login(&self) -> bool {
        let named = |part: &String| LOGIN_PARTS.contains(&part.as_str()) || is_special_page(part);
        // What comes before the last two parts is where the login is mounted.
        let late = self.path.iter().rev().take(2);
        late.into_iter().any(named)
            || self.query.iter().any(|(name, value)| {
                let last = value.rsplit(['/', ':', '.']).next().unwrap_or_default();
                // A `q` without a path (`user/login`) is what somebody searches for.
                let acts = ACTIONS.contains(&name.as_str()) && (name != "q" || value.contains('/'));
                acts && (LOGIN_PARTS.contains(&last) || is_special_page(value))
                    || value.is_empty() && LOGIN_PARTS.contains(&name.as_str())
            })
    }

    /// Whether nothing but logins is found there: the hosts and the protocols of single sign-on.
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
            || ENDPOINTS.iter().any(|endpoint| path.contains(endpoint))
            || LOGIN_HOSTS.iter().any(|host| on(host))
            || on("accounts.google.com")
            || [".okta.com", ".auth0.com", ".onelogin.com", ".cloudflareaccess.com"]
                .iter()
                .any(|host| self.host.ends_with(host))
                && (self.is_login() || path.contains("/authorize") || path.contains("/access/"))
    }

    /// Whether it stands among texts, where a word in a path is a subject.
    fn is_document(&self) -> bool {
        let above = self.path.iter().rev().skip(1);
        self.path.len() > DEPTH_MAX || above.into_iter().any(|part| TEXTS.contains(&part.as_str()))
    }

    /// Whether its path is about accounts, which alone is not a login.
    fn is_about_accounts(&self) -> bool {
        self.path.iter().any(|part| ACCOUNTS.contains(&part.as_str()))
    }

    fn returns_to(&self, asked: &LoginAddress) -> Returns {
        let mut found = Returns::No;
        for (name, value) in &self.query {
            let is_address = value.starts_with('/') || value.contains("://");
            let is_root = asked.whole_path == "/";
            if !is_root && is_address && value.contains(&asked.whole_path) {
                return Returns::ToAsked;
            }
            let known = RETURNS.contains(&name.replace(['_', '-'], "").as_str());
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

/// `login.php`, `login.aspx`, `login;jsessionid=…`: the part itself.
fn without_ending(part: &str) -> &str {
    let part = part.split_once(';').map_or(part, |(part, _)| part);
    match part.rsplit_once('.') {
        Some((name, ending)) if ENDINGS.contains(&ending) => name,
        _ => part,
    }
}

/// Pages of wikis that are called `Special:UserLogin`, whatever the language of the first word.
fn is_special_page(part: &str) -> bool {
    part.rsplit_once(':').is_some_and(|(_, page)| page.starts_with("userlogin"))
}

/// Percent signs decoded, in lower case.
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

/// Parts of a path, and pairs of a query, that are looked at.
const PARTS_MAX: usize = 32;
/// A login is mounted at most this deep.
const DEPTH_MAX: usize = 5;

/// A part of a path that is a login.
const LOGIN_PARTS: [&str; 33] = [
    "login",
    "log-in",
    "log_in",
    "logon",
    "logins",
    "login_form",
    "login-form",
    "loginform",
    "loginpage",
    "login-page",
    "userlogin",
    "user-login",
    "user_login",
    "wp-login",
    "weblogin",
    "dologin",
    "ssologin",
    "signin",
    "sign-in",
    "sign_in",
    "signon",
    "sign-on",
    "sign_on",
    "authenticate",
    "authentication",
    "anmelden",
    "anmeldung",
    "einloggen",
    "connexion",
    "iniciar-sesion",
    "inloggen",
    "require_login",
    "adminlogin",
];
/// Endpoints of protocols that are logins and nothing else.
const ENDPOINTS: [&str; 14] = [
    "/protocol/openid-connect/auth",
    "/protocol/saml",
    "/oauth2/authorize",
    "/oauth2/v2.0/authorize",
    "/oauth/authorize",
    "/oauth2/start",
    "/connect/authorize",
    "/saml2/idp/",
    "/saml/login",
    "/saml2/login",
    "/shibboleth.sso/login",
    "/idp/profile/",
    "/adfs/ls",
    "/cdn-cgi/access/login",
];
/// Hosts that are logins and nothing else.
const LOGIN_HOSTS: [&str; 8] = [
    "login.microsoftonline.com",
    "login.microsoftonline.us",
    "login.live.com",
    "login.windows.net",
    "login.salesforce.com",
    "signin.aws.amazon.com",
    "appleid.apple.com",
    "login.yahoo.com",
];
/// Parts that are about accounts: a login if the address that was asked for comes along.
const ACCOUNTS: [&str; 16] = [
    "account", "accounts", "auth", "sso", "oauth", "oauth2", "oidc", "openid", "saml", "saml2",
    "cas", "idp", "identity", "session", "sessions", "members",
];
/// Parts above a page about logins.
const TEXTS: [&str; 32] = [
    "doc",
    "docs",
    "documentation",
    "help",
    "guide",
    "guides",
    "manual",
    "manuals",
    "reference",
    "blog",
    "blogs",
    "wiki",
    "kb",
    "knowledge",
    "knowledgebase",
    "support",
    "learn",
    "tutorial",
    "tutorials",
    "article",
    "articles",
    "faq",
    "news",
    "post",
    "posts",
    "topics",
    "tag",
    "tags",
    "category",
    "questions",
    "html",
    "stable",
];
/// Names of queries that hold a return address, without lines between their words.
const RETURNS: [&str; 34] = [
    "next",
    "nexturl",
    "return",
    "returnto",
    "returnurl",
    "returnuri",
    "returnpath",
    "returnpage",
    "redirect",
    "redirectto",
    "redirecturl",
    "redirecturi",
    "redirectafterlogin",
    "redir",
    "continue",
    "goto",
    "from",
    "service",
    "target",
    "targeturl",
    "back",
    "backurl",
    "backto",
    "url",
    "uri",
    "ref",
    "referer",
    "referrer",
    "destination",
    "dest",
    "camefrom",
    "relaystate",
    "originalurl",
    "ru",
];
/// Names of queries that say what the page does.
const ACTIONS: [&str; 17] = [
    "action",
    "act",
    "do",
    "page",
    "p",
    "route",
    "r",
    "q",
    "view",
    "mode",
    "task",
    "module",
    "title",
    "op",
    "cmd",
    "controller",
    "path",
];
const ENDINGS: [&str; 15] = [
    "php", "html", "htm", "xhtml", "asp", "aspx", "jsp", "jsf", "do", "action", "cgi", "pl", "cfm",
    "seam", "faces",
];

/// What titles, headings and buttons of logins say, in lower case.
const SAYS_LOGIN: [&str; 52] = [
    "login",
    "log in",
    "log-in",
    "log on",
    "logon",
    "sign in",
    "sign-in",
    "signin",
    "sign on",
    "authenticat",
    "anmelden",
    "anmeldung",
    "einloggen",
    "connexion",
    "se connecter",
    "connectez-vous",
    "identifiez-vous",
    "iniciar sesi",
    "inicie sesi",
    "inicia sesi",
    "acceder",
    "iniciar sess",
    "entrar",
    "accedi",
    "accesso",
    "inloggen",
    "aanmelden",
    "logga in",
    "log ind",
    "logg inn",
    "kirjaudu",
    "zaloguj",
    "logowanie",
    "přihlá",
    "prihlás",
    "bejelentkez",
    "autentific",
    "вход",
    "войти",
    "войдите",
    "увійти",
    "giriş",
    "oturum aç",
    "ログイン",
    "サインイン",
    "登录",
    "登入",
    "登錄",
    "로그인",
    "تسجيل الدخول",
    "đăng nhập",
    "σύνδεση",
];
/// What those of registrations say.
const SAYS_REGISTRATION: [&str; 17] = [
    "install",
    "sign up",
    "signup",
    "sign-up",
    "register",
    "registr",
    "create account",
    "create an account",
    "create your account",
    "new account",
    "join ",
    "inscri",
    "konto erstellen",
    "reset",
    "change password",
    "crear cuenta",
    "新規登録",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(asked: &str, target: &str, expected: bool) {
        let asked = CrawlUrl::parse(&format!("https://example.org{asked}")).unwrap();
        let to = asked.join(target).unwrap();
        assert_eq!(leads_to_login(&asked, &to), expected, "{asked} to {to}");
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
