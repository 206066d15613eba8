//! The table of all cases.

mod coding;
mod content;
mod control;
mod head;
mod http2;
mod length;
mod maze;
mod redirect;
mod refusal;
mod robots;
mod sitemap;
mod time;
mod tls;

use super::case::Case;

/// Every case, group by group.
pub fn cases() -> Vec<Case> {
    let groups = [
        control::cases,
        coding::cases,
        time::cases,
        head::cases,
        length::cases,
        tls::cases,
        http2::cases,
        content::cases,
        redirect::cases,
        robots::cases,
        sitemap::cases,
        maze::cases,
        refusal::cases,
    ];
    groups.iter().flat_map(|group| group()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn cases_have_names_of_their_own_and_say_what_they_do() {
        let mut names = HashSet::new();
        for case in cases() {
            assert!(names.insert(case.name), "`{}` is there twice", case.name);
            let plain =
                |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
            assert!(case.name.chars().all(plain), "`{}`", case.name);
            assert!(!case.does.is_empty() && !case.does.ends_with('.'), "`{}`", case.name);
            assert!(!case.does.contains(['\n', '|']), "`{}` is one cell of a table", case.name);
        }
    }
}
