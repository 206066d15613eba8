//! Finds questions with answers: in accordions, lists of terms, headings, and lines with `Q:` and
//! `A:`.
//!
//! A heading that asks is not enough ("Hungry?"): it has to be among others, or where questions are
//! announced.

use std::ops::Range;

use crate::found::{FoundFact, LABELLED, LISTED, STRUCTURED};
use crate::plain::{fold, plain};
use crate::schema::SchemaFact;
use crate::site::{SitePage, SitePages};
use crate::tile::{TileFact, Via};
use crate::topic::Topic;
use crate::words::{FAQ, FAQ_CLASS, INVITATION, patterns};

/// All questions and answers of a site.
pub(crate) fn find(site: &SitePages<'_>) -> Vec<FoundFact> {
    let mut found = Vec::new();
    for page in &site.pages {
        for (via, said) in &page.said {
            if let SchemaFact::Question { question, answer } = said {
                found.push(tile(page.number, *via, question, answer, STRUCTURED));
            }
        }
        if matches!(page.topic, Topic::News | Topic::Terms) {
            continue;
        }
        let mut questions: Vec<usize> =
            (0..page.lines.all.len()).filter(|&at| is_question(page, at)).collect();
        without_invitations(page, &mut questions);
        for (place, &at) in questions.iter().enumerate() {
            let Some((question, first)) = question_at(page, at) else { continue };
            let next = questions.get(place + 1).copied();
            let lines = answer_lines(page, at, &questions, next);
            let mut answer = first;
            for line in &page.lines.all[lines] {
                if line.part.button {
                    continue;
                }
                answer.push(' ');
                answer.push_str(&line.text);
            }
            let answer = plain(ANSWER_MARK.replace(answer.trim(), "").trim(), ANSWER_CHARS_MAX);
            if answer.chars().filter(|c| c.is_alphanumeric()).count() < 2 {
                continue;
            }
            let name = page
                .tree
                .nearest(page.lines.all[at].block, &["details", "li", "dt", "h2", "h3", "h4", "h5"])
                .map(|around| page.tree.name(around).to_owned());
            let (via, confidence) = match name.as_deref() {
                Some("details" | "li" | "dt") => (Via::List, LISTED + 0.05),
                Some(_) => (Via::Heading, LISTED),
                None => (Via::Text, LABELLED),
            };
            found.push(tile(page.number, via, &question, &answer, confidence));
        }
    }
    found
}

fn tile(page: usize, via: Via, question: &str, answer: &str, confidence: f32) -> FoundFact {
    let question = plain(question, QUESTION_CHARS_MAX);
    let text = question.clone();
    let fact = TileFact::Faq { question, answer: plain(answer, ANSWER_CHARS_MAX) };
    FoundFact::new(fact, page, via, text, confidence)
}

/// Whether a line asks a question that the page goes on to answer.
pub(crate) fn is_question(page: &SitePage<'_>, at: usize) -> bool {
    let line = &page.lines.all[at];
    if line.part.nav || line.part.quote || line.part.form || line.part.footer || line.part.post {
        return false;
    }
    if QUESTION_MARK.is_match(&line.text) {
        return page.lines.all.get(at + 1).is_some_and(|next| ANSWER_MARK.is_match(&next.text))
            || line.text.contains('?')
            || is_announced(page, at);
    }
    let tree = &page.tree;
    let in_summary = tree.nearest(line.block, &["summary"]).is_some();
    let asks = ends_as_question(&line.text)
        || line.lead().is_some_and(|lead| {
            ends_as_question(lead) && line.pieces.iter().any(|piece| !piece.style.strong)
        });
    if in_summary {
        return asks || is_announced(page, at);
    }
    if !asks || line.text.chars().count() > QUESTION_CHARS_MAX {
        return false;
    }
    if tree.name(line.block) == "dt" || is_announced(page, at) {
        return starts_block(page, at);
    }
    // Three headings of one level that ask, one after the other.
    line.level > 0 && page.topic != Topic::Home && asking_headings(page, at) >= 3
}

