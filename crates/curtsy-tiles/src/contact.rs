//! Finds telephone numbers, e-mail and postal addresses in links, structured data and text.

use std::ops::Range;

use crate::address;
use crate::country::Country;
use crate::email;
use crate::found::{FoundFact, LABELLED, LINKED, PROSE, STRUCTURED};
use crate::phone;
use crate::plain::{fold, plain};
use crate::schema::SchemaFact;
use crate::site::{SitePage, SitePages};
use crate::tile::{Contact, PostalAddress, TileFact, Via};
use crate::topic::Topic;
use crate::whose::{Owner, owner};
use crate::words::{FAX, GOES_ON, LABELS, OUR_VOICE, PHONE, PUBLIC_MAIL, REGISTER};

/// All ways to the business but its hours.
pub(crate) fn find(site: &SitePages<'_>) -> Vec<FoundFact> {
    let mut found = Vec::new();
    for page in &site.pages {
        structured(site, page, &mut found);
        links(site, page, &mut found);
        for line in 0..page.lines.all.len() {
            phones(site, page, line, &mut found);
            emails(site, page, line, &mut found);
        }
        addresses(site, page, &mut found);
    }
    without_strange_emails(site, &mut found);
    found
}

fn structured(site: &SitePages<'_>, page: &SitePage<'_>, found: &mut Vec<FoundFact>) {
    for (via, said) in &page.said {
        let (contact, text) = match said {
            SchemaFact::Phone(written) => {
                let digits =
                    phone::candidates(written.trim_start_matches("tel:")).into_iter().next();
                let Some(phone) =
                    digits.and_then(|digits| phone::international(&digits.dialled, site.country))
                else {
                    continue;
                };
                (Contact::Phone(phone), written.clone())
            }
            SchemaFact::Email(written) => {
                let email = email::of_link(written).or_else(|| {
                    email::emails(written, &site.domain).into_iter().next().map(|(_, email)| email)
                });
                let Some(email) = email else { continue };
                (Contact::Email(email), written.clone())
            }
            SchemaFact::Address(postal) => {
                let country = postal
                    .country
                    .as_deref()
                    .and_then(|name| Country::by_name(&fold(name)))
                    .map(|country| country.code.to_owned());
                let address = PostalAddress {
                    street: postal.street.clone(),
                    postal_code: postal.postal_code.clone(),
                    locality: postal.locality.clone(),
                    region: postal.region.clone(),
                    country,
                };
                let text = format!(
                    "{}, {} {}",
                    postal.street,
                    postal.postal_code.as_deref().unwrap_or_default(),
                    postal.locality
                );
                (Contact::Address(address), text)
            }
            _ => continue,
        };
        found.push(FoundFact::new(contact, page.number, *via, text, STRUCTURED));
    }
}

/// `tel:`, `mailto:` and WhatsApp links.
fn links(site: &SitePages<'_>, page: &SitePage<'_>, found: &mut Vec<FoundFact>) {
    for link in page.tree.all("a").take(LINKS_MAX) {
        if page.tree.node(link).hidden {
            continue;
        }
        let href = page.tree.attribute(link, "href").unwrap_or_default().trim();
        let lower = href.to_ascii_lowercase();
        let line = page.lines.of_element(&page.tree, link);
        let (before, after) = match line {
            Some(line) => around_link(page, line, link),
            None => (String::new(), String::new()),
        };
        let whose = line.map_or(Owner::Business, |line| owner(site, page, line, &before, &after));
        let label = fold(&format!("{before} {}", page.text(link)));
        let contact = if let Some(written) = lower
            .strip_prefix("tel:")
            .or(lower.strip_prefix("callto:"))
            .or(lower.strip_prefix("sms:"))
        {
            let digits = phone::candidates(&written.replace("%20", " ").replace("%2b", "+"))
                .into_iter()
                .next();
            let dialled =
                digits.and_then(|digits| phone::international(&digits.dialled, site.country));
            dialled.filter(|_| !FAX.are_in(&label)).map(Contact::Phone)
        } else if ["wa.me/", "api.whatsapp.com/send", "whatsapp://send"]
            .iter()
            .any(|place| lower.contains(place))
        {
            let digits: String = lower
                .split("wa.me/")
                .nth(1)
                .or(lower.split("phone=").nth(1))
                .unwrap_or_default()
                .chars()
                .skip_while(|c| *c == '+')
                .take_while(char::is_ascii_digit)
                .collect();
            phone::international(&format!("+{digits}"), None).map(Contact::Phone)
        } else {
            let hidden = || page.tree.attribute(link, "data-cfemail").and_then(email::of_cfemail);
            email::of_link(href).or_else(hidden).map(Contact::Email)
        };
        let is_ours = match &contact {
            Some(Contact::Email(email)) => is_own_email(site, email) || whose == Owner::Business,
            Some(_) => {
                whose == Owner::Business
                    || (whose == Owner::Unclear
                        && !page.text(link).chars().any(|c| c.is_ascii_digit()))
            }
            None => false,
        };
        if let Some(contact) = contact.filter(|_| is_ours) {
            let text =
                line.map_or_else(|| page.text(link), |line| page.lines.all[line].text.clone());
            found.push(FoundFact::new(contact, page.number, Via::Link, text, LINKED));
        }
    }
    for hidden in
        (0..page.tree.len()).filter(|&at| page.tree.name(at) != "a" && !page.tree.node(at).hidden)
    {
        if let Some(email) = page.tree.attribute(hidden, "data-cfemail").and_then(email::of_cfemail)
        {
            let contact = Contact::Email(email);
            found.push(FoundFact::new(contact, page.number, Via::Link, page.text(hidden), LINKED));
        }
    }
}

