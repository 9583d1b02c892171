//! The fifteen parameters of the segmentation.
//!
//! Law: [`Parameters::set`] takes any finite number for any parameter, as samplers give them: integers are truncated
//! toward zero, those of 8 bits are then taken modulo 256, thresholds are rounded to single precision, and any
//! connectivity but exactly 8 means 4.

use crate::Connectivity;

/// The parameters, named as in the workflow file, in small letters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the guide says what each is for")]
pub struct Parameters {
    pub b: u8,
    pub g: u8,
    pub r: u8,
    pub t1: f32,
    pub t2: f32,
    pub g1: u8,
    pub g2: u8,
    pub min_size: i64,
    pub max_size: i64,
    pub min_size_pl: i64,
    pub min_size_seg: i64,
    pub max_size_seg: i64,
    pub fill_holes_conn: Connectivity,
    pub recon_conn: Connectivity,
    pub watershed_conn: Connectivity,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            b: 220,
            g: 220,
            r: 220,
            t1: 5.0,
            t2: 4.0,
            g1: 80,
            g2: 45,
            min_size: 11,
            max_size: 1000,
            min_size_pl: 30,
            min_size_seg: 21,
            max_size_seg: 1000,
            fill_holes_conn: Connectivity::Four,
            recon_conn: Connectivity::Eight,
            watershed_conn: Connectivity::Eight,
        }
    }
}

/// A parameter that cannot be set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// No such name.
    #[error("no parameter is called `{0}`; there are {names}", names = Parameters::NAMES.join(", "))]
    Name(String),
    /// No such value.
    #[error("parameter `{0}` takes a finite number, not {1}")]
    Value(String, f64),
}

/// An integer as an 8-bit parameter.
pub(crate) fn byte(value: i64) -> u8 {
    (value & 0xff) as u8
}

impl Parameters {
    /// Their names in the workflow file.
    pub const NAMES: [&'static str; 15] = [
        "B",
        "G",
        "R",
        "T1",
        "T2",
        "G1",
        "G2",
        "MinSize",
        "MaxSize",
        "MinSizePl",
        "MinSizeSeg",
        "MaxSizeSeg",
        "FillHolesConn",
        "ReconConn",
        "WatershedConn",
    ];

    /// Sets one by its name.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), ParameterError> {
        if !value.is_finite() {
            return Err(ParameterError::Value(name.to_owned(), value));
        }
        // The cast truncates, and saturates far beyond any size.
        let integer = value as i64;
        let connectivity = Connectivity::from_parameter(integer);
        let byte = || value.trunc().rem_euclid(256.0) as u8;
        match name {
            "B" => self.b = byte(),
            "G" => self.g = byte(),
            "R" => self.r = byte(),
            "T1" => self.t1 = value as f32,
            "T2" => self.t2 = value as f32,
            "G1" => self.g1 = byte(),
            "G2" => self.g2 = byte(),
            "MinSize" => self.min_size = integer,
            "MaxSize" => self.max_size = integer,
            "MinSizePl" => self.min_size_pl = integer,
            "MinSizeSeg" => self.min_size_seg = integer,
            "MaxSizeSeg" => self.max_size_seg = integer,
            "FillHolesConn" => self.fill_holes_conn = connectivity,
            "ReconConn" => self.recon_conn = connectivity,
            "WatershedConn" => self.watershed_conn = connectivity,
            _ => return Err(ParameterError::Name(name.to_owned())),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_sets_its_own_parameter() {
        for name in Parameters::NAMES {
            // Of 4.5 and 8.5 at least one differs from the default of every parameter.
            let changed = [4.5, 8.5].into_iter().any(|value| {
                let mut parameters = Parameters::default();
                parameters.set(name, value).unwrap();
                parameters != Parameters::default()
            });
            assert!(changed, "{name}");
        }
        let error = Parameters::default().set("T3", 1.0).unwrap_err();
        let words = error.to_string();
        assert!(words.starts_with("no parameter is called `T3`; there are B, G, R"));
    }

    #[test]
    fn reals_are_truncated_and_bytes_wrap() {
        let mut parameters = Parameters::default();
        parameters.set("R", 1e30).unwrap();
        assert_eq!(parameters.r, 0, "a multiple of 256");
        parameters.set("G1", 300.9).unwrap();
        parameters.set("G2", -1.9).unwrap();
        parameters.set("MinSize", -1.9).unwrap();
        parameters.set("WatershedConn", 8.9).unwrap();
        parameters.set("ReconConn", 7.9).unwrap();
        assert_eq!((parameters.g1, parameters.g2), (44, 255));
        assert_eq!(parameters.min_size, -1);
        assert_eq!(parameters.watershed_conn, Connectivity::Eight);
        assert_eq!(parameters.recon_conn, Connectivity::Four);
        assert!(parameters.set("T1", f64::NAN).is_err());
    }
}