/// Removes invitations ("Still have questions?"), which say so or look unlike all other questions.
fn without_invitations(page: &SitePage<'_>, questions: &mut Vec<usize>) {
    let look = |at: usize| {
        let line = &page.lines.all[at];
        (
            page.tree.name(line.block).to_owned(),
            line.level,
            // Other classes state what is open.
            page.tree
                .attribute(line.block, "class")
                .and_then(|class| class.split_ascii_whitespace().next())
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let looks: Vec<_> = questions.iter().map(|&at| look(at)).collect();
    let mut place = 0;
    questions.retain(|&at| {
        let own = &looks[place];
        place += 1;
        let is_odd = looks.len() >= 3
            && looks.iter().filter(|other| *other == own).count() == 1
            && looks.iter().any(|other| looks.iter().filter(|same| *same == other).count() >= 2);
        !is_odd && !INVITATION.begin(&page.lines.all[at].folded)
    });
}

fn ends_as_question(text: &str) -> bool {
    text.trim_end_matches([' ', '+', '−', '-', '▼', '▾', '›', '»', '"', '”', ')', '*', '\u{fe0f}'])
        .ends_with(['?', '？', ';'])
        && text.contains(['?', '？'])
}

/// A heading, or the first line of its block, or set off from the rest.
fn starts_block(page: &SitePage<'_>, at: usize) -> bool {
    let line = &page.lines.all[at];
    let first = at == 0 || page.lines.all[at - 1].block != line.block || line.gap;
    line.level > 0 || first || line.lead().is_some() || line.is_all(|style| style.strong)
}

/// Whether the page, a heading over the line or a class around it says that questions come.
fn is_announced(page: &SitePage<'_>, at: usize) -> bool {
    let line = &page.lines.all[at];
    page.topic == Topic::Faq && !line.part.aside
        || page.lines.headings(at).any(|heading| {
            let folded = &page.lines.all[heading].folded;
            FAQ.are_in(folded) && !ends_as_question(&page.lines.all[heading].text)
        })
        || page.tree.around(line.nodes.0).any(|around| page.tree.has_class(around, &FAQ_CLASS))
}

fn asking_headings(page: &SitePage<'_>, at: usize) -> usize {
    let line = &page.lines.all[at];
    let same = |other: &&crate::lines::TextLine| {
        other.level == line.level && other.heading == line.heading
    };
    let all = page.lines.all.iter().filter(same);
    let (asking, telling): (Vec<_>, Vec<_>) = all.partition(|other| ends_as_question(&other.text));
    if telling.len() * 3 > asking.len() { 0 } else { asking.len() }
}

/// The question without its mark, and the part of the answer that stands on the same line.
fn question_at(page: &SitePage<'_>, at: usize) -> Option<(String, String)> {
    let line = &page.lines.all[at];
    let text = QUESTION_MARK.replace(&line.text, "").into_owned();
    if let Some(lead) = line.lead().filter(|lead| ends_as_question(lead)) {
        let rest = line.text[line.text.find(lead)? + lead.len()..].trim();
        if rest.chars().filter(|c| c.is_alphanumeric()).count() > 1 {
            return Some((QUESTION_MARK.replace(lead, "").trim().to_owned(), rest.to_owned()));
        }
    }
    let question = text.trim().trim_end_matches(['+', '−', '▼', '▾', '›', '»', ' ']);
    let question = NUMBERED.replace(question, "");
    (question.chars().filter(|c| c.is_alphabetic()).count() >= 4)
        .then(|| (question.into_owned(), String::new()))
}

/// The lines of the answer: the rest of the item, or the lines up to the next question or heading.
fn answer_lines(
    page: &SitePage<'_>,
    at: usize,
    questions: &[usize],
    next: Option<usize>,
) -> Range<usize> {
    let lines = &page.lines.all;
    let tree = &page.tree;
    let Some(first) = lines.get(at + 1).map(|_| at + 1) else { return at + 1..at + 1 };
    let both =
        tree.around(lines[at].nodes.0).find(|&around| tree.contains(around, lines[first].nodes.0));
    if let Some(item) = both {
        let inside = page.lines.inside(tree, item);
        let only = questions.iter().filter(|question| inside.contains(question)).count() == 1;
        let is_item =
            !matches!(tree.name(item), "body" | "main" | "html" | "article" | "section" | "dl")
                || questions.len() == 1;
        if only && is_item && inside.start == at {
            return stop_at_heading(page, first, inside.end);
        }
    }
    let end = next.unwrap_or(lines.len());
    let end = stop_at_heading(page, first, end).end;
    // The last answer is no longer than the others, or it would contain the text after the
    // questions.
    let parent = tree.node(lines[at].block).parent;
    let blocks = |range: Range<usize>| {
        let child = |line: usize| {
            std::iter::once(lines[line].block)
                .chain(tree.around(lines[line].block))
                .find(|&block| tree.node(block).parent == parent)
                .unwrap_or(lines[line].block)
        };
        let mut blocks: Vec<usize> = range.map(child).collect();
        blocks.dedup();
        blocks.len()
    };
    if next.is_none() {
        let longest = questions
            .windows(2)
            .map(|two| blocks(two[0] + 1..stop_at_heading(page, two[0] + 1, two[1]).end))
            .max()
            .unwrap_or(usize::from(questions.len() < 2) * 3)
            .max(1);
        let mut kept = first;
        while kept < end && blocks(first..kept + 1) <= longest {
            kept += 1;
        }
        return first..kept;
    }
    first..end
}

fn stop_at_heading(page: &SitePage<'_>, first: usize, end: usize) -> Range<usize> {
    let lines = &page.lines.all;
    let stops = |line: usize| {
        (1..=6).contains(&lines[line].level)
            || lines[line].part.footer != lines[first].part.footer
            || lines[line].part.nav
            || lines[line].part.form
    };
    let end = (first..end.min(first + ANSWER_LINES_MAX))
        .find(|&line| stops(line))
        .unwrap_or(end.min(first + ANSWER_LINES_MAX));
    first..end
}

patterns! {
    QUESTION_MARK: r"^\s*(?:Q|F|P|D|V|O|Frage|Question|Pregunta|Domanda|Vraag|Pergunta|Pytanie|Fråga|Spørgsmål|Otázka|K)\s?\d{0,2}\s?[:.)]\s*";
    ANSWER_MARK: r"^\s*(?:A|R|Antwort|Answer|Réponse|Respuesta|Risposta|Antwoord|Resposta|Odpowiedź|Odp|Svar|Odpověď|O|S|V)\s?\d{0,2}\s?[:.)]\s*";
    NUMBERED: r"^\d{1,2}\s?[.)]\s+";
}

/// Whether a text is one of a page's questions, so that others don't take it for something else.
pub(crate) fn asks(text: &str) -> bool {
    ends_as_question(text) || FAQ.are(&fold(text))
}

/// Longer questions are cut.
pub(crate) const QUESTION_CHARS_MAX: usize = 250;
/// Longer answers are cut.
pub(crate) const ANSWER_CHARS_MAX: usize = 2_000;
/// Answers of more lines are cut.
const ANSWER_LINES_MAX: usize = 40;
