//! Recognises bot walls in front of a page.
//!
//! There are two kinds: a *challenge* asks the client to prove itself (a script to run, a puzzle to
//! solve), a *block* refuses it. curtsy never solves or evades them. When it recognises one, it
//! slows down and tells the user.
//!
//! The scripts and cookies of vendors are on their customers' ordinary pages too, and articles
//! quote all of this. So a sign counts only in a header that is sent for nothing else, or in a tag
//! or a script (not in the text) of a response that refuses or has hardly any text of its own. An
//! ordinary page costs one look at its headers.

mod anatomy;
mod signature;

use anatomy::Anatomy;
use signature::{ChallengeSign, SIGNATURES, Signature, SignatureScope};

curtsy_core::word_enum! {
    /// The vendor of a bot wall.
    #[expect(missing_docs, reason = "names of products")]
    pub enum Vendor {
        Akamai = "akamai",
        Aliyun = "aliyun",
        Anubis = "anubis",
        AwsWaf = "aws-waf",
        AzureWaf = "azure-waf",
        Cloudflare = "cloudflare",
        CloudFront = "cloudfront",
        CrowdSec = "crowdsec",
        DataDome = "datadome",
        DdosGuard = "ddos-guard",
        Distil = "distil",
        F5 = "f5",
        Fastly = "fastly",
        FortiWeb = "fortiweb",
        Google = "google",
        HCaptcha = "hcaptcha",
        Imperva = "imperva",
        Imunify360 = "imunify360",
        Kasada = "kasada",
        ModSecurity = "modsecurity",
        PerimeterX = "perimeterx",
        Qrator = "qrator",
        Radware = "radware",
        ReCaptcha = "recaptcha",
        Reblaze = "reblaze",
        SafeLine = "safeline",
        SiteGround = "siteground",
        Sucuri = "sucuri",
        Vercel = "vercel",
        Wordfence = "wordfence",
    }
}

/// The kind of a bot wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WallKind {
    /// The client is asked to prove itself.
    Challenge,
    /// The client is refused.
    Block,
}

/// A bot wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wall {
    /// Whose it is.
    pub vendor: Vendor,
    /// What it wants.
    pub kind: WallKind,
}

/// Recognises a bot wall by the status, the headers and the first 64 KiB of the decoded body.
///
/// ```
/// use curtsy_parse::challenge::{Vendor, WallKind, wall};
/// let headers = [("Server", "cloudflare"), ("CF-Mitigated", "challenge")];
/// let found = wall(403, headers, b"").unwrap();
/// assert_eq!((found.vendor, found.kind), (Vendor::Cloudflare, WallKind::Challenge));
/// assert_eq!(wall(200, [("Server", "cloudflare")], b"<p>an ordinary page"), None);
/// ```
pub fn wall<'h, H>(status: u16, headers: H, body: &[u8]) -> Option<Wall>
where
    H: IntoIterator<Item = (&'h str, &'h str)>,
{
    let mut headers_seen = ChallengeHeaders::default();
    for (name, value) in headers {
        headers_seen.add(name, value);
    }
    let refused = is_refusal(status);
    if !refused && !headers_seen.any() && body.len() > BARE_BODY_BYTES_MAX {
        return None;
    }
    let by_headers = |proof: HeaderProof| {
        let shown = |s: &&Signature| s.header_proof() == Some(proof) && s.has_all_of(&headers_seen);
        SIGNATURES.iter().find(shown).map(Signature::wall)
    };
    let told = by_headers(HeaderProof::Alone)
        .or_else(|| refused.then(|| by_headers(HeaderProof::OfBlock)).flatten());
    if told.is_some() {
        return told;
    }
    if !body.is_empty() && (refused || body.len() <= HINTED_BODY_BYTES_MAX) {
        let anatomy = Anatomy::of(&body[..body.len().min(BODY_BYTES_MAX)]);
        let in_body = |s: &&Signature| s.is_in(&headers_seen, refused, status, &anatomy);
        let found = error_page(&anatomy, refused, status)
            .map(|vendor| Wall { vendor, kind: WallKind::Block })
            .or_else(|| SIGNATURES.iter().find(in_body).map(Signature::wall));
        if found.is_some() {
            return found;
        }
    }
    // A vendor sends the same header with its bans: the body has said which one this is not.
    refused.then(|| by_headers(HeaderProof::OfChallenge)).flatten()
}

