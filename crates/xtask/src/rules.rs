//! Words and constructions that the documents avoid, each with a reason and better words. A rule's exceptions stand beside it.

/// One rule. Patterns ignore case, and code is hidden from them.
pub(crate) struct Rule {
    pub(crate) pattern: &'static str,
    /// Phrases that contain the pattern and are right.
    pub(crate) except: &'static [&'static str],
    pub(crate) reason: &'static str,
    pub(crate) instead: &'static str,
}

const fn rule(
    pattern: &'static str,
    except: &'static [&'static str],
    reason: &'static str,
    instead: &'static str,
) -> Rule {
    Rule { pattern, except, reason, instead }
}

const VAGUE: &str = "one small verb for many acts";
const ORDER: &str = "needs a second reading";
const NOUN: &str = "a pronoun where a noun belongs";
const PRIVATE: &str = "a private word where the field has a common one";
const BRITISH: &str = "the documents use British spelling";
pub(crate) const DIARY: &str = "a diary belongs in the benchmark history or the commit";

/// Where diaries belong.
pub(crate) const DIARIES: &[&str] = &["docs/internals/benchmark-history.md"];

pub(crate) const RULES: &[Rule] = &[
    // One small verb for many acts.
    rule(r"\b(tell|tells|told|telling)\b", &[], VAGUE, "say, report, print, show, distinguish"),
    rule(
        r"\bask(s|ed|ing)? for\b",
        // A site asks for a wait, and a person for something: both are requests in the common sense.
        // The rule is about requests over HTTP.
        &[
            r"\bask(s|ed|ing)? for (a |an |the |more |\d+ )*(wait|waits|delay|pause|slower pace|more)\b",
            r"\bwaits? that (\S+ ){1,3}asked for\b",
            r"\bask(s|ed|ing)? for (an apology|deletion|the lines|help|a password|your password)\b",
        ],
        VAGUE,
        "request, fetch, require, need",
    ),
    rule(r"\b(make|makes|made|making) of\b", &[], VAGUE, "derive, extract, conclude"),
    rule(
        r"\b(make|makes|making) (\w+ )?(facts|rows|pages|events|links|requests) of\b",
        &[],
        VAGUE,
        "extract … from, turn … into",
    ),
    rule(r"\b(be|is|are|was|were) had\b", &[], VAGUE, "be fetched, be read, be available"),
    rule(r"\b(pass|passes|passed|passing) by\b", &[], VAGUE, "skip, ignore"),
    rule(
        r"\b(go|goes|went|going|gone) with\b",
        &[],
        VAGUE,
        "belong to, accompany, be removed with, match",
    ),
    rule(
        r"\b(will|would|may|might) do\b",
        // "What a crawl would do" has an object.
        &[r"\b(what|this|that|than) (\S+ ){1,4}(will|would|may|might) do\b"],
        VAGUE,
        "be enough, be allowed, work",
    ),
    rule(r"\btak(e|es|en|ing) (none|nothing) away\b", &[], VAGUE, "never delete"),
    rule(r"\bleave to\b", &[r"\bleave to (the|a|its|your) "], PRIVATE, "permission to"),
    // Pronouns.
    rule(r"\b(whoever|whomever)\b", &[], NOUN, "name the person: a user, an operator"),
    rule(r"\bwhatever\b", &[], NOUN, "any, every, even if, and the noun"),
    rule(r"\b(that|those) which\b", &[], NOUN, "the noun: the page that"),
    rule(
        r"\bof it\b",
        &[r"\b(because|instead|ahead|independent|regardless) of it\b"],
        NOUN,
        "the noun: of the page, its",
    ),
    rule(
        r"\b(is|are|was|were) (said|spoken|kept|left|known|seen) of\b",
        &[],
        ORDER,
        "subject, verb, object",
    ),
    rule(r"\bnobody else\b", &[], NOUN, "no other host, no other process"),
    // Order.
    rule(r"\bbut for\b", &[], ORDER, "except"),
    rule(
        r"\b(a|an|the|this) \w+ (is|was) no \w+",
        &[
            r"\b(is|was) no (longer|more|less|later|earlier|bigger|larger|faster|slower|different|other|better|worse|such)\b",
        ],
        ORDER,
        "is not a …",
    ),
    rule(r"\bbeside (them|it|these|this)\b", &[], ORDER, "also"),
    rule(r"\bas well may\b|\bnot so much\b|\ball the same\b", &[], ORDER, "also, still"),
    rule(
        r"\b(thereof|therein|whereof|wherein|whereby|hitherto|henceforth|thereupon|hence|thus|lest|albeit|ere)\b",
        &[],
        ORDER,
        "so, where, before, or two sentences",
    ),
    // Private words.
    rule(
        r"\bsigns\b",
        // The verb, and signs with a name.
        &[
            r"\bsigns (of|in|up|out|off|a|an|the|it)\b",
            r"\b(plus|minus|equals|percent|dollar) signs\b",
        ],
        PRIVATE,
        "characters",
    ),
    rule(r"\b(stand|stands) for itself\b", &[], PRIVATE, "is literal"),
    rule(r"\b(care|cares|cared) for\b", &[], PRIVATE, "ignore, handle"),
    rule(r"\bat hand\b", &[], PRIVATE, "available"),
    rule(r"\b(climb|climbs|climbed|climbing)\b", &[], PRIVATE, "bypass"),
    rule(r"\bleav(e|es|ing) lying\b|\bleft lying\b", &[], PRIVATE, "leave in the queue"),
    rule(r"\btwice over\b|\btold twice\b", &[], PRIVATE, "duplicate"),
    // Diaries.
    rule(r"\bon the \d{1,2}(st|nd|rd|th)\b", &[], DIARY, "the present state, without a date"),
    rule(
        r"\b(yesterday|last (week|month|night)|this (week|morning))\b",
        &[],
        DIARY,
        "a version or nothing",
    ),
    rule(
        r"\b(until|since|before|after) (the )?\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December)\b",
        &[],
        DIARY,
        "the present state, without a date",
    ),
    // Spelling.
    rule(
        r"\b\w+(iz(e|es|ed|er|ers|ing)|ization|izations)\b",
        &[r"\b(re|out|over|under|down|up)?siz(e|es|ed|er|ers|ing)\b", r"\b(pri|sei|capsi)z\w+\b"],
        BRITISH,
        "-ise, -isation",
    ),
    rule(r"\b\w*(analyz|paralyz|catalyz)\w*", &[], BRITISH, "-yse"),
    rule(
        r"\b\w*(behavior|color|favor|honor|neighbor|labor|flavor|rumor|harbor)(s|ed|ing|al|able|ful|ite|ites)?\b",
        &[],
        BRITISH,
        "-our",
    ),
    rule(r"\b(centers?|centered|meters|liters?|fibers?|theaters?)\b", &[], BRITISH, "-re"),
    rule(r"\b(defense|offense|pretense)s?\b", &[], BRITISH, "-ence"),
    rule(
        r"\blicenses?\b",
        // The verb is spelt with s.
        &[r"\bto license\b", r"\b(we|you|they|who) license\b"],
        BRITISH,
        "licence (noun)",
    ),
    rule(
        r"\b(cancel|label|travel|model|signal|total|tunnel|level|fuel|equal|marshal)(ed|ing|er|ers)\b",
        &[],
        BRITISH,
        "-lled, -lling",
    ),
    rule(
        r"\b(catalogs?|gray|fulfills?|skillful|artifacts?|toward)\b",
        &[],
        BRITISH,
        "catalogue, grey, fulfil, skilful, artefact, towards",
    ),
];
