//! Where the server is, and who asks: from the URL, and from the usual places.
//!
//! Law: what the URL says wins over the service file, which wins over the environment (`PGHOST`, `PGPORT`, `PGUSER`,
//! `PGDATABASE`). A password comes from `PGPASSWORD` or a password file (`PGPASSFILE`, `~/.pgpass`) that nobody else may
//! read; a URL with a password is refused, since arguments can be seen by everybody and are written down.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use postgres::Config;

/// Why a URL cannot be used, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError {
    /// What is wrong.
    pub message: String,
    /// A way out.
    pub hint: Option<String>,
}

fn wrong(message: impl Into<String>, hint: &str) -> AddressError {
    AddressError {
        message: message.into(),
        hint: Some(hint.to_owned()),
    }
}

/// What the server said, with the cause.
pub(crate) fn words(error: &postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words = format!("{words}: {inner_words}");
        }
        cause = inner.source();
    }
    words
}

/// How much a connection has to be protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// Not at all.
    Off,
    /// If the server can.
    Preferred,
    /// Always, whoever answers.
    Required,
    /// Always, by a server with a certificate of an authority that is trusted.
    Authority,
    /// The same, and the certificate is for its name.
    Name,
}

/// A server, a database and a user.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    pub(crate) encryption: Encryption,
    /// A file with certificates of authorities.
    pub(crate) authorities: Option<PathBuf>,
    /// What people are shown.
    pub(crate) shown: String,
}

/// What is said outside of the URL.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn here() -> Surroundings {
        let names = [
            "PGHOST",
            "PGPORT",
            "PGUSER",
            "PGDATABASE",
            "PGPASSWORD",
            "PGPASSFILE",
            "PGSERVICE",
            "PGSERVICEFILE",
            "PGSSLMODE",
            "PGSSLROOTCERT",
            "HOME",
        ];
        let variables = names
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
        Surroundings {
            variables: variables.collect(),
        }
    }

    fn get(&self, name: &str) -> Option<String> {
        self.variables
            .get(name)
            .filter(|text| !text.is_empty())
            .cloned()
    }

    fn file(&self, variable: &str, name: &str) -> Option<PathBuf> {
        let named = self.get(variable).map(PathBuf::from);
        named.or_else(|| Some(PathBuf::from(self.get("HOME")?).join(name)))
    }
}

/// What a URL without its password looks like.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    // A password may hold any sign: what counts is the last `@` before the parameters, or of all if there is none.
    let query = rest.find('?').unwrap_or(rest.len());
    let user = rest[..query].rfind('@').or_else(|| rest.rfind('@'));
    let user = user.filter(|at| rest[..*at].contains(':') || !rest[..*at].contains(['/', '?']));
    let from = user.unwrap_or(0);
    let end = rest[from..]
        .find(['/', '?'])
        .map_or(rest.len(), |end| from + end);
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(user, _)| user);
            format!("{user}@{host}")
        }
        None => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, query)) => {
            let is_kept = |pair: &&str| {
                let key = pair.split_once('=').map_or(*pair, |(key, _)| key);
                !decoded(key).to_lowercase().contains("password")
            };
            let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
            match kept.as_slice() {
                [] => path.to_owned(),
                kept => format!("{path}?{}", kept.join("&")),
            }
        }
        None => path.to_owned(),
    };
    format!("{scheme}://{authority}{path}")
}

