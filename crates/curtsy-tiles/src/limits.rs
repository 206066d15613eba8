//! The limits of pages that facts are read from, from the constants that the readers go by.

use curtsy_core::limits::Limit;

use crate::{contact, faq, jsonld, lines, merge, microdata, priced, schema, site, table, tree};

/// Returns the limits of this crate: pages of a site, sizes of a page, and tiles of a site.
///
/// Single readers have more limits (prices of a line, words of a name), which no normal page
/// exceeds.
pub fn limits() -> Vec<Limit> {
    vec![
        Limit::count("tiles.pages", site::PAGES_MAX),
        Limit::bytes("tiles.page_bytes", site::BODY_BYTES_MAX),
        Limit::bytes("tiles.text_bytes", tree::TEXT_BYTES_MAX),
        Limit::count("tiles.nodes", tree::NODES_MAX),
        Limit::count("tiles.depth", tree::DEPTH_MAX),
        Limit::count("tiles.tag_gaps", tree::QUIET_GAPS_MAX),
        Limit::count("tiles.attributes", tree::ATTRIBUTES_MAX),
        Limit::count("tiles.attribute_chars", tree::VALUE_CHARS_MAX),
        Limit::bytes("tiles.raw_bytes", tree::RAW_BYTES_MAX),
        Limit::count("tiles.styles", tree::STYLES_MAX),
        Limit::count("tiles.lines", lines::LINES_MAX),
        Limit::bytes("tiles.line_bytes", lines::LINE_BYTES_MAX),
        Limit::count("tiles.tables", table::TABLES_MAX),
        Limit::count("tiles.table_rows", table::ROWS_MAX),
        Limit::count("tiles.table_cells", table::COLUMNS_MAX),
        Limit::count("tiles.jsonld_blocks", jsonld::BLOCKS_MAX),
        Limit::bytes("tiles.jsonld_bytes", jsonld::BLOCK_BYTES_MAX),
        Limit::count("tiles.items", microdata::ITEMS_MAX),
        Limit::count("tiles.item_depth", microdata::DEPTH_MAX),
        Limit::count("tiles.item_chars", microdata::VALUE_CHARS_MAX),
        Limit::count("tiles.objects", schema::OBJECTS_MAX),
        Limit::count("tiles.object_texts", schema::TEXTS_MAX),
        Limit::count("tiles.object_chars", schema::TEXT_CHARS_MAX),
        Limit::count("tiles.object_hours", schema::INTERVALS_MAX),
        Limit::count("tiles.links", contact::LINKS_MAX),
        Limit::count("tiles.priced", priced::ITEMS_MAX),
        Limit::count("tiles.prices", priced::PRICES_MAX),
        Limit::count("tiles.description_chars", priced::DESCRIPTION_CHARS_MAX),
        Limit::count("tiles.question_chars", faq::QUESTION_CHARS_MAX),
        Limit::count("tiles.answer_chars", faq::ANSWER_CHARS_MAX),
        Limit::count("tiles.name_chars", merge::NAME_CHARS_MAX),
        Limit::count("tiles.kind", merge::TILES_PER_KIND_MAX),
        Limit::count("tiles.evidence", merge::EVIDENCE_MAX),
        Limit::count("tiles.evidence_chars", merge::EVIDENCE_CHARS_MAX),
    ]
}