/// The response headers that identify a bot wall, in lower case.
#[derive(Default)]
struct ChallengeHeaders {
    headers: Vec<(&'static str, String)>,
}

impl ChallengeHeaders {
    fn add(&mut self, name: &str, value: &str) {
        let Some(name) = WALL_HEADERS.iter().find(|known| known.eq_ignore_ascii_case(name)) else {
            return;
        };
        if self.headers.len() < HEADERS_MAX {
            let value: String = value.chars().take(VALUE_CHARS_MAX).collect();
            self.headers.push((name, value.to_ascii_lowercase()));
        }
    }

    /// Returns whether the body is searched although the status is a success.
    fn any(&self) -> bool {
        self.headers.iter().any(|(name, value)| match *name {
            "server" => ["sucuri", "reblaze", "imunify360"].iter().any(|it| value.contains(it)),
            "set-cookie" => HINTING_COOKIES.iter().any(|start| value.starts_with(start)),
            "cf-ray" | "x-azure-ref" | "x-datadome" => false,
            _ => true,
        })
    }

    fn has(&self, name: &str, part: &str) -> bool {
        self.headers.iter().any(|(known, value)| *known == name && value.contains(part))
    }
}

/// What headers prove without a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeaderProof {
    /// The wall, with any status.
    Alone,
    /// A block, if the response is a refusal.
    OfBlock,
    /// A wall of the vendor, if the response is a refusal. The body may say that it is a block.
    OfChallenge,
}

impl Signature {
    fn wall(&self) -> Wall {
        Wall { vendor: self.vendor, kind: self.kind }
    }

    /// Returns what the signature proves, if headers are enough for it.
    fn header_proof(&self) -> Option<HeaderProof> {
        match (self.scope, self.kind) {
            (SignatureScope::HeadersAlone, _) => Some(HeaderProof::Alone),
            (SignatureScope::HeadersOfRefusal, WallKind::Block) => Some(HeaderProof::OfBlock),
            (SignatureScope::HeadersOfRefusal, WallKind::Challenge) => {
                Some(HeaderProof::OfChallenge)
            }
            _ => None,
        }
    }

    /// Returns whether all signs are headers, and the response has them.
    fn has_all_of(&self, headers_seen: &ChallengeHeaders) -> bool {
        self.signs.iter().all(|sign| match sign {
            ChallengeSign::Header(name, part) => headers_seen.has(name, part),
            _ => false,
        })
    }

    fn is_in(
        &self,
        headers_seen: &ChallengeHeaders,
        refused: bool,
        status: u16,
        anatomy: &Anatomy,
    ) -> bool {
        let text_chars_max = match self.scope {
            SignatureScope::HeadersAlone | SignatureScope::HeadersOfRefusal => return false,
            SignatureScope::Refused if !refused => return false,
            SignatureScope::Refused => REFUSAL_CHARS_MAX,
            SignatureScope::RefusedBare if !matches!(status, 403 | 429 | 503) => return false,
            SignatureScope::RefusedBare => BARE_CHARS_MAX,
            SignatureScope::RefusedOrBare | SignatureScope::RefusedOrEmpty if refused => {
                REFUSAL_CHARS_MAX
            }
            SignatureScope::RefusedOrEmpty => EMPTY_CHARS_MAX,
            SignatureScope::RefusedOrBare => BARE_CHARS_MAX,
            SignatureScope::Structure => REFUSAL_CHARS_MAX,
        };
        anatomy.text_chars <= text_chars_max
            && self.signs.iter().all(|sign| match sign {
                ChallengeSign::Header(name, part) => headers_seen.has(name, part),
                ChallengeSign::Title(part) => anatomy.title.contains(part),
                ChallengeSign::Markup(part) => anatomy.markup.contains(part),
                ChallengeSign::Text(part) => anatomy.text.contains(part),
            })
    }
}

