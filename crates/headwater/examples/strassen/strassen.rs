//! Strassen's multiplication of matrices, as a program of ordinary calls.
//!
//! Law: the calls are those of the textbook, in an order in which they could run one after another. Which of them can
//! run at the same time is nowhere said.
//!
//! One level is 21 calls: ten sums, seven products of half the size, and four sums of those. Each product can be done
//! the same way, down to blocks that are multiplied as they are. Items are such blocks, so nothing is ever cut up or put
//! together between calls, and a sum of larger matrices is a call for each block:
//! `calls(levels) = 14 · 4^(levels − 1) + 7 · calls(levels − 1)`, which is 203 for two levels and 1645 for three.

use std::error::Error;

use headwater::graph::OperationError;
use headwater::sequence::{
    In, InOut, Item, Numbers, Out, Procedure, Sequence, SequenceError, SequenceOptions,
    SequenceReport, procedure,
};

/// A square matrix, row by row.
pub(crate) type Matrix = Numbers<f64>;

/// A matrix of the program: its blocks, those of one quarter after those of the other: 11, 12, 21, 22, and each quarter
/// likewise.
pub(crate) type Blocks = Vec<Item<Matrix>>;

/// Which variables the program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Temporaries {
    /// One for each of T1 to T10.
    Separate,
    /// Two that are written again and again, as a program does that is short of memory. The calls are the same, and so
    /// is what can run at the same time: a write is a new version of an item.
    Reused,
}

/// A call that adds or subtracts.
type Sum = Procedure<(In<Matrix>, In<Matrix>, Out<Matrix>)>;
/// One that also reads what it writes.
type Combination = Procedure<(In<Matrix>, In<Matrix>, In<Matrix>, InOut<Matrix>)>;

/// The procedures that the program calls.
#[derive(Debug, Clone)]
pub(crate) struct Strassen {
    add: Sum,
    subtract: Sum,
    multiply: Procedure<(In<Matrix>, In<Matrix>, Out<Matrix>)>,
    /// d ← a + b − c + d
    combine: Combination,
    temporaries: Temporaries,
}

impl Strassen {
    /// The procedures.
    pub(crate) fn new(temporaries: Temporaries) -> Strassen {
        let add = procedure("strassen/add", "1")
            .reads::<Matrix>("a")
            .reads::<Matrix>("b")
            .writes::<Matrix>("sum")
            .run(|(a, b), _| Ok((by_element(&a, &b, |a, b| a + b)?,)));
        let subtract = procedure("strassen/subtract", "1")
            .reads::<Matrix>("a")
            .reads::<Matrix>("b")
            .writes::<Matrix>("difference")
            .run(|(a, b), _| Ok((by_element(&a, &b, |a, b| a - b)?,)));
        let multiply = procedure("strassen/multiply", "1")
            .reads::<Matrix>("a")
            .reads::<Matrix>("b")
            .writes::<Matrix>("product")
            .run(|(a, b), _| Ok((classic_product(&a, &b)?,)));
        let combine = procedure("strassen/combine", "1")
            .reads::<Matrix>("a")
            .reads::<Matrix>("b")
            .reads::<Matrix>("c")
            .updates::<Matrix>("d")
            .run(|(a, b, c, mut d), _| {
                same_shape(&[&a, &b, &c, &d])?;
                let three = a.as_slice().iter().zip(b.as_slice()).zip(c.as_slice());
                for (d, ((a, b), c)) in d.as_mut_slice().iter_mut().zip(three) {
                    *d += a + b - c;
                }
                Ok((d,))
            });
        Strassen {
            add,
            subtract,
            multiply,
            combine,
            temporaries,
        }
    }

    /// Makes the calls that multiply two matrices.
    pub(crate) fn product(
        &self,
        sequence: &mut Sequence,
        a: &[Item<Matrix>],
        b: &[Item<Matrix>],
        c: &mut [Item<Matrix>],
    ) -> Result<(), SequenceError> {
        if let ([a], [b], [c]) = (a, b, &mut *c) {
            sequence.submit(&self.multiply, (a, b, c))?;
            return Ok(());
        }
        match self.temporaries {
            Temporaries::Separate => self.separate(sequence, quarters(a), quarters(b), c),
            Temporaries::Reused => self.reusing(sequence, quarters(a), quarters(b), c),
        }
    }

