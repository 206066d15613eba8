//! The head of an answer as JSON, and back: an object of names in lower case, each with its value or with an array of several.

use curtsy_engine::Head;
use serde_json::{Map, Value};

/// The headers as JSON.
pub(crate) fn to_json(head: &Head) -> String {
    let single = [
        ("location", &head.location),
        ("date", &head.date),
        ("expires", &head.expires),
        ("age", &head.age),
        ("etag", &head.etag),
        ("last-modified", &head.last_modified),
        ("content-type", &head.content_type),
        ("content-language", &head.content_language),
    ];
    let many = [
        ("retry-after", &head.retry_after),
        ("cache-control", &head.cache_control),
        ("x-robots-tag", &head.x_robots_tag),
        ("link", &head.link),
    ];
    let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let many = many.into_iter().flat_map(|(name, all)| all.iter().map(move |value| (name, value)));
    let others = head.others.iter().map(|(name, value)| (name.as_str(), value));
    let mut members = Map::new();
    for (name, value) in single.chain(many).chain(others) {
        let value = Value::String(without_nul(value));
        match members.get_mut(name) {
            None => drop(members.insert(name.to_owned(), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
        }
    }
    Value::Object(members).to_string()
}

/// Validators as JSON, to be laid over the headers that were kept before.
pub(crate) fn validators(etag: Option<&str>, last_modified: Option<&str>) -> String {
    let validators = [("etag", etag), ("last-modified", last_modified)];
    let told = validators.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let told = told.map(|(name, value)| (name.to_owned(), Value::String(without_nul(value))));
    Value::Object(told.collect()).to_string()
}

/// A head from its status and headers; none if they can't be read.
pub(crate) fn from_json(json: &str, status: u16) -> Option<Head> {
    let Value::Object(members) = serde_json::from_str(json).ok()? else { return None };
    let mut head = Head { status, ..Head::default() };
    for (name, value) in members {
        let mut values: Vec<String> = match value {
            Value::String(one) => vec![one],
            Value::Array(many) => many.iter().filter_map(Value::as_str).map(String::from).collect(),
            _ => continue,
        };
        let single = match name.as_str() {
            "location" => &mut head.location,
            "date" => &mut head.date,
            "expires" => &mut head.expires,
            "age" => &mut head.age,
            "etag" => &mut head.etag,
            "last-modified" => &mut head.last_modified,
            "content-type" => &mut head.content_type,
            "content-language" => &mut head.content_language,
            "retry-after" => {
                head.retry_after = values;
                continue;
            }
            "cache-control" => {
                head.cache_control = values;
                continue;
            }
            "x-robots-tag" => {
                head.x_robots_tag = values;
                continue;
            }
            "link" => {
                head.link = values;
                continue;
            }
            _ => {
                head.others.extend(values.into_iter().map(|value| (name.clone(), value)));
                continue;
            }
        };
        *single = (!values.is_empty()).then(|| values.swap_remove(0));
    }
    Some(head)
}

/// Postgres keeps every sign but this one.
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
    fn what_is_no_object_is_no_head() {
        assert_eq!(from_json("[]", 200), None);
        assert_eq!(from_json("{", 200), None);
        assert_eq!(from_json("{\"a\": 1}", 204), Some(Head { status: 204, ..Head::default() }));
    }

    #[test]
    fn validators_that_are_not_told_stay_as_they_were() {
        assert_eq!(validators(Some("\"b\""), None), r#"{"etag":"\"b\""}"#);
        assert_eq!(validators(None, None), "{}");
    }
}
