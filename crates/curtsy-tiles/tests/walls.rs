//! Ordinary pages behind the vendors of bot walls are not taken for walls: every page of the
//! corpus, as each vendor would pass it on.

// The corpus is files.
#![allow(clippy::disallowed_methods)]

use std::path::Path;

use curtsy_parse::challenge::wall;

/// What a vendor adds to an ordinary answer: headers, and a script in the page.
struct Passed {
    vendor: &'static str,
    headers: &'static [(&'static str, &'static str)],
    script: &'static str,
}

/// As vendors document them; none of it means that a visitor was stopped.
const VENDORS: &[Passed] = &[
    Passed {
        vendor: "cloudflare",
        headers: &[
            ("server", "cloudflare"),
            ("cf-ray", "88aa11bb22cc33dd-FRA"),
            ("cf-cache-status", "DYNAMIC"),
        ],
        script: "<script defer src=\"/cdn-cgi/challenge-platform/scripts/jsd/main.js\"></script><script defer src=\"https://static.cloudflareinsights.com/beacon.min.js\"></script>",
    },
    Passed {
        vendor: "cloudflare turnstile in a form",
        headers: &[("server", "cloudflare"), ("cf-ray", "88aa11bb22cc33dd-FRA")],
        script: "<form><div class=\"cf-turnstile\" data-sitekey=\"x\"></div></form><script src=\"https://challenges.cloudflare.com/turnstile/v0/api.js\" async defer></script>",
    },
    Passed {
        vendor: "akamai",
        headers: &[
            ("server", "AkamaiNetStorage"),
            ("x-akamai-transformed", "9 12345 0 pmb=mRUM,1"),
        ],
        script: "<script>window.bmak = window.bmak || {};</script>",
    },
    Passed {
        vendor: "imperva",
        headers: &[
            ("x-iinfo", "1-2-3 NNNN CT(0 0 0) RT(1 2) q(0 0 0 0) r(1 1) U5"),
            ("x-cdn", "Imperva"),
        ],
        script: "<script src=\"/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3\" async></script>",
    },
    Passed {
        vendor: "datadome",
        headers: &[("x-datadome", "protected"), ("server", "DataDome")],
        script: "<script src=\"https://js.datadome.co/tags.js\" async></script>",
    },
    Passed {
        vendor: "sucuri",
        headers: &[
            ("x-sucuri-id", "11005"),
            ("x-sucuri-cache", "HIT"),
            ("server", "Sucuri/Cloudproxy"),
        ],
        script: "",
    },
    Passed {
        vendor: "aws waf",
        headers: &[
            ("server", "CloudFront"),
            ("via", "1.1 x.cloudfront.net (CloudFront)"),
            ("x-amz-cf-id", "x"),
        ],
        script: "<script type=\"text/javascript\" src=\"https://x.token.awswaf.com/x/challenge.js\" defer></script>",
    },
    Passed {
        vendor: "recaptcha in a form",
        headers: &[("server", "nginx")],
        script: "<form><div class=\"g-recaptcha\" data-sitekey=\"x\"></div></form><script src=\"https://www.google.com/recaptcha/api.js\" async defer></script>",
    },
];

/// Every page of the corpus.
fn pages(folder: &Path, found: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("the corpus").flatten() {
        let path = entry.path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "html") {
            found.push(std::fs::read(path).expect("a page"));
        }
    }
}

#[test]
fn no_ordinary_page_is_taken_for_a_wall() {
    let mut found = Vec::new();
    pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus"), &mut found);
    assert!(found.len() >= 200, "{} pages", found.len());
    let mut mistaken = Vec::new();
    for page in &found {
        for passed in VENDORS {
            let mut body = page.clone();
            body.extend_from_slice(passed.script.as_bytes());
            let headers = passed.headers.iter().copied().chain([("content-type", "text/html")]);
            if let Some(wall) = wall(200, headers, &body) {
                mistaken.push((passed.vendor, wall, body.len()));
            }
        }
    }
    let vendors: std::collections::BTreeSet<_> =
        mistaken.iter().map(|(vendor, ..)| vendor).collect();
    assert!(
        mistaken.is_empty(),
        "{} of {}, behind {vendors:?}: {:?}",
        mistaken.len(),
        found.len() * VENDORS.len(),
        mistaken.first()
    );
}
