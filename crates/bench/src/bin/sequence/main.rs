//! Sequences of calls: what analysing and submitting them costs, Strassen's multiplication, and a mosaic of the sky.
//!
//! Law: the claims are those of the part that they stand in; a part that cannot run here says so.

mod analysis;
mod calls;
mod montage;
mod strassen;

use std::error::Error;
use std::process::ExitCode;

use headwater_bench::{Claims, exit_code};

fn main() -> ExitCode {
    // Programs are started by a small helper.
    headwater::init();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, kind, calls] = arguments.as_slice()
        && flag == analysis::CHILD
    {
        return analysis::child(kind, calls);
    }
    let mut claims = Claims::new("sequence");
    exit_code(measure(&mut claims), |()| claims.finish())
}

fn measure(claims: &mut Claims) -> Result<(), Box<dyn Error>> {
    analysis::measure(claims)?;
    calls::measure(claims)?;
    strassen::measure(claims)?;
    montage::measure(claims)
}
