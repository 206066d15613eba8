//! Findings in the few bytes that a row can spare.
//!
//! Two bytes say the layout and which gates have something to tell; a gate that is plainly clear costs one bit. Each of the others is
//! a byte for its reason and the kind of its verdict, the moment as a difference from the one before (waits of one decision lie close
//! together), then the reason's numbers. Numbers take seven bits a byte, the lowest first.

use crate::host::{Confidence, DelayBy, Finding, Findings, Gate, Reason, RobotsId, Trap, Verdict};
use crate::time::Time;

/// The layout that this program writes, in the upper six bits of the first two bytes.
const LAYOUT: u16 = 1;
const GATES: u16 = 10;
const GATES_MASK: u16 = (1 << GATES) - 1;

/// Bytes that are not findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindingsError {
    /// Written by a newer program, or not by us.
    #[error(
        "findings have layout {0}, this program reads {LAYOUT}\nhint: a newer curtsy wrote them; upgrade this one"
    )]
    Layout(u16),
    /// They end early, go on too long, or name what is not known.
    #[error("findings are damaged")]
    Damaged,
}

/// The findings as bytes.
///
/// ```
/// use curtsy_core::evidence::{decode, encode};
/// use curtsy_core::host::Findings;
/// let bytes = encode(&Findings::CLEAR);
/// assert_eq!(bytes.len(), 2);
/// assert_eq!(decode(&bytes).unwrap(), Findings::CLEAR);
/// ```
pub fn encode(findings: &Findings) -> Vec<u8> {
    let mut mask = 0;
    for (gate, finding) in findings.iter() {
        mask |= u16::from(*finding != Finding::CLEAR) << gate as u16;
    }
    let mut out = Writer { bytes: (LAYOUT << GATES | mask).to_le_bytes().to_vec(), moment: 0 };
    for (_, finding) in findings.iter().filter(|(_, f)| **f != Finding::CLEAR) {
        out.finding(finding);
    }
    out.bytes
}

/// Findings from bytes, whatever bytes they are.
pub fn decode(bytes: &[u8]) -> Result<Findings, FindingsError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(FindingsError::Damaged)?;
    let head = u16::from_le_bytes(*head);
    if head >> GATES != LAYOUT {
        return Err(FindingsError::Layout(head >> GATES));
    }
    let mut input = Reader { bytes: rest, moment: 0 };
    let mut findings = Findings::CLEAR;
    for gate in Gate::ALL {
        if head & GATES_MASK & (1 << gate as u16) != 0 {
            let finding = input.finding().ok_or(FindingsError::Damaged)?;
            findings.set(gate, finding);
        }
    }
    if input.bytes.is_empty() { Ok(findings) } else { Err(FindingsError::Damaged) }
}

struct Writer {
    bytes: Vec<u8>,
    /// The moment written last, in microseconds.
    moment: u64,
}

impl Writer {
    fn finding(&mut self, finding: &Finding) {
        let verdict = match finding.verdict {
            Verdict::Go => GO,
            Verdict::NotBefore(Time::NEVER) => FOR_A_PERSON,
            Verdict::NotBefore(_) => NOT_BEFORE,
            Verdict::Never => NEVER,
        };
        let at = self.bytes.len();
        self.bytes.push(0);
        if let Verdict::NotBefore(moment) = finding.verdict
            && moment != Time::NEVER
        {
            self.moment(moment.micros());
        }
        let tag = self.reason(&finding.reason);
        self.bytes[at] = verdict << VERDICT_SHIFT | tag;
    }

    /// Writes a reason's numbers and gives its tag.
    fn reason(&mut self, reason: &Reason) -> u8 {
        match *reason {
            Reason::Clear => 0,
            Reason::RobotsUnknown => 1,
            Reason::RobotsDue => 2,
            Reason::RobotsAsked => 3,
            Reason::RobotsAllows { file, line, standing } => {
                self.rule(file, line, standing);
                4
            }
            Reason::RobotsForbids { file, line, standing } => {
                self.rule(file, line, standing);
                5
            }
            Reason::RobotsAbsent => 6,
            Reason::RobotsRefused => 7,
            Reason::RobotsUnreachable => 8,
            Reason::RobotsUnreachableAllowed => 9,
            Reason::RobotsExempt => 10,
            Reason::AuthorityLimit => 11,
            Reason::Fresh => 12,
            Reason::Delay { micros, by } => {
                self.bytes.push(by as u8);
                self.number(micros);
                13
            }
            Reason::SlotsTaken { in_flight } => {
                self.bytes.push(in_flight);
                14
            }
            Reason::SingleFlight => 15,
            Reason::SlotTimeout => 16,
            Reason::AddressTaken => 17,
            Reason::ToldToWait { streak, micros } => {
                self.bytes.push(streak);
                self.number(micros);
                18
            }
            Reason::Retry { tries } => {
                self.bytes.push(tries);
                19
            }
            Reason::Down { failures, level } => {
                self.bytes.extend([failures, level]);
                20
            }
            Reason::RiskScore { score } => {
                self.bytes.push(score);
                21
            }
            Reason::EarlyStop { streak } => {
                self.bytes.push(streak);
                22
            }
            Reason::PageLimit { pages } => {
                self.number(pages);
                23
            }
            Reason::TimeLimit => 24,
            Reason::Stopped => 25,
            Reason::StoreRestarted => 26,
            Reason::Trap { trap, limit } => {
                self.bytes.push(trap as u8);
                self.number(limit.into());
                27
            }
        }
    }

