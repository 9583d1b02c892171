//! Where a bucket is, and who asks: from the URL, and from the usual places.
//!
//! Law: what the URL says wins over the environment. Keys come from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
//! `AWS_SESSION_TOKEN`, or from a file of credentials that not everybody may read. A URL with a key in it is refused and
//! not repeated, since the URL is kept in the database and everybody in the group sees it. Nothing is sent in the clear
//! unless the endpoint itself begins with `http://`.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::address::{AddressError, decoded};

/// What may be said after the `?`.
const OPTIONS: [&str; 4] = ["endpoint", "region", "profile", "credentials"];

/// The part of the environment that matters.
const VARIABLES: [&str; 10] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "HOME",
];

/// Variables of the environment, as far as they are set.
pub(super) fn environment() -> BTreeMap<String, String> {
    let set = VARIABLES.iter().filter_map(|name| {
        let value = std::env::var(name).ok().filter(|text| !text.is_empty())?;
        Some(((*name).to_owned(), value))
    });
    set.collect()
}

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Keys {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// A bucket, and what names of objects begin with there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) bucket: String,
    /// Without slashes around it.
    pub(super) prefix: String,
    /// The server, where it is not that of Amazon.
    pub(super) endpoint: Option<String>,
    pub(super) region: String,
    pub(super) keys: Keys,
}

fn wrong(message: String, hint: &str) -> AddressError {
    AddressError {
        message,
        hint: Some(hint.to_owned()),
    }
}

impl Place {
    /// Reads a URL.
    pub(super) fn read(
        url: &str,
        around: &BTreeMap<String, String>,
    ) -> Result<Place, AddressError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let rest = base.strip_prefix("s3://").unwrap_or(base);
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if rest.contains('@') {
            return Err(secret());
        }
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-._".contains(sign);
        if bucket.is_empty() || !bucket.chars().all(is_plain) {
            return Err(wrong(
                format!("`{bucket}` is not the name of a bucket"),
                "write s3://BUCKET/PREFIX",
            ));
        }
        let prefix = prefix.trim_matches('/');
        let is_name = |part: &str| {
            !part.is_empty() && part.chars().all(is_plain) && !part.trim_matches('.').is_empty()
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_name) {
            return Err(wrong(
                format!("`{prefix}` cannot be what the names of objects begin with"),
                "use letters, digits, `-`, `_`, `.` and single slashes",
            ));
        }
        let said = options(query)?;
        let get = |option: &str, variables: &[&str]| {
            let set = || variables.iter().find_map(|name| around.get(*name));
            said.get(option).or_else(set).cloned()
        };
        let endpoint = get("endpoint", &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
        let endpoint = endpoint.map(|text| text.trim_end_matches('/').to_owned());
        if let Some(endpoint) = &endpoint {
            check_endpoint(endpoint)?;
        }
        let region = get("region", &["AWS_REGION", "AWS_DEFAULT_REGION"]);
        let keys = find_keys(&said, around, bucket)?;
        Ok(Place {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint,
            region: region.unwrap_or_else(|| "us-east-1".to_owned()),
            keys,
        })
    }

    /// What people are shown.
    pub(super) fn shown(&self) -> String {
        match &self.endpoint {
            Some(endpoint) => format!("the bucket `{}` at {endpoint}", self.bucket),
            None => format!("the bucket `{}` in {}", self.bucket, self.region),
        }
    }
}

fn secret() -> AddressError {
    wrong(
        "the URL of the bucket has a key in it, which everybody in the group can see".to_owned(),
        "leave it out; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to ~/.aws/credentials",
    )
}

/// What is said after the `?`.
fn options(query: &str) -> Result<BTreeMap<String, String>, AddressError> {
    let mut said = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let lower = key.to_ascii_lowercase();
        if OPTIONS.contains(&key) {
            said.insert(key.to_owned(), decoded(value));
        } else if ["key", "secret", "token", "password"]
            .iter()
            .any(|part| lower.contains(part))
        {
            return Err(secret());
        } else {
            return Err(wrong(
                format!("`{key}` is not known in the URL of a bucket"),
                "endpoint, region, profile and credentials are",
            ));
        }
    }
    Ok(said)
}

fn check_endpoint(endpoint: &str) -> Result<(), AddressError> {
    let rest = endpoint
        .strip_prefix("https://")
        .or_else(|| endpoint.strip_prefix("http://"));
    match rest {
        Some(rest) if rest.contains('@') => Err(secret()),
        Some(rest) if !rest.is_empty() && !rest.contains(['?', '#', ' ']) => Ok(()),
        _ => Err(wrong(
            format!("`{endpoint}` is not the address of a server for buckets"),
            "write endpoint=https://HOST:PORT; http:// sends everything in the clear",
        )),
    }
}

