//! Tables as Parquet, the form in which pandas, Polars, R and DuckDB exchange them.
//!
//! Law: cells are INT64, DOUBLE, BOOLEAN and BYTE_ARRAY (UTF8); a column is optional where a cell of it is missing.
//! The bytes are a function of the table: no time and no version stands in them. Any bytes may be given to the
//! reader: it answers with a table or an error.
//!
//! Others' files may be in several groups of rows, with dictionaries, and compressed by snappy, gzip or zstd; numbers
//! of other widths become `i64` and `f64`. What is neither number nor truth value nor text (times, decimals, lists,
//! records) is refused with the name of its column, unless the caller does not want that column.
//!
//! The crate that does the work checks a lot, but not everything: it is guarded here by what the file as a whole says
//! of itself, and by catching a panic. `docs/adr/0009-parquet-by-the-crate.md` tells what was found.

use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Once;

use parquet::basic::{
    Compression, ConvertedType, IntType, LogicalType, Repetition, Type as Physical,
};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescriptor, Type};

use super::{Cells, Table, TableColumn, TableError};

/// Rows that are written as one group.
const GROUP: usize = 1_000_000;

/// Rows that are read at once, so that memory grows with what is there and not with what a header claims.
const BATCH: usize = 1 << 16;

/// The most rows of a file that is read. A few bytes can stand for any number of equal cells, so there has to be an end.
const MOST_ROWS: i64 = 1 << 27;

/// Writes a table as Parquet.
pub fn write_parquet(table: &Table, out: impl Write + Send) -> Result<(), TableError> {
    let fields: Result<Vec<_>, _> = table.columns().iter().map(field).collect();
    let schema = Type::group_type_builder("schema")
        .with_fields(fields.map_err(unwritten)?)
        .build()
        .map_err(unwritten)?;
    let properties = WriterProperties::builder()
        .set_created_by("headwater".to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        .map_err(unwritten)?;
    let mut start = 0;
    while start < table.rows() {
        let end = table.rows().min(start + GROUP);
        let mut group = writer.next_row_group().map_err(unwritten)?;
        for column in table.columns() {
            write_column(&mut group, column, start, end).map_err(unwritten)?;
        }
        group.close().map_err(unwritten)?;
        start = end;
    }
    writer.close().map_err(unwritten)?;
    Ok(())
}

fn unwritten(error: ParquetError) -> TableError {
    let source = match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => return TableError::from(*source),
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    };
    TableError::from(source)
}

/// How a column is described.
fn field(column: &TableColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.cells() {
        Cells::Int(_) => (Physical::INT64, None),
        Cells::Float(_) => (Physical::DOUBLE, None),
        Cells::Bool(_) => (Physical::BOOLEAN, None),
        Cells::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.has_missing() {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let field = Type::primitive_type_builder(column.name(), physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(field))
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &TableColumn,
    start: usize,
    end: usize,
) -> Result<(), ParquetError> {
    match column.cells() {
        Cells::Int(cells) => {
            write_cells::<W, Int64Type, _>(group, column, &cells[start..end], start, |cell| *cell)
        }
        Cells::Float(cells) => {
            write_cells::<W, DoubleType, _>(group, column, &cells[start..end], start, |cell| *cell)
        }
        Cells::Bool(cells) => {
            write_cells::<W, BoolType, _>(group, column, &cells[start..end], start, |cell| *cell)
        }
        Cells::Text(cells) => {
            let cell = |text: &String| ByteArray::from(text.as_str());
            write_cells::<W, ByteArrayType, _>(group, column, &cells[start..end], start, cell)
        }
    }
}

fn write_cells<W: Write + Send, D: DataType, C>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &TableColumn,
    cells: &[C],
    start: usize,
    convert: impl Fn(&C) -> D::T,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("a column too many".to_owned()));
    };
    let missing = |position: usize| column.is_missing(start + position);
    let present = cells
        .iter()
        .enumerate()
        .filter(|(position, _)| !missing(*position));
    let values: Vec<D::T> = present.map(|(_, cell)| convert(cell)).collect();
    let levels: Option<Vec<i16>> = column.has_missing().then(|| {
        (0..cells.len())
            .map(|position| i16::from(!missing(position)))
            .collect()
    });
    writer
        .typed::<D>()
        .write_batch(&values, levels.as_deref(), None)?;
    writer.close()
}

/// Reads all columns of a Parquet file.
pub fn read_parquet(bytes: Vec<u8>) -> Result<Table, TableError> {
    read_parquet_columns(bytes, |_| true)
}