/// Returns the vendor whose own error page refuses the visitor.
fn error_page(anatomy: &Anatomy, refused: bool, status: u16) -> Option<Vendor> {
    if !refused || anatomy.text_chars > REFUSAL_CHARS_MAX {
        return None;
    }
    if cloudflare_code(anatomy).is_some_and(|code| CLOUDFLARE_BANS.contains(&code)) {
        return Some(Vendor::Cloudflare);
    }
    // The page of nginx, with the edge's name where nginx has its own: the request never reached
    // the site, whose server would have signed its page itself.
    let mut words = anatomy.text.split_whitespace();
    let is_bare = status == 403 && words.by_ref().take(2).eq(["403", "forbidden"]);
    match (words.next().filter(|_| is_bare)?, words.next()) {
        ("cloudflare", None) => Some(Vendor::Cloudflare),
        ("ddos-guard", None) => Some(Vendor::DdosGuard),
        (name, None) if name.starts_with("microsoft-azure-application-gateway/") => {
            Some(Vendor::AzureWaf)
        }
        _ => None,
    }
}

/// Returns the number of a Cloudflare error page.
fn cloudflare_code(anatomy: &Anatomy) -> Option<&str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = anatomy.text.trim_start();
    if let Some(code) = text.strip_prefix("error code: ") {
        return Some(&code[..digits(code)]);
    }
    // RFC 9457, for clients that want JSON.
    if text.starts_with('{') && text.contains("\"cloudflare_error\"") {
        let (_, code) = text.split_once("\"error_code\"")?;
        let code = code.trim_start_matches([':', ' ', '"']);
        return Some(&code[..digits(code)]);
    }
    // `<span class="cf-error-code">1020</span>`: the number is text, its frame is markup.
    let framed = CLOUDFLARE_FRAMES.iter().any(|frame| anatomy.markup.contains(frame));
    let mut words = text.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ':']));
    words.find(|word| framed && word.len() == 4 && word.starts_with('1') && digits(word) == 4)
}

/// Returns whether walls use this status. A page that is missing, gone or withheld by law is no
/// wall, nor is a server in trouble.
fn is_refusal(status: u16) -> bool {
    matches!(status, 400..=499 | 503) && !matches!(status, 404 | 410 | 451)
}

/// Elements of Cloudflare's error pages.
const CLOUDFLARE_FRAMES: [&str; 3] = ["cf-error-code", "cf-error-details", "cf-error-type"];

/// The numbers of Cloudflare's error pages that mean that the visitor is refused. The others (1000,
/// 1016, 52x) are trouble between Cloudflare and the site.
const CLOUDFLARE_BANS: [&str; 10] =
    ["1005", "1006", "1007", "1008", "1009", "1010", "1012", "1015", "1020", "1106"];

/// The headers that are read.
const WALL_HEADERS: [&str; 19] = [
    "server",
    "set-cookie",
    "cf-mitigated",
    "cf-ray",
    "location",
    "sg-captcha",
    "x-amzn-waf-action",
    "x-azure-ref",
    "x-cdn",
    "x-datadome",
    "x-dd-b",
    "x-distil-cs",
    "x-iinfo",
    "x-kpsdk-ct",
    "x-kpsdk-cd",
    "x-sigsci-agentresponse",
    "x-sucuri-id",
    "x-sucuri-block",
    "x-vercel-mitigated",
];

/// Cookies of vendors whose walls have a status of success.
#[rustfmt::skip]
const HINTING_COOKIES: [&str; 13] = [
    "incap_ses", "visid_incap", "nlbi_", "ts01", "tspd", "techaro.lol-anubis", "rbzid", "rbzsessionid", "sec_cpt",
    "bm_", "acw_", "wsidchk", "safeline_bot_challenge",
];

/// The longest response with status 2xx and without a wall's header that is searched for signs:
/// pages are longer.
const BARE_BODY_BYTES_MAX: usize = 2_048;
/// The longest response with a wall's header that is searched for signs.
const HINTED_BODY_BYTES_MAX: usize = 16_384;
/// How much of a refusal is searched.
pub(crate) const BODY_BYTES_MAX: usize = 65_536;
/// A page with more text than this, in characters without white space, is an ordinary page.
const BARE_CHARS_MAX: usize = 400;
/// The longest text of a page that only loads a script.
const EMPTY_CHARS_MAX: usize = 40;
/// The longest text of a refusal, which may explain itself.
const REFUSAL_CHARS_MAX: usize = 4_000;
const HEADERS_MAX: usize = 32;
const VALUE_CHARS_MAX: usize = 1_024;
