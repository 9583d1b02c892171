//! Operations in a part of a graph.
//!
//! Law: an operation of a library, and a helper of the engine, travels by name and version: the other program has it, or
//! refuses. A program travels whole, since it is data.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use core::time::Duration;

use super::PartError;
use crate::wire::{WireError, WireReader, WireWriter};
use crate::{
    Collect, CommandInput, CommandOutput, CommandTemplate, Invocation, Kind, Operation,
    ParameterDeclaration, Part, Placeholder, Port, Registry, Resources, ScalarType, Signature,
    Text, Threads, Type, UsedFile, VersionSource,
};

/// An operation as it is described to another process.
#[derive(Debug, Clone, PartialEq)]
pub enum DescribedOperation {
    /// One that the other program has itself.
    Known {
        /// Its name.
        name: Arc<str>,
        /// Its version.
        version: Arc<str>,
    },
    /// A program.
    Program {
        /// Its ports and parameters.
        signature: Box<Signature>,
        /// How it is started.
        template: Arc<CommandTemplate>,
    },
}

/// Finds the operation with which the engine itself does something: reads a file, picks an item of a list.
fn implicit_operation(libraries: &Registry, name: &str, version: &str) -> Option<Operation> {
    let item = crate::implicit::item_operation();
    if *item.signature.name == *name {
        return Some(item);
    }
    let codecs = libraries.codec_types();
    let codecs = codecs.filter_map(|value_type| libraries.codec(value_type));
    let decoders = codecs.map(|codec| crate::implicit::decoder(codec));
    let is_it = |operation: &Operation| {
        *operation.signature.name == *name && *operation.signature.version == *version
    };
    decoders.into_iter().find(is_it)
}

impl DescribedOperation {
    /// The description of an operation; `None` for one that must not run elsewhere.
    pub(super) fn of(operation: &Operation) -> Option<DescribedOperation> {
        let signature = &operation.signature;
        if !signature.pure {
            return None;
        }
        Some(match &operation.kind {
            Kind::Native(_) => DescribedOperation::Known {
                name: Arc::clone(&signature.name),
                version: Arc::clone(&signature.version),
            },
            Kind::Command(template) => DescribedOperation::Program {
                signature: Box::new(signature.clone()),
                template: Arc::clone(template),
            },
        })
    }

    /// The name of the operation.
    pub fn name(&self) -> &Arc<str> {
        match self {
            DescribedOperation::Known { name, .. } => name,
            DescribedOperation::Program { signature, .. } => &signature.name,
        }
    }

    /// The files that a program uses besides its inputs.
    pub fn used_files(&self) -> &[UsedFile] {
        match self {
            DescribedOperation::Known { .. } => &[],
            DescribedOperation::Program { template, .. } => &template.used_files,
        }
    }

    /// The operation in this program.
    pub(super) fn found(
        &self,
        libraries: &Registry,
        program: &mut dyn FnMut(Operation) -> Result<Operation, PartError>,
    ) -> Result<Arc<Operation>, PartError> {
        match self {
            DescribedOperation::Known { name, version } => {
                let Some(operation) = libraries.operation(name) else {
                    let implicit = implicit_operation(libraries, name, version);
                    let unknown = || PartError::Unknown(Arc::clone(name));
                    return implicit.map(Arc::new).ok_or_else(unknown);
                };
                if operation.signature.version != *version {
                    return Err(PartError::Version {
                        name: Arc::clone(name),
                        here: Arc::clone(&operation.signature.version),
                        there: Arc::clone(version),
                    });
                }
                Ok(Arc::clone(operation))
            }
            DescribedOperation::Program {
                signature,
                template,
            } => program(Operation {
                signature: (**signature).clone(),
                kind: Kind::Command(Arc::clone(template)),
            })
            .map(Arc::new),
        }
    }

    pub(super) fn write(&self, writer: &mut WireWriter) {
        match self {
            DescribedOperation::Known { name, version } => {
                writer.byte(0);
                writer.text(name);
                writer.text(version);
            }
            DescribedOperation::Program {
                signature,
                template,
            } => {
                writer.byte(1);
                write_signature(signature, writer);
                write_template(template, writer);
            }
        }
    }

    pub(super) fn read(reader: &mut WireReader<'_>) -> Result<DescribedOperation, WireError> {
        Ok(match reader.byte()? {
            0 => DescribedOperation::Known {
                name: reader.name()?,
                version: reader.name()?,
            },
            1 => DescribedOperation::Program {
                signature: Box::new(read_signature(reader)?),
                template: Arc::new(read_template(reader)?),
            },
            _ => return Err(reader.unknown("an operation")),
        })
    }
}

