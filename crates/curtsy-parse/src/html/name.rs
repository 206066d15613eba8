//! Element names as numbers, and the classes of the standard.
//!
//! A page has hundreds of tags, and the tree builder compares each name often. So a name is one
//! number: the bytes themselves up to eight, a hash beyond. Two longer unknown names with one hash
//! are confused. A page that arranges this only gets a wrong nesting of its own.

/// The name of an element, without ASCII case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementName(u64);

impl ElementName {
    pub(super) const fn of(text: &[u8]) -> ElementName {
        let mut number: u64 = if text.len() <= 8 { 0 } else { OFFSET };
        let mut at = 0;
        while at < text.len() {
            let byte = text[at].to_ascii_lowercase() as u64;
            number = match text.len() <= 8 {
                true => number << 8 | byte,
                // FNV-1a
                false => (number ^ byte).wrapping_mul(0x0000_0100_0000_01b3),
            };
            at += 1;
        }
        ElementName(if text.len() <= 8 { number } else { number | 1 << 63 })
    }

    /// Returns the name at the start of a text, and its length.
    pub(super) fn at(text: &[u8], is_end: impl Fn(u8) -> bool) -> (ElementName, usize) {
        let mut number = 0;
        let mut length = 0;
        while let Some(&byte) = text.get(length)
            && !is_end(byte)
        {
            number = number << 8 | u64::from(byte.to_ascii_lowercase());
            length += 1;
        }
        (if length <= 8 { ElementName(number) } else { ElementName::of(&text[..length]) }, length)
    }

    /// Returns the name in lower case of an HTML element whose content is text only, apart from
    /// `script`.
    pub(super) const fn raw_text(self) -> Option<&'static str> {
        Some(match self {
            STYLE => "style",
            TITLE => "title",
            TEXTAREA => "textarea",
            XMP => "xmp",
            IFRAME => "iframe",
            NOEMBED => "noembed",
            NOFRAMES => "noframes",
            _ => return None,
        })
    }

    /// Returns the classes of an HTML element of this name.
    pub(super) const fn html_kinds(self) -> u32 {
        match self {
            HTML => SPECIAL | SCOPE | TABLE_SCOPE | KEPT,
            TABLE | TEMPLATE => SPECIAL | SCOPE | TABLE_SCOPE,
            CAPTION | TD | TH => SPECIAL | SCOPE | THOROUGH,
            APPLET | MARQUEE | OBJECT | SELECT => SPECIAL | SCOPE,
            OL | UL => SPECIAL | LIST_SCOPE,
            BUTTON => SPECIAL | BUTTON_SCOPE,
            LI | DD | DT => SPECIAL | IMPLIED,
            P | ADDRESS | DIV => SPECIAL | PASSED | if matches!(self, P) { IMPLIED } else { 0 },
            OPTION | OPTGROUP | RB | RP | RT | RTC => IMPLIED,
            COLGROUP | TBODY | TFOOT | THEAD | TR => SPECIAL | THOROUGH,
            H1 | H2 | H3 | H4 | H5 | H6 => SPECIAL | HEADING,
            HEAD | BODY | FORM => SPECIAL | KEPT,
            A | B | BIG | CODE | EM | FONT | I | NOBR | S | SMALL | STRIKE | STRONG | TT | U => {
                FORMATTING
            }
            AREA | ARTICLE | ASIDE | BASE | BASEFONT | BGSOUND | BLOCKQUOTE | BR | CENTER | COL
            | DETAILS | DIR | DL | EMBED | FIELDSET | FIGCAPTION | FIGURE | FOOTER | FRAME
            | FRAMESET | HEADER | HGROUP | HR | IFRAME | IMG | INPUT | KEYGEN | LINK | LISTING
            | MAIN | MENU | META | NAV | NOEMBED | NOFRAMES | NOSCRIPT | PARAM | PLAINTEXT
            | PRE | SCRIPT | SEARCH | SECTION | SOURCE | STYLE | SUMMARY | TEXTAREA | TITLE
            | TRACK | WBR | XMP => SPECIAL,
            _ => 0,
        }
    }

    /// Returns the classes of an SVG element of this name.
    pub(super) const fn svg_kinds(self) -> u32 {
        match self {
            FOREIGN_OBJECT | DESC | TITLE => SVG | SPECIAL | SCOPE | HTML_POINT,
            _ => SVG,
        }
    }

    /// Returns the classes of a MathML element of this name, except for `annotation-xml`, where an
    /// attribute decides about [`HTML_POINT`].
    pub(super) const fn math_kinds(self) -> u32 {
        match self {
            MI | MO | MN | MS | MTEXT => MATH | SPECIAL | SCOPE | TEXT_POINT,
            ANNOTATION_XML => MATH | SPECIAL | SCOPE,
            _ => MATH,
        }
    }
}

