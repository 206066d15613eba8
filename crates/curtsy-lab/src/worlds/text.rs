//! Texts from a seeded vocabulary: the same key gives the same words, on every machine.
//!
//! A text has a few favourite nouns, as a real page keeps to its topic. So two texts of one world
//! share the language and differ in their words.

use curtsy_sim::Chance;

/// Writes words, names and sentences that follow from a key.
pub(super) struct WorldText {
    chance: Chance,
    /// The nouns that this text prefers.
    favourites: [usize; 8],
}

impl WorldText {
    /// A text of this world under this key.
    pub(super) fn of(world: &str, key: &str) -> WorldText {
        let mut chance = Chance::new(hash(world, key));
        let mut favourites = [0; 8];
        for favourite in &mut favourites {
            *favourite = chance.below(NOUNS.len() as u64) as usize;
        }
        WorldText { chance, favourites }
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        self.chance.below(u64::from(bound.max(1))) as u32
    }

    /// A number from `low` to `high`.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// One of these.
    pub(super) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        *self.chance.pick(of)
    }

    /// A noun: in two of three cases one that this text prefers.
    pub(super) fn noun(&mut self) -> &'static str {
        match self.chance.percent(60) {
            true => NOUNS[self.favourites[self.chance.below(8) as usize]],
            false => self.one_of(NOUNS),
        }
    }

    pub(super) fn adjective(&mut self) -> &'static str {
        self.one_of(ADJECTIVES)
    }

    /// Any word, without regard to grammar.
    pub(super) fn word(&mut self) -> &'static str {
        match self.chance.below(4) {
            0 => self.one_of(ADJECTIVES),
            1 => self.one_of(VERBS),
            _ => self.one_of(NOUNS),
        }
    }

    /// Words joined by this text.
    pub(super) fn joined(&mut self, words: u32, by: &str) -> String {
        let words: Vec<&str> = (0..words).map(|_| self.word()).collect();
        words.join(by)
    }

    /// Words of no language, which no other text is likely to have.
    pub(super) fn syllables(&mut self, count: u32) -> String {
        (0..count).map(|_| self.one_of(SYLLABLES)).collect()
    }

    /// A person's name.
    pub(super) fn person(&mut self) -> String {
        let first = self.one_of(FIRST_NAMES);
        format!("{first} {}", self.surname())
    }

    pub(super) fn surname(&mut self) -> String {
        capital(&self.syllables(2))
    }

    /// A town's name.
    pub(super) fn place(&mut self) -> String {
        let ending = self.one_of(&["ford", "ham", "ton", "wick", "dale", "by", "mouth", "stead"]);
        let count = self.between(1, 2);
        format!("{}{ending}", capital(&self.syllables(count)))
    }

    /// So many hexadecimal digits.
    pub(super) fn hex(&mut self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.chance.draw()));
        }
        text.truncate(digits);
        text
    }

    /// A heading of three to five words.
    pub(super) fn title(&mut self) -> String {
        let (adjective, noun) = (self.adjective(), self.noun());
        let title = match self.chance.below(4) {
            0 => format!("the {adjective} {noun}"),
            1 => format!("{adjective} {noun} and {}", self.noun()),
            2 => format!("how the {noun} met the {}", self.noun()),
            _ => format!("{noun} of {}", self.place()),
        };
        capital(&title)
    }

    /// A sentence.
    pub(super) fn sentence(&mut self) -> String {
        let mut text = String::with_capacity(120);
        self.write_sentence(&mut text);
        text
    }

    /// Sentences with at least so many words.
    pub(super) fn text(&mut self, words: u32) -> String {
        let mut text = String::with_capacity(words as usize * 7);
        let mut left = words as i64;
        while left > 0 {
            if !text.is_empty() {
                text.push(' ');
            }
            left -= i64::from(self.write_sentence(&mut text));
        }
        text
    }

    /// Writes a sentence and returns the number of its words.
    fn write_sentence(&mut self, out: &mut String) -> u32 {
        let begin = out.len();
        let mut words = self.clause(out);
        match self.chance.below(5) {
            0 => {
                out.push_str(", ");
                out.push_str(self.one_of(LINKING));
                out.push(' ');
                words += 1 + self.clause(out);
            }
            1 => {
                out.push(' ');
                out.push_str(self.one_of(ENDINGS));
                words += 3;
            }
            2 => {
                out.push_str(" in ");
                out.push_str(&self.place());
                words += 2;
            }
            _ => {}
        }
        out[begin..=begin].make_ascii_uppercase();
        out.push('.');
        words
    }

    /// Writes a subject, a verb and an object.
    fn clause(&mut self, out: &mut String) -> u32 {
        let mut words = self.subject(out);
        out.push(' ');
        out.push_str(self.one_of(VERBS));
        out.push(' ');
        words += 1 + self.subject(out);
        if self.chance.percent(45) {
            out.push(' ');
            out.push_str(self.one_of(PREPOSITIONS));
            out.push(' ');
            words += 1 + self.subject(out);
        }
        words
    }

    fn subject(&mut self, out: &mut String) -> u32 {
        out.push_str(self.one_of(ARTICLES));
        out.push(' ');
        let adjective = self.chance.percent(40);
        if adjective {
            out.push_str(self.adjective());
            out.push(' ');
        }
        out.push_str(self.noun());
        2 + u32::from(adjective)
    }
}

