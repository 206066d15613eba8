//! Real logs: JSON lines, combined lines, junk; and the printed report.

use std::time::Duration;

use curtsy_judge::{
    ConnectionAgent, ConnectionChange, ConnectionEvent, CrawlerFault, Docket, Exchange, FaultNote,
    InStartOrder, Judge, JudgeReport, LogDetail, LogEntry, LogFormat, LogScheme, Manners, Rule,
    SecondMatcher, WorkPlan, read_faults, read_log, read_plan, write_line,
};

fn judge_text(text: &str, mut judge: Judge) -> JudgeReport {
    judge.read([text.as_bytes()]);
    judge.finish()
}

fn full() -> Exchange {
    let mut x = Exchange::get(1_000_000, "a.test", "/robots.txt?x=\"1\"", 429);
    x.end = 1_500_000;
    x.conn = 7;
    x.peer = Some([127, 0, 0, 1].into());
    x.local = Some("::1".parse().unwrap());
    x.scheme = LogScheme::Https;
    x.port = 8443;
    x.user_agent = Some("curtsy/0.1 (+me@example.org)".into());
    x.from = Some("me@example.org".into());
    x.if_none_match = Some("\"1\"".into());
    x.if_modified_since = Some("Sun, 06 Nov 1994 08:49:37 GMT".into());
    (x.cookie, x.authorization) = (true, true);
    x.location = Some("/ü".into());
    x.retry_after = Some("60".into());
    x.date = Some("Sun, 06 Nov 1994 08:49:37 GMT".into());
    x.cache_control = Some("max-age=60".into());
    x.etag = Some("\"2\"".into());
    x.last_modified = Some("Sun, 06 Nov 1994 08:49:37 GMT".into());
    x.robots_body = Some(b"User-agent: *\nDisallow: /\n".as_slice().into());
    (x.complete, x.read_late) = (false, true);
    x
}

#[test]
fn a_line_written_is_the_line_read() {
    let mut bytes = full();
    bytes.robots_body = Some([0xff, 0x00, b'\n'].as_slice().into());
    let mut none = Exchange::get(0, "a.test", "/", 0);
    (none.status, none.complete) = (None, false);
    for x in [full(), bytes, none] {
        let mut line = Vec::new();
        write_line(&x, &mut line).unwrap();
        assert_eq!(line.iter().filter(|&&b| b == b'\n').count(), 1);
        let mut log = read_log(line.as_slice());
        assert_eq!(log.next(), Some(Ok(x.into())));
        assert_eq!(log.next(), None);
        assert_eq!(log.detail(), LogDetail::FULL);
    }
}

/// A connection that was accepted or closed, by number and time.
fn connection(at: u64, conn: u64, change: ConnectionChange) -> ConnectionEvent {
    ConnectionEvent {
        at,
        change,
        conn,
        peer: Some([127, 0, 0, 1].into()),
        local: Some([127, 0, 0, 2].into()),
        port: 80,
        ..ConnectionEvent::default()
    }
}

/// A request on a connection.
fn request_on(conn: u64, at: u64, host: &str, target: &str) -> Exchange {
    let status = if target == "/robots.txt" { 404 } else { 200 };
    let mut x = Exchange::get(at, host, target, status);
    (x.conn, x.user_agent) = (conn, Some("curtsy/0.1 (+me@example.org)".into()));
    (x.peer, x.local) = (Some([127, 0, 0, 1].into()), Some([127, 0, 0, 2].into()));
    x
}

