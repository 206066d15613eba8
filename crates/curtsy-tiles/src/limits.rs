//! The limits of pages that facts are read from, from the constants that the readers go by.

use curtsy_core::limits::{Bound, Limit};

use crate::{contact, faq, jsonld, lines, merge, microdata, priced, schema, site, table, tree};

/// Returns the limits of this crate: pages of a site, sizes of a page, and tiles of a site.
///
/// Single readers have more limits (prices of a line, words of a name), which no normal page
/// exceeds.
pub fn limits() -> Vec<Limit> {
    let limit = |name, what, bound, outcome| Limit { name, what, bound, outcome, hit: None };
    let bytes = |bytes: usize| Bound::Bytes(bytes as u64);
    let count = |count: usize| Bound::Count(count as u64);
    let (rest, cut) = ("the rest is not read", "cut");
    vec![
        limit("tiles.pages", "pages of one site", count(site::PAGES_MAX), rest),
        limit("tiles.page_bytes", "a page as received", bytes(site::BODY_BYTES_MAX), rest),
        limit("tiles.text_bytes", "the text of a page", bytes(tree::TEXT_BYTES_MAX), rest),
        limit("tiles.nodes", "nodes of a page", count(tree::NODES_MAX), "the page ends there"),
        limit("tiles.depth", "nested elements", count(tree::DEPTH_MAX), "the page ends there"),
        limit(
            "tiles.tag_gaps",
            "gaps between the words of one tag",
            count(tree::QUIET_GAPS_MAX),
            "the page ends there",
        ),
        limit("tiles.attributes", "attributes of one element", count(tree::ATTRIBUTES_MAX), rest),
        limit(
            "tiles.attribute_chars",
            "characters of an attribute's value",
            count(tree::VALUE_CHARS_MAX),
            cut,
        ),
        limit("tiles.raw_bytes", "the text of one element", bytes(tree::RAW_BYTES_MAX), rest),
        limit("tiles.styles", "rules of one `style` element", count(tree::STYLES_MAX), rest),
        limit("tiles.lines", "lines of a page", count(lines::LINES_MAX), rest),
        limit("tiles.line_bytes", "one line of a page", bytes(lines::LINE_BYTES_MAX), rest),
        limit("tiles.tables", "tables of a page", count(table::TABLES_MAX), rest),
        limit("tiles.table_rows", "rows of a table", count(table::ROWS_MAX), rest),
        limit("tiles.table_cells", "cells of a row", count(table::COLUMNS_MAX), rest),
        limit("tiles.jsonld_blocks", "blocks of JSON-LD", count(jsonld::BLOCKS_MAX), rest),
        limit(
            "tiles.jsonld_bytes",
            "one block of JSON-LD",
            bytes(jsonld::BLOCK_BYTES_MAX),
            "the block is not read",
        ),
        limit("tiles.items", "items of microdata or RDFa", count(microdata::ITEMS_MAX), rest),
        limit("tiles.item_depth", "nested items", count(microdata::DEPTH_MAX), rest),
        limit(
            "tiles.item_chars",
            "characters of an item's value",
            count(microdata::VALUE_CHARS_MAX),
            cut,
        ),
        limit("tiles.objects", "objects of structured data", count(schema::OBJECTS_MAX), rest),
        limit("tiles.object_texts", "texts of one property", count(schema::TEXTS_MAX), rest),
        limit(
            "tiles.object_chars",
            "characters of one text of a property",
            count(schema::TEXT_CHARS_MAX),
            cut,
        ),
        limit(
            "tiles.object_hours",
            "opening hours of one object",
            count(schema::INTERVALS_MAX),
            rest,
        ),
        limit("tiles.links", "links of a page that are read", count(contact::LINKS_MAX), rest),
        limit("tiles.priced", "things with a price on a page", count(priced::ITEMS_MAX), rest),
        limit("tiles.prices", "prices of one such thing", count(priced::PRICES_MAX), rest),
        limit(
            "tiles.description_chars",
            "characters of a description",
            count(priced::DESCRIPTION_CHARS_MAX),
            cut,
        ),
        limit(
            "tiles.question_chars",
            "characters of a question",
            count(faq::QUESTION_CHARS_MAX),
            "truncated; a longer line is not a question",
        ),
        limit("tiles.answer_chars", "characters of an answer", count(faq::ANSWER_CHARS_MAX), cut),
        limit(
            "tiles.name_chars",
            "characters of a name",
            count(merge::NAME_CHARS_MAX),
            "no tile is created",
        ),
        limit(
            "tiles.kind",
            "tiles of one kind",
            count(merge::TILES_PER_KIND_MAX),
            "the rest is left out",
        ),
        limit(
            "tiles.evidence",
            "places where a fact was seen",
            count(merge::EVIDENCE_MAX),
            "the rest is left out",
        ),
        limit(
            "tiles.evidence_chars",
            "characters of the text that proves a fact",
            count(merge::EVIDENCE_CHARS_MAX),
            cut,
        ),
    ]
}
