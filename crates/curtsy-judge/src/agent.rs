//! Finds the name of a program in its user agent.

/// The kind of a user agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AgentKind {
    /// A program with a name of its own.
    Robot,
    /// A browser, or a program that looks like one.
    Browser,
    /// No user agent was sent.
    Nameless,
}

/// Returns the name in a user agent, and the kind of the program.
///
/// A robot's name is its product token: the first word of `wget/1.21`, or in a text that begins
/// like a browser's, the word after `compatible;` or before a contact. Browsers have no name of
/// their own.
///
/// ```
/// use curtsy_judge::{AgentKind, agent_of};
///
/// let google = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
/// assert_eq!(agent_of(Some(google)), ("Googlebot", AgentKind::Robot));
/// assert_eq!(agent_of(Some("Wget/1.21.3")), ("Wget", AgentKind::Robot));
/// ```
pub fn agent_of(user_agent: Option<&str>) -> (&str, AgentKind) {
    let Some(text) = user_agent.map(str::trim).filter(|text| !text.is_empty()) else {
        return (NAMELESS, AgentKind::Nameless);
    };
    let first = name_in(text);
    let like_a_browser = ["Mozilla", "Opera"].iter().any(|name| name.eq_ignore_ascii_case(first));
    if !like_a_browser {
        // A name of special characters only still differs from other names.
        return (if first.is_empty() { text } else { first }, AgentKind::Robot);
    }
    match robot_in_browser(text) {
        Some(name) => (name, AgentKind::Robot),
        None => (BROWSERS, AgentKind::Browser),
    }
}

/// Returns the robot that is named in the comments of a user agent like a browser's.
fn robot_in_browser(text: &str) -> Option<&str> {
    let comments = text.split('(').skip(1).map(|part| part.split(')').next().unwrap_or(part));
    comments.filter_map(robot_in_comment).last()
}

fn robot_in_comment(comment: &str) -> Option<&str> {
    let parts: Vec<&str> = comment.split(';').map(str::trim).collect();
    if let Some(at) = parts.iter().position(|part| part.eq_ignore_ascii_case("compatible")) {
        return parts.get(at + 1).and_then(|part| robot_named(part));
    }
    // `(Applebot/0.1; +http://www.apple.com/go/applebot)`
    let contact = parts.iter().any(|part| part.starts_with('+') || part.starts_with("http"));
    let product = parts.iter().find(|part| part.contains('/') && !part.contains("://"));
    product.filter(|_| contact).and_then(|part| robot_named(part))
}

fn robot_named(part: &str) -> Option<&str> {
    Some(name_in(part)).filter(|name| !name.is_empty() && !OLD_BROWSERS.contains(name))
}

/// Returns whether a user agent has a contact: a page or a mail address.
pub(crate) fn has_contact(user_agent: &str) -> bool {
    ["://", "@", "(+", "www."].iter().any(|sign| user_agent.contains(sign))
}

/// Returns the word at the beginning of a product: letters, digits and a few other characters.
fn name_in(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || "-_.!~".contains(c)));
    &text[..end.unwrap_or(text.len())]
}

/// The name of all browsers together.
pub(crate) const BROWSERS: &str = "browsers";
const NAMELESS: &str = "no user agent";
const OLD_BROWSERS: [&str; 2] = ["MSIE", "Konqueror"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_are_known_by_their_product() {
        for (text, name) in [
            ("Wget/1.21.3", "Wget"),
            ("wget2/2.0.0", "wget2"),
            ("curl/7.88.1", "curl"),
            ("Scrapy/2.11 (+https://scrapy.org)", "Scrapy"),
            ("python-requests/2.31.0", "python-requests"),
            ("Googlebot-Image/1.0", "Googlebot-Image"),
            ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bingbot"),
            (
                "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
                "GPTBot",
            ),
            (
                "Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                "Googlebot",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_1) Safari/600.2.5 (Applebot/0.1; +http://www.apple.com/go/applebot)",
                "Applebot",
            ),
        ] {
            assert_eq!(agent_of(Some(text)), (name, AgentKind::Robot), "{text}");
        }
        for text in [
            "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0",
            "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
            "Opera/9.80 (X11; Linux i686) Presto/2.12.388 Version/12.16",
        ] {
            assert_eq!(agent_of(Some(text)), (BROWSERS, AgentKind::Browser), "{text}");
        }
        assert_eq!(agent_of(None).1, AgentKind::Nameless);
        assert_eq!(agent_of(Some("((")), ("((", AgentKind::Robot));
    }
}
