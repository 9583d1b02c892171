//! What manager and nodes say to each other.
//!
//! Law: a message of another build is not understood but refused, by what [`Hello`] says. Bytes of products are in no message
//! unless they are small; everything else is fetched by digest (`objects`).

use std::path::PathBuf;
use std::time::Duration;

use headwater_enact::nanoseconds;
use headwater_execute::Usage;
use headwater_graph::wire::{WireError, WireReader, WireWriter};
use headwater_graph::{
    ContentHasher, Digest, Failure, FailureKind, GraphPart, Identity, Rates, SCHEME, StoredOutput,
};

/// The form of the messages.
const PROTOCOL: u32 = 1;

/// What a connection is for: its first byte.
pub(crate) const MESSAGES: u8 = b'M';
pub(crate) const OBJECTS: u8 = b'O';

/// What a node says first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    /// How recipes are encoded.
    pub(crate) scheme: u32,
    /// Which program it is.
    pub(crate) build: String,
    /// What people call it.
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) cores: u64,
    pub(crate) memory: Option<u64>,
    pub(crate) others: Vec<(String, u64)>,
    /// Where it gives bytes to others.
    pub(crate) address: String,
    /// What it found in the folder that the crew file names.
    pub(crate) token: Option<String>,
    /// When it will be ended, from now.
    pub(crate) left: Option<Duration>,
}

impl Hello {
    /// Says which build it is.
    pub(crate) fn versions() -> (u32, u32, String) {
        (PROTOCOL, SCHEME, build())
    }

    /// Why a manager has nothing to do with a node of that kind, if so.
    pub(crate) fn refusal(&self) -> Option<String> {
        let (protocol, scheme, build) = Hello::versions();
        if (self.protocol, self.scheme) != (protocol, scheme) {
            return Some(format!(
                "it speaks version {} of the protocol with recipes of scheme {}, and the manager {protocol} and {scheme}",
                self.protocol, self.scheme
            ));
        }
        (self.build != build).then(|| {
            format!(
                "it is build {}, and the manager is build {build}: start nodes from the same program",
                self.build
            )
        })
    }
}

/// Which program this is: its version and the digest of its file, since programs of one version may have other
/// operations. Finding it out takes a moment, so it is done once.
pub(crate) fn build() -> String {
    static BUILD: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    BUILD
        .get_or_init(|| {
            let mut hasher = ContentHasher::new();
            let read = std::fs::File::open("/proc/self/exe")
                .and_then(|mut file| hasher.update_from(&mut file, &mut vec![0; 1 << 16], |_| ()));
            let digest = hasher.finish().hex();
            match read {
                Ok(()) => format!("{}-{}", env!("CARGO_PKG_VERSION"), &digest[..16]),
                Err(_) => env!("CARGO_PKG_VERSION").to_owned(),
            }
        })
        .clone()
}

/// Tasks of a unit, and what is to become of their outputs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    pub(crate) unit: u64,
    pub(crate) part: GraphPart,
    /// For each task of the part the outputs that are to be written to the shared folder whatever that costs, by position.
    pub(crate) wanted: Vec<Vec<u16>>,
    /// For each task how long it may take.
    pub(crate) timeouts: Vec<Option<Duration>>,
    /// Cores that it takes.
    pub(crate) cores: u64,
    /// The modes of files of the user that it reads: a task sees a file with the mode that it has.
    pub(crate) modes: Vec<(Digest, u32)>,
}

/// What the manager says to a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToNode {
    /// It is in the crew, under this name. What the store costs says what is worth writing to the shared
    /// folder, though nobody asked for it; `None` if products are not kept.
    Welcome { name: String, keeps: Option<Rates> },
    /// It is not.
    Refused(String),
    /// Do this.
    Assign(Box<Assignment>),
    /// Give this back, if it has not begun.
    Retract(u64),
    /// Nobody wants these bytes any more.
    Forget(Vec<Digest>),
    /// The run is over: nothing of it is wanted any more.
    Clear,
    /// End what runs.
    Cancel,
    /// The node may end.
    End,
}

