//! The words of opening hours: weekdays, times of the day, and what stands between them, in the languages of Europe.
//!
//! A text becomes a row of [`HoursToken`]s; `hours` reads their meaning together.

use std::sync::LazyLock;

use regex::Regex;

use crate::plain::{fold, words};

/// A token of a text about opening hours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HoursToken {
    /// A weekday: 0 is Monday.
    Day(u8),
    /// Several at once: every day, weekdays, weekend. One bit for each.
    Days(u8),
    /// A time, in minutes.
    Time(ClockTime),
    /// `-`, `to`, `bis`: between two days or two times.
    To,
    /// `until`, `jusqu'à`: an end without a beginning.
    Until,
    /// `and`, `,`, `&`.
    And,
    /// `except`, `außer`.
    Except,
    /// `closed`.
    Closed,
    /// `open`, `opening hours`: says that it is about hours.
    Open,
    /// `all day`, `24 hours`.
    AllDay,
    /// The end of a sentence or of a thought.
    Stop,
    /// A word that may stand among hours and says nothing: `from`, `lunch`, `Uhr`.
    Filler,
    /// The second half of a day: `evening`, `dinner`, `pm` hours without a mark.
    Late,
    /// Any other word.
    Other,
}

/// A time of day, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClockTime {
    /// Minutes since midnight, as written: `8.30pm` has 510 and `Half::Pm`.
    pub(crate) minutes: u16,
    /// Which half of the day, if it is said.
    pub(crate) half: Option<Half>,
    /// Written so that it can only be a time: `9:30`, `9am`, `9 Uhr`.
    pub(crate) sure: bool,
}

/// A half of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Before noon.
    Am,
    /// After noon.
    Pm,
}

/// The tokens of a text. The page's language (`de`, `fr`) decides about short weekdays that several share: `ma`, `do`, `so`.
pub(crate) fn tokens(text: &str, language: &str) -> Vec<HoursToken> {
    let folded = DOTTED_HALF.replace_all(&fold(text), "$1$2").into_owned();
    let mut tokens: Vec<HoursToken> = Vec::new();
    let mut rest = folded.as_str();
    let mut after_number = false;
    while !rest.is_empty() && tokens.len() < TOKENS_MAX {
        if let Some((token, length)) = time(rest).or_else(|| phrase(rest)) {
            // `15 hours` is a span.
            let is_span = token == HoursToken::Open
                && (matches!(tokens.last(), Some(HoursToken::Time(clock)) if !clock.sure)
                    || after_number);
            after_number = false;
            tokens.push(if is_span { HoursToken::Other } else { token });
            rest = &rest[length..];
            continue;
        }
        let c = rest.chars().next().unwrap_or(' ');
        if c.is_alphanumeric() {
            let length = rest
                .find(|c: char| !c.is_alphanumeric() && c != '\'')
                .unwrap_or(rest.len())
                .max(c.len_utf8());
            let (word_here, after) = rest.split_at(length);
            let token = match day_of_language(word_here, language)
                .map_or_else(|| word(word_here), HoursToken::Day)
            {
                HoursToken::Day(_)
                    if AMBIGUOUS.contains(&word_here) && !is_day_here(tokens.as_slice(), after) =>
                {
                    other_meaning(word_here)
                }
                token => token,
            };
            after_number = word_here.bytes().all(|byte| byte.is_ascii_digit());
            tokens.push(token);
            rest = after;
            // `Mo.`, `Di.`: a dot right after a short weekday ends no sentence.
            if matches!(tokens.last(), Some(HoursToken::Day(_) | HoursToken::Filler)) && length <= 5
            {
                rest = rest.strip_prefix('.').unwrap_or(rest);
            }
            continue;
        }
        match c {
            '-' | '~' | '→' => tokens.push(HoursToken::To),
            ',' | '&' | '+' | '/' => tokens.push(HoursToken::And),
            '.' | ';' | '!' | '?' | '|' => tokens.push(HoursToken::Stop),
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    tokens
}

/// A time at the beginning of a folded text, and how long it is.
fn time(text: &str) -> Option<(HoursToken, usize)> {
    if let Some(caught) = MILITARY.captures(text) {
        let number = |at: usize| caught[at].parse::<u16>().ok();
        return Some((
            HoursToken::Time(ClockTime {
                minutes: number(1)? * 60 + number(2)?,
                half: None,
                sure: true,
            }),
            4,
        ));
    }
    let caught = TIME.captures(text)?;
    let all = caught.get(0)?;
    let hour: u16 = caught.name("h")?.as_str().parse().ok()?;
    let minutes: u16 = match caught.name("m").or(caught.name("m2")) {
        Some(minutes) => minutes.as_str().parse().ok()?,
        None => 0,
    };
    if hour > 24 || minutes > 59 || (hour == 24 && minutes > 0) {
        return None;
    }
    let half = match caught
        .name("half")
        .or(caught.name("half2"))
        .map(|half| half.as_str().as_bytes()[0])
    {
        Some(b'a') => Some(Half::Am),
        Some(b'p') => Some(Half::Pm),
        Some(b'n') if hour == 12 => Some(Half::Pm),
        // `01:00` is on a clock of 24 hours.
        None if hour < 6 && caught["h"].len() == 2 => Some(Half::Am),
        _ => None,
    };
    if hour > 12 && caught.name("half2").is_some() {
        return None;
    }
    let sure = half.is_some() || caught.name("m").is_some() || caught.name("unit").is_some();
    // Not the start of something else: `12.10.2023`, `5%`, `30 km`, `14. Juli`.
    let after = &text[all.end()..];
    if after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '%' | '€' | '°'))
        || DATE_GOES_ON.is_match(after)
    {
        return None;
    }
    if caught.name("m").is_none() && !sure && NO_TIME_AFTER.is_match(after) {
        return None;
    }
    // Out of `17.5.` or `3.50` a time is made only if its minutes have two digits, which the pattern asks for.
    Some((HoursToken::Time(ClockTime { minutes: hour * 60 + minutes, half, sure }), all.end()))
}

