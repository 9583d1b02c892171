//! Strassen's multiplication of matrices, as a program of ordinary calls.
//!
//! Law: the calls are those of the textbook, in an order in which they could run one after another. Which of them can
//! run at the same time is nowhere said.
//!
//! One level is 21 calls: ten sums, seven products of half the size, and four sums of those. Each product can be done
//! the same way. Its factors were computed by calls, so it takes two more to quarter them, and one to join the result:
//! `calls(levels) = 14 + 7 · (calls(levels − 1) + 3)`, which is 182 for two levels and 1309 for three.

use std::error::Error;

use headwater::graph::OperationError;
use headwater::sequence::{
    In, InOut, Item, Numbers, Out, Procedure, Sequence, SequenceError, SequenceOptions,
    SequenceReport, procedure,
};

/// A square matrix, row by row.
pub type Matrix = Numbers<f64>;

/// The quarters of a matrix: 11, 12, 21, 22.
pub type Quarters = [Item<Matrix>; 4];

/// Which variables the program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temporaries {
    /// One for each of T1 to T10.
    Separate,
    /// Two that are written again and again, as a program does that is short of memory. The calls are the same, and so
    /// is what can run at the same time: a write is a new version of an item.
    Reused,
}

/// The procedures that the program calls.
#[derive(Debug, Clone)]
pub struct Strassen {
    add: Procedure<(In<Matrix>, In<Matrix>, Out<Matrix>)>,
    subtract: Procedure<(In<Matrix>, In<Matrix>, Out<Matrix>)>,
    multiply: Procedure<(In<Matrix>, In<Matrix>, Out<Matrix>)>,
    /// d ← a + b − c + d
    combine: Procedure<(In<Matrix>, In<Matrix>, In<Matrix>, InOut<Matrix>)>,
    quarter: Procedure<(
        In<Matrix>,
        Out<Matrix>,
        Out<Matrix>,
        Out<Matrix>,
        Out<Matrix>,
    )>,
    join: Procedure<(In<Matrix>, In<Matrix>, In<Matrix>, In<Matrix>, Out<Matrix>)>,
    temporaries: Temporaries,
}

/// New items, for calls to write.
fn items<const N: usize>(sequence: &mut Sequence) -> [Item<Matrix>; N] {
    std::array::from_fn(|_| sequence.item())
}

impl Strassen {
    /// The procedures.
    pub fn new(temporaries: Temporaries) -> Strassen {
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
        let quarter = procedure("strassen/quarter", "1")
            .reads::<Matrix>("whole")
            .writes::<Matrix>("q11")
            .writes::<Matrix>("q12")
            .writes::<Matrix>("q21")
            .writes::<Matrix>("q22")
            .run(|(whole,), _| {
                let [q11, q12, q21, q22] = quarters(&whole)?;
                Ok((q11, q12, q21, q22))
            });
        let join = procedure("strassen/join", "1")
            .reads::<Matrix>("q11")
            .reads::<Matrix>("q12")
            .reads::<Matrix>("q21")
            .reads::<Matrix>("q22")
            .writes::<Matrix>("whole")
            .run(|(q11, q12, q21, q22), _| Ok((joined(&[q11, q12, q21, q22])?,)));
        Strassen {
            add,
            subtract,
            multiply,
            combine,
            quarter,
            join,
            temporaries,
        }
    }

    /// Makes the calls that multiply two matrices, by so many levels: none is one call.
    fn product(
        &self,
        sequence: &mut Sequence,
        a: &Item<Matrix>,
        b: &Item<Matrix>,
        product: &mut Item<Matrix>,
        levels: u32,
    ) -> Result<(), SequenceError> {
        if levels == 0 {
            sequence.submit(&self.multiply, (a, b, product))?;
            return Ok(());
        }
        let [mut a11, mut a12, mut a21, mut a22] = items(sequence);
        sequence.submit(&self.quarter, (a, &mut a11, &mut a12, &mut a21, &mut a22))?;
        let [mut b11, mut b12, mut b21, mut b22] = items(sequence);
        sequence.submit(&self.quarter, (b, &mut b11, &mut b12, &mut b21, &mut b22))?;
        let (a, b) = ([a11, a12, a21, a22], [b11, b12, b21, b22]);
        let [c11, c12, c21, c22] = self.quarters(sequence, &a, &b, levels - 1)?;
        sequence.submit(&self.join, (&c11, &c12, &c21, &c22, product))?;
        Ok(())
    }