fn write_type(port_type: &Type, writer: &mut WireWriter) {
    writer.text(&port_type.to_string());
}

fn read_type(reader: &mut WireReader<'_>) -> Result<Type, WireError> {
    let text = reader.text()?;
    text.parse().map_err(|_| reader.unknown("a type"))
}

fn write_port(port: &Port, writer: &mut WireWriter) {
    let Port {
        name,
        port_type,
        optional,
        keep_name,
        keep,
        extension,
        working,
        in_place,
    } = port;
    writer.text(name);
    write_type(port_type, writer);
    writer.flag(*optional);
    writer.flag(*keep_name);
    writer.option(*keep, WireWriter::flag);
    writer.option(extension.as_deref(), WireWriter::text);
    writer.number((*working).into());
    writer.flag(*in_place);
}

fn read_port(reader: &mut WireReader<'_>) -> Result<Port, WireError> {
    Ok(Port {
        name: reader.name()?,
        port_type: read_type(reader)?,
        optional: reader.flag()?,
        keep_name: reader.flag()?,
        keep: reader.option(WireReader::flag)?,
        extension: reader.option(WireReader::name)?,
        working: reader.small()?,
        in_place: reader.flag()?,
    })
}

const SCALARS: [ScalarType; 4] = [
    ScalarType::Bool,
    ScalarType::Int,
    ScalarType::Float,
    ScalarType::Text,
];

fn write_signature(signature: &Signature, writer: &mut WireWriter) {
    let Signature {
        name,
        version,
        inputs,
        outputs,
        parameters,
        pure,
        implicit,
        resources,
        timeout,
        retries,
    } = signature;
    writer.text(name);
    writer.text(version);
    for ports in [inputs, outputs] {
        writer.count(ports.len());
        ports.iter().for_each(|port| write_port(port, writer));
    }
    writer.count(parameters.len());
    for parameter in parameters {
        writer.text(&parameter.name);
        let place = SCALARS
            .iter()
            .position(|each| *each == parameter.scalar_type);
        writer.count(place.unwrap_or_default());
        writer.option(parameter.default.as_ref(), WireWriter::scalar);
        writer.flag(parameter.truncate);
    }
    writer.flag(*pure);
    writer.flag(*implicit);
    writer.count(resources.0.len());
    for (name, amount) in &resources.0 {
        writer.text(name);
        writer.number(*amount);
    }
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    writer.option(timeout.map(nanoseconds), WireWriter::number);
    writer.option(retries.map(u64::from), WireWriter::number);
}

fn read_signature(reader: &mut WireReader<'_>) -> Result<Signature, WireError> {
    Ok(Signature {
        name: reader.name()?,
        version: reader.name()?,
        inputs: reader.list(read_port)?,
        outputs: reader.list(read_port)?,
        parameters: reader.list(|reader| {
            Ok(ParameterDeclaration {
                name: reader.name()?,
                scalar_type: {
                    let place = usize::try_from(reader.number()?).unwrap_or(usize::MAX);
                    *SCALARS
                        .get(place)
                        .ok_or_else(|| reader.unknown("a type of parameters"))?
                },
                default: reader.option(WireReader::scalar)?,
                truncate: reader.flag()?,
            })
        })?,
        pure: reader.flag()?,
        implicit: reader.flag()?,
        resources: {
            let amounts = reader.list(|reader| Ok((reader.name()?, reader.number()?)))?;
            Resources(amounts.into_iter().collect())
        },
        timeout: reader.option(WireReader::number)?.map(Duration::from_nanos),
        retries: reader.option(WireReader::small)?,
    })
}

fn write_text(text: &Text, writer: &mut WireWriter) {
    writer.count(text.0.len());
    for part in &text.0 {
        let (kind, said) = match part {
            Part::Literal(literal) => (0, &**literal),
            Part::Placeholder(Placeholder::Input(port)) => (1, &**port),
            Part::Placeholder(Placeholder::ListFile(port)) => (2, &**port),
            Part::Placeholder(Placeholder::Output(port)) => (3, &**port),
            Part::Placeholder(Placeholder::Parameter(name)) => (4, &**name),
            Part::Placeholder(Placeholder::Threads) => (5, ""),
        };
        writer.byte(kind);
        writer.text(said);
    }
}

fn read_text(reader: &mut WireReader<'_>) -> Result<Text, WireError> {
    let parts = reader.list(|reader| {
        let kind = reader.byte()?;
        let said = reader.name()?;
        Ok(match kind {
            0 => Part::Literal(said),
            1 => Part::Placeholder(Placeholder::Input(said)),
            2 => Part::Placeholder(Placeholder::ListFile(said)),
            3 => Part::Placeholder(Placeholder::Output(said)),
            4 => Part::Placeholder(Placeholder::Parameter(said)),
            5 => Part::Placeholder(Placeholder::Threads),
            _ => return Err(reader.unknown("a part of a text")),
        })
    })?;
    Ok(Text(parts))
}