/// A task that ended well.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MadeTask {
    pub(crate) unit: u64,
    /// Its position in the part.
    pub(crate) task: u32,
    pub(crate) ran: RanFor,
    pub(crate) outputs: Vec<StoredOutput>,
    /// What these are by content.
    pub(crate) contents: Vec<Identity>,
    /// Bytes that the node has now, by digest, and how many; the name of the file in the shared folder, if they are there.
    pub(crate) objects: Vec<MadeObject>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MadeObject {
    /// The position of the output that it belongs to.
    pub(crate) output: u16,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    pub(crate) placed: Option<PathBuf>,
}

/// How long a task took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RanFor {
    pub(crate) elapsed: Duration,
    pub(crate) usage: Usage,
    /// How long ago it ended when this was sent.
    pub(crate) ago: Duration,
}

/// What a node says to the manager.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToManager {
    Hello(Box<Hello>),
    /// It is alive.
    Beat,
    Made(Box<MadeTask>),
    Failed {
        unit: u64,
        task: u32,
        ran: RanFor,
        failure: Box<Failure>,
    },
    /// All tasks of a unit have been reported.
    Ended(u64),
    /// A unit that cannot be done here, and why.
    Declined {
        unit: u64,
        reason: String,
    },
    /// A unit that had not begun.
    Returned(u64),
    /// A unit could not begin, because these bytes cannot be had anywhere.
    Missing {
        unit: u64,
        digests: Vec<Digest>,
    },
    /// It goes.
    Leaving(String),
}

fn write_duration(writer: &mut WireWriter, time: Duration) {
    writer.number(nanoseconds(time));
}

fn read_duration(reader: &mut WireReader<'_>) -> Result<Duration, WireError> {
    Ok(Duration::from_nanos(reader.number()?))
}

fn write_path(writer: &mut WireWriter, path: &std::path::Path) {
    use std::os::unix::ffi::OsStrExt as _;
    writer.bytes(path.as_os_str().as_bytes());
}

fn read_path(reader: &mut WireReader<'_>) -> Result<PathBuf, WireError> {
    use std::os::unix::ffi::OsStrExt as _;
    Ok(std::ffi::OsStr::from_bytes(reader.bytes()?).into())
}

fn write_digests(writer: &mut WireWriter, digests: &[Digest]) {
    writer.count(digests.len());
    digests.iter().for_each(|digest| writer.digest(digest));
}

impl Hello {
    fn write(&self, writer: &mut WireWriter) {
        writer.number(self.protocol.into());
        writer.number(self.scheme.into());
        writer.text(&self.build);
        writer.text(&self.name);
        writer.text(&self.host);
        writer.number(self.cores);
        writer.option(self.memory, WireWriter::number);
        writer.count(self.others.len());
        for (name, amount) in &self.others {
            writer.text(name);
            writer.number(*amount);
        }
        writer.text(&self.address);
        writer.option(self.token.as_deref(), WireWriter::text);
        writer.option(self.left, write_duration);
    }

    fn read(reader: &mut WireReader<'_>) -> Result<Hello, WireError> {
        let owned = |reader: &mut WireReader<'_>| reader.text().map(str::to_owned);
        Ok(Hello {
            protocol: reader.small()?,
            scheme: reader.small()?,
            build: owned(reader)?,
            name: owned(reader)?,
            host: owned(reader)?,
            cores: reader.number()?,
            memory: reader.option(WireReader::number)?,
            others: reader.list(|reader| Ok((owned(reader)?, reader.number()?)))?,
            address: owned(reader)?,
            token: reader.option(owned)?,
            left: reader.option(read_duration)?,
        })
    }
}

