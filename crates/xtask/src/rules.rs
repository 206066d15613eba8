//! Words and constructions that the documents avoid: the rules in `rules.txt`.

/// A reason of rules, which do not apply to [`DIARIES`].
pub(crate) const DIARY: &str = "a diary belongs in the benchmark history or the commit";

/// Where diaries belong.
pub(crate) const DIARIES: &[&str] = &["docs/internals/benchmark-history.md"];

/// One rule. Patterns ignore case, and code is hidden from them.
pub(crate) struct WordRule {
    pub(crate) pattern: &'static str,
    /// Phrases that contain the pattern and are right.
    pub(crate) except: Vec<&'static str>,
    pub(crate) reason: &'static str,
    pub(crate) instead: &'static str,
}

/// Reads the rules. The file says how it is written.
pub(crate) fn rules() -> Vec<WordRule> {
    let mut rules: Vec<WordRule> = Vec::new();
    let mut reason = "";
    for line in include_str!("rules.txt").lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        } else if let Some(named) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            reason = named;
        } else if let Some(pattern) = line.strip_prefix("but ") {
            rules.last_mut().expect("an exception follows its rule").except.push(pattern);
        } else {
            let (pattern, instead) = line.split_once(" => ").expect("PATTERN => BETTER WORDS");
            rules.push(WordRule { pattern, except: Vec::new(), reason, instead });
        }
    }
    rules
}
