//! Reads the head of a request from what a connection has sent so far.
//!
//! This is a test server's reader: strict about what frames a request, careless about the rest,
//! bounded in everything.

use std::borrow::Cow;

/// A request whose head is there.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RequestHead<'b> {
    pub(crate) method: Cow<'b, str>,
    /// As sent.
    pub(crate) target: Cow<'b, str>,
    /// The `Host` header, or the authority of the target.
    pub(crate) host: Option<Cow<'b, str>>,
    pub(crate) user_agent: Option<Cow<'b, str>>,
    pub(crate) from: Option<Cow<'b, str>>,
    pub(crate) if_none_match: Option<Cow<'b, str>>,
    pub(crate) if_modified_since: Option<Cow<'b, str>>,
    pub(crate) cookie: bool,
    pub(crate) authorization: bool,
    /// Whether the client wants the connection closed afterwards.
    pub(crate) close: bool,
    /// How long the whole request is, with its body.
    pub(crate) bytes: usize,
}

/// What the bytes so far are.
#[derive(Debug, PartialEq)]
pub(crate) enum RequestReading<'b> {
    /// The beginning of a request.
    Unfinished,
    /// A request, and perhaps the beginning of the next.
    Whole(RequestHead<'b>),
    /// Nothing that can be answered but with this status, and then closed.
    Wrong(u16),
}

impl<'b> RequestHead<'b> {
    /// The path and query that are asked for, in origin form.
    pub(crate) fn path_and_query(&self) -> &str {
        let target = &*self.target;
        let target = match target.find("://") {
            Some(at) if !target.starts_with('/') => {
                let rest = &target[at + 3..];
                rest.find('/').map_or("/", |slash| &rest[slash..])
            }
            _ => target,
        };
        target.split('#').next().unwrap_or(target)
    }
}

/// Reads the first request.
pub(crate) fn read(bytes: &[u8]) -> RequestReading<'_> {
    // A client may send an empty line before a request (RFC 9112 §2.2).
    let skipped = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count().min(4);
    let bytes = &bytes[skipped..];
    let Some(head) = head_bytes(bytes) else {
        return if bytes.len() > HEAD_BYTES_MAX {
            RequestReading::Wrong(431)
        } else {
            RequestReading::Unfinished
        };
    };
    if head > HEAD_BYTES_MAX {
        return RequestReading::Wrong(431);
    }
    let mut lines = bytes[..head].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let mut words = first.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return RequestReading::Wrong(400);
    };
    if !method.iter().all(u8::is_ascii_alphabetic) || !version.starts_with(b"HTTP/1.") {
        return RequestReading::Wrong(400);
    }
    let text = String::from_utf8_lossy;
    let mut request = RequestHead {
        method: text(method),
        target: text(target),
        close: version == b"HTTP/1.0",
        ..RequestHead::default()
    };
    let mut body = 0;
    for line in lines.take_while(|line| !line.is_empty()) {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            return RequestReading::Wrong(400);
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match name.len() {
            4 if is("Host") && request.host.is_some() => return RequestReading::Wrong(400),
            4 if is("Host") => request.host = Some(text(value)),
            4 if is("From") => request.from = Some(text(value)),
            6 if is("Cookie") => request.cookie = true,
            10 if is("User-Agent") => request.user_agent = Some(text(value)),
            10 if is("Connection") => {
                request.close = value.eq_ignore_ascii_case(b"close")
                    || request.close && !value.eq_ignore_ascii_case(b"keep-alive");
            }
            13 if is("If-None-Match") => request.if_none_match = Some(text(value)),
            13 if is("Authorization") => request.authorization = true,
            14 if is("Content-Length") => match text(value).parse::<usize>() {
                Ok(length) if length <= BODY_BYTES_MAX => body = length,
                Ok(_) => return RequestReading::Wrong(413),
                Err(_) => return RequestReading::Wrong(400),
            },
            17 if is("If-Modified-Since") => request.if_modified_since = Some(text(value)),
            17 if is("Transfer-Encoding") => return RequestReading::Wrong(501),
            _ => {}
        }
    }
    if let Some(at) = request.target.find("://").filter(|_| !request.target.starts_with('/')) {
        let authority = request.target[at + 3..].split(['/', '?', '#']).next().unwrap_or_default();
        request.host = Some(Cow::Owned(authority.to_owned()));
    }
    // RFC 9112 §3.2.
    if request.host.is_none() {
        return RequestReading::Wrong(400);
    }
    if bytes.len() < head + body {
        return RequestReading::Unfinished;
    }
    request.bytes = skipped + head + body;
    RequestReading::Whole(request)
}

/// How long the head is, with the empty line at its end.
fn head_bytes(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + bytes[from..].iter().position(|&byte| byte == b'\n')? + 1;
        match bytes[end..] {
            [b'\n', ..] => return Some(end + 1),
            [b'\r', b'\n', ..] => return Some(end + 2),
            _ => from = end,
        }
    }
}

/// The longest head.
pub(crate) const HEAD_BYTES_MAX: usize = 16 << 10;
/// The longest body of a request; it is read and dropped.
pub(crate) const BODY_BYTES_MAX: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_requests_are_cut_where_they_end() {
        let text = b"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n";
        let RequestReading::Whole(request) = read(text) else { panic!("a whole request") };
        assert_eq!((&*request.target, request.bytes, request.close), ("/a?b", 30, false));
        for length in 0..30 {
            assert_eq!(read(&text[..length]), RequestReading::Unfinished, "{length}");
        }
        let with_body = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET";
        let RequestReading::Whole(request) = read(with_body) else { panic!("a whole request") };
        assert_eq!(request.bytes, with_body.len() - 3);
    }

    #[test]
    fn loopback_requests_that_frame_nothing_are_refused() {
        for (text, status) in [
            ("GET /\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost\r\n\r\n", 400),
            ("G\u{e9}T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        ] {
            assert_eq!(read(text.as_bytes()), RequestReading::Wrong(status), "{text}");
        }
        assert_eq!(read(&[b'a'; HEAD_BYTES_MAX + 1]), RequestReading::Wrong(431));
    }

    #[test]
    fn loopback_requests_in_absolute_form_name_their_host() {
        let RequestReading::Whole(request) =
            read(b"GET http://a.test:8/x?y#z HTTP/1.1\r\nHost: b\r\n\r\n")
        else {
            panic!("a whole request")
        };
        assert_eq!(request.path_and_query(), "/x?y");
        assert_eq!(request.host.as_deref(), Some("a.test:8"));
    }
}