/// Reads the columns of a Parquet file whose names are wanted.
pub fn read_parquet_columns(
    bytes: Vec<u8>,
    wanted: impl Fn(&str) -> bool,
) -> Result<Table, TableError> {
    keep_quiet();
    READING.set(true);
    // What is caught is gone with all that it had: nothing that outlives the call was being changed.
    let read = catch_unwind(AssertUnwindSafe(|| read(bytes, wanted)));
    READING.set(false);
    read.unwrap_or_else(|_| Err(damaged("its parts do not fit together")))
}

thread_local! {
    /// Whether this thread reads a table, where a panic is an answer.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// From now on a panic in a thread that reads a table says nothing: the error says it all. Others are as before.
fn keep_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !READING.get() {
                before(panic);
            }
        }));
    });
}

fn damaged(what: impl std::fmt::Display) -> TableError {
    TableError::Damaged {
        what: format!("this is not a whole Parquet file: {what}"),
    }
}

fn read(bytes: Vec<u8>, wanted: impl Fn(&str) -> bool) -> Result<Table, TableError> {
    let length = bytes.len();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).map_err(damaged)?;
    let metadata = reader.metadata();
    let mut rows = 0_i64;
    for group in metadata.row_groups() {
        if group.num_rows() < 0 {
            return Err(damaged("a group has fewer than no rows"));
        }
        rows = rows.saturating_add(group.num_rows());
    }
    if rows != metadata.file_metadata().num_rows() {
        return Err(damaged("it has other rows than it says"));
    }
    if rows > MOST_ROWS {
        return Err(TableError::Unsupported {
            what: format!("this table has {rows} rows; at most {MOST_ROWS} are read"),
            hint: "take a part of it",
        });
    }
    let schema = metadata.file_metadata().schema_descr();
    let mut columns = Vec::new();
    for position in 0..schema.num_columns() {
        let column = schema.column(position);
        let name = column.path().parts().first().map_or("", String::as_str);
        if !wanted(name) {
            continue;
        }
        let mut read = Building::of(name, &column)?;
        for (group, description) in metadata.row_groups().iter().enumerate() {
            let chunk = description.column(position);
            check_compression(name, chunk.compression())?;
            if chunk.num_values() != description.num_rows() {
                return Err(damaged(format!(
                    "column `{name}` has other rows than its group"
                )));
            }
            let start = chunk
                .dictionary_page_offset()
                .unwrap_or(chunk.data_page_offset());
            let lies_inside = start >= 0
                && chunk.compressed_size() >= 0
                && start
                    .checked_add(chunk.compressed_size())
                    .and_then(|end| usize::try_from(end).ok())
                    .is_some_and(|end| end <= length);
            if !lies_inside {
                return Err(damaged(format!("column `{name}` is not inside it")));
            }
            let cells = reader
                .get_row_group(group)
                .and_then(|group| group.get_column_reader(position))
                .map_err(damaged)?;
            let rows = usize::try_from(description.num_rows()).map_err(damaged)?;
            read.take(cells, rows, column.max_def_level() > 0)?;
        }
        columns.push(read.finish());
    }
    Table::new(columns)
}

fn check_compression(name: &str, compression: Compression) -> Result<(), TableError> {
    match compression {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::ZSTD(_) => Ok(()),
        other => Err(TableError::Unsupported {
            what: format!("column `{name}` is compressed by {other}"),
            hint: "write the file with compression by snappy, gzip or zstd, or without compression",
        }),
    }
}

/// A column while it is read.
struct Building<'a> {
    name: &'a str,
    cells: Cells,
    missing: Vec<bool>,
    unsigned: bool,
}

