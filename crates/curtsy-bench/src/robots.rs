//! robots.txt files: ordinary ones of two sizes, and the worst that fit in 500 KiB.

use std::fmt::Write;

use curtsy_core::robots::ROBOTS_BYTES_MAX;

/// The product token for every file.
pub const PRODUCT: &str = "curtsy";

/// An ordinary path, for the ordinary files.
pub const PATH: &str = "/shop/garden/chairs/oak-folding-chair-2841.html?color=green&page=3";

/// The path as a URL, for peers that need one.
pub const URL: &str =
    "https://shop.example/shop/garden/chairs/oak-folding-chair-2841.html?color=green&page=3";

/// Returns an ordinary file: about 2 KB, a few groups, comments, wildcards, a sitemap.
pub fn typical() -> String {
    file(2_000)
}

/// Returns the file of a very large site: about 60 KB.
pub fn large() -> String {
    file(60_000)
}

fn file(bytes: usize) -> String {
    let mut chance = FileChance(7);
    let mut text =
        String::from("# robots.txt of shop.example\n# Please write to web@shop.example first.\n\n");
    for agent in ["AdsBot-Google", "bingbot", "SemrushBot"] {
        let _ = write!(
            text,
            "User-agent: {agent}\nCrawl-delay: 2\nDisallow: /checkout/\nDisallow: /*?session=\n\n"
        );
    }
    text.push_str("User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: *\nContent-Signal: search=yes, ai-train=no\n");
    let words = [
        "account", "cart", "search", "compare", "print", "review", "archive", "feed", "login",
        "shop", "tag", "ajax",
    ];
    let word = |chance: &mut FileChance| {
        format!("{}-{}", words[chance.below(words.len())], chance.below(97))
    };
    while text.len() + 120 < bytes {
        let (a, b) = (word(&mut chance), word(&mut chance));
        let _ = match chance.below(10) {
            0 => writeln!(text, "# {a} and {b}: no content of their own"),
            1 => writeln!(text, "Allow: /{a}/{b}/*.css$"),
            2 => writeln!(text, "Disallow: /*?{a}="),
            3 => writeln!(text, "Disallow: /{a}/*/{b}"),
            4 => writeln!(text, "Disallow: /*.{}$", a.split_once('-').map_or("pdf", |(w, _)| w)),
            5 => writeln!(text, "Allow: /{a}/{b}.html"),
            _ => writeln!(text, "Disallow: /{a}/{b}/"),
        };
    }
    text.push_str("\nSitemap: https://shop.example/sitemap-index.xml\nSitemap: https://shop.example/news.xml\n");
    text
}

/// A hostile file of 500 KiB and a path of 2,000 octets.
pub struct Worst {
    /// What is hostile about it.
    pub name: &'static str,
    /// The file.
    pub text: Vec<u8>,
    /// The path.
    pub path: String,
}