impl Address {
    /// Reads a URL.
    pub(crate) fn read(url: &str, around: &Surroundings) -> Result<Address, AddressError> {
        let shown = without_password(url);
        if shown != url {
            return Err(wrong(
                format!(
                    "the URL `{shown}` has a password in it, which everybody on this machine can see"
                ),
                "leave it out, and write it to the file ~/.pgpass: HOST:PORT:DATABASE:USER:PASSWORD",
            ));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut said: BTreeMap<String, String> = BTreeMap::new();
        let mut passed = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if ["sslmode", "sslrootcert", "service", "passfile"].contains(&key) {
                said.insert(key.to_owned(), decoded(value));
            } else {
                passed.push(pair);
            }
        }
        let plain = if passed.is_empty() {
            base.to_owned()
        } else {
            format!("{base}?{}", passed.join("&"))
        };
        let mut config: Config = plain.parse().map_err(|error: postgres::Error| {
            wrong(
                format!("`{shown}` is not the URL of a database: {}", words(&error)),
                "write postgresql://USER@HOST:PORT/DATABASE",
            )
        })?;
        if config.get_password().is_some() {
            return Err(wrong(
                "the URL of the store has a password in it, which everybody on this machine can see",
                "leave it out, and write it to the file ~/.pgpass: HOST:PORT:DATABASE:USER:PASSWORD",
            ));
        }
        let service = said
            .get("service")
            .cloned()
            .or_else(|| around.get("PGSERVICE"));
        let service = match service {
            Some(name) => read_service(&name, around)?,
            None => BTreeMap::new(),
        };
        let get = |key: &str, variable: &str| {
            let said = said.get(key).or_else(|| service.get(key)).cloned();
            said.or_else(|| around.get(variable))
        };
        complete(&mut config, &get)?;
        let mode = get("sslmode", "PGSSLMODE").unwrap_or_else(|| "prefer".to_owned());
        let encryption = match mode.as_str() {
            "disable" => Encryption::Off,
            "allow" | "prefer" => Encryption::Preferred,
            "require" => Encryption::Required,
            "verify-ca" => Encryption::Authority,
            "verify-full" => Encryption::Name,
            other => {
                return Err(wrong(
                    format!("sslmode `{other}` is not known"),
                    "disable, prefer, require, verify-ca and verify-full are",
                ));
            }
        };
        let authorities = get("sslrootcert", "PGSSLROOTCERT").map(PathBuf::from);
        let authorities = authorities.or_else(|| {
            let path = PathBuf::from(around.get("HOME")?).join(".postgresql/root.crt");
            path.is_file().then_some(path)
        });
        if config.get_password().is_none() {
            let password = service.get("password").cloned();
            let password = password.or_else(|| around.get("PGPASSWORD"));
            let file = said.get("passfile").map(PathBuf::from);
            let file = file.or_else(|| around.file("PGPASSFILE", ".pgpass"));
            let password = match (password, file) {
                (Some(password), _) => Some(password),
                (None, Some(file)) => from_file(&file, &config)?,
                (None, None) => None,
            };
            if let Some(password) = password {
                config.password(password);
            }
        }
        Ok(Address {
            config,
            encryption,
            authorities,
            shown,
        })
    }
}

/// Fills in what the URL does not say.
fn complete(
    config: &mut Config,
    get: &dyn Fn(&str, &str) -> Option<String>,
) -> Result<(), AddressError> {
    if config.get_hosts().is_empty() {
        match get("host", "PGHOST") {
            Some(host) => config.host(&host),
            None => config.host("localhost"),
        };
    }
    if config.get_ports().is_empty()
        && let Some(port) = get("port", "PGPORT")
    {
        let port = port.parse().map_err(|_| {
            wrong(
                format!("the port `{port}` is not a number"),
                "5432 is the usual one",
            )
        })?;
        config.port(port);
    }
    if config.get_user().is_none()
        && let Some(user) = get("user", "PGUSER")
    {
        config.user(&user);
    }
    if config.get_dbname().is_none()
        && let Some(name) = get("dbname", "PGDATABASE")
    {
        config.dbname(&name);
    }
    Ok(())
}

/// Undoes `%XX`.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The settings of a service.
fn read_service(
    name: &str,
    around: &Surroundings,
) -> Result<BTreeMap<String, String>, AddressError> {
    let unknown = || {
        wrong(
            format!("the service `{name}` is nowhere described"),
            "describe it in ~/.pg_service.conf, or name the file in PGSERVICEFILE",
        )
    };
    let path = around
        .file("PGSERVICEFILE", ".pg_service.conf")
        .ok_or_else(unknown)?;
    let text = std::fs::read_to_string(path).map_err(|_| unknown())?;
    let mut settings = None;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            if settings.is_some() {
                break;
            }
            settings = (section == name).then(BTreeMap::new);
        } else if let (Some(settings), Some((key, value))) = (&mut settings, line.split_once('='))
            && !line.starts_with('#')
        {
            settings.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    settings.ok_or_else(unknown)
}