/// Something of several words or signs at the beginning of a folded text.
fn phrase(text: &str) -> Option<(HoursToken, usize)> {
    let fixed = |minutes| {
        HoursToken::Time(ClockTime {
            minutes,
            half: Some(if minutes == 12 * 60 { Half::Pm } else { Half::Am }),
            sure: true,
        })
    };
    for (words, what) in &*PHRASES {
        if let Some(found) = words.find(text) {
            let length = found.end();
            let token = match what {
                Phrase::Noon => fixed(12 * 60),
                Phrase::Midnight => {
                    HoursToken::Time(ClockTime { minutes: 24 * 60, half: None, sure: true })
                }
                Phrase::Token(token) => token.clone(),
            };
            return Some((token, length));
        }
    }
    None
}

fn word(word: &str) -> HoursToken {
    if let Some(day) = day(word) {
        return HoursToken::Day(day);
    }
    for (list, token) in [
        (&*TO, HoursToken::To),
        (&*AND, HoursToken::And),
        (&*CLOSED, HoursToken::Closed),
        (&*OPEN, HoursToken::Open),
        (&*LATE, HoursToken::Late),
        (&*FILLER, HoursToken::Filler),
    ] {
        if list.are(word) {
            return token;
        }
    }
    HoursToken::Other
}

/// Whether a word that is a weekday in one language and a small word in another is the weekday: `Mo–Do`, not `9 do 17`.
fn is_day_here(before: &[HoursToken], after: &str) -> bool {
    let goes_on = after.trim_start();
    let next_fits = goes_on.is_empty()
        || goes_on.starts_with(|c: char| c.is_ascii_digit() || "-:,&/.|(".contains(c))
        || CLOSED.begin(goes_on)
        || is_and_day(goes_on)
        || TO.begin(goes_on)
        || goes_on.starts_with("t/m");
    match before {
        [] | [.., HoursToken::Stop | HoursToken::Closed | HoursToken::Except] => next_fits,
        [.., HoursToken::Day(_), HoursToken::To | HoursToken::And] => true,
        [.., HoursToken::Day(_) | HoursToken::Time(_)] => false,
        _ => next_fits,
    }
}

/// `und Do`: another weekday follows.
fn is_and_day(folded: &str) -> bool {
    let mut words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| AND.are(word))
        && words.next().is_some_and(|word| day(word).is_some())
}

