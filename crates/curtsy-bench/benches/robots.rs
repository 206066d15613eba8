//! Instructions that the robots.txt engine and its peers need for the same files and the same
//! question.
//!
//! `parse` is everything until questions can be asked; `decide` is one question. `robotstxt` keeps
//! nothing of a file, so its parse is a run over the lines that drops them, and its decision reads
//! the file again.

#![expect(missing_docs, reason = "the macros of gungraun make public items")]

use std::hint::black_box;

use curtsy_bench::robots::{PATH, PRODUCT, URL, large, typical};
use curtsy_core::policy::AgentMatch;
use curtsy_core::robots::{AgentRules, Robots, RobotsDecision};
use gungraun::prelude::*;
use robotstxt::{DefaultMatcher, RobotsParseHandler};

fn ours(text: String) -> AgentRules {
    Robots::parse(text.as_bytes()).for_agent(PRODUCT, AgentMatch::Rfc)
}

fn texting(text: String) -> texting_robots::Robot {
    texting_robots::Robot::new(PRODUCT, text.as_bytes()).expect("the file is small")
}

fn robotxt(text: String) -> robotxt::Robots {
    robotxt::Robots::parse(text.as_bytes(), PRODUCT)
}

#[library_benchmark]
#[bench::typical(typical())]
#[bench::large(large())]
fn parse_curtsy(text: String) -> (Robots, AgentRules, String) {
    let robots = Robots::parse(black_box(text.as_bytes()));
    let rules = robots.for_agent(PRODUCT, AgentMatch::Rfc);
    black_box((robots, rules, text))
}

#[library_benchmark]
#[bench::typical(typical())]
#[bench::large(large())]
fn parse_texting_robots(text: String) -> (texting_robots::Robot, String) {
    let robots =
        texting_robots::Robot::new(PRODUCT, black_box(text.as_bytes())).expect("the file is small");
    black_box((robots, text))
}

#[library_benchmark]
#[bench::typical(typical())]
#[bench::large(large())]
fn parse_robotxt(text: String) -> (robotxt::Robots, String) {
    let robots = robotxt::Robots::parse(black_box(text.as_bytes()), PRODUCT);
    black_box((robots, text))
}

#[library_benchmark]
#[bench::typical(typical())]
#[bench::large(large())]
fn parse_robotstxt(text: String) -> String {
    robotstxt::parse_robotstxt(black_box(&text), &mut Drop);
    text
}

#[library_benchmark]
#[bench::typical(ours(typical()))]
#[bench::large(ours(large()))]
fn decide_curtsy(rules: AgentRules) -> (RobotsDecision, AgentRules) {
    black_box((rules.decide(black_box(PATH)), rules))
}

#[library_benchmark]
#[bench::typical(texting(typical()))]
#[bench::large(texting(large()))]
fn decide_texting_robots(robots: texting_robots::Robot) -> (bool, texting_robots::Robot) {
    black_box((robots.allowed(black_box(URL)), robots))
}

#[library_benchmark]
#[bench::typical(robotxt(typical()))]
#[bench::large(robotxt(large()))]
fn decide_robotxt(robots: robotxt::Robots) -> (bool, robotxt::Robots) {
    black_box((robots.is_allowed(black_box(PATH)), robots))
}

#[library_benchmark]
#[bench::typical(typical())]
#[bench::large(large())]
fn decide_robotstxt(text: String) -> (bool, String) {
    let allowed = DefaultMatcher::default().one_agent_allowed_by_robots(
        black_box(&text),
        PRODUCT,
        black_box(URL),
    );
    black_box((allowed, text))
}

/// Takes the lines of `robotstxt` and keeps nothing.
struct Drop;

impl RobotsParseHandler for Drop {
    fn handle_robots_start(&mut self) {}
    fn handle_robots_end(&mut self) {}
    fn handle_user_agent(&mut self, line: u32, value: &str) {
        black_box((line, value));
    }
    fn handle_allow(&mut self, line: u32, value: &str) {
        black_box((line, value));
    }
    fn handle_disallow(&mut self, line: u32, value: &str) {
        black_box((line, value));
    }
    fn handle_sitemap(&mut self, line: u32, value: &str) {
        black_box((line, value));
    }
    fn handle_unknown_action(&mut self, line: u32, key: &str, value: &str) {
        black_box((line, key, value));
    }
}

library_benchmark_group!(
    name = parse,
    benchmarks = [parse_curtsy, parse_texting_robots, parse_robotxt, parse_robotstxt]
);
library_benchmark_group!(
    name = decide,
    benchmarks = [decide_curtsy, decide_texting_robots, decide_robotxt, decide_robotstxt]
);
main!(library_benchmark_groups = parse, decide);
