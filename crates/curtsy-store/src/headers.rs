//! The headers of an answer as JSON: an object with names in lower case, each with its value or an
//! array of several.

use curtsy_engine::Head;
use serde_json::{Map, Value};

/// Returns the headers as JSON.
pub(crate) fn to_json(head: &Head) -> String {
    let mut members = Map::new();
    for (name, value) in head.fields() {
        let value = Value::String(without_nul(value));
        match members.get_mut(name) {
            None => drop(members.insert(name.to_owned(), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Value::Object(members).to_string()
}

/// Returns validators as JSON, to be merged into the kept headers.
pub(crate) fn validators(etag: Option<&str>, last_modified: Option<&str>) -> String {
    let validators = [("etag", etag), ("last-modified", last_modified)];
    let known = validators.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let known = known.map(|(name, value)| (name.to_owned(), Value::String(without_nul(value))));
    Value::Object(known.collect()).to_string()
}

/// Returns a head from its status and headers; `None` if they can't be parsed.
pub(crate) fn from_json(json: &str, status: u16) -> Option<Head> {
    let Value::Object(members) = serde_json::from_str(json).ok()? else { return None };
    let mut head = Head { status, ..Head::default() };
    for (name, value) in members {
        match value {
            Value::String(one) => head.add(&name, one),
            Value::Array(many) => {
                many.iter().filter_map(Value::as_str).for_each(|one| head.add(&name, one.into()));
            }
            _ => {}
        }
    }
    Some(head)
}

/// Removes the one character that Postgres can't keep.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_as_it_was() {
        let text = |text: &str| Some(text.to_owned());
        let head = Head {
            status: 200,
            etag: text("\"a\""),
            content_type: text("text/html; charset=latin1"),
            cache_control: vec!["max-age=60".into(), "public".into()],
            link: vec!["</>; rel=canonical".into()],
            others: vec![("vary".into(), "a".into()), ("vary".into(), "b\u{e9}\"".into())],
            ..Head::default()
        };
        let json = to_json(&head);
        assert!(json.contains(r#""cache-control":["max-age=60","public"]"#), "{json}");
        assert!(json.contains(r#""link":"</>; rel=canonical""#), "{json}");
        assert_eq!(from_json(&json, 200), Some(head));
    }

    #[test]
    fn text_that_is_no_object_is_no_head() {
        assert_eq!(from_json("[]", 200), None);
        assert_eq!(from_json("{", 200), None);
        assert_eq!(from_json("{\"a\": 1}", 204), Some(Head { status: 204, ..Head::default() }));
    }

    #[test]
    fn missing_validators_stay_as_they_were() {
        assert_eq!(validators(Some("\"b\""), None), r#"{"etag":"\"b\""}"#);
        assert_eq!(validators(None, None), "{}");
    }
}