/// The password for a server in a password file; `None` where there is no such file or no line for it.
fn from_file(path: &std::path::Path, config: &Config) -> Result<Option<String>, AddressError> {
    let Ok(found) = path.metadata() else {
        return Ok(None);
    };
    if found.permissions().mode() & 0o077 != 0 {
        return Err(wrong(
            format!("others may read the passwords in `{}`", path.display()),
            "take their rights away: chmod 600",
        ));
    }
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let host = match config.get_hosts().first() {
        Some(postgres::config::Host::Tcp(host)) => host.clone(),
        _ => "localhost".to_owned(),
    };
    let port = config
        .get_ports()
        .first()
        .copied()
        .unwrap_or(5432)
        .to_string();
    let user = config.get_user().map_or_else(user_name, str::to_owned);
    let database = config
        .get_dbname()
        .map_or_else(|| user.clone(), str::to_owned);
    let wanted = [host, port, database, user];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields = fields(line);
        if let [first @ .., password] = fields.as_slice()
            && first.len() == 4
            && first
                .iter()
                .zip(&wanted)
                .all(|(field, wanted)| field == "*" || field == wanted)
        {
            return Ok(Some(password.clone()));
        }
    }
    Ok(None)
}

fn user_name() -> String {
    std::env::var("USER").unwrap_or_default()
}

/// The fields of a line of a password file; `\:` and `\\` are the signs themselves.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        match sign {
            // The password is the rest of the line.
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => {
                if let (Some(next), Some(field)) = (signs.next(), fields.last_mut()) {
                    field.push(next);
                }
            }
            other => {
                if let Some(field) = fields.last_mut() {
                    field.push(other);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(pairs: &[(&str, &str)]) -> Surroundings {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Surroundings {
            variables: pairs.collect(),
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_repeated() {
        for url in [
            "postgresql://ann:secret@host/db",
            "postgresql://host/db?password=secret&sslmode=require",
            "postgresql://ann:se/secret@host/db",
            "postgresql://ann:se?secret@host/db",
            "postgresql://ann:s@secret@host/db",
            "postgresql://ann@host/db?pass%77ord=secret",
            "postgresql://ann@host/db?PASSWORD=secret",
            "postgresql://ann@host/db?sslpassword=secret",
        ] {
            let error = Address::read(url, &Surroundings::default()).expect_err("refused");
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
    }

    #[test]
    fn passwords_come_from_files_that_nobody_else_reads() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pass");
        let lines = "# a comment\nother:*:*:*:no\nhost:5432:db:ann:a\\:b\n*:*:*:*:any\n";
        std::fs::write(&file, lines).expect("a file");
        let set = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("a mode");
        };
        let name = file.display().to_string();
        let around = around(&[("PGPASSFILE", &name)]);
        set(0o644);
        assert!(Address::read("postgresql://ann@host/db", &around).is_err());
        set(0o600);
        let password = |url| {
            let address = Address::read(url, &around).expect("an address");
            address.config.get_password().map(<[u8]>::to_vec)
        };
        assert_eq!(password("postgresql://ann@host/db"), Some(b"a:b".to_vec()));
        assert_eq!(password("postgresql://bob@host/db"), Some(b"any".to_vec()));
    }

    #[test]
    fn services_and_the_environment_complete_a_url() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("services");
        std::fs::write(
            &file,
            "[other]\nhost=x\n[lab]\nhost=lab.example\nport=6543\nsslmode=verify-full\n",
        )
        .expect("a file");
        let name = file.display().to_string();
        let around = around(&[
            ("PGSERVICEFILE", &name),
            ("PGUSER", "ann"),
            ("PGDATABASE", "db"),
        ]);
        let address = Address::read("postgresql://?service=lab", &around).expect("an address");
        assert_eq!(address.config.get_ports(), [6543]);
        assert_eq!(address.config.get_user(), Some("ann"));
        assert_eq!(address.config.get_dbname(), Some("db"));
        assert_eq!(address.encryption, Encryption::Name);
        assert!(Address::read("postgresql://?service=none", &around).is_err());
    }
}
