//! Writes policies as text: the canonical file, its hash, and the differences of two policies.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::Policy;
use super::fields::{FIELDS, Field};
use super::host::HOST_FIELDS;
use super::value::{quoted, quoted_key};

impl Policy {
    /// Returns the whole policy as a file, each field with its meaning. Parsing it gives the same
    /// policy.
    pub fn to_toml(&self) -> String {
        self.toml_with(|field| FieldNote::Above(field.doc.to_owned()))
    }

    /// Returns the whole policy as a file, with the caller's note on each field.
    pub fn toml_with(&self, note: impl Fn(&Field) -> FieldNote) -> String {
        let mut text = format!("preset = {}\n", quoted(self.preset.name()));
        if let Some(mode) = self.mode {
            text.push_str(&format!("mode = {}\n", quoted(mode.name())));
        }
        let mut section_before = "";
        for field in FIELDS {
            let (section, name) = field.key.rsplit_once('.').unwrap_or(("", field.key));
            if section != section_before {
                text.push_str(&format!("\n[{section}]\n"));
                section_before = section;
            }
            let entry = format!("{name} = {}", field.kind.write_toml(&field.get(self)));
            text.push_str(&match note(field) {
                FieldNote::None => format!("{entry}\n"),
                FieldNote::Above(note) => format!("# {note}\n{entry}\n"),
                FieldNote::Beside(note) => format!("{entry:40} # {note}\n"),
            });
        }
        for (host, section) in &self.host {
            text.push_str(&format!("\n[host.{}]\n", quoted_key(host)));
            for field in HOST_FIELDS {
                if let Some(value) = field.get(section) {
                    text.push_str(&format!("{} = {}\n", field.key, field.kind.write_toml(&value)));
                }
            }
        }
        text
    }

    /// Returns the hash that identifies the policy in evidence: the first half of the SHA-256 of
    /// its canonical text without comments.
    pub fn hash(&self) -> [u8; 16] {
        let digest = Sha256::digest(self.toml_with(|_| FieldNote::None).as_bytes());
        let mut hash = [0; 16];
        hash.copy_from_slice(&digest[..16]);
        hash
    }

    /// Returns the hash in hexadecimal digits.
    pub fn hash_hex(&self) -> String {
        HEXLOWER.encode(&self.hash())
    }

    /// Returns the fields in which two policies differ, host sections included.
    pub fn diff(&self, other: &Policy) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut note = |key: String, left: String, right: String| {
            if left != right {
                found.push(Difference { key, left, right });
            }
        };
        let mode = |policy: &Policy| policy.mode.map_or("none", |mode| mode.name()).to_owned();
        note("mode".to_owned(), mode(self), mode(other));
        for field in FIELDS {
            note(field.key.to_owned(), field.text(self), field.text(other));
        }
        let mut hosts: Vec<_> = self.host.keys().chain(other.host.keys()).collect();
        hosts.sort();
        hosts.dedup();
        for host in hosts {
            // A section that sets nothing is a difference too, because it is part of the hash.
            let empty = |policy: &Policy| {
                let section = policy.host.get(host);
                section.is_some_and(|s| HOST_FIELDS.iter().all(|field| field.get(s).is_none()))
            };
            if empty(self) || empty(other) {
                let is = |policy: &Policy| {
                    if policy.host.contains_key(host) { "set" } else { "unset" }.to_owned()
                };
                note(format!("host.{}", quoted_key(host)), is(self), is(other));
            }
            for field in HOST_FIELDS {
                let text = |policy: &Policy| {
                    let value = policy.host.get(host).and_then(|section| field.get(section));
                    value.map_or_else(|| "unset".to_owned(), |v| field.kind.write_text(&v))
                };
                note(format!("host.{}.{}", quoted_key(host), field.key), text(self), text(other));
            }
        }
        found
    }
}

/// A comment on a field of a written policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldNote {
    /// No comment.
    None,
    /// On the line above the field.
    Above(String),
    /// After the value.
    Beside(String),
}

/// One field in which two policies differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field's key.
    pub key: String,
    /// Its value in the first policy.
    pub left: String,
    /// Its value in the second.
    pub right: String,
}