/// Begins the text with a capital letter.
pub(super) fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// FNV-1a over both texts.
fn hash(world: &str, key: &str) -> u64 {
    let bytes = world.bytes().chain([0]).chain(key.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

const ARTICLES: &[&str] =
    &["the", "the", "the", "a", "this", "that", "every", "our", "one", "their"];
const LINKING: &[&str] = &["and", "but", "because", "while", "so", "although", "until", "before"];
const ENDINGS: &[&str] =
    &["after the war", "for some years", "in the end", "at that time", "by the way", "as a rule"];
const PREPOSITIONS: &[&str] =
    &["with", "under", "beside", "for", "without", "near", "from", "after", "behind", "against"];

pub(super) const ADJECTIVES: &[&str] = &[
    "amber", "ancient", "blunt", "bold", "brief", "bright", "broad", "broken", "calm", "careful",
    "cheap", "clean", "clever", "coarse", "cold", "common", "copper", "crisp", "curious", "daily",
    "damp", "dark", "deep", "dense", "distant", "double", "dry", "dull", "early", "eastern",
    "empty", "even", "faint", "famous", "fast", "fine", "firm", "flat", "formal", "fresh",
    "gentle", "golden", "grand", "green", "grey", "hard", "heavy", "hidden", "high", "hollow",
    "honest", "huge", "idle", "inner", "iron", "joint", "keen", "large", "late", "lean", "light",
    "local", "long", "loose", "loud", "low", "lucky", "major", "mild", "minor", "modern", "muddy",
    "narrow", "native", "neat", "new", "noble", "northern", "odd", "old", "open", "outer", "pale",
    "plain", "polite", "proud", "public", "pure", "quick", "quiet", "rapid", "rare", "raw", "red",
    "rich", "rough", "round", "royal", "rural", "sharp",
];

pub(super) const NOUNS: &[&str] = &[
    "acorn",
    "anchor",
    "apple",
    "archive",
    "arrow",
    "attic",
    "axle",
    "bakery",
    "ballad",
    "barley",
    "barn",
    "basin",
    "basket",
    "battery",
    "beacon",
    "bell",
    "bench",
    "bicycle",
    "blanket",
    "boiler",
    "border",
    "bottle",
    "branch",
    "brick",
    "bridge",
    "broom",
    "bucket",
    "button",
    "cabin",
    "cable",
    "camera",
    "canal",
    "candle",
    "canvas",
    "carpet",
    "castle",
    "cellar",
    "chain",
    "chapel",
    "chart",
    "cherry",
    "chimney",
    "circle",
    "clerk",
    "cliff",
    "clock",
    "cloud",
    "coast",
    "coin",
    "colony",
    "column",
    "compass",
    "cottage",
    "cotton",
    "council",
    "court",
    "cradle",
    "crane",
    "crew",
    "crown",
    "curtain",
    "dairy",
    "desert",
    "diary",
    "dock",
    "door",
    "drawer",
    "drum",
    "eagle",
    "editor",
    "engine",
    "estate",
    "fabric",
    "factory",
    "farm",
    "feather",
    "fence",
    "ferry",
    "field",
    "filter",
    "fire",
    "flag",
    "flour",
    "forest",
    "forge",
    "fountain",
    "frame",
    "furnace",
    "garden",
    "gate",
    "glacier",
    "glass",
    "glove",
    "grain",
    "granite",
    "guild",
    "hammer",
    "harbour",
    "harvest",
    "hedge",
    "helmet",
    "herring",
    "hill",
    "hinge",
    "honey",
    "horse",
    "hostel",
    "hotel",
    "island",
    "ivory",
    "jacket",
    "journal",
    "judge",
    "kettle",
    "kitchen",
    "ladder",
    "lake",
    "lamp",
    "lantern",
    "lawn",
    "leather",
    "ledger",
    "lemon",
    "letter",
    "library",
    "lighthouse",
    "linen",
    "lock",
    "lodge",
    "loom",
    "lumber",
    "magnet",
    "manor",
    "map",
    "marble",
    "market",
    "meadow",
    "meal",
    "medal",
    "mill",
    "mine",
    "mirror",
    "moor",
    "motor",
    "mountain",
    "museum",
    "needle",
    "notebook",
    "oak",
    "oar",
    "office",
    "orchard",
    "organ",
    "oven",
    "paddle",
    "painter",
    "palace",
    "paper",
    "parcel",
    "parish",
    "path",
    "pear",
    "pencil",
    "piano",
    "pier",
    "pillow",
    "pipe",
    "pilot",
    "plough",
    "pocket",
    "poem",
    "pond",
    "porch",
    "potter",
    "press",
    "printer",
    "pulley",
    "quarry",
    "quilt",
    "rabbit",
    "railway",
    "ranger",
    "ribbon",
    "river",
    "road",
    "roof",
    "rope",
    "saddle",
    "sail",
    "sailor",
    "salt",
    "sand",
    "school",
    "shelf",
    "shepherd",
    "ship",
    "silver",
    "spring",
    "stable",
    "station",
];

const VERBS: &[&str] = &[
    "adds", "admires", "asks", "bears", "blocks", "borrows", "brings", "builds", "buys", "calls",
    "carries", "changes", "cleans", "closes", "copies", "counts", "covers", "crosses", "cuts",
    "draws", "drives", "enters", "fills", "finds", "follows", "forgets", "frames", "gathers",
    "greets", "guards", "guides", "heats", "helps", "hides", "holds", "joins", "keeps", "leads",
    "leaves", "lends", "lifts", "likes", "loads", "marks", "measures", "meets", "mends", "misses",
    "moves", "names", "needs", "notes", "offers", "opens", "orders", "owns", "packs", "paints",
    "passes", "pays", "plans", "praises", "prints", "pulls", "pushes", "reaches", "reads",
    "records", "rents", "repairs", "replaces", "saves", "sees", "sells", "sends", "serves",
    "shares", "shows", "signs", "sorts", "starts", "stores", "supports", "takes", "teaches",
    "tests", "trades", "trusts", "turns", "visits", "wants", "warms", "washes", "watches",
    "weighs", "wins", "wraps", "writes", "yields", "divides",
];

const SYLLABLES: &[&str] = &[
    "al", "ba", "ber", "bran", "ca", "cor", "dan", "del", "dor", "el", "fen", "fol", "gar", "gil",
    "har", "hol", "im", "jor", "kel", "kin", "la", "len", "lor", "mar", "mel", "mor", "na", "nel",
    "nor", "or", "pel", "per", "quin", "ra", "ren", "ros", "sal", "sel", "sin", "tar", "tel",
    "tor", "ul", "van", "ver", "wal", "wen", "wil", "yar", "zel",
];

const FIRST_NAMES: &[&str] = &[
    "Ada", "Alan", "Anna", "Bert", "Carla", "Clara", "David", "Edith", "Emil", "Erik", "Frida",
    "George", "Greta", "Hanna", "Hugo", "Ida", "Ivan", "Jakob", "Jane", "Karl", "Laura", "Lena",
    "Mark", "Mary", "Nora", "Olga", "Oscar", "Paul", "Rosa", "Ruth", "Samuel", "Sara", "Tom",
    "Vera",
];