    /// Makes the calls of one level, and of so many below.
    pub fn quarters(
        &self,
        sequence: &mut Sequence,
        a: &Quarters,
        b: &Quarters,
        below: u32,
    ) -> Result<Quarters, SequenceError> {
        match self.temporaries {
            Temporaries::Separate => self.separate(sequence, a, b, below),
            Temporaries::Reused => self.reusing(sequence, a, b, below),
        }
    }

    fn separate(
        &self,
        sequence: &mut Sequence,
        [a11, a12, a21, a22]: &Quarters,
        [b11, b12, b21, b22]: &Quarters,
        below: u32,
    ) -> Result<Quarters, SequenceError> {
        let Strassen {
            add,
            subtract,
            combine,
            ..
        } = self;
        let [mut t1, mut t2, mut t3, mut t4, mut t5] = items(sequence);
        sequence.submit(add, (a11, a22, &mut t1))?;
        sequence.submit(add, (a21, a22, &mut t2))?;
        sequence.submit(add, (a11, a12, &mut t3))?;
        sequence.submit(subtract, (a21, a11, &mut t4))?;
        sequence.submit(subtract, (a12, a22, &mut t5))?;
        let [mut t6, mut t7, mut t8, mut t9, mut t10] = items(sequence);
        sequence.submit(add, (b11, b22, &mut t6))?;
        sequence.submit(subtract, (b12, b22, &mut t7))?;
        sequence.submit(subtract, (b21, b11, &mut t8))?;
        sequence.submit(add, (b11, b12, &mut t9))?;
        sequence.submit(add, (b21, b22, &mut t10))?;

        let [mut q1, mut q2, mut q3, mut q4, mut q5, mut q6, mut q7] = items(sequence);
        self.product(sequence, &t1, &t6, &mut q1, below)?;
        self.product(sequence, &t2, b11, &mut q2, below)?;
        self.product(sequence, a11, &t7, &mut q3, below)?;
        self.product(sequence, a22, &t8, &mut q4, below)?;
        self.product(sequence, &t3, b22, &mut q5, below)?;
        self.product(sequence, &t4, &t9, &mut q6, below)?;
        self.product(sequence, &t5, &t10, &mut q7, below)?;

        // C11 = Q1 + Q4 − Q5 + Q7 and C22 = Q1 − Q2 + Q3 + Q6 come to lie where their last summand is.
        let [mut c12, mut c21] = items(sequence);
        let (mut c11, mut c22) = (q7, q6);
        sequence.submit(combine, (&q1, &q4, &q5, &mut c11))?;
        sequence.submit(add, (&q3, &q5, &mut c12))?;
        sequence.submit(add, (&q2, &q4, &mut c21))?;
        sequence.submit(combine, (&q1, &q3, &q2, &mut c22))?;
        Ok([c11, c12, c21, c22])
    }

    /// The same with two temporaries.
    fn reusing(
        &self,
        sequence: &mut Sequence,
        [a11, a12, a21, a22]: &Quarters,
        [b11, b12, b21, b22]: &Quarters,
        below: u32,
    ) -> Result<Quarters, SequenceError> {
        let Strassen {
            add,
            subtract,
            combine,
            ..
        } = self;
        let [mut t, mut s] = items(sequence);
        let [mut q1, mut q2, mut q3, mut q4, mut q5, mut q6, mut q7] = items(sequence);
        sequence.submit(add, (a11, a22, &mut t))?;
        sequence.submit(add, (b11, b22, &mut s))?;
        self.product(sequence, &t, &s, &mut q1, below)?;
        sequence.submit(add, (a21, a22, &mut t))?;
        self.product(sequence, &t, b11, &mut q2, below)?;
        sequence.submit(subtract, (b12, b22, &mut s))?;
        self.product(sequence, a11, &s, &mut q3, below)?;
        sequence.submit(subtract, (b21, b11, &mut s))?;
        self.product(sequence, a22, &s, &mut q4, below)?;
        sequence.submit(add, (a11, a12, &mut t))?;
        self.product(sequence, &t, b22, &mut q5, below)?;
        sequence.submit(subtract, (a21, a11, &mut t))?;
        sequence.submit(add, (b11, b12, &mut s))?;
        self.product(sequence, &t, &s, &mut q6, below)?;
        sequence.submit(subtract, (a12, a22, &mut t))?;
        sequence.submit(add, (b21, b22, &mut s))?;
        self.product(sequence, &t, &s, &mut q7, below)?;
        sequence.submit(combine, (&q1, &q4, &q5, &mut q7))?;
        sequence.submit(add, (&q3, &q5, &mut t))?;
        sequence.submit(add, (&q2, &q4, &mut s))?;
        sequence.submit(combine, (&q1, &q3, &q2, &mut q6))?;
        Ok([q7, t, s, q6])
    }
}

