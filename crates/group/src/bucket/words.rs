//! What the errors of a bucket mean, and how they are said.
//!
//! Law: a server that does not answer, breaks off or has no time is away, and nothing else is. Whoever reads a message
//! sees the bucket and what to do, and never a key, a signature or how long something took: the same trouble has the
//! same words.

use std::time::SystemTime;

use chrono::DateTime;
use headwater_graph::StoreError;
use object_store::client::HttpError;

use crate::link::Trouble;

/// What an error of a request means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// There is no such object.
    NoObject,
    /// There is no such bucket.
    NoBucket,
    /// The server does not answer, or not now.
    Away,
    /// Not with these keys.
    Refused,
    /// Others do the same now.
    Collided,
    /// The server is not trusted.
    Distrusted,
    /// The range of bytes that was asked for makes no sense to the server.
    Range,
    /// Anything else.
    Other,
}

/// The part of a text between two others.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(begin)?;
    Some(rest.split_once(end)?.0)
}

/// The code and the message of an answer in XML.
fn answer(text: &str) -> (&str, &str) {
    let part = |begin, end| between(text, begin, end).unwrap_or_default().trim();
    (part("<Code>", "</Code>"), part("<Message>", "</Message>"))
}

/// The status of an answer, which the library gives only in its words.
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// What an error means, with the words of the server or of the system.
pub(super) fn read(error: &object_store::Error) -> (Meaning, String) {
    let mut chain = Vec::new();
    let mut is_transport = false;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        is_transport |= inner.downcast_ref::<HttpError>().is_some();
        chain.push(inner.to_string());
        cause = inner.source();
    }
    let all = chain.join(" ");
    let last = chain.pop().unwrap_or_default();
    if is_transport {
        let meaning = if all.contains("invalid peer certificate") {
            Meaning::Distrusted
        } else {
            Meaning::Away
        };
        return (meaning, last);
    }
    let (code, message) = answer(&all);
    let status = status(&all);
    let words = match (code, status) {
        ("", Some(status)) => format!("the server answers with status {status}"),
        ("", None) => last,
        (code, _) if message.is_empty() => code.to_owned(),
        (code, _) => format!("{code}: {message}"),
    };
    (meaning(error, code, status, &all), words)
}

fn meaning(error: &object_store::Error, code: &str, status: Option<u16>, all: &str) -> Meaning {
    let busy = [
        "SlowDown",
        "InternalError",
        "ServiceUnavailable",
        "RequestTimeout",
        "Busy",
    ];
    let refusals = [
        "AccessDenied",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
    ];
    match (error, code, status) {
        (_, "NoSuchBucket", _) => Meaning::NoBucket,
        (_, code, _) if busy.contains(&code) => Meaning::Away,
        (_, code, _) if refusals.contains(&code) => Meaning::Refused,
        (object_store::Error::NotFound { .. }, ..) => Meaning::NoObject,
        (
            object_store::Error::PermissionDenied { .. }
            | object_store::Error::Unauthenticated { .. },
            ..,
        ) => Meaning::Refused,
        (object_store::Error::AlreadyExists { .. }, ..) => Meaning::Collided,
        (_, _, Some(408 | 429)) => Meaning::Away,
        // 501 and 505: it never will.
        (_, _, Some(status)) if status >= 500 && status != 501 && status != 505 => Meaning::Away,
        (_, _, Some(416)) => Meaning::Range,
        _ if all.contains("non-partial response") => Meaning::Range,
        _ => Meaning::Other,
    }
}

/// Of a list of objects that were begun, names and numbers of those that are at least this number of seconds old.
pub(super) fn begun(text: &str, seconds: u64) -> Vec<(String, String)> {
    let old = |upload: &str| {
        let part = |begin, end| between(upload, begin, end).map(str::to_owned);
        let since = part("<Initiated>", "</Initiated>")?;
        let since: SystemTime = DateTime::parse_from_rfc3339(since.trim()).ok()?.into();
        let age = SystemTime::now().duration_since(since).ok()?;
        let named = (part("<Key>", "</Key>")?, part("<UploadId>", "</UploadId>")?);
        (age.as_secs() >= seconds).then_some(named)
    };
    text.split("<Upload>").skip(1).filter_map(old).collect()
}

/// An error for those who wait. `shown` is the bucket, `what` was to be done.
pub(super) fn trouble(shown: &str, what: &str, error: &object_store::Error) -> Trouble {
    let (meaning, words) = read(error);
    let io = |kind, words: String| {
        Trouble::Other(StoreError::Io {
            what: format!("{shown}: cannot {what}"),
            source: std::io::Error::new(kind, words),
        })
    };
    match meaning {
        Meaning::Away => Trouble::Away(format!("{shown}: {words}")),
        Meaning::Refused => Trouble::Other(StoreError::Refused(format!(
            "{shown}: cannot {what}: {words}; look at the keys, and at what they may do"
        ))),
        Meaning::Collided => Trouble::Collided(format!("{shown}: cannot {what}: {words}")),
        Meaning::NoBucket => io(
            std::io::ErrorKind::NotFound,
            "it does not exist; make it, or correct the URL of the objects".to_owned(),
        ),
        Meaning::Distrusted => io(
            std::io::ErrorKind::InvalidData,
            format!("{words}; name the certificate of its authority in SSL_CERT_FILE"),
        ),
        Meaning::NoObject | Meaning::Range | Meaning::Other => io(
            std::io::ErrorKind::Other,
            format!("{words}; look at the endpoint and the region in the URL of the objects"),
        ),
    }
}

/// A server that said nothing for too long.
pub(super) fn silent(shown: &str) -> Trouble {
    Trouble::Away(format!("{shown}: no answer in time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_begun_long_ago_is_given_up() {
        let upload = |key: &str, since: &str| {
            format!(
                "<Upload><Key>{key}</Key><UploadId>id-{key}</UploadId><Initiated>{since}</Initiated></Upload>"
            )
        };
        let text = format!(
            "<ListMultipartUploadsResult><UploadIdMarker></UploadIdMarker>{}{}{}</ListMultipartUploadsResult>",
            upload("a", "2010-11-10T20:48:33.000Z"),
            upload("b", "2999-11-10T20:48:33.000Z"),
            upload("c", "yesterday"),
        );
        assert_eq!(begun(&text, 60), [("a".to_owned(), "id-a".to_owned())]);
        assert!(begun("<html>", 0).is_empty());
    }
}
