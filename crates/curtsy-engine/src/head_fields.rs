//! The headers of an answer as a list of names and values, for those who store a [`Head`].

use crate::Head;

impl Head {
    /// Returns each header with its name in lower case. A header with several values comes several
    /// times.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let single = [
            ("location", &self.location),
            ("date", &self.date),
            ("expires", &self.expires),
            ("age", &self.age),
            ("etag", &self.etag),
            ("last-modified", &self.last_modified),
            ("content-type", &self.content_type),
            ("content-language", &self.content_language),
        ];
        let many = [
            ("retry-after", &self.retry_after),
            ("cache-control", &self.cache_control),
            ("x-robots-tag", &self.x_robots_tag),
            ("link", &self.link),
        ];
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let many = many.into_iter().flat_map(|(name, all)| all.iter().map(move |v| (name, &**v)));
        let others = self.others.iter().map(|(name, value)| (&**name, &**value));
        single.chain(many).chain(others)
    }

    /// Adds a header by its name in lower case. Of a header that has one value, the first counts.
    pub fn add(&mut self, name: &str, value: String) {
        let single = match name {
            "location" => &mut self.location,
            "date" => &mut self.date,
            "expires" => &mut self.expires,
            "age" => &mut self.age,
            "etag" => &mut self.etag,
            "last-modified" => &mut self.last_modified,
            "content-type" => &mut self.content_type,
            "content-language" => &mut self.content_language,
            "retry-after" => return self.retry_after.push(value),
            "cache-control" => return self.cache_control.push(value),
            "x-robots-tag" => return self.x_robots_tag.push(value),
            "link" => return self.link.push(value),
            _ => return self.others.push((name.to_owned(), value)),
        };
        single.get_or_insert(value);
    }
}