impl<'a> Building<'a> {
    /// An empty column of the type that this one becomes.
    fn of(name: &'a str, column: &ColumnDescriptor) -> Result<Building<'a>, TableError> {
        let refuse = |kind: &str| {
            Err(TableError::Unsupported {
                what: format!("column `{name}` holds {kind}"),
                hint: "a table has numbers, truth values and texts; leave the column out or turn it into one of these",
            })
        };
        if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
            return refuse("lists or records");
        }
        let logical = column.logical_type_ref();
        let converted = column.converted_type();
        let unsigned = matches!(
            logical,
            Some(LogicalType::Integer(IntType {
                is_signed: false,
                ..
            }))
        ) || matches!(
            converted,
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        );
        let whole = matches!(
            logical,
            None | Some(LogicalType::Integer(_) | LogicalType::Unknown)
        ) && matches!(
            converted,
            ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64
        );
        let text = matches!(
            logical,
            None | Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)
        ) && converted != ConvertedType::DECIMAL;
        let cells = match column.physical_type() {
            Physical::BOOLEAN => Cells::Bool(Vec::new()),
            Physical::INT32 | Physical::INT64 if whole || unsigned => Cells::Int(Vec::new()),
            Physical::FLOAT | Physical::DOUBLE => Cells::Float(Vec::new()),
            Physical::BYTE_ARRAY if text => Cells::Text(Vec::new()),
            Physical::INT32 | Physical::INT64 | Physical::INT96 => {
                return refuse("times or decimals");
            }
            Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => {
                return refuse("bytes, decimals or short floats");
            }
        };
        Ok(Building {
            name,
            cells,
            missing: Vec::new(),
            unsigned,
        })
    }

    /// Takes so many rows.
    fn take(&mut self, cells: ColumnReader, rows: usize, optional: bool) -> Result<(), TableError> {
        let Building {
            name,
            cells: all,
            missing,
            unsigned,
        } = self;
        let name = *name;
        let mut batch = Batch {
            name,
            rows,
            optional,
            missing,
        };
        let unsigned = *unsigned;
        match (all, cells) {
            (Cells::Bool(all), ColumnReader::BoolColumnReader(mut cells)) => {
                batch.read(&mut cells, all, |cell| Ok(*cell))
            }
            (Cells::Int(all), ColumnReader::Int32ColumnReader(mut cells)) => {
                batch.read(&mut cells, all, |cell| {
                    Ok(if unsigned {
                        i64::from(cell.cast_unsigned())
                    } else {
                        i64::from(*cell)
                    })
                })
            }
            (Cells::Int(all), ColumnReader::Int64ColumnReader(mut cells)) => {
                batch.read(&mut cells, all, |cell| {
                    if unsigned && *cell < 0 {
                        return Err(TableError::Unsupported {
                            what: format!("column `{name}` has a number above {}", i64::MAX),
                            hint: "write the column as floats",
                        });
                    }
                    Ok(*cell)
                })
            }
            (Cells::Float(all), ColumnReader::FloatColumnReader(mut cells)) => {
                batch.read(&mut cells, all, |cell| Ok(f64::from(*cell)))
            }
            (Cells::Float(all), ColumnReader::DoubleColumnReader(mut cells)) => {
                batch.read(&mut cells, all, |cell| Ok(*cell))
            }
            (Cells::Text(all), ColumnReader::ByteArrayColumnReader(mut cells)) => {
                batch.read(&mut cells, all, |cell| {
                    match std::str::from_utf8(cell.data()) {
                        Ok(text) => Ok(text.to_owned()),
                        Err(_) => Err(TableError::Unsupported {
                            what: format!("column `{name}` holds bytes that are no text"),
                            hint: "a text is UTF-8",
                        }),
                    }
                })
            }
            _ => Err(damaged(format!("column `{name}` changes its type"))),
        }
    }

    fn finish(self) -> TableColumn {
        TableColumn::with_missing(self.name, self.cells, self.missing)
    }
}

/// Rows of one group that are read part by part.
struct Batch<'a> {
    name: &'a str,
    rows: usize,
    optional: bool,
    missing: &'a mut Vec<bool>,
}

impl Batch<'_> {
    fn read<D: DataType, T: Default>(
        &mut self,
        reader: &mut ColumnReaderImpl<D>,
        all: &mut Vec<T>,
        convert: impl Fn(&D::T) -> Result<T, TableError>,
    ) -> Result<(), TableError> {
        let name = self.name;
        let mut left = self.rows;
        while left > 0 {
            let mut values = Vec::new();
            let mut levels = Vec::new();
            let asked = self.optional.then_some(&mut levels);
            let (records, ..) = reader
                .read_records(left.min(BATCH), asked, None, &mut values)
                .map_err(|error| damaged(format!("column `{name}`: {error}")))?;
            let fits = if self.optional {
                let present = levels.iter().filter(|level| **level > 0).count();
                levels.len() == records && values.len() == present
            } else {
                values.len() == records
            };
            if records == 0 || records > left || !fits {
                return Err(damaged(format!("column `{name}` ends early")));
            }
            left -= records;
            let mut values = values.iter();
            for row in 0..records {
                let is_missing = levels.get(row).is_some_and(|level| *level == 0);
                self.missing.push(is_missing);
                match values.as_slice() {
                    _ if is_missing => all.push(T::default()),
                    [value, ..] => {
                        all.push(convert(value)?);
                        values.next();
                    }
                    [] => return Err(damaged(format!("column `{name}` ends early"))),
                }
            }
        }
        Ok(())
    }
}