    fn separate(
        &self,
        sequence: &mut Sequence,
        [a11, a12, a21, a22]: [&[Item<Matrix>]; 4],
        [b11, b12, b21, b22]: [&[Item<Matrix>]; 4],
        c: &mut [Item<Matrix>],
    ) -> Result<(), SequenceError> {
        let (add, subtract) = (&self.add, &self.subtract);
        let blocks = a11.len();
        let names = ["T1", "T2", "T3", "T4", "T5"];
        let [mut t1, mut t2, mut t3, mut t4, mut t5] = new(sequence, names, blocks);
        sum(sequence, add, a11, a22, &mut t1)?;
        sum(sequence, add, a21, a22, &mut t2)?;
        sum(sequence, add, a11, a12, &mut t3)?;
        sum(sequence, subtract, a21, a11, &mut t4)?;
        sum(sequence, subtract, a12, a22, &mut t5)?;
        let names = ["T6", "T7", "T8", "T9", "T10"];
        let [mut t6, mut t7, mut t8, mut t9, mut t10] = new(sequence, names, blocks);
        sum(sequence, add, b11, b22, &mut t6)?;
        sum(sequence, subtract, b12, b22, &mut t7)?;
        sum(sequence, subtract, b21, b11, &mut t8)?;
        sum(sequence, add, b11, b12, &mut t9)?;
        sum(sequence, add, b21, b22, &mut t10)?;

        // Q6 and Q7 are made where they are summed up.
        let names = ["Q1", "Q2", "Q3", "Q4", "Q5"];
        let [mut q1, mut q2, mut q3, mut q4, mut q5] = new(sequence, names, blocks);
        let [c11, c12, c21, c22] = quarters_to_write(c);
        let (q6, q7) = (&mut *c22, &mut *c11);
        self.product(sequence, &t1, &t6, &mut q1)?;
        self.product(sequence, &t2, b11, &mut q2)?;
        self.product(sequence, a11, &t7, &mut q3)?;
        self.product(sequence, a22, &t8, &mut q4)?;
        self.product(sequence, &t3, b22, &mut q5)?;
        self.product(sequence, &t4, &t9, q6)?;
        self.product(sequence, &t5, &t10, q7)?;

        combination(sequence, &self.combine, [&q1, &q4, &q5], c11)?; // Q1 + Q4 − Q5 + Q7
        sum(sequence, add, &q3, &q5, c12)?;
        sum(sequence, add, &q2, &q4, c21)?;
        combination(sequence, &self.combine, [&q1, &q3, &q2], c22) // Q1 + Q3 − Q2 + Q6
    }

    /// The same calls with two temporaries.
    fn reusing(
        &self,
        sequence: &mut Sequence,
        [a11, a12, a21, a22]: [&[Item<Matrix>]; 4],
        [b11, b12, b21, b22]: [&[Item<Matrix>]; 4],
        c: &mut [Item<Matrix>],
    ) -> Result<(), SequenceError> {
        let (add, subtract) = (&self.add, &self.subtract);
        let names = ["T", "S", "Q1", "Q2", "Q3", "Q4", "Q5"];
        let [mut t, mut s, mut q1, mut q2, mut q3, mut q4, mut q5] =
            new(sequence, names, a11.len());
        let [c11, c12, c21, c22] = quarters_to_write(c);
        sum(sequence, add, a11, a22, &mut t)?;
        sum(sequence, add, b11, b22, &mut s)?;
        self.product(sequence, &t, &s, &mut q1)?;
        sum(sequence, add, a21, a22, &mut t)?;
        self.product(sequence, &t, b11, &mut q2)?;
        sum(sequence, subtract, b12, b22, &mut s)?;
        self.product(sequence, a11, &s, &mut q3)?;
        sum(sequence, subtract, b21, b11, &mut s)?;
        self.product(sequence, a22, &s, &mut q4)?;
        sum(sequence, add, a11, a12, &mut t)?;
        self.product(sequence, &t, b22, &mut q5)?;
        sum(sequence, subtract, a21, a11, &mut t)?;
        sum(sequence, add, b11, b12, &mut s)?;
        self.product(sequence, &t, &s, c22)?;
        sum(sequence, subtract, a12, a22, &mut t)?;
        sum(sequence, add, b21, b22, &mut s)?;
        self.product(sequence, &t, &s, c11)?;
        combination(sequence, &self.combine, [&q1, &q4, &q5], c11)?;
        sum(sequence, add, &q3, &q5, c12)?;
        sum(sequence, add, &q2, &q4, c21)?;
        combination(sequence, &self.combine, [&q1, &q3, &q2], c22)
    }
}

/// New matrices of so many blocks, for calls to write.
fn new<const N: usize>(sequence: &mut Sequence, names: [&str; N], blocks: usize) -> [Blocks; N] {
    names.map(|name| {
        let matrix: Blocks = (0..blocks).map(|_| sequence.item()).collect();
        call(sequence, name, &matrix);
        matrix
    })
}