/// Short weekdays as one language has them.
fn day_of_language(word: &str, language: &str) -> Option<u8> {
    let days: [&str; 7] = match language {
        "fr" => ["lu", "ma", "me", "je", "ve", "sa", "di"],
        "es" => ["lu", "ma", "mi", "ju", "vi", "sa", "do"],
        "it" => ["lu", "ma", "me", "gi", "ve", "sa", "do"],
        "cs" | "sk" => ["po", "ut", "st", "ct", "pa", "so", "ne"],
        "da" | "nb" | "no" | "sv" => ["ma", "ti", "on", "to", "fr", "lo", "so"],
        _ => return None,
    };
    days.iter().position(|day| *day == word).map(|day| day as u8)
}

fn other_meaning(word: &str) -> HoursToken {
    match word {
        "to" | "do" => HoursToken::To,
        _ => HoursToken::Filler,
    }
}

/// Weekdays of one language that are small words of another.
const AMBIGUOUS: [&str; 24] = [
    "me", "je", "ve", "mi", "vi", "lo", "di", "to", "do", "on", "la", "so", "ma", "pe", "ti", "ke",
    "st", "ne", "po", "ut", "pa", "za", "son", "we",
];

/// The weekday of a folded word: 0 is Monday.
pub(crate) fn day(word: &str) -> Option<u8> {
    let word = word.strip_suffix("'s").unwrap_or(word);
    DAYS.iter().position(|names| names.contains(&word)).map(|day| day as u8)
}

#[rustfmt::skip]
const DAYS: [&[&str]; 7] = [
    &["mo", "mon", "monday", "mondays", "montag", "montags", "lundi", "lun", "lunes", "lunedi", "maandag", "maandags", "ma", "segunda", "seg", "segunda-feira", "poniedzialek", "poniedzialku", "pn", "pon", "mandag", "man", "mandags", "pondeli", "po", "maanantai", "maanantaisin", "lundis", "mandager", "mandage", "mandagar", "2a", "2ª"],
    &["tu", "tue", "tues", "tuesday", "tuesdays", "dienstag", "dienstags", "di", "mardi", "mar", "martes", "martedi", "dinsdag", "terca", "ter", "terca-feira", "wtorek", "wtorku", "wt", "tisdag", "tis", "ti", "tirsdag", "tir", "tirs", "utery", "ut", "tiistai", "mardis", "tirsdager", "tirsdage", "tisdagar", "mart", "3a", "3ª"],
    &["we", "wed", "weds", "wednesday", "wednesdays", "mittwoch", "mittwochs", "mi", "mercredi", "mer", "miercoles", "mie", "mercoledi", "woensdag", "wo", "quarta", "qua", "quarta-feira", "sroda", "srody", "srode", "sr", "onsdag", "ons", "on", "streda", "stredy", "stredu", "st", "keskiviikko", "ke", "mercredis", "onsdager", "onsdage", "onsdagar", "mx", "4a", "4ª"],
    &["th", "thu", "thur", "thurs", "thursday", "thursdays", "donnerstag", "donnerstags", "do", "jeudi", "jeu", "jueves", "jue", "giovedi", "gio", "donderdag", "quinta", "qui", "quinta-feira", "czwartek", "czwartku", "czw", "cz", "torsdag", "tors", "tor", "to", "ctvrtek", "ct", "ctvrtka", "torstai", "jeudis", "torsdager", "torsdage", "torsdagar", "5a", "5ª"],
    &["fr", "fri", "friday", "fridays", "freitag", "freitags", "vendredi", "ven", "viernes", "vie", "venerdi", "vrijdag", "vr", "sexta", "sex", "sexta-feira", "piatek", "piatku", "pt", "pia", "fredag", "fre", "patek", "pa", "patku", "perjantai", "pe", "vendredis", "fredager", "fredage", "fredagar", "6a", "6ª"],
    &["sa", "sat", "saturday", "saturdays", "samstag", "samstags", "sonnabend", "sonnabends", "samedi", "sam", "sabado", "sabados", "sab", "sabato", "zaterdag", "za", "sobota", "soboty", "sobote", "sob", "lordag", "lor", "sobotu", "lauantai", "la", "samedis", "lordager", "lordage", "lordagar", "lau"],
    &["su", "sun", "sunday", "sundays", "sonntag", "sonntags", "dimanche", "dim", "domingo", "domingos", "dom", "domenica", "zondag", "zo", "niedziela", "niedzieli", "niedziele", "nd", "niedz", "ndz", "sondag", "son", "nedele", "ne", "nedeli", "sunnuntai", "dimanches", "sondager", "sondage", "sondagar", "so"],
];