impl ToNode {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut writer = WireWriter::new();
        match self {
            ToNode::Welcome { name, keeps } => {
                writer.byte(0);
                writer.text(name);
                writer.option(*keeps, |writer, rates| {
                    for rate in [rates.write, rates.read, rates.object] {
                        writer.number(rate.to_bits());
                    }
                });
            }
            ToNode::Refused(reason) => {
                writer.byte(1);
                writer.text(reason);
            }
            ToNode::Assign(assignment) => {
                writer.byte(2);
                let Assignment {
                    unit,
                    part,
                    wanted,
                    timeouts,
                    cores,
                    modes,
                } = &**assignment;
                writer.number(*unit);
                part.write(&mut writer);
                for (ports, timeout) in wanted.iter().zip(timeouts) {
                    writer.count(ports.len());
                    ports.iter().for_each(|port| writer.number((*port).into()));
                    writer.option(*timeout, write_duration);
                }
                writer.number(*cores);
                writer.count(modes.len());
                for (digest, mode) in modes {
                    writer.digest(digest);
                    writer.number((*mode).into());
                }
            }
            ToNode::Retract(unit) => {
                writer.byte(3);
                writer.number(*unit);
            }
            ToNode::Forget(digests) => {
                writer.byte(4);
                write_digests(&mut writer, digests);
            }
            ToNode::Clear => writer.byte(5),
            ToNode::Cancel => writer.byte(6),
            ToNode::End => writer.byte(7),
        }
        writer.bytes
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<ToNode, WireError> {
        let mut reader = WireReader::new(bytes);
        let reader = &mut reader;
        let message = match reader.byte()? {
            0 => ToNode::Welcome {
                name: reader.text()?.to_owned(),
                keeps: reader.option(|reader| {
                    Ok(Rates {
                        write: f64::from_bits(reader.number()?),
                        read: f64::from_bits(reader.number()?),
                        object: f64::from_bits(reader.number()?),
                    })
                })?,
            },
            1 => ToNode::Refused(reader.text()?.to_owned()),
            2 => {
                let unit = reader.number()?;
                let part = GraphPart::read(reader)?;
                let (mut wanted, mut timeouts) = (Vec::new(), Vec::new());
                for _ in 0..part.len() {
                    wanted.push(reader.list(|reader| {
                        let port = reader.number()?;
                        u16::try_from(port).map_err(|_| reader.unknown("a port"))
                    })?);
                    timeouts.push(reader.option(read_duration)?);
                }
                ToNode::Assign(Box::new(Assignment {
                    unit,
                    part,
                    wanted,
                    timeouts,
                    cores: reader.number()?,
                    modes: reader.list(|reader| Ok((reader.digest()?, reader.small()?)))?,
                }))
            }
            3 => ToNode::Retract(reader.number()?),
            4 => ToNode::Forget(reader.list(WireReader::digest)?),
            5 => ToNode::Clear,
            6 => ToNode::Cancel,
            7 => ToNode::End,
            _ => return Err(reader.unknown("a message to a node")),
        };
        reader.end()?;
        Ok(message)
    }
}

impl RanFor {
    fn write(&self, writer: &mut WireWriter) {
        write_duration(writer, self.elapsed);
        write_duration(writer, self.usage.cpu);
        writer.number(self.usage.peak_memory);
        writer.flag(self.usage.peak_reliable);
        write_duration(writer, self.ago);
    }

    fn read(reader: &mut WireReader<'_>) -> Result<RanFor, WireError> {
        Ok(RanFor {
            elapsed: read_duration(reader)?,
            usage: Usage {
                cpu: read_duration(reader)?,
                peak_memory: reader.number()?,
                peak_reliable: reader.flag()?,
            },
            ago: read_duration(reader)?,
        })
    }
}

fn write_failure(failure: &Failure, writer: &mut WireWriter) {
    writer.text(&failure.kind.to_string());
    writer.text(&failure.message);
    writer.option(failure.command.as_ref(), |writer, words| {
        writer.count(words.len());
        words.iter().for_each(|word| writer.text(word));
    });
    writer.option(failure.folder.as_deref(), write_path);
    writer.text(&failure.stderr);
}

fn read_failure(reader: &mut WireReader<'_>) -> Result<Failure, WireError> {
    Ok(Failure {
        kind: {
            let kind = FailureKind::parse(reader.text()?);
            kind.ok_or_else(|| reader.unknown("why a task failed"))?
        },
        message: reader.text()?.to_owned(),
        command: reader.option(|reader| reader.list(|reader| reader.text().map(str::to_owned)))?,
        folder: reader.option(read_path)?,
        stderr: reader.text()?.to_owned(),
    })
}