/// Returns all known hostile files.
pub fn worst() -> Vec<Worst> {
    let ab = format!("/{}", "ab".repeat(999));
    let unary = format!("/b{}", "a".repeat(1998));
    let mut chance = FileChance(11);
    let mixed: String = std::iter::once('/')
        .chain((0..1999).map(|_| char::from(b'a' + chance.below(26) as u8)))
        .collect();
    let binary: String = std::iter::once('/')
        .chain((0..1999).map(|_| char::from(b'a' + chance.below(2) as u8)))
        .collect();
    let half: String = format!("/{}{}", "a".repeat(1000), &binary[1..1000]);
    let escapes = format!("/{}", "%C3%A4".repeat(333));
    let (a, b) = (format!("{}b", "a".repeat(15)), format!("{}c", "a".repeat(15)));
    let blocks = format!("/{}9", steps(&mut chance, 124, &[&a, &b]));
    let part = |chance: &mut FileChance, of: &str, len: usize| {
        let at = chance.below(of.len() - len);
        of[at..at + len].to_owned()
    };
    vec![
        fill("the same short rule again and again", &mixed, |_, _| "/".to_owned()),
        fill("different plain rules", &mixed, |_, n| format!("/{}", number(n))),
        fill("plain rules, each the start of the next", &unary, |_, n| {
            format!("/b{}", "a".repeat(n))
        }),
        fill("rules with one star, none found", &mixed, |_, n| format!("*{}9", number(n))),
        fill("rules with two stars and a dollar", &mixed, |_, n| {
            format!("/*f{}*r{}$", number(n), number(n * 7))
        }),
        fill("all steps found but the last", &mixed, |c, _| {
            let (one, two) = (2 + c.below(8), 2 + c.below(8));
            format!("*{}*{}*9", part(c, &mixed, one), part(c, &mixed, two))
        }),
        fill("all steps found, but not in this order", &mixed, |c, _| {
            let (one, two) = (2 + c.below(8), 2 + c.below(8));
            format!("*{}*{}", part(c, &mixed[1_000..], one), part(c, &mixed[..1_000], two))
        }),
        fill("three steps, the last one too early", &mixed, |c, _| {
            let (one, two, three) = (3 + c.below(5), 3 + c.below(5), 4 + c.below(4));
            let (one, two) = (part(c, &mixed[500..1_000], one), part(c, &mixed[1_000..], two));
            format!("*{one}*{two}*{}", part(c, &mixed[..500], three))
        }),
        fill("two long steps, the last one too early", &mixed, |c, _| {
            let (one, two) = (17 + c.below(9), 17 + c.below(9));
            format!("*{}*{}", part(c, &mixed[1_000..], one), part(c, &mixed[..1_000], two))
        }),
        fill("blocks of 16 in another order", &blocks, |c, _| {
            format!("*{}*9b", steps(c, 7, &[&a, &b]))
        }),
        fill("steps of every length up to 40, found", &mixed, |c, _| {
            let len = 1 + c.below(40);
            format!("*{}*zz9", part(c, &mixed, len))
        }),
        fill("*a*a*a... one longer each time", &unary, |_, n| format!("/{}$", "*a".repeat(n + 1))),
        fill("*a*a*a... in lines of 16 KB", &unary, |_, n| {
            format!("/{}b$", "*a".repeat(8_000 - n))
        }),
        fill("*a*b*b*a... by chance, 900 steps", &ab, |c, _| steps(c, 900, &["*a", "*b"]) + "*9"),
        fill("*a*b*b*a... by chance, 1,400 steps", &ab, |c, _| steps(c, 1_400, &["*a", "*b"])),
        fill("*a*b*b*a... by chance, 12 steps", &binary, |c, _| steps(c, 12, &["*a", "*b"]) + "*9"),
        fill("*ab*ba*ab... by chance, 600 steps", &ab, |c, _| {
            steps(c, 600, &["*ab", "*ba"]) + "*9"
        }),
        fill("*ab*ba*ab... by chance, 8 steps", &binary, |c, _| {
            steps(c, 8, &["*ab", "*ba", "*aa", "*bb"]) + "9"
        }),
        fill("steps of 14 out of two letters", &binary, |c, _| {
            format!("*{}*9", steps(c, 14, &["a", "b"]))
        }),
        fill("two steps of 8 out of two letters", &binary, |c, _| {
            format!("*{}*{}*9", steps(c, 8, &["a", "b"]), steps(c, 9, &["a", "b"]))
        }),
        fill("*a*aa*aaa...*b in every order", &unary, |c, _| {
            steps(c, 9, &["a", "a", "*a"]).replacen('a', "*a", 1) + "*b"
        }),
        fill("steps that agree in 16 letters", &half, |c, _| {
            format!("*{}{}", "a".repeat(16), part(c, &binary[500..1000], 15))
        }),
        fill("long steps with one letter wrong", &unary, |c, n| {
            format!("*{}b{}", "a".repeat(1 + n % 200), "a".repeat(c.below(200)))
        }),
        fill("octets outside ASCII", &escapes, |c, _| {
            steps(c, 6, &["*\u{e4}", "\u{e4}", "*\u{e4}\u{e4}"]) + "*\u{f6}"
        }),
        Worst { name: "agents without end, and one rule", text: agents(), path: mixed },
    ]
}

/// Returns a file with as many rules as fit, for every agent.
fn fill(
    name: &'static str,
    path: &str,
    mut rule: impl FnMut(&mut FileChance, usize) -> String,
) -> Worst {
    let mut chance = FileChance(3);
    let mut text = b"User-agent:*\n".to_vec();
    for n in 0.. {
        // Every tenth rule is an Allow. A matching rule of either kind should not end the search
        // early.
        let key = if n % 10 == 0 { "Allow" } else { "Disallow" };
        let line = format!("{key}:{}\n", rule(&mut chance, n));
        if text.len() + line.len() > ROBOTS_BYTES_MAX {
            break;
        }
        text.extend_from_slice(line.as_bytes());
    }
    Worst { name, text, path: path.to_owned() }
}

fn agents() -> Vec<u8> {
    let mut text = String::new();
    let mut n = 0;
    while text.len() + 100 < ROBOTS_BYTES_MAX {
        let _ = writeln!(text, "useragent:{}", number(n));
        n += 1;
    }
    text.push_str("User-agent: *\nDisallow: /\n");
    text.into_bytes()
}

fn steps(chance: &mut FileChance, count: usize, of: &[&str]) -> String {
    (0..count).map(|_| of[chance.below(of.len())]).collect()
}

/// Returns a number in few letters.
fn number(mut n: usize) -> String {
    let mut letters = String::new();
    loop {
        letters.push(char::from(b'a' + (n % 26) as u8));
        n /= 26;
        if n == 0 {
            return letters;
        }
    }
}

/// Pseudo-random numbers, the same every time.
struct FileChance(u64);

impl FileChance {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}