enum Phrase {
    Noon,
    Midnight,
    Token(HoursToken),
}

const ALL_DAYS: u8 = 0b111_1111;
const WEEKDAYS: u8 = 0b001_1111;
const WEEKEND: u8 = 0b110_0000;

static PHRASES: LazyLock<Vec<(Regex, Phrase)>> = LazyLock::new(|| {
    let rows = [
        (
            "12 noon|noon|midday|midi|mezzogiorno|mediodia|meio-dia|poludnie|poludne|mittags?",
            Phrase::Noon,
        ),
        (
            "12 midnight|midnight|mitternacht|minuit|mezzanotte|medianoche|meia-noite|middernacht|polnoc|midnatt|pulnoc",
            Phrase::Midnight,
        ),
        (
            "24 hours|24 ?h|24/7|24 stunden|rund um die uhr|24 heures|24 horas|24 ore|nonstop|dygnet runt|dognet rundt|calodobowo|24 uur",
            Phrase::Token(HoursToken::AllDay),
        ),
        (
            "(?:daily|every ?day|seven days(?: a week)?|7 days(?: a week)?|all week|all days|7/7|7j/7|7 jours sur 7)|taglich|jeden tag|alle tage|tous les jours|todos los dias|todos os dias|tutti i giorni|ogni giorno|dagelijks|alle dagen|elke dag|codziennie|dagligen|daglig|dagligt|alla dagar|alle dage|alle dager|denne|kazdy den|joka paiva|paivittain|diariamente|diario|a diario|giornalmente",
            Phrase::Token(HoursToken::Days(ALL_DAYS)),
        ),
        (
            "(?:on )?weekdays|week days|wochentags|unter der woche|en semaine|dias laborables|dni robocze|hverdager|hverdage|vardagar|weekdagen|doordeweeks|giorni feriali|dias uteis|vsedni dny|arkisin|arkipaivisin",
            Phrase::Token(HoursToken::Days(WEEKDAYS)),
        ),
        (
            "(?:at )?weekends?|the weekend|am wochenende|wochenende|le week-end|week-end|fin de semana|fines de semana|fim de semana|nel weekend|weekendy|helger|helgen|vikend|viikonloppu(?:na|isin)",
            Phrase::Token(HoursToken::Days(WEEKEND)),
        ),
        ("l ?(?:-|a|/) ?v", Phrase::Token(HoursToken::Days(WEEKDAYS))),
        ("l ?(?:-|a|/) ?s", Phrase::Token(HoursToken::Days(0b011_1111))),
        ("l ?(?:-|a|/) ?d", Phrase::Token(HoursToken::Days(ALL_DAYS))),
        ("l ?(?:-|a|/) ?j", Phrase::Token(HoursToken::Days(0b000_1111))),
        ("s ?(?:-|y|/) ?d", Phrase::Token(HoursToken::Days(WEEKEND))),
        ("m ?- ?f(?:ri)?", Phrase::Token(HoursToken::Days(WEEKDAYS))),
        ("m ?- ?th(?:urs?)?", Phrase::Token(HoursToken::Days(0b000_1111))),
        ("m ?- ?s(?:at?)?", Phrase::Token(HoursToken::Days(0b011_1111))),
        ("t/m|tot en met|bis einschliesslich", Phrase::Token(HoursToken::To)),
        ("segunda-feira", Phrase::Token(HoursToken::Day(0))),
        ("terca-feira", Phrase::Token(HoursToken::Day(1))),
        ("quarta-feira", Phrase::Token(HoursToken::Day(2))),
        ("quinta-feira", Phrase::Token(HoursToken::Day(3))),
        ("sexta-feira", Phrase::Token(HoursToken::Day(4))),
        (
            "except(?: on| for)?|apart from|ausser|a l'exception d[eu]|sauf(?: le)?|excepto|salvo|tranne(?: il| la)?|eccetto|escluso|behalve|oprocz|undtagen|unntatt|utom|krome|mimo|exceto|paitsi",
            Phrase::Token(HoursToken::Except),
        ),
        (
            "until|till|jusqu'?(?:a|au)|jusque|hasta(?: las?)?|fino (?:alle|a)|ate as?|tot|kl til",
            Phrase::Token(HoursToken::Until),
        ),
        (
            "opening (?:hours|times)|business hours|office hours|hours|we are open|offnungszeiten|geoffnet|sprechzeiten|sprechstunden?|ladenzeiten|geschaftszeiten|burozeiten|horaires(?: d'ouverture)?|heures d'ouverture|ouvert(?:e|s|es)?|horario(?:s)?(?: de (?:apertura|atencion|atendimento|funcionamento))?|abierto|abrimos|orar[io]i?(?: di apertura)?|apert[oiae]|openingstijden|geopend|open|aberto|abertos|godziny otwarcia|otwarte|czynne|zapraszamy|oppettider|oppet|apningstider|apent|abningstider|abent|abent|oteviraci doba|otevreno|provozni doba|aukioloajat|avoinna|auki|wir sind|recepcao|siamo|besetzt|staffed|bezet",
            Phrase::Token(HoursToken::Open),
        ),
        (
            "by appointment(?: only)?|nach (?:vereinbarung|absprache)|sur rendez-vous|su appuntamento|con cita previa|op afspraak|po umowieniu|efter avtale|efter aftale|na objednani|public holidays?|bank holidays?|feiertage?n?|jours feries|festivos?|festivi|feriados|feestdagen|swieta|helligdage?r?|roda dagar|svatky",
            Phrase::Token(HoursToken::Closed),
        ),
    ];
    let anchored = |(pattern, what): (&str, Phrase)| {
        (Regex::new(&format!(r"^(?:{pattern})(?:\b)")).expect("a constant pattern"), what)
    };
    rows.into_iter().map(anchored).collect()
});