/// Multiplies two square matrices in a sequence of calls. The program gives the quarters of `a` and `b`, and takes those
/// of their product; whatever lies between never reaches it.
pub fn multiply(
    options: SequenceOptions,
    a: &Matrix,
    b: &Matrix,
    levels: u32,
    temporaries: Temporaries,
) -> Result<(Matrix, SequenceReport), Box<dyn Error>> {
    fits(a, b, levels)?;
    let strassen = Strassen::new(temporaries);
    let mut sequence = Sequence::with(options);
    if levels == 0 {
        let (a, b) = (sequence.give(a.clone()), sequence.give(b.clone()));
        let mut product = sequence.item();
        strassen.product(&mut sequence, &a, &b, &mut product, 0)?;
        let report = sequence.end()?;
        return Ok((report.value(&product)?, report));
    }
    let a = quarters(a)?.map(|quarter| sequence.give(quarter));
    let b = quarters(b)?.map(|quarter| sequence.give(quarter));
    let product = strassen.quarters(&mut sequence, &a, &b, levels - 1)?;
    let report = sequence.end()?;
    let [c11, c12, c21, c22] = &product;
    let quarters = [
        report.value(c11)?,
        report.value(c12)?,
        report.value(c21)?,
        report.value(c22)?,
    ];
    Ok((joined(&quarters)?, report))
}

/// How many calls a multiplication is.
pub fn calls(levels: u32) -> usize {
    match levels {
        0 => 1,
        1 => 21,
        more => 14 + 7 * (calls(more - 1) + 3),
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
pub fn classic_product(a: &Matrix, b: &Matrix) -> Result<Matrix, OperationError> {
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

/// The four quarters of a matrix.
fn quarters(whole: &Matrix) -> Result<[Matrix; 4], OperationError> {
    let [rows, columns] = extents(whole)?;
    if rows % 2 + columns % 2 > 0 {
        return Err(format!("a matrix of shape {:?} has no quarters", whole.shape()).into());
    }
    let (height, width) = (rows / 2, columns / 2);
    let quarter = |top: usize, left: usize| {
        let from = whole.as_slice().chunks_exact(columns.max(1)).skip(top);
        Matrix::build(&[height as u64, width as u64], |quarter| {
            for (to, from) in quarter.chunks_exact_mut(width.max(1)).zip(from) {
                to.copy_from_slice(&from[left..left + width]);
            }
        })
    };
    Ok([
        quarter(0, 0)?,
        quarter(0, width)?,
        quarter(height, 0)?,
        quarter(height, width)?,
    ])
}

/// The matrix of these quarters.
fn joined(quarters: &[Matrix; 4]) -> Result<Matrix, OperationError> {
    let [q11, q12, q21, q22] = quarters;
    same_shape(&[q11, q12, q21, q22])?;
    let [height, width] = extents(q11)?;
    Ok(Matrix::build(
        &[2 * height as u64, 2 * width as u64],
        |whole| {
            let (top, bottom) = whole.split_at_mut(2 * height * width);
            for (half, left, right) in [(top, q11, q12), (bottom, q21, q22)] {
                let left = left.as_slice().chunks_exact(width.max(1));
                let right = right.as_slice().chunks_exact(width.max(1));
                let rows = half.chunks_exact_mut((2 * width).max(1));
                for (row, (left, right)) in rows.zip(left.zip(right)) {
                    row[..width].copy_from_slice(left);
                    row[width..].copy_from_slice(right);
                }
            }
        },
    )?)
}

/// A square matrix of numbers from −1 to 1 that look random, the same for the same seed.
pub fn example_matrix(size: u64, seed: u64) -> Matrix {
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
pub fn difference(a: &Matrix, b: &Matrix) -> f64 {
    let pairs = a.as_slice().iter().zip(b.as_slice());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// How far a product of [`example_matrix`]es may be from the exact one by rounding alone: the bound of Higham, Accuracy
/// and Stability of Numerical Algorithms, theorem 23.2, for elements of at most 1.
pub fn rounding(size: u64, levels: u32) -> f64 {
    let (whole, leaf) = (size as f64, size as f64 / f64::from(levels).exp2());
    let factor = 12_f64.powi(levels as i32) * (leaf * leaf + 5.0 * leaf) - 5.0 * whole;
    factor * f64::EPSILON / 2.0
}