/// What a line says before and after a link.
fn around_link(page: &SitePage<'_>, line: usize, link: usize) -> (String, String) {
    let line = &page.lines.all[line];
    let inside: Vec<&Range<usize>> = line
        .pieces
        .iter()
        .filter(|piece| page.tree.contains(link, piece.node))
        .map(|piece| &piece.at)
        .collect();
    match (inside.first(), inside.last()) {
        (Some(first), Some(last)) => {
            (line.text[..first.start].to_owned(), line.text[last.end..].to_owned())
        }
        _ => (line.text.clone(), String::new()),
    }
}

fn phones(site: &SitePages<'_>, page: &SitePage<'_>, at: usize, found: &mut Vec<FoundFact>) {
    let line = &page.lines.all[at];
    let candidates = phone::candidates(&line.text);
    let mut previous_end = 0;
    for digits in candidates {
        let between = &line.text[previous_end..digits.at.start];
        let before = &line.text[..digits.at.start];
        let after = &line.text[digits.at.end..];
        previous_end = digits.at.end;
        let Some(phone) = phone::international(&digits.dialled, site.country) else { continue };
        let near = between.char_indices().nth_back(LABEL_CHARS - 1).map_or(0, |(at, _)| at);
        let near = fold(&between[near..]);
        if is_fax(page, at, &fold(between))
            || REGISTER.are_in(&near)
            || (REGISTER.are_in(&fold(crate::whose::last_clause(before))) && !PHONE.are_in(&near))
        {
            continue;
        }
        if REGISTER.are_in(&label_above(page, at)) && near.trim().is_empty() {
            continue;
        }
        let has_label = PHONE.are_in(&fold(crate::whose::last_clause(before)))
            || PHONE.are_in(&label_above(page, at))
            || before.contains(['☎', '📞', '✆', '📱']);
        // `Direct line 01632 960 551`, `06 39 98 22 10 (Yann)`: a number and a few words.
        let is_long = digits.dialled.len() >= 8;
        let is_alone = (line.text.len() - digits.at.len() <= 4
            || is_long
                && before.split_whitespace().count() <= 4
                && before.chars().count() <= 40
                && before.chars().filter(char::is_ascii_digit).count() == 0)
            && (after.trim().len() <= 2
                || after.trim().starts_with('(') && after.trim().chars().count() <= 24);
        let is_linked = line.has_at(digits.at.start, |style| style.link.is_some())
            && line.pieces.iter().filter_map(|piece| piece.style.link).any(|link| {
                page.tree.attribute(link, "href").is_some_and(|href| href.starts_with("tel:"))
            });
        let days = crate::hours::WaitingDays { days: 1, given: false };
        let hours = crate::hours::read(&line.text, page.language(), days);
        if is_linked || !hours.intervals.is_empty() && !PHONE.are_in(&near) {
            continue;
        }
        // A line of nothing but numbers and labels.
        let mut words =
            line.folded.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 1);
        let is_list = words.all(|word| LABELS.are(word) || PHONE.are(word));
        // Digits alone may be anything; a short row of them needs a label.
        let is_phone = has_label
            || PHONE.are_in(&near)
            || is_list && is_spaced(&line.text[digits.at.clone()])
            || digits.dialled.starts_with('+')
            || (is_alone && is_spaced(&line.text[digits.at.clone()]))
            || is_spaced(&line.text[digits.at.clone()]) && near_own_address(site, page, at);
        if !is_phone {
            continue;
        }
        let whose = owner(site, page, at, before, after);
        let prose = line.text.len() > digits.at.len() + 60;
        let confidence = match whose {
            Owner::Business if has_label && !prose => LABELLED + 0.05,
            Owner::Business => LABELLED,
            Owner::Unclear
                if has_label
                    && at_contact_place(page, at)
                    && !prose
                    && !after.trim_start().starts_with(')') =>
            {
                PROSE
            }
            _ => continue,
        };
        let contact = Contact::Phone(phone);
        found.push(FoundFact::new(contact, page.number, Via::Text, &line.text, confidence));
    }
}