    fn rule(&mut self, file: RobotsId, line: Option<u32>, standing: Confidence) {
        self.bytes.extend(file.0);
        // The line, its presence and the standing in one number: most are below 32, which is one byte.
        let line = line.map_or(0, |line| u64::from(line) + 1);
        self.number(line << 1 | u64::from(standing == Confidence::LastGood));
    }

    fn moment(&mut self, micros: u64) {
        let gap = micros.wrapping_sub(self.moment) as i64;
        self.moment = micros;
        // The sign goes to the lowest bit, so that a small step back is a small number too.
        self.number((gap << 1 ^ gap >> 63) as u64);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    moment: u64,
}

impl Reader<'_> {
    fn finding(&mut self) -> Option<Finding> {
        let head = self.byte()?;
        let verdict = match head >> VERDICT_SHIFT {
            GO => Verdict::Go,
            NOT_BEFORE => Verdict::NotBefore(self.moment()?),
            NEVER => Verdict::Never,
            FOR_A_PERSON => Verdict::NotBefore(Time::NEVER),
            _ => return None,
        };
        let reason = self.reason(head & TAG_MASK)?;
        Some(Finding::new(verdict, reason))
    }

    fn reason(&mut self, tag: u8) -> Option<Reason> {
        Some(match tag {
            0 => Reason::Clear,
            1 => Reason::RobotsUnknown,
            2 => Reason::RobotsDue,
            3 => Reason::RobotsAsked,
            4 => {
                let (file, line, standing) = self.rule()?;
                Reason::RobotsAllows { file, line, standing }
            }
            5 => {
                let (file, line, standing) = self.rule()?;
                Reason::RobotsForbids { file, line, standing }
            }
            6 => Reason::RobotsAbsent,
            7 => Reason::RobotsRefused,
            8 => Reason::RobotsUnreachable,
            9 => Reason::RobotsUnreachableAllowed,
            10 => Reason::RobotsExempt,
            11 => Reason::AuthorityLimit,
            12 => Reason::Fresh,
            13 => {
                let by = match self.byte()? {
                    0 => DelayBy::Policy,
                    1 => DelayBy::CrawlDelay,
                    2 => DelayBy::Parked,
                    3 => DelayBy::Latency,
                    4 => DelayBy::Risk,
                    _ => return None,
                };
                let micros = self.number()?;
                Reason::Delay { micros, by }
            }
            14 => Reason::SlotsTaken { in_flight: self.byte()? },
            15 => Reason::SingleFlight,
            16 => Reason::SlotTimeout,
            17 => Reason::AddressTaken,
            18 => Reason::ToldToWait { streak: self.byte()?, micros: self.number()? },
            19 => Reason::Retry { tries: self.byte()? },
            20 => Reason::Down { failures: self.byte()?, level: self.byte()? },
            21 => Reason::RiskScore { score: self.byte()? },
            22 => Reason::EarlyStop { streak: self.byte()? },
            23 => Reason::PageLimit { pages: self.number()? },
            24 => Reason::TimeLimit,
            25 => Reason::Stopped,
            26 => Reason::StoreRestarted,
            27 => {
                let trap = match self.byte()? {
                    0 => Trap::Repetition,
                    1 => Trap::Length,
                    2 => Trap::Session,
                    3 => Trap::Calendar,
                    4 => Trap::Queries,
                    _ => return None,
                };
                Reason::Trap { trap, limit: u32::try_from(self.number()?).ok()? }
            }
            _ => return None,
        })
    }

    fn rule(&mut self) -> Option<(RobotsId, Option<u32>, Confidence)> {
        let (file, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        let file = RobotsId(*file);
        let number = self.number()?;
        let line = match number >> 1 {
            0 => None,
            line => Some(u32::try_from(line - 1).ok()?),
        };
        let standing = match number & 1 {
            0 => Confidence::Current,
            _ => Confidence::LastGood,
        };
        Some((file, line, standing))
    }

    fn moment(&mut self) -> Option<Time> {
        let number = self.number()?;
        let gap = (number >> 1) as i64 ^ -((number & 1) as i64);
        self.moment = self.moment.wrapping_add(gap as u64);
        Some(Time::from_micros(self.moment))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }
}

/// Tags take the lower six bits, so that there is room for more reasons.
const VERDICT_SHIFT: u8 = 6;
const TAG_MASK: u8 = (1 << VERDICT_SHIFT) - 1;
const GO: u8 = 0;
const NOT_BEFORE: u8 = 1;
const NEVER: u8 = 2;
/// Not before a person lifts it: a moment that needs no bytes.
const FOR_A_PERSON: u8 = 3;
