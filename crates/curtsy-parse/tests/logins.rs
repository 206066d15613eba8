//! Pages that are a login, and pages that also have one. All of them were written for this test.

use curtsy_core::url::CrawlUrl;
use curtsy_parse::html::{HtmlPage, PageLimits};

#[track_caller]
fn check(name: &str, html: &str, expected: bool) {
    let url = CrawlUrl::parse("https://example.org/reports").unwrap();
    let page = HtmlPage::read(
        &url,
        Some("text/html; charset=utf-8"),
        html.as_bytes(),
        &PageLimits::default(),
    );
    assert_eq!(page.login, expected, "{name}: {}", &html[..html.len().min(2000)]);
}

/// Returns the text of an article, `n` times.
fn prose(n: usize) -> String {
    "<p>The harbour wall was built in three summers, and every stone of it came by boat.</p>"
        .repeat(n)
}

fn form(inside: &str) -> String {
    format!("<form action=/session method=post>{inside}<button>Go on</button></form>")
}

const ONE: &str =
    "<label>Name <input name=user></label><label>Password <input type=password name=pw></label>";

#[test]
fn a_form_with_a_password_and_hardly_anything_else_is_a_login() {
    check("plain", &format!("<title>Members</title><h1>Members</h1>{}", form(ONE)), true);
    check("in capitals", &form("<INPUT NAME=user><INPUT TYPE=PASSWORD NAME=pw>"), true);
    check("password alone", &form("<p>This page is protected.</p><input type=password>"), true);
    let framed = format!(
        "<title>Sign in – Town library</title><nav>{}</nav><main><h1>Sign in</h1>{}<a href=/lost>Lost your password?</a></main><footer>{}</footer>",
        "<a href=/x>Catalogue</a>".repeat(40),
        form(ONE),
        "<a href=/y>Imprint</a> Open on weekdays. ".repeat(9),
    );
    check("in a site's frame", &framed, true);
    let foreign = format!(
        "<title>Anmelden</title><div id=frame>{}<ul>{}</ul></div>",
        form(ONE),
        "<li><a href=/x>Seite</a>".repeat(60)
    );
    check("in a frame without sections", &foreign, true);
    check(
        "without a form",
        &format!("<div>{ONE}<a class='btn btn-big' href='#'>In</a></div>"),
        true,
    );
    let join = format!("{}<p>No account? <a href=/join>Sign up</a></p>", form(ONE));
    check("with the way to a registration", &format!("<title>Log in</title>{join}"), true);
    let code = form(&format!("{ONE}<input name=realm><input name=code inputmode=numeric>"));
    check("with a realm and a code", &code, true);
}

#[test]
fn a_page_that_has_a_login_beside_its_text_is_a_page() {
    let small = form(ONE);
    check(
        "a blog's sidebar",
        &format!("<title>Stones</title><article>{}</article><aside>{small}</aside>", prose(9)),
        false,
    );
    check(
        "a short post, sidebar",
        &format!(
            "<title>Stones</title><article>{}</article><div class=sidebar>{small}</div>",
            prose(1)
        ),
        false,
    );
    check(
        "a forum's header",
        &format!(
            "<title>Board</title><header>{small}</header><ul>{}</ul>",
            "<li><a href=/t/1>A thread</a> by anna, 7 answers".repeat(20)
        ),
        false,
    );
    check(
        "a quick login, short page",
        &format!(
            "<title>Thank you</title><div id=quick-login>{small}</div><p>Your order has arrived with us.</p>"
        ),
        false,
    );
    check(
        "a shop's menu",
        &format!(
            "<title>Cups</title><nav><div class=dropdown>{small}</div></nav><h1>Cups</h1><ul>{}</ul>",
            "<li><a href=/cup>A blue cup</a> 7.50 <form><button>Buy</button></form>".repeat(20)
        ),
        false,
    );
    check(
        "a box that opens",
        &format!("<title>Home</title><dialog>{small}</dialog><h1>Welcome</h1>{}", prose(1)),
        false,
    );
    check(
        "an article about logins",
        &format!(
            "<title>How a login works</title><h1>How to sign in safely</h1>{}{small}",
            prose(12)
        ),
        false,
    );
    check(
        "its short form, login in the header",
        &format!("<title>How to sign in</title><header>{small}</header>{}", prose(5)),
        false,
    );
    check(
        "a tutorial",
        &format!(
            "<h1>The password field</h1>{}<pre>&lt;input type=password></pre>{small}",
            prose(8)
        ),
        false,
    );
    check(
        "an example as text",
        "<h1>Forms</h1><pre>&lt;form>&lt;input type=\"password\">&lt;button></pre>",
        false,
    );
    check(
        "in a script, a comment, a template",
        &format!(
            "<p>Hi</p><script>'{small}'</script><!--{small}--><template>{small}</template><textarea>{small}</textarea>"
        ),
        false,
    );
}

#[test]
fn other_forms_with_a_password_are_no_login() {
    let register =
        form(&format!("{ONE}<input name=mail type=email><input name=first><input name=last>"));
    check("a registration", &format!("<title>Join us</title>{register}"), false);
    let new = form("<input name=user><input type=password autocomplete=new-password>");
    check("a registration by its field", &new, false);
    check(
        "a registration by its words",
        &format!("<title>Create an account</title>{}", form(ONE)),
        false,
    );
    let change = form(
        "<input type=password name=old><input type=password name=new><input type=password name=again>",
    );
    check("a change of password", &format!("<title>Change password</title>{change}"), false);
    let settings = format!(
        "{}<form><input name=a><input name=b><input name=c><button>Save</button></form>",
        form(ONE)
    );
    check("a page of forms", &settings, false);
    check("nothing to send", "<p><input name=user><input type=password></p>", false);
}

#[test]
fn a_page_of_nothing_but_tags_is_read_in_its_own_length() {
    let deep = format!("<input type=password>{}", "<div>".repeat(200_000));
    check("deep", &deep, false);
    let many = format!("{}<input type=password>", "<form><button>".repeat(50_000));
    check("many forms", &many, true);
    check("ends", &"</div></form>".repeat(50_000).to_string(), false);
}