/// Written as people write numbers to be read: in groups.
fn is_spaced(written: &str) -> bool {
    written.chars().filter(|c| !c.is_ascii_digit()).count() >= 1
}

/// A place where a business puts its contacts.
fn at_contact_place(page: &SitePage<'_>, at: usize) -> bool {
    let part = page.lines.all[at].part;
    part.footer
        || part.header
        || part.address
        || matches!(page.topic, Topic::Contact | Topic::Imprint)
}

/// Whether the line, or its paragraph, has an address of the business or its name.
fn near_own_address(site: &SitePages<'_>, page: &SitePage<'_>, at: usize) -> bool {
    let paragraph = page.lines.paragraph(at);
    let text = page.text_of_lines(paragraph);
    site.is_named_in(&fold(&text))
        || !address::places(&text, site.country.map(|country| country.code)).is_empty()
}

/// The line above as a label: short, without a number of its own.
fn label_above(page: &SitePage<'_>, at: usize) -> String {
    let Some(above) = at.checked_sub(1).map(|above| &page.lines.all[above]) else {
        return String::new();
    };
    if above.text.chars().count() <= LABEL_CHARS
        && above.text.chars().filter(char::is_ascii_digit).count() < 4
    {
        above.folded.clone()
    } else {
        String::new()
    }
}

fn is_fax(page: &SitePage<'_>, at: usize, between: &str) -> bool {
    if FAX.are_in(between) {
        // `Tel./Fax 123` is both.
        return !(PHONE.are_in(between)
            && between.contains("/")
            && between.rfind("fax").is_some_and(|fax| between[..fax].trim_end().ends_with('/')));
    }
    !PHONE.are_in(between) && FAX.are_in(&label_above(page, at))
}

fn emails(site: &SitePages<'_>, page: &SitePage<'_>, at: usize, found: &mut Vec<FoundFact>) {
    let line = &page.lines.all[at];
    for (place, email) in email::emails(&line.text, &site.domain) {
        let whose = owner(site, page, at, &line.text[..place.start], &line.text[place.end..]);
        let is_own = is_own_email(site, &email) && !line.part.form;
        if is_own
            || whose == Owner::Business
            || (whose == Owner::Unclear
                && at_contact_place(page, at)
                && line.text.len() < place.len() + 40)
        {
            let confidence = if is_own { LABELLED + 0.15 } else { PROSE };
            let contact = Contact::Email(email);
            found.push(FoundFact::new(contact, page.number, Via::Text, &line.text, confidence));
        }
    }
}

/// At the site's own domain, or one that is named like it.
fn is_own_email(site: &SitePages<'_>, email: &str) -> bool {
    let domain = email.rsplit('@').next().unwrap_or_default();
    domain == site.domain
        || domain.ends_with(&format!(".{}", site.domain))
        || site.domain.ends_with(&format!(".{domain}"))
}

/// Removes e-mail addresses of other domains if the business has one at its own, except public mail
/// services in links and addresses in structured data.
fn without_strange_emails(site: &SitePages<'_>, found: &mut Vec<FoundFact>) {
    let is_email = |found: &FoundFact| matches!(&found.fact, TileFact::Contact(Contact::Email(email)) if is_own_email(site, email));
    if found.iter().any(is_email) {
        found.retain(|found| match &found.fact {
            TileFact::Contact(Contact::Email(email)) => {
                let is_public = PUBLIC_MAIL.are_in(email);
                is_own_email(site, email)
                    || !matches!(found.via, Via::Text | Via::Link)
                    || found.via == Via::Link && is_public
            }
            _ => true,
        });
    }
}