/// Hour, minutes, and a mark: `9`, `9.30`, `09:30`, `9h30`, `9 Uhr`, `17u30`, `9am`, `11a`, `12 noon`.
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:kl\.? ?|at )?(?P<h>\d{1,2})(?:(?:[:.]|(?P<unit0>[hu]))(?P<m>[0-5]\d)(?:[:.]00)?|(?: ?(?P<unit>uhr|h|hs|hrs|uur|u|hod|godz|tim|klo)\b\.?(?: ?(?P<m2>[0-5]\d)\b)?))?(?:(?: ?(?P<half>am|pm|noon)|(?P<half2>a|p))\b)?(?: ?(?:uhr|h|hs|hrs|uur|u|hod|godz|o'clock)\b\.?)?",
    )
    .expect("a time of the day is a pattern")
});
/// `0900-1700`, and the second of the two.
static MILITARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([01]\d|2[0-4])([0-5]\d)(?: ?(?:-|to|hrs|h\b)|$)").expect("a constant pattern")
});
/// `a.m.`, `p.m.` and `a. m.`: to one form.
static DOTTED_HALF: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b([ap])\. ?(m)\b\.?").expect("a constant pattern"));
static DATE_GOES_ON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\.\d|/\d|\.? ?(?:jan|feb|mar[sz]|apr|ma[iy]\b|jun|jul|aug|sep|o[ck]t|nov|de[cz]|gen|mag|giu|lug|ago|set|ott|dic))").expect("a constant pattern")
});
static NO_TIME_AFTER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:st\b|nd\b|rd\b|th\b|\.\s*[a-z]| ?(?:km|min|minut|year|jahr|ans|people|person|pers|euro|eur|chf|kr|zl|kc|%|days|tage|weeks|free|dishes|hours|stunden|heures|ore|month|monat))").expect("a constant pattern")
});

