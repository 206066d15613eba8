//! Findings in few bytes, as they are stored with each row.
//!
//! Two bytes hold the layout and the gates with a finding; a gate without one costs one bit. Each
//! other gate has a byte for its reason and the kind of its verdict, the moment as a difference
//! from the one before (the waits of one decision are close together), and the reason's numbers.
//! Numbers take seven bits a byte, the lowest first.

use crate::host::{Finding, Findings, Gate, Reason, Verdict};
use crate::time::Time;

/// The layout of findings of the first ten gates, in the upper six bits of the first two bytes.
const TEN_GATES: u16 = 1;
/// The same with a third byte for further gates. It is written only if one of them has a finding.
const MORE_GATES: u16 = 2;
/// Gates in the first two bytes.
const TEN: u16 = 10;
const TEN_MASK: u16 = (1 << TEN) - 1;

/// Bytes that are not findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindingsError {
    /// Written by a newer program or by another one.
    #[error(
        "findings have layout {0}, this program reads up to {MORE_GATES}\nhint: a newer curtsy wrote them; upgrade this one"
    )]
    Layout(u16),
    /// They end early, are too long, or have an unknown tag.
    #[error("findings are damaged")]
    Damaged,
}

/// Returns the findings as bytes.
///
/// ```
/// use curtsy_core::evidence::{decode, encode};
/// use curtsy_core::host::Findings;
/// let bytes = encode(&Findings::CLEAR);
/// assert_eq!(bytes.len(), 2);
/// assert_eq!(decode(&bytes).unwrap(), Findings::CLEAR);
/// ```
pub fn encode(findings: &Findings) -> Vec<u8> {
    let mut mask: u32 = 0;
    for (gate, finding) in findings.iter() {
        mask |= u32::from(*finding != Finding::CLEAR) << gate as u32;
    }
    let more = mask >> TEN;
    let layout = if more == 0 { TEN_GATES } else { MORE_GATES };
    let head = layout << TEN | (mask as u16 & TEN_MASK);
    let mut out = FindingsWriter { bytes: head.to_le_bytes().to_vec(), moment: 0 };
    if more != 0 {
        out.byte(more as u8);
    }
    for (_, finding) in findings.iter().filter(|(_, f)| **f != Finding::CLEAR) {
        out.finding(finding);
    }
    out.bytes
}

/// Reads findings from any bytes.
pub fn decode(bytes: &[u8]) -> Result<Findings, FindingsError> {
    let (head, rest) = bytes.split_first_chunk().ok_or(FindingsError::Damaged)?;
    let head = u16::from_le_bytes(*head);
    let mut input = FindingsReader { bytes: rest, moment: 0 };
    let more = match head >> TEN {
        TEN_GATES => 0,
        MORE_GATES => input.byte().ok_or(FindingsError::Damaged)?,
        other => return Err(FindingsError::Layout(other)),
    };
    let mask = u32::from(head & TEN_MASK) | u32::from(more) << TEN;
    if mask >> Gate::ALL.len() != 0 {
        return Err(FindingsError::Damaged);
    }
    let mut findings = Findings::CLEAR;
    for gate in Gate::ALL.into_iter().filter(|gate| mask & (1 << *gate as u32) != 0) {
        let finding = input.finding().ok_or(FindingsError::Damaged)?;
        // Rows of version 0.1.0 hold traps as findings of the budget.
        let gate = match (gate, finding.reason) {
            (Gate::Budget, Reason::Trap(_)) => Gate::Trap,
            _ => gate,
        };
        findings.set(gate, finding);
    }
    if input.bytes.is_empty() { Ok(findings) } else { Err(FindingsError::Damaged) }
}

/// Each further gate has a bit in the third byte.
const _: () = assert!(Gate::ALL.len() <= TEN as usize + 8);

/// A buffer that findings are written to.
pub(crate) struct FindingsWriter {
    bytes: Vec<u8>,
    /// The last written moment, in microseconds.
    moment: u64,
}

impl FindingsWriter {
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
        let tag = finding.reason.write(self);
        self.bytes[at] = verdict << VERDICT_SHIFT | tag;
    }

    fn moment(&mut self, micros: u64) {
        let gap = micros.wrapping_sub(self.moment) as i64;
        self.moment = micros;
        // The sign is the lowest bit, so a small step back is a small number too.
        self.number((gap << 1 ^ gap >> 63) as u64);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

/// Bytes that findings are read from.
pub(crate) struct FindingsReader<'a> {
    bytes: &'a [u8],
    moment: u64,
}

impl FindingsReader<'_> {
    fn finding(&mut self) -> Option<Finding> {
        let head = self.byte()?;
        let verdict = match head >> VERDICT_SHIFT {
            GO => Verdict::Go,
            NOT_BEFORE => Verdict::NotBefore(self.moment()?),
            NEVER => Verdict::Never,
            FOR_A_PERSON => Verdict::NotBefore(Time::NEVER),
            _ => return None,
        };
        let reason = Reason::read(head & TAG_MASK, self)?;
        Some(Finding::new(verdict, reason))
    }

    fn moment(&mut self) -> Option<Time> {
        let number = self.number()?;
        let gap = (number >> 1) as i64 ^ -((number & 1) as i64);
        self.moment = self.moment.wrapping_add(gap as u64);
        Some(Time::from_micros(self.moment))
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
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

    pub(crate) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*first)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }
}

/// Tags have the lower six bits.
const VERDICT_SHIFT: u8 = 6;
const TAG_MASK: u8 = (1 << VERDICT_SHIFT) - 1;
const GO: u8 = 0;
const NOT_BEFORE: u8 = 1;
const NEVER: u8 = 2;
/// Not before a person lifts it: a moment that needs no bytes.
const FOR_A_PERSON: u8 = 3;