/// Gives the blocks of a matrix their names: those of quarters, if there are four.
fn call(sequence: &mut Sequence, name: &str, matrix: &[Item<Matrix>]) {
    for (place, block) in matrix.iter().enumerate() {
        match matrix.len() {
            1 => sequence.name(block, name),
            4 => sequence.name(block, &format!("{name}{}{}", place / 2 + 1, place % 2 + 1)),
            _ => sequence.name(block, &format!("{name} {place}")),
        }
    }
}

/// Adds or subtracts two matrices, a call for each block.
fn sum(
    sequence: &mut Sequence,
    procedure: &Sum,
    a: &[Item<Matrix>],
    b: &[Item<Matrix>],
    sum: &mut [Item<Matrix>],
) -> Result<(), SequenceError> {
    for ((a, b), sum) in a.iter().zip(b).zip(sum) {
        sequence.submit(procedure, (a, b, sum))?;
    }
    Ok(())
}

/// d ← a + b − c + d, a call for each block.
fn combination(
    sequence: &mut Sequence,
    procedure: &Combination,
    [a, b, c]: [&[Item<Matrix>]; 3],
    d: &mut [Item<Matrix>],
) -> Result<(), SequenceError> {
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        sequence.submit(procedure, (a, b, c, d))?;
    }
    Ok(())
}

fn quarters(blocks: &[Item<Matrix>]) -> [&[Item<Matrix>]; 4] {
    let (top, bottom) = blocks.split_at(blocks.len() / 2);
    let ((q11, q12), (q21, q22)) = (
        top.split_at(top.len() / 2),
        bottom.split_at(bottom.len() / 2),
    );
    [q11, q12, q21, q22]
}

fn quarters_to_write(blocks: &mut [Item<Matrix>]) -> [&mut [Item<Matrix>]; 4] {
    let (top, bottom) = blocks.split_at_mut(blocks.len() / 2);
    let (quarter, half) = (top.len() / 2, bottom.len() / 2);
    let ((q11, q12), (q21, q22)) = (top.split_at_mut(quarter), bottom.split_at_mut(half));
    [q11, q12, q21, q22]
}

/// Multiplies two square matrices in a sequence of calls. The program gives the blocks of `a` and `b`, and takes those of
/// their product; whatever lies between never reaches it.
pub(crate) fn multiply(
    options: SequenceOptions,
    a: &Matrix,
    b: &Matrix,
    levels: u32,
    temporaries: Temporaries,
) -> Result<(Matrix, SequenceReport), Box<dyn Error>> {
    fits(a, b, levels)?;
    let strassen = Strassen::new(temporaries);
    let (a, b) = (cut(a, levels)?, cut(b, levels)?);
    let mut sequence = Sequence::with(options);
    let mut give = |block: Matrix| sequence.give(block);
    let a: Blocks = a.into_iter().map(&mut give).collect();
    let b: Blocks = b.into_iter().map(&mut give).collect();
    call(&mut sequence, "A", &a);
    call(&mut sequence, "B", &b);
    let [mut c] = new(&mut sequence, ["C"], a.len());
    strassen.product(&mut sequence, &a, &b, &mut c)?;
    let report = sequence.end()?;
    let blocks: Result<Vec<Matrix>, SequenceError> =
        c.iter().map(|block| report.value(block)).collect();
    Ok((put_together(&blocks?, levels)?, report))
}

/// How many calls a multiplication is.
pub(crate) fn calls(levels: u32) -> usize {
    match levels {
        0 => 1,
        more => 14 * 4_usize.pow(more - 1) + 7 * calls(more - 1),
    }
}

/// Matrices that cannot be halved so often are refused: whoever has them puts zeros around them.
fn fits(a: &Matrix, b: &Matrix, levels: u32) -> Result<(), String> {
    let [rows, columns] = extents(a)?;
    if a.shape() != b.shape() || rows != columns {
        return Err(format!(
            "matrices of shape {:?} and {:?}, where two square ones of one size are wanted",
            a.shape(),
            b.shape()
        ));
    }
    let parts = 1_usize.checked_shl(levels).unwrap_or(0);
    if parts == 0 || rows == 0 || rows % parts != 0 {
        return Err(format!(
            "matrices of size {rows} cannot be halved {levels} times; put zeros around them, or use fewer levels"
        ));
    }
    Ok(())
}

/// Rows and columns.
fn extents(matrix: &Matrix) -> Result<[usize; 2], String> {
    match matrix.shape() {
        [rows, columns] => Ok([*rows as usize, *columns as usize]),
        other => Err(format!(
            "an array of shape {other:?}, where a matrix is wanted"
        )),
    }
}