impl MadeTask {
    fn write(&self, writer: &mut WireWriter) {
        writer.number(self.unit);
        writer.number(self.task.into());
        self.ran.write(writer);
        writer.count(self.outputs.len());
        self.outputs.iter().for_each(|output| output.write(writer));
        writer.count(self.contents.len());
        self.contents
            .iter()
            .for_each(|identity| identity.write(writer));
        writer.count(self.objects.len());
        for object in &self.objects {
            writer.number(object.output.into());
            writer.digest(&object.digest);
            writer.number(object.size);
            writer.option(object.placed.as_deref(), write_path);
        }
    }

    fn read(reader: &mut WireReader<'_>) -> Result<MadeTask, WireError> {
        Ok(MadeTask {
            unit: reader.number()?,
            task: reader.small()?,
            ran: RanFor::read(reader)?,
            outputs: reader.list(StoredOutput::read)?,
            contents: reader.list(Identity::read)?,
            objects: reader.list(|reader| {
                Ok(MadeObject {
                    output: {
                        let output = reader.number()?;
                        u16::try_from(output).map_err(|_| reader.unknown("an output"))?
                    },
                    digest: reader.digest()?,
                    size: reader.number()?,
                    placed: reader.option(read_path)?,
                })
            })?,
        })
    }
}

impl ToManager {
    /// Writes it after others in one message.
    pub(crate) fn write(&self, writer: &mut WireWriter) {
        match self {
            ToManager::Hello(hello) => {
                writer.byte(0);
                hello.write(writer);
            }
            ToManager::Beat => writer.byte(1),
            ToManager::Made(made) => {
                writer.byte(2);
                made.write(writer);
            }
            ToManager::Failed {
                unit,
                task,
                ran,
                failure,
            } => {
                writer.byte(3);
                writer.number(*unit);
                writer.number((*task).into());
                ran.write(writer);
                write_failure(failure, writer);
            }
            ToManager::Ended(unit) => {
                writer.byte(4);
                writer.number(*unit);
            }
            ToManager::Declined { unit, reason } => {
                writer.byte(5);
                writer.number(*unit);
                writer.text(reason);
            }
            ToManager::Returned(unit) => {
                writer.byte(6);
                writer.number(*unit);
            }
            ToManager::Missing { unit, digests } => {
                writer.byte(7);
                writer.number(*unit);
                write_digests(writer, digests);
            }
            ToManager::Leaving(why) => {
                writer.byte(8);
                writer.text(why);
            }
        }
    }

    fn one(reader: &mut WireReader<'_>) -> Result<ToManager, WireError> {
        Ok(match reader.byte()? {
            0 => ToManager::Hello(Box::new(Hello::read(reader)?)),
            1 => ToManager::Beat,
            2 => ToManager::Made(Box::new(MadeTask::read(reader)?)),
            3 => ToManager::Failed {
                unit: reader.number()?,
                task: reader.small()?,
                ran: RanFor::read(reader)?,
                failure: Box::new(read_failure(reader)?),
            },
            4 => ToManager::Ended(reader.number()?),
            5 => ToManager::Declined {
                unit: reader.number()?,
                reason: reader.text()?.to_owned(),
            },
            6 => ToManager::Returned(reader.number()?),
            7 => ToManager::Missing {
                unit: reader.number()?,
                digests: reader.list(WireReader::digest)?,
            },
            8 => ToManager::Leaving(reader.text()?.to_owned()),
            _ => return Err(reader.unknown("a message to the manager")),
        })
    }