fn find_keys(
    said: &BTreeMap<String, String>,
    around: &BTreeMap<String, String>,
    bucket: &str,
) -> Result<Keys, AddressError> {
    let is_named = said.contains_key("credentials") || said.contains_key("profile");
    let (id, secret) = (
        around.get("AWS_ACCESS_KEY_ID"),
        around.get("AWS_SECRET_ACCESS_KEY"),
    );
    if let (false, Some(id), Some(secret)) = (is_named, id, secret) {
        return Ok(Keys {
            id: id.clone(),
            secret: secret.clone(),
            token: around.get("AWS_SESSION_TOKEN").cloned(),
        });
    }
    let profile = said.get("profile").or_else(|| around.get("AWS_PROFILE"));
    let profile = profile.map_or("default", String::as_str);
    let file = said
        .get("credentials")
        .or_else(|| around.get("AWS_SHARED_CREDENTIALS_FILE"));
    let file = file.map(PathBuf::from);
    let usual = || Some(Path::new(around.get("HOME")?).join(".aws/credentials"));
    let found = match file.or_else(usual) {
        Some(file) => from_file(&file, profile)?,
        None => None,
    };
    found.ok_or_else(|| {
        wrong(
            format!("there are no keys for the bucket `{bucket}` (profile `{profile}`)"),
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to ~/.aws/credentials",
        )
    })
}

/// The keys of a profile in a file; `None` where there is no such file or profile.
fn from_file(path: &Path, profile: &str) -> Result<Option<Keys>, AddressError> {
    let Ok(found) = path.metadata() else {
        return Ok(None);
    };
    if found.permissions().mode() & 0o007 != 0 {
        return Err(wrong(
            format!("everybody may read the keys in `{}`", path.display()),
            "take that right away: chmod o= FILE",
        ));
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        wrong(
            format!("cannot read `{}`: {error}", path.display()),
            "make it readable for you",
        )
    })?;
    let mut settings = BTreeMap::new();
    let mut is_ours = false;
    for line in text.lines().map(str::trim) {
        let section = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'));
        if let Some(section) = section {
            is_ours = section.trim() == profile;
        } else if let Some((key, value)) = line.split_once('=')
            && is_ours
            && !line.starts_with(['#', ';'])
        {
            settings.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    let mut take = |key| settings.remove(key).filter(|text| !text.is_empty());
    let (id, secret) = (take("aws_access_key_id"), take("aws_secret_access_key"));
    let token = take("aws_session_token");
    Ok(id
        .zip(secret)
        .map(|(id, secret)| Keys { id, secret, token }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect()
    }

    const SET: [(&str, &str); 2] = [
        ("AWS_ACCESS_KEY_ID", "ann"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
    ];

    #[test]
    fn the_url_wins_over_the_environment() {
        let mut set = around(&SET);
        set.insert("AWS_REGION".to_owned(), "eu-west-1".to_owned());
        set.insert("AWS_ENDPOINT_URL".to_owned(), "https://a".to_owned());
        let place = Place::read("s3://lab/group/one/", &set).expect("a place");
        assert_eq!((&*place.bucket, &*place.prefix), ("lab", "group/one"));
        assert_eq!(place.region, "eu-west-1");
        assert_eq!(place.endpoint.as_deref(), Some("https://a"));
        let place = Place::read("s3://lab?endpoint=http%3A%2F%2Fb:9000/&region=x", &set);
        let place = place.expect("a place");
        assert_eq!((&*place.prefix, &*place.region), ("", "x"));
        assert_eq!(place.endpoint.as_deref(), Some("http://b:9000"));
    }

    #[test]
    fn keys_in_a_url_are_refused_and_not_repeated() {
        for url in [
            "s3://ann:hush@lab/x",
            "s3://lab/x?secret_access_key=hush",
            "s3://lab/x?AWS_SESSION_TOKEN=hush",
            "s3://lab/x?endpoint=https://ann:hush@host",
            "s3://lab/x?what=hush",
        ] {
            let error = Place::read(url, &around(&SET)).expect_err("refused");
            assert!(!format!("{error:?}").contains("hush"), "{error:?}");
        }
        let place = Place::read("s3://lab", &around(&SET)).expect("a place");
        assert!(!format!("{place:?}").contains("hush"), "{place:?}");
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for url in [
            "s3://",
            "s3:///x",
            "s3://lab/a//b",
            "s3://lab/../x",
            "s3://lab/x?endpoint=host:9000",
            "s3://lab/x?endpoint=ftp://host",
        ] {
            assert!(Place::read(url, &around(&SET)).is_err(), "{url}");
        }
    }

    #[test]
    fn keys_come_from_files_that_not_everybody_reads() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("credentials");
        let text = "[default]\naws_access_key_id = a\naws_secret_access_key = b\n\n[lab]\n# hush\n\
                    aws_access_key_id=c\naws_secret_access_key=d=\naws_session_token=e\n";
        std::fs::write(&file, text).expect("a file");
        let set = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("a mode");
        };
        let name = file.display().to_string();
        let named = around(&[("AWS_SHARED_CREDENTIALS_FILE", &name)]);
        set(0o644);
        assert!(Place::read("s3://lab", &named).is_err());
        set(0o600);
        let keys = |url: &str, around: &BTreeMap<String, String>| {
            Place::read(url, around).map(|place| place.keys)
        };
        assert_eq!(keys("s3://lab", &named).expect("keys").id, "a");
        let lab = keys("s3://lab?profile=lab", &named).expect("keys");
        assert_eq!((&*lab.secret, lab.token.as_deref()), ("d=", Some("e")));
        assert!(keys("s3://lab?profile=none", &named).is_err());
        // What the URL names wins over keys of the environment.
        let url = format!("s3://lab?credentials={name}");
        assert_eq!(keys(&url, &around(&SET)).expect("keys").id, "a");
        assert!(keys("s3://lab", &around(&[])).is_err());
    }
}