fn addresses(site: &SitePages<'_>, page: &SitePage<'_>, found: &mut Vec<FoundFact>) {
    let mut at = 0;
    while at < page.lines.all.len() {
        let run = address_run(page, at);
        at = run.end;
        let text = page.text_of_lines(run.clone());
        let mut places = address::places(&text, site.country.map(|country| country.code));
        if places.is_empty() && page.lines.all[run.clone()].iter().any(|line| line.part.address) {
            places.extend(address::place_without_code(&text));
        }
        for place in places {
            // The line that the street begins on, and what stands before it there.
            let line_offset = text[..place.at.start].matches('\n').count();
            let line = run.start + line_offset;
            let line_start = text[..place.at.start].rfind('\n').map_or(0, |end| end + 1);
            let before = &text[line_start..place.at.start];
            let end_of_line =
                text[place.at.end..].find('\n').map_or(text.len(), |end| place.at.end + end);
            let after = &text[place.at.end..end_of_line];
            let own = &page.lines.all[line];
            let whose = owner(site, page, line, before, after);
            // The block above the street may name who it belongs to.
            let named_above = name_above(site, page, &run, line);
            let is_ours = match (whose, named_above) {
                (Owner::Other, _) | (_, Some(false)) => false,
                (Owner::Business, _) => {
                    before.trim().is_empty()
                        || site.is_named_in(&fold(before))
                        || !has_names(site, before)
                }
                (Owner::Unclear, _) => own.part.address && before.chars().count() < 40,
            };
            let is_others_mail = |(_, email): &(Range<usize>, String)| {
                !is_own_email(site, email) && !PUBLIC_MAIL.are_in(email)
            };
            let mails = email::emails(after, &site.domain);
            if !is_ours || goes_on_about_others(after) || mails.iter().any(is_others_mail) {
                continue;
            }
            let street = without_name(site, &place.street);
            let country = place
                .country
                .map(str::to_owned)
                .or(site.country.map(|country| country.code.to_owned()));
            let address = PostalAddress {
                street,
                postal_code: place.postal_code,
                locality: place.locality,
                region: place.region,
                country,
            };
            let text = plain(&text[place.at.clone()], 200);
            let confidence = if own.part.address { LABELLED + 0.1 } else { LABELLED };
            let contact = Contact::Address(address);
            found.push(FoundFact::new(contact, page.number, Via::Text, text, confidence));
        }
    }
}

/// A street without the business's name before it: `Gull Rock House, 11 Chapel Steps`.
fn without_name(site: &SitePages<'_>, street: &str) -> String {
    match street.split_once(", ") {
        Some((first, rest))
            if site.is_named_in(&fold(first)) && !first.chars().any(|c| c.is_ascii_digit()) =>
        {
            rest.to_owned()
        }
        _ => street.to_owned(),
    }
}

/// Lines that may make up one address: a paragraph, or short lines of one container.
fn address_run(page: &SitePage<'_>, at: usize) -> Range<usize> {
    let lines = &page.lines.all;
    let mut end = at + 1;
    while end < lines.len() && end - at < RUN_LINES_MAX {
        let same_block = lines[end].block == lines[at].block;
        let is_short = |line: usize| lines[line].text.chars().count() <= 60;
        let siblings = is_short(end)
            && is_short(end - 1)
            && page.tree.node(lines[end].block).parent
                == page.tree.node(lines[end - 1].block).parent;
        if lines[end].gap || lines[end].level > 0 || !(same_block || siblings) {
            break;
        }
        end += 1;
    }
    at..end
}

/// What the lines above the street in its run say: our name, somebody else's, or nothing.
fn name_above(
    site: &SitePages<'_>,
    page: &SitePage<'_>,
    run: &Range<usize>,
    line: usize,
) -> Option<bool> {
    let nearest = page.lines.all[run.start..line].iter().rev().take(4);
    let mut above = nearest.filter(|line| line.level == 0).map(|line| &line.folded);
    if above.clone().any(|folded| site.is_named_in(folded)) {
        return Some(true);
    }
    above.any(|folded| crate::whose::is_others(folded)).then_some(false)
}

/// Whether a text has names that are not the business's.
fn has_names(site: &SitePages<'_>, text: &str) -> bool {
    let folded = fold(text);
    let names = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().next().is_some_and(char::is_uppercase));
    names.filter(|word| !LABELS.are(&fold(word)) && !site.name_words.contains(&fold(word))).count()
        > 2
        && !OUR_VOICE.are_in(&folded)
}

/// `…, 29100 Douarnenez, est ouvert tous les jours`: a sentence about a place.
fn goes_on_about_others(after: &str) -> bool {
    GOES_ON.begin(&fold(after.trim_start_matches([',', ' '])))
}

/// The most links of a page that are looked at.
pub(crate) const LINKS_MAX: usize = 2_000;
/// A label is no longer than this.
const LABEL_CHARS: usize = 28;
/// An address has no more lines, those about it included.
const RUN_LINES_MAX: usize = 14;