    /// Reads all that is in one message.
    pub(crate) fn read(bytes: &[u8]) -> Result<Vec<ToManager>, WireError> {
        let mut reader = WireReader::new(bytes);
        let mut messages = Vec::new();
        while reader.end().is_err() {
            messages.push(ToManager::one(&mut reader)?);
        }
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran() -> RanFor {
        RanFor {
            elapsed: Duration::from_millis(3),
            usage: Usage {
                cpu: Duration::from_micros(7),
                peak_memory: 9,
                peak_reliable: true,
            },
            ago: Duration::from_nanos(1),
        }
    }

    fn to_manager() -> Vec<ToManager> {
        let (protocol, scheme, build) = Hello::versions();
        let hello = Hello {
            protocol,
            scheme,
            build,
            name: "n1".into(),
            host: "host".into(),
            cores: 4,
            memory: Some(1 << 40),
            others: vec![("gpu".into(), 2)],
            address: "127.0.0.1:9".into(),
            token: Some("token".into()),
            left: Some(Duration::from_secs(60)),
        };
        let output = StoredOutput {
            digest: Digest::of(b"x"),
            size: 1,
            inline: Some([1, 2].into()),
            encoding: None,
        };
        let object = MadeObject {
            output: 0,
            digest: Digest::of(b"y"),
            size: 1 << 33,
            placed: Some("a/b".into()),
        };
        let failure = Failure {
            command: Some(vec!["false".into()]),
            folder: Some("work/1".into()),
            stderr: "oh".into(),
            ..Failure::new(FailureKind::Exit(3), "it failed".into())
        };
        vec![
            ToManager::Hello(Box::new(hello)),
            ToManager::Beat,
            ToManager::Made(Box::new(MadeTask {
                unit: 300,
                task: 1,
                ran: ran(),
                outputs: vec![output],
                contents: vec![Identity::File(Digest::of(b"x"))],
                objects: vec![object],
            })),
            ToManager::Failed {
                unit: 1,
                task: 0,
                ran: ran(),
                failure: Box::new(failure),
            },
            ToManager::Ended(1),
            ToManager::Declined {
                unit: 2,
                reason: "no".into(),
            },
            ToManager::Returned(3),
            ToManager::Missing {
                unit: 4,
                digests: vec![Digest::of(b"z")],
            },
            ToManager::Leaving("time".into()),
        ]
    }

    #[test]
    fn what_is_said_is_heard() {
        let said = to_manager();
        let mut writer = WireWriter::new();
        said.iter().for_each(|message| message.write(&mut writer));
        assert_eq!(ToManager::read(&writer.bytes), Ok(said));
        let keeps = Some(Rates::default());
        let to_node = [
            ToNode::Welcome {
                name: "n".into(),
                keeps,
            },
            ToNode::Refused("no".into()),
            ToNode::Assign(Box::new(Assignment {
                unit: 1,
                part: GraphPart::default(),
                wanted: Vec::new(),
                timeouts: Vec::new(),
                cores: 2,
                modes: vec![(Digest::of(b"x"), 0o755)],
            })),
            ToNode::Retract(1),
            ToNode::Forget(vec![Digest::of(b"x")]),
            ToNode::Clear,
            ToNode::Cancel,
            ToNode::End,
        ];
        for message in to_node {
            assert_eq!(ToNode::read(&message.write()), Ok(message));
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic() {
        let mut writer = WireWriter::new();
        to_manager()
            .iter()
            .for_each(|message| message.write(&mut writer));
        for place in 0..writer.bytes.len() {
            let _ = ToManager::read(&writer.bytes[..place]);
            for byte in [0, 1, 0x7f, 0xff] {
                let mut bytes = writer.bytes.clone();
                bytes[place] = byte;
                let _ = ToManager::read(&bytes);
                let _ = ToNode::read(&bytes);
            }
        }
    }

    #[test]
    fn another_build_is_refused_with_both_named() {
        let messages = to_manager();
        let Some(ToManager::Hello(hello)) = messages.first() else {
            panic!("it says hello");
        };
        assert_eq!(hello.refusal(), None);
        let other = Hello {
            build: "0.0.9-x".into(),
            ..(**hello).clone()
        };
        let reason = other.refusal().expect("it is another program");
        assert!(
            reason.contains("0.0.9-x") && reason.contains(&build()),
            "{reason}"
        );
        let other = Hello {
            scheme: 99,
            ..(**hello).clone()
        };
        assert!(
            other
                .refusal()
                .is_some_and(|reason| reason.contains("scheme 99"))
        );
    }
}