fn same_shape(matrices: &[&Matrix]) -> Result<(), OperationError> {
    match matrices
        .windows(2)
        .find(|pair| pair[0].shape() != pair[1].shape())
    {
        None => Ok(()),
        Some(pair) => {
            let (one, other) = (pair[0].shape(), pair[1].shape());
            Err(format!("matrices of shape {one:?} and {other:?} have no sum").into())
        }
    }
}

fn by_element(
    a: &Matrix,
    b: &Matrix,
    combine: impl Fn(f64, f64) -> f64,
) -> Result<Matrix, OperationError> {
    same_shape(&[a, b])?;
    let pairs = a.as_slice().iter().zip(b.as_slice());
    Ok(Matrix::build(a.shape(), |result| {
        for (result, (a, b)) in result.iter_mut().zip(pairs) {
            *result = combine(*a, *b);
        }
    })?)
}

/// The product by rows and columns, on one thread.
pub(crate) fn classic_product(a: &Matrix, b: &Matrix) -> Result<Matrix, OperationError> {
    let ([rows, inner], [inner_too, columns]) = (extents(a)?, extents(b)?);
    if inner != inner_too {
        let (one, other) = (a.shape(), b.shape());
        return Err(format!("matrices of shape {one:?} and {other:?} have no product").into());
    }
    Ok(Matrix::build(&[rows as u64, columns as u64], |product| {
        let (from_a, from_b) = (a.as_slice().as_ptr(), b.as_slice().as_ptr());
        let row = |length: usize| length as isize;
        // SAFETY: the three slices are `rows × inner`, `inner × columns` and `rows × columns` numbers, row by row, and
        // the last is not one of the others.
        unsafe {
            matrixmultiply::dgemm(
                rows,
                inner,
                columns,
                1.0,
                from_a,
                row(inner),
                1,
                from_b,
                row(columns),
                1,
                0.0,
                product.as_mut_ptr(),
                row(columns),
                1,
            );
        }
    })?)
}

/// Where the first element of a block is, in blocks: row and column. A number says it in pairs of bits, a pair for each
/// level.
fn place(block: usize, levels: u32) -> (usize, usize) {
    (0..levels).fold((0, 0), |(row, column), level| {
        let quarter = block >> (2 * level);
        (
            row | (quarter >> 1 & 1) << level,
            column | (quarter & 1) << level,
        )
    })
}

/// The blocks of a matrix.
fn cut(whole: &Matrix, levels: u32) -> Result<Vec<Matrix>, OperationError> {
    let [_, size] = extents(whole)?;
    let side = size >> levels;
    let block = |number| {
        let (row, column) = place(number, levels);
        let rows = whole.as_slice().chunks_exact(size).skip(row * side);
        Matrix::build(&[side as u64, side as u64], |block| {
            for (to, from) in block.chunks_exact_mut(side).zip(rows) {
                to.copy_from_slice(&from[column * side..(column + 1) * side]);
            }
        })
    };
    Ok((0..1 << (2 * levels))
        .map(block)
        .collect::<Result<_, _>>()?)
}

/// The matrix of these blocks.
fn put_together(blocks: &[Matrix], levels: u32) -> Result<Matrix, OperationError> {
    let side = blocks.first().map_or(0, |block| block.shape()[0] as usize);
    let size = side << levels;
    Ok(Matrix::build(&[size as u64, size as u64], |whole| {
        for (number, block) in blocks.iter().enumerate() {
            let (row, column) = place(number, levels);
            let rows = whole.chunks_exact_mut(size).skip(row * side);
            for (to, from) in rows.zip(block.as_slice().chunks_exact(side)) {
                to[column * side..(column + 1) * side].copy_from_slice(from);
            }
        }
    })?)
}

/// A square matrix of numbers from −1 to 1 that look random, the same for the same seed.
pub(crate) fn example_matrix(size: u64, seed: u64) -> Matrix {
    let mut state = seed;
    let mut next = || {
        // The steps of SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    let filled = Matrix::build(&[size, size], |numbers| {
        numbers.iter_mut().for_each(|number| *number = next());
    });
    filled.expect("a matrix that fits into memory")
}

/// The largest difference of two elements.
pub(crate) fn difference(a: &Matrix, b: &Matrix) -> f64 {
    let pairs = a.as_slice().iter().zip(b.as_slice());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// How far a product of [`example_matrix`]es may be from the exact one by rounding alone: the bound of Higham, Accuracy
/// and Stability of Numerical Algorithms, theorem 23.2, for elements of at most 1.
pub(crate) fn rounding(size: u64, levels: u32) -> f64 {
    let (whole, leaf) = (size as f64, size as f64 / f64::from(levels).exp2());
    let factor = 12_f64.powi(levels as i32) * (leaf * leaf + 5.0 * leaf) - 5.0 * whole;
    factor * f64::EPSILON / 2.0
}