#[test]
fn connections_are_lines_too() {
    let accepted = ConnectionEvent {
        read_late: true,
        host: Some("a.test".into()),
        ..connection(5, 7, ConnectionChange::Accepted)
    };
    for event in [
        accepted,
        connection(6, 7, ConnectionChange::ClosedByServer),
        connection(6, 7, ConnectionChange::ClosedByClient),
    ] {
        let mut line = Vec::new();
        LogEntry::from(event.clone()).write(&mut line).unwrap();
        let mut log = read_log(line.as_slice());
        assert_eq!(log.next(), Some(Ok(event.into())));
        assert_eq!(log.detail(), LogDetail::FULL);
    }
    // A log of requests may have a field of this name.
    let text = r#"{"start":5,"host":"a.test","method":"GET","target":"/","accept":7}"#;
    assert!(matches!(read_log(text.as_bytes()).next(), Some(Ok(LogEntry::Exchange(_)))));
    for (line, why) in [
        (r#"{"close":5,"conn":1,"port":80}"#, "`by` is `missing`, not `server` or `client`"),
        (r#"{"accept":5,"port":80}"#, "`conn` is missing"),
        (r#"{"accept":5,"conn":1}"#, "`port` is missing"),
    ] {
        let unreadable = read_log(line.as_bytes()).next().unwrap().unwrap_err();
        assert_eq!(unreadable.why, why);
    }
}

/// Judges entries as `curtsy judge` does: sorted, each agent by itself. Gives the tally of P17 for
/// each agent, and the number of connections that are nobody's.
fn docket(entries: Vec<LogEntry>, left_out: &[Exchange]) -> (Vec<(String, u64, u64, u64)>, u64) {
    let mut order = InStartOrder::new(Duration::from_secs(600));
    entries.into_iter().for_each(|entry| order.push(entry));
    left_out.iter().for_each(|x| order.leave_out(x));
    let mut docket = Docket::new(|_: &str| Judge::new(Manners::default()));
    while let Some(entry) = order.drain() {
        docket.see(entry);
    }
    let verdicts = docket.finish();
    let tallies = verdicts.agents.iter().map(|agent| {
        let tally = agent.report.as_ref().unwrap().rule(Rule::P17);
        (agent.name.clone(), tally.judged, tally.violations, tally.not_judged)
    });
    (tallies.collect(), verdicts.connections_unknown)
}

#[test]
fn an_accept_belongs_to_the_host_and_the_agent_of_its_requests() {
    use ConnectionChange::Accepted;
    let second = 1_000_000;
    // Two names at one address: the accepts are a second apart, those of each name three.
    let entries: Vec<LogEntry> = vec![
        connection(0, 1, Accepted).into(),
        connection(second, 2, Accepted).into(),
        connection(3 * second, 3, Accepted).into(),
        // Nobody can tell whose this was.
        connection(3 * second, 4, Accepted).into(),
        request_on(1, 0, "a.test", "/robots.txt").into(),
        request_on(2, second, "b.test", "/robots.txt").into(),
        request_on(3, 3 * second, "A.test", "/").into(),
    ];
    let curtsy =
        |judged, violations, unknown| vec![("curtsy".to_owned(), judged, violations, unknown)];
    assert_eq!(docket(entries.clone(), &[]), (curtsy(1, 0, 1), 0));
    // With one name there, it was that name's.
    let mut one_name = entries.clone();
    one_name.remove(5);
    one_name.remove(1);
    assert_eq!(docket(one_name, &[]), (curtsy(2, 1, 0), 0));
    // The connection of another agent is not this agent's.
    let mut other = request_on(4, 3 * second, "a.test", "/");
    other.user_agent = Some("other/1 (+you@example.org)".into());
    let mut two_agents = entries.clone();
    two_agents.push(other.clone().into());
    let (tallies, unknown) = docket(two_agents, &[]);
    assert_eq!(unknown, 0);
    assert_eq!(tallies.iter().map(|(_, judged, ..)| judged).sum::<u64>(), 1, "{tallies:?}");
    assert!(tallies.iter().all(|(_, _, violations, _)| *violations == 0), "{tallies:?}");
    // Nor is it, if the other agent's requests are left out.
    assert_eq!(docket(entries, &[other]), (curtsy(1, 0, 0), 0));
    // The server names its only host. It is this one, unless the client has other names for it.
    let named = |at, conn, name: &str| ConnectionEvent {
        host: Some(name.into()),
        ..connection(at, conn, Accepted)
    };
    let mut judge = Judge::new(Manners::default());
    let mut order = InStartOrder::new(Duration::from_secs(600));
    order.push(named(0, 1, "a.test"));
    order.push(named(second, 2, "a.test"));
    std::iter::from_fn(|| order.drain()).for_each(|entry| judge.see(entry));
    assert_eq!(judge.finish().rule(Rule::P17).violations, 1);
    let by_address = vec![
        named(0, 1, "a.test").into(),
        named(second, 2, "a.test").into(),
        request_on(1, 0, "127.0.0.2", "/robots.txt").into(),
    ];
    assert_eq!(docket(by_address.clone(), &[]), (curtsy(1, 1, 0), 0));
    let by_both = [by_address, vec![request_on(7, 9 * second, "a.test", "/").into()]].concat();
    assert_eq!(docket(by_both, &[]), (curtsy(0, 0, 1), 0));
    // A connection without any request is nobody's.
    let lonely = connection(0, 1, Accepted);
    assert_eq!(lonely.agent, ConnectionAgent::Unknown);
    assert_eq!(docket(vec![lonely.into()], &[]), (Vec::new(), 1));
}

#[test]
fn a_log_with_connections_is_judged_line_by_line() {
    use ConnectionChange::{Accepted, ClosedByServer};
    let second = 1_000_000;
    let text = |entries: &[LogEntry]| {
        let mut text = Vec::new();
        entries.iter().for_each(|entry| entry.write(&mut text).unwrap());
        String::from_utf8(text).unwrap()
    };
    let honest: Vec<LogEntry> = vec![
        connection(0, 1, Accepted).into(),
        request_on(1, 0, "a.test", "/robots.txt").into(),
        connection(second, 1, ClosedByServer).into(),
        connection(3 * second, 2, Accepted).into(),
        request_on(2, 3 * second, "a.test", "/").into(),
    ];
    let report = judge_text(&text(&honest), Judge::new(Manners::default()));
    assert!(report.clean(), "{:?}", report.first);
    assert_eq!((report.exchanges, report.connections, report.unreadable), (2, 2, 0));
    assert_eq!(report.rule(Rule::P17).judged, 1);
    // Dialled again at once, and nothing was asked on that connection.
    let mut eager = honest;
    eager.push(connection(3 * second + 20_000, 3, Accepted).into());
    let report = judge_text(&text(&eager), Judge::new(Manners::default()));
    assert_eq!(report.first[0].rule, Rule::P17);
    assert_eq!(
        report.first[0].what,
        "connected 0.02 s after the connection before, the delay is 3 s"
    );
}

#[test]
fn unknown_fields_are_ignored_and_missing_ones_tolerated() {
    let text = r#"{"start":5,"host":"a.test:8080","method":"GET","target":"/","colour":"red"}"#;
    let mut log = read_log(text.as_bytes());
    let x = log.next().unwrap().unwrap().exchange().unwrap();
    assert_eq!((x.start, x.end, x.port, x.status), (5, 5, 8080, None));
    assert!(!log.detail().ends);
}

#[test]
fn what_can_not_be_read_is_counted_and_shown() {
    let good = r#"{"start":0,"end":0,"host":"a.test","method":"GET","target":"/robots.txt","status":404,"user_agent":"c/1 (+me)"}"#;
    let junk = [
        "hello",
        "{\"start\":1}",
        "{\"start\":\"soon\",\"host\":\"a\",\"method\":\"GET\",\"target\":\"/\"}",
        "{\"start\":9,\"end\":3,\"host\":\"a\",\"method\":\"GET\",\"target\":\"/\"}",
        "{\"start\":",
        "1.2.3.4 - - [yesterday] \"GET / HTTP/1.1\" 200 5",
        "1.2.3.4 - - [06/Nov/1994:08:49:37 +0000] \"GET\" 200 5",
    ];
    let text = format!("{}\n\n{good}\n", junk.join("\n"));
    let report = judge_text(&text, Judge::new(Manners::default()));
    assert_eq!((report.exchanges, report.unreadable), (1, junk.len() as u64));
    assert_eq!(report.unreadable_first.len(), 5);
    assert!(report.unreadable_first[0].starts_with("line 1: neither a JSON object nor"));
    assert!(report.unreadable_first[1].contains("`host` is missing"));
    assert!(report.unreadable_first[2].contains("`start` is `\"soon\"`, not a whole number"));
    assert!(report.clean());
    let not_text = [b'{', 0xff, b'\n'];
    let found = read_log(not_text.as_slice()).next().unwrap();
    assert_eq!(found.unwrap_err().why, "not UTF-8");
}

#[test]
fn nginx_writes_seconds_and_the_order_of_ends() {
    let line = |msec: &str, took: &str, target: &str, status: &str| {
        format!(
            "{{\"msec\":{msec},\"request_time\":{took},\"scheme\":\"http\",\"host\":\"a.test\",\"port\":\"80\",\
             \"method\":\"GET\",\"target\":\"{target}\",\"status\":\"{status}\",\"retry_after\":\"\",\
             \"cookie\":\"\",\"authorization\":\"-\",\"complete\":\"OK\",\
             \"user_agent\":\"c/1 (+me)\"}}\n"
        )
    };
    let robots = line("1700000000.100", "0.100", "/robots.txt", "404");
    // Ends later than the one below, but started before it.
    let slow = line("1700000009.000", "6.000", "/a", "200");
    let fast = line("1700000006.010", "0.010", "/b", "200");
    let mut manners = Manners { slots: 2, ..Manners::default() };
    let report = judge_text(&format!("{robots}{fast}{slow}"), Judge::new(manners.clone()));
    assert!(report.clean(), "{:?}", report.first);
    assert_eq!(report.out_of_order, 0);
    manners.slots = 1;
    let report = judge_text(&format!("{robots}{fast}{slow}"), Judge::new(manners));
    assert_eq!(report.first[0].rule, Rule::P5);
    assert_eq!(report.limits.len(), 1);
}

#[test]
fn logs_of_several_servers_are_judged_as_one() {
    let line = |start: u64, target: &str| {
        let mut x = Exchange::get(start, "a.test", target, 404);
        x.user_agent = Some("c/1 (+me)".into());
        let mut line = Vec::new();
        write_line(&x, &mut line).unwrap();
        line
    };
    let first = [line(0, "/robots.txt"), line(6_000_000, "/b")].concat();
    let second = [line(3_000_000, "/a"), line(8_000_000, "/c")].concat();
    let mut judge = Judge::new(Manners::default());
    judge.read([second.as_slice(), first.as_slice()]);
    let report = judge.finish();
    assert_eq!((report.exchanges, report.out_of_order), (4, 0));
    assert_eq!(report.violations(), 1);
    assert_eq!((report.first[0].rule, report.first[0].at), (Rule::P4, 8_000_000));
}

#[test]
fn a_combined_log_shows_what_it_can() {
    let line = |host: &str, second: u8, request: &str, status: u16| {
        format!(
            "{host}192.0.2.1 - - [06/Nov/1994:08:49:{second:02} +0000] \"{request} HTTP/1.1\" {status} 512 \
             \"-\" \"c/1 (+me@example.org)\"\n"
        )
    };
    let polite = [
        line("", 0, "GET /robots.txt", 200),
        line("", 3, "GET /a\\x22b", 200),
        line("", 5, "GET /b", 200),
    ];
    let report = judge_text(&polite.concat(), Judge::new(Manners::default()));
    assert!(report.clean(), "{:?}", report.first);
    assert_eq!(report.rule(Rule::P2).not_judged, 2);
    assert_eq!(report.limits.len(), 4);
    let judge =
        Judge::new(Manners::default()).with_robots("localhost", b"User-agent: *\nDisallow: /b\n");
    let report = judge_text(&polite.concat(), judge);
    assert_eq!(report.first[0].rule, Rule::P2);
    // With nginx's `$request_time` the start is known to the second.
    let timed =
        |second, request| line("b.test:443 ", second, request, 200).replace(")\"\n", ")\" 0.003\n");
    let named = [timed(0, "GET /robots.txt"), timed(1, "GET /a")];
    let report = judge_text(&named.concat(), Judge::new(Manners::default()));
    assert_eq!((report.first[0].rule, report.first[0].host.as_str()), (Rule::P4, "b.test"));
    let midway = line("", 3, "GET /a", 200);
    assert!(!judge_text(&midway, Judge::new(Manners::default())).clean());
    let judge = Judge::new(Manners::default()).with_log_from_midway();
    assert!(judge_text(&midway, judge).clean());
}

#[test]
fn a_polite_crawler_stays_clean_when_its_times_are_cut_to_seconds() {
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    let mut draw = |most: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % most
    };
    for round in 0..200u64 {
        // nginx stamps the end and may add the duration, Apache stamps the start.
        let (stamps_end, timed) = (round % 3 != 2, round % 3 == 0);
        let delay = 300_000 + draw(4_000_000);
        let (mut start, mut lines) = (1_000_000_000_000_000u64, Vec::new());
        for i in 0..60 {
            start += delay + if draw(3) == 0 { draw(2_000_000) } else { draw(3) };
            let took = draw(9_900) * 1000;
            let stamp = if stamps_end { start + took } else { start } / 1_000_000;
            let (minute, second) = (stamp / 60 % 60, stamp % 60);
            let hour = stamp / 3600 % 24;
            let tail = match timed {
                true => format!(" {}.{:03}", took / 1_000_000, took / 1000 % 1000),
                false => String::new(),
            };
            let line = format!(
                "192.0.2.1 - - [09/Sep/2001:{hour:02}:{minute:02}:{second:02} +0000] \"GET /{i} HTTP/1.1\" 200 5 \"-\" \"c/1\"{tail}\n"
            );
            lines.push((start + took, line));
        }
        lines.sort();
        let text: String = lines.iter().map(|(_, line)| line.as_str()).collect();
        let manners =
            |delay: u64| Manners { delay_min: Duration::from_micros(delay), ..Manners::neutral() };
        let report = judge_text(&text, Judge::new(manners(delay)));
        assert!(report.clean(), "round {round}, delay {delay}: {:#?}", report.first);
        assert_eq!(report.out_of_order, 0);
        // Whoever is asked for three times as much is caught, in spite of the coarseness.
        let report = judge_text(&text, Judge::new(manners(delay * 3)));
        assert!(report.rule(Rule::P4).violations > 0, "round {round}, delay {delay}");
    }
}

#[test]
fn any_line_in_any_format_is_read_without_a_panic() {
    let seeds = [
        "#Fields: date time cs-method cs-uri-stem c-ip cs(User-Agent) sc-status time-taken x-edge-location",
        "#Date: 1994-11-06 08:49:37",
        "1994-11-06\t08:49:37\tGET\t/\t192.0.2.1\ta%20b\t200\t0.001\tX",
        "1994-11-06 08:49:37 GET / 192.0.2.1 a++b 200 15 X",
        "h:80 192.0.2.1 - - [06/Nov/1994:08:49:37 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"a\\x22\" rt=0.001",
        "{\"ts\":784111777.5,\"request\":{\"method\":\"GET\",\"host\":\"h\",\"uri\":\"/\",\"headers\":{\"User-Agent\":[\"a\"]}},\"status\":200}",
        "{\"time_iso8601\":\"1994-11-06T08:49:37+00:00\",\"host\":\"h\",\"request\":\"GET / HTTP/1.1\",\"status\":\"200\"}",
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % most as u64) as usize
    };
    let (mut read, mut unreadable) = (0, 0);
    for round in 0..3000 {
        let mut log = Vec::new();
        for _ in 0..8 {
            let mut line = seeds[draw(seeds.len())].as_bytes().to_vec();
            for _ in 0..draw(4) {
                if line.is_empty() {
                    break;
                }
                let at = draw(line.len());
                match draw(3) {
                    0 => line[at] = draw(256) as u8,
                    1 => _ = line.remove(at),
                    _ => line.truncate(at.max(1)),
                }
            }
            log.extend(line);
            log.push(b'\n');
        }
        let mut reader = read_log(log.as_slice()).keeping_lines(None);
        if round % 6 > 0 {
            reader = reader.with_format(LogFormat::ALL[round % 6 - 1]);
        }
        for line in reader {
            *if line.is_ok() { &mut read } else { &mut unreadable } += 1;
        }
    }
    assert!(read > 1000 && unreadable > 1000, "{read} and {unreadable}");
}

#[test]
fn a_site_is_heard_by_those_too_who_never_asked() {
    let asks = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n";
    let judge = |given: bool, targets: &[(u64, &str)]| {
        let mut judge = Judge::new(Manners::neutral());
        if given {
            judge = judge.with_robots("*", asks);
        }
        for (millis, target) in targets {
            let mut x = Exchange::get(millis * 1000, "a.test", target, 200);
            x.robots_body = (*target == "/robots.txt").then(|| asks.as_slice().into());
            judge.see(x);
        }
        let report = judge.finish();
        let broken = |rule| report.rule(rule).violations;
        (broken(Rule::P2), broken(Rule::P4), report.violations())
    };
    let fast = [(0, "/a"), (500, "/b"), (4000, "/private/c")];
    assert_eq!(judge(true, &fast), (1, 1, 2));
    assert_eq!(judge(false, &fast), (0, 0, 0), "nobody knows what the site asks for");
    // From its own robots.txt on it knows; robots.txt itself may come in between.
    let asked = [(0, "/a"), (100, "/b"), (200, "/robots.txt"), (300, "/c"), (2300, "/d")];
    assert_eq!(judge(false, &asked), (0, 1, 1));
    assert_eq!(judge(true, &asked), (0, 2, 2));
}

#[test]
fn plans_and_faults_are_json_lines() {
    let plan = "{\"host\":\"a.test\",\"from\":0,\"to\":5}\n\n";
    let expected = WorkPlan { host: "a.test".into(), from: 0, to: 5 };
    assert_eq!(read_plan(plan.as_bytes()), Ok(vec![expected]));
    let faults = "{\"fault\":\"kill\",\"at\":5,\"in_flight\":2}\n\
                  {\"fault\":\"worker-lost\",\"at\":5,\"in_flight\":1}\n\
                  {\"fault\":\"store-loss\",\"at\":6}\n\
                  {\"fault\":\"pause\",\"from\":7,\"to\":8}\n\
                  {\"fault\":\"network-down\",\"from\":7,\"to\":8}\n\
                  {\"fault\":\"stop\",\"host\":\"a.test\",\"at\":9}\n\
                  {\"fault\":\"stop-lifted\",\"host\":\"a.test\",\"at\":10}\n";
    let notes = read_faults(faults.as_bytes()).unwrap();
    assert_eq!(notes.len(), 7);
    assert_eq!(notes[0], FaultNote::Fault(CrawlerFault::Kill { at: 5, in_flight: 2 }));
    assert_eq!(notes[5], FaultNote::Stop { host: "a.test".into(), at: 9 });
    let mut judge = Judge::new(Manners::default());
    notes.iter().for_each(|note| judge.note(note));
    assert_eq!(judge.finish().rule(Rule::P13).judged, 5);
    let wrong = read_faults("{\"fault\":\"mood\"}".as_bytes()).unwrap_err();
    assert!(wrong.why.contains("unknown variant `mood`"), "{}", wrong.why);
}

#[test]
fn the_report_shows_the_pair_and_the_table() {
    let mut judge = Judge::new(Manners::default());
    for (start, target) in [(0, "/robots.txt"), (2_900_000, "/a"), (3_000_000, "/b")] {
        let mut x = Exchange::get(start, "a.test", target, 404);
        x.user_agent = Some("c/1 (+me)".into());
        judge.see(x);
    }
    assert_eq!(judge.violations(), 2);
    assert_eq!(judge.first().count(), 1);
    let report = judge.finish();
    let mut out = Vec::new();
    report.print(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "P4 on a.test: started 2.9 s after the start before, the delay is 3 s");
    assert!(lines[1].starts_with("  {\"start\":0,\"end\":0,") && lines[1].contains("/robots.txt"));
    assert!(lines[2].starts_with("  {\"start\":2900000,") && lines[2].contains("\"/a\""));
    assert_eq!(
        lines[9],
        "P4   keeps the delay between starts on a host      2      2       0           0"
    );
    assert_eq!(
        lines.last().unwrap(),
        &"manners broken: 3 exchanges, 1 host, 2 violations, 0 lines unreadable"
    );
    let json = report.to_json();
    assert_eq!(json["clean"], false);
    assert_eq!(json["rules"][4]["violations"], 2);
    assert_eq!(json["first"][0]["later"]["target"], "/a");
}

#[test]
fn memory_is_bounded_and_what_is_given_up_is_counted() {
    let mut judge = Judge::new(Manners::default()).with_urls_max(100);
    for i in 0..1000u64 {
        let target = if i == 0 { "/robots.txt".into() } else { format!("/{i}") };
        let mut x = Exchange::get(i * 3_000_000, "a.test", &target, 200);
        x.user_agent = Some("c/1 (+me)".into());
        x.robots_body = (i == 0).then(|| Vec::new().into());
        x.cache_control = Some("max-age=86400".into());
        judge.see(x);
    }
    let report = judge.finish();
    assert!(report.clean(), "{:?}", report.first);
    assert!(report.forgotten >= 800, "{}", report.forgotten);
    assert_eq!(report.rule(Rule::P10).not_judged, report.forgotten);
}

#[test]
fn the_second_matcher_may_be_asked_about_a_share() {
    let body: String = (0..400).map(|i| format!("Disallow: /private/{i}/\n")).collect();
    let body = format!("User-agent: *\n{body}").into_bytes();
    for (second, all) in [(SecondMatcher::Always, true), (SecondMatcher::Sampled, false)] {
        let mut judge = Judge::new(Manners::default()).with_second_matcher(second);
        for i in 0..600u64 {
            let target = if i == 0 { "/robots.txt".into() } else { format!("/{i}") };
            let mut x = Exchange::get(i * 3_000_000, "a.test", &target, 200);
            x.user_agent = Some("c/1 (+me)".into());
            x.robots_body = (i == 0).then(|| body.clone().into());
            judge.see(x);
        }
        let report = judge.finish();
        assert!(report.clean(), "{:?}", report.first);
        assert_eq!(report.verdicts_by_one == 0, all, "{}", report.verdicts_by_one);
    }
}

#[test]
fn any_log_at_all_is_judged_without_a_panic() {
    // A small generator of our own: odd times, hosts, statuses and headers in every combination.
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |most: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % most
    };
    let texts = [
        "",
        "0",
        "60",
        "99999999999999999999",
        "http://b.test/robots.txt",
        "//",
        "?",
        "#",
        "/a/../..",
        "\u{fffd}",
        "max-age=",
        "Sun, 06 Nov 1994 08:49:37 GMT",
    ];
    for _ in 0..50 {
        let mut judge = Judge::new(Manners { pages: Some(3), ..Manners::default() })
            .with_plan([WorkPlan { host: "a.test".into(), from: 0, to: u64::MAX }])
            .with_faults(vec![
                CrawlerFault::Kill { at: draw(1 << 30), in_flight: 2 },
                CrawlerFault::StoreLoss { at: draw(1 << 30) },
                CrawlerFault::Pause { from: draw(1 << 30), to: u64::MAX },
                CrawlerFault::NetworkDown { from: u64::MAX, to: 0 },
            ]);
        let mut at = 0u64;
        for _ in 0..400 {
            at = at.saturating_add(match draw(40) {
                0 => u64::MAX / 3,
                1..=9 => 0,
                _ => draw(10_000_000),
            });
            let hosts = ["a.test", "A.TEST.", "", "[", "[::1", "xn--", "ü..", "0x7f.1", "@", ":"];
            let host = hosts[draw(hosts.len() as u64) as usize];
            let targets = ["/robots.txt", "/", "*", "", "/a#b", "http://x@y/", "/ü", "/.."];
            let target = targets[draw(targets.len() as u64) as usize];
            let mut x = Exchange::get(at, host, target, draw(700) as u16);
            x.end = match draw(10) {
                0 => 0,
                1 => u64::MAX,
                _ => at.saturating_add(draw(20_000_000)),
            };
            let mut text = || {
                let place = draw(2 * texts.len() as u64) as usize;
                texts.get(place).map(|&text| text.into())
            };
            (x.user_agent, x.location, x.retry_after) = (text(), text(), text());
            (x.date, x.cache_control, x.etag) = (text(), text(), text());
            (x.if_none_match, x.last_modified) = (text(), text());
            x.robots_body = text().map(|text: std::sync::Arc<str>| text.as_bytes().into());
            x.complete = draw(4) > 0;
            x.status = x.status.filter(|_| draw(10) > 0);
            x.local = (draw(2) == 0).then(|| [127, 0, 0, 1].into());
            judge.see(x);
            if draw(20) == 0 {
                judge.stop_order(host, at);
            }
        }
        let report = judge.finish();
        assert_eq!(report.exchanges, 400);
        assert_eq!(report.matchers_differ, 0, "{:?}", report.matchers_first);
        report.print(&mut Vec::new()).unwrap();
    }
}