fn write_texts<'a>(texts: impl ExactSizeIterator<Item = &'a Arc<str>>, writer: &mut WireWriter) {
    writer.count(texts.len());
    texts.for_each(|text| writer.text(text));
}

fn write_template(template: &CommandTemplate, writer: &mut WireWriter) {
    let CommandTemplate {
        invocation,
        inputs,
        outputs,
        environment,
        threads,
        stdin,
        stdout,
        stderr,
        version,
        uses,
        used_files,
    } = template;
    match invocation {
        Invocation::Arguments(arguments) => {
            writer.byte(0);
            writer.count(arguments.len());
            arguments.iter().for_each(|text| write_text(text, writer));
        }
        Invocation::Shell(text) => {
            writer.byte(1);
            write_text(text, writer);
        }
    }
    writer.count(inputs.len());
    for (port, input) in inputs {
        writer.text(port);
        writer.option(input.extension.as_deref(), WireWriter::text);
    }
    writer.count(outputs.len());
    for (port, output) in outputs {
        writer.text(port);
        match &output.collect {
            Collect::Path(path) => {
                writer.byte(0);
                write_text(path, writer);
            }
            Collect::Glob(glob) => {
                writer.byte(1);
                writer.text(glob);
            }
        }
        write_type(&output.output_type, writer);
        writer.flag(output.optional);
    }
    writer.count(environment.len());
    for (name, text) in environment {
        writer.text(name);
        write_text(text, writer);
    }
    writer.flag(*threads == Threads::Inherit);
    for text in [stdin, stdout, stderr] {
        writer.option(text.as_ref(), |writer, text| write_text(text, writer));
    }
    writer.option(version.as_ref(), |writer, version| match version {
        VersionSource::Text(text) => {
            writer.byte(0);
            writer.text(text);
        }
        VersionSource::Command(words) => {
            writer.byte(1);
            write_texts(words.iter(), writer);
        }
    });
    write_texts(uses.iter(), writer);
    writer.count(used_files.len());
    for file in used_files {
        writer.text(&file.name);
        writer.bytes(file.path.as_os_str().as_encoded_bytes());
        writer.digest(&file.digest);
        writer.flag(file.executable);
    }
}

fn read_template(reader: &mut WireReader<'_>) -> Result<CommandTemplate, WireError> {
    Ok(CommandTemplate {
        invocation: match reader.byte()? {
            0 => Invocation::Arguments(reader.list(read_text)?),
            1 => Invocation::Shell(read_text(reader)?),
            _ => return Err(reader.unknown("how a program is started")),
        },
        inputs: read_map(reader, |reader| {
            let extension = reader.option(WireReader::name)?;
            Ok(CommandInput { extension })
        })?,
        outputs: read_map(reader, |reader| {
            Ok(CommandOutput {
                collect: match reader.byte()? {
                    0 => Collect::Path(read_text(reader)?),
                    1 => Collect::Glob(reader.name()?),
                    _ => return Err(reader.unknown("where an output is")),
                },
                output_type: read_type(reader)?,
                optional: reader.flag()?,
            })
        })?,
        environment: read_map(reader, read_text)?,
        threads: if reader.flag()? {
            Threads::Inherit
        } else {
            Threads::Allowance
        },
        stdin: reader.option(read_text)?,
        stdout: reader.option(read_text)?,
        stderr: reader.option(read_text)?,
        version: reader.option(|reader| {
            Ok(match reader.byte()? {
                0 => VersionSource::Text(reader.name()?),
                1 => VersionSource::Command(reader.list(WireReader::name)?),
                _ => return Err(reader.unknown("where a version comes from")),
            })
        })?,
        uses: reader.list(WireReader::name)?,
        used_files: reader.list(|reader| {
            Ok(UsedFile {
                name: reader.name()?,
                path: path(reader.bytes()?).into(),
                digest: reader.digest()?,
                executable: reader.flag()?,
            })
        })?,
    })
}

/// A path of the other machine. It means nothing here, where the file is found by its digest.
fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

fn read_map<T>(
    reader: &mut WireReader<'_>,
    mut read: impl FnMut(&mut WireReader<'_>) -> Result<T, WireError>,
) -> Result<BTreeMap<Arc<str>, T>, WireError> {
    let pairs = reader.list(|reader| Ok((reader.name()?, read(reader)?)))?;
    Ok(pairs.into_iter().collect())
}
