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

use super::case::{CaseGroup, ZooCase};

/// The cases of a group.
type GroupCases = fn() -> Vec<ZooCase>;

/// Every case, group by group.
pub fn cases() -> Vec<ZooCase> {
    let groups: [(CaseGroup, GroupCases); 13] = [
        (CaseGroup::Control, control::cases),
        (CaseGroup::Coding, coding::cases),
        (CaseGroup::Time, time::cases),
        (CaseGroup::Head, head::cases),
        (CaseGroup::Length, length::cases),
        (CaseGroup::Tls, tls::cases),
        (CaseGroup::Http2, http2::cases),
        (CaseGroup::Content, content::cases),
        (CaseGroup::Redirect, redirect::cases),
        (CaseGroup::Robots, robots::cases),
        (CaseGroup::Sitemap, sitemap::cases),
        (CaseGroup::Maze, maze::cases),
        (CaseGroup::Refusal, refusal::cases),
    ];
    let cases = |(group, cases): &(CaseGroup, GroupCases)| {
        let group = *group;
        cases().into_iter().map(move |case| ZooCase { group, ..case })
    };
    groups.iter().flat_map(cases).collect()
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