words! { TO: "to, alle, alla, allo, as, bis, a, au, al, tot, do, til, till, thru, through, ate, az" }
words! { AND: "and, und, et, y, e, i, og, och, en, sowie, ja, o, as well as" }
words! { CLOSED: "closed, geschlossen, ferme, fermee, cerrado, cerrada, chiuso, chiusi, chiusa, gesloten, zamkniete, nieczynne, stangt, stengt, lukket, zavreno, suljettu, fechado, encerrado, encerramos, ruhetag, riposo, descanso, zu, libre, fermeture, chiusura, kiinni, dicht" }
words! { OPEN: "accueille, accueillons, recoit, recevons, welcome you, welcomes you, empfangen, fur sie da, recibimos, atendemos, riceve, accoglie, ontvangt, open, opens" }
words! { LATE: "evening, evenings, dinner, abends, abend, soir, diner, cena, cenas, sera, jantar, avond, diner, wieczorem, kvall, middag, aften, kveld, vecer, afternoon, afternoons, nachmittags, apres-midi, tarde, tardes, pomeriggio, middags, popoludniu, eftermiddag, ettermiddag, odpoledne" }
words! { FILLER: "the, afternoon, evening, january, february, march, april, june, july, august, september, october, november, december, januar, februar, marz, mai, juni, juli, oktober, dezember, janvier, fevrier, mars, avril, juin, juillet, aout, septembre, octobre, novembre, decembre, enero, febrero, marzo, abril, mayo, junio, julio, agosto, septiembre, octubre, noviembre, diciembre, gennaio, febbraio, aprile, maggio, giugno, luglio, settembre, ottobre, dicembre, januari, februari, maart, mei, augustus, janeiro, fevereiro, marco, maio, junho, julho, setembro, outubro, novembro, dezembro, summer, winter, spring, autumn, sommer, fruhling, herbst, ete, hiver, printemps, automne, verano, invierno, estate, inverno, primavera, zomer, vinter, sommar, lato, zima, season, saison, hauptsaison, nebensaison, vorsaison, nachsaison, hochsaison, temporada, stagione, seizoen, from, von, de, du, le, les, la, las, los, el, il, i, dal, dalle, della, dei, ab, des, vom, am, on, an, in, van, vanaf, od, fra, fran, entre, zwischen, between, uhr, h, hrs, kl, klo, godz, hod, uur, u, o'clock, lunch, mittag, vormittags, morgens, mornings, morning, matin, dejeuner, midi, pranzo, comidas, manana, mananas, almoco, mattina, ochtend, ranni, dopoledne, formiddag, each, jeweils, our, unsere, unser, nos, nuestro, always, immer, durchgehend, non-stop, continu, sans, interruption, shop, store, showroom, office, buro, bureau, reception, rezeption, studio, salon, praxis, filiale, branch, standort, location, sede, agence, sucursal, vestiging, oddzial, pobocka, afdeling, hauptgeschaft, werkstatt, workshop, cafe, restaurant, boutique, laden, geschaft, winkel, negozio, tienda, loja, sklep, butik, butikken, verkauf, magasin, atelier, taproom, bar, pub, gallery, museum, desk, only, nur, solo, seulement, alleen, para, ao, aos, das, the, here, we're, we, are, ore, ora, hora, horas, wir, sind, nous, sommes, tambien, anche, auch, also, and, it's, is, jeden, every, jeder, kazdy, w, ve, v" }

/// More tokens of one line are not read.
const TOKENS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str) -> Vec<(u16, Option<Half>)> {
        tokens(text, "")
            .into_iter()
            .filter_map(|token| match token {
                HoursToken::Time(clock) => Some((clock.minutes, clock.half)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn times_in_many_forms() {
        for text in [
            "9:30", "09.30", "9h30", "9.30 Uhr", "kl. 9.30", "9u30", "9 h 30", "9:30 Uhr",
            "09:30:00",
        ] {
            assert_eq!(times(text), [(570, None)], "{text}");
        }
        assert_eq!(
            times("9am, 9 a.m., 11p, 12 noon, midnight"),
            [
                (540, Some(Half::Am)),
                (540, Some(Half::Am)),
                (660, Some(Half::Pm)),
                (720, Some(Half::Pm)),
                (1440, None)
            ]
        );
        assert_eq!(times("12.10.2023, 30 km, 14 July, 5%"), []);
    }

    #[test]
    fn days_and_what_stands_between_them() {
        assert_eq!(tokens("Mo-Fr", "de"), [HoursToken::Day(0), HoursToken::To, HoursToken::Day(4)]);
        assert_eq!(
            tokens("lundi au vendredi", "fr"),
            [HoursToken::Day(0), HoursToken::To, HoursToken::Day(4)]
        );
        assert_eq!(
            tokens("täglich außer Di.", ""),
            [HoursToken::Days(ALL_DAYS), HoursToken::Except, HoursToken::Day(1)]
        );
        assert_eq!(tokens("So geschlossen", "de"), [HoursToken::Day(6), HoursToken::Closed]);
        assert_eq!(tokens("Pá–So", "cs"), [HoursToken::Day(4), HoursToken::To, HoursToken::Day(5)]);
        assert_eq!(tokens("Ma-Sa", "fr"), [HoursToken::Day(1), HoursToken::To, HoursToken::Day(5)]);
        assert_eq!(tokens("Ma-vr", "nl"), [HoursToken::Day(0), HoursToken::To, HoursToken::Day(4)]);
    }
}