/// The start of FNV-1a.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// Elements without content.
pub(super) const VOID: [ElementName; 13] =
    [AREA, BASE, BR, COL, EMBED, HR, IMG, INPUT, LINK, META, SOURCE, TRACK, WBR];

/// "Special" in the standard.
pub(super) const SPECIAL: u32 = 1;
/// Ends the search of "has an element in scope".
pub(super) const SCOPE: u32 = 1 << 1;
/// The same in list item scope, with [`SCOPE`].
pub(super) const LIST_SCOPE: u32 = 1 << 2;
/// The same in button scope, with [`SCOPE`].
pub(super) const BUTTON_SCOPE: u32 = 1 << 3;
/// The same in table scope, alone.
pub(super) const TABLE_SCOPE: u32 = 1 << 4;
/// Closed by "generate implied end tags".
pub(super) const IMPLIED: u32 = 1 << 5;
/// Closed by the thorough form of it, with [`IMPLIED`].
pub(super) const THOROUGH: u32 = 1 << 6;
/// `h1` to `h6`.
pub(super) const HEADING: u32 = 1 << 7;
/// May be opened again after its end.
pub(super) const FORMATTING: u32 = 1 << 8;
/// Special, but `li`, `dd` and `dt` do not stop at it.
pub(super) const PASSED: u32 = 1 << 9;
/// May be referred to after its end.
pub(super) const KEPT: u32 = 1 << 10;
/// In SVG.
pub(super) const SVG: u32 = 1 << 11;
/// In MathML.
pub(super) const MATH: u32 = 1 << 12;
/// "HTML integration point".
pub(super) const HTML_POINT: u32 = 1 << 13;
/// "MathML text integration point".
pub(super) const TEXT_POINT: u32 = 1 << 14;

macro_rules! names {
    ($($name:ident $text:literal,)*) => {
        $(pub(super) const $name: ElementName = ElementName::of($text.as_bytes());)*
    };
}

names! {
    A "a", ADDRESS "address", ANNOTATION_XML "annotation-xml", APPLET "applet", AREA "area", ARTICLE "article", ASIDE "aside", AUDIO "audio",
    B "b", BASE "base", BASEFONT "basefont", BGSOUND "bgsound", BIG "big", BLOCKQUOTE "blockquote", BODY "body", BR "br",
    BUTTON "button", CAPTION "caption", CENTER "center", CODE "code", COL "col", COLGROUP "colgroup", DD "dd", DESC "desc",
    DETAILS "details", DIALOG "dialog", DIR "dir", DIV "div", DL "dl", DT "dt", EM "em", EMBED "embed", FIELDSET "fieldset",
    FIGCAPTION "figcaption", FIGURE "figure", FONT "font", FOOTER "footer", FOREIGN_OBJECT "foreignobject", FORM "form",
    FRAME "frame", FRAMESET "frameset", H1 "h1", H2 "h2", H3 "h3", H4 "h4", H5 "h5", H6 "h6", HEAD "head", HEADER "header",
    HGROUP "hgroup", HR "hr", HTML "html", I "i", IFRAME "iframe", IMAGE "image", IMG "img", INPUT "input", KEYGEN "keygen",
    LEGEND "legend", LI "li", LINK "link", LISTING "listing", MAIN "main", MALIGNMARK "malignmark", MARQUEE "marquee", MATH_ROOT "math",
    MENU "menu", META "meta", MGLYPH "mglyph", MI "mi", MN "mn", MO "mo", MS "ms", MTEXT "mtext", NAV "nav", NOBR "nobr",
    NOEMBED "noembed", NOFRAMES "noframes", NOSCRIPT "noscript", OBJECT "object", OL "ol", OPTGROUP "optgroup",
    OPTION "option", P "p", PARAM "param", PLAINTEXT "plaintext", PRE "pre", RB "rb", RP "rp", RT "rt", RTC "rtc", RUBY "ruby",
    S "s", SCRIPT "script", SEARCH "search", SECTION "section", SELECT "select", SMALL "small", SOURCE "source", SPAN "span",
    STRIKE "strike", STRONG "strong", STYLE "style", SUB "sub", SUMMARY "summary", SUP "sup", SVG_ROOT "svg", TABLE "table",
    TBODY "tbody", TD "td", TEMPLATE "template", TEXTAREA "textarea", TFOOT "tfoot", TH "th", THEAD "thead", TITLE "title",
    TR "tr", TRACK "track", TT "tt", U "u", UL "ul", USE "use", VAR "var", VIDEO "video", WBR "wbr", XMP "xmp",
}
