//! The parameters of a segmentation from `--set NAME=VALUE`.
//!
//! Law: any finite number will do for any of the names; a name stands at most once. What does not fit is wrong use,
//! told with the flag as it was given.

use headwater::Error;
use headwater_imaging::nuclei::{ParameterError, Parameters};

use super::wrong_use;

pub(super) fn parameters(settings: &[String]) -> Result<Parameters, Error> {
    let mut parameters = Parameters::default();
    let mut given: Vec<&str> = Vec::new();
    for setting in settings {
        let wrong =
            |message: &str, hint: &str| Err(wrong_use(format!("--set {setting}: {message}"), hint));
        let Some((name, value)) = setting.split_once('=') else {
            return wrong("expected NAME=VALUE", "for example --set G1=60");
        };
        let (name, value) = (name.trim(), value.trim());
        let number: f64 = match value.parse() {
            Ok(number) => number,
            // An unknown name is the graver mistake.
            Err(_) if Parameters::NAMES.contains(&name) => {
                return wrong(
                    &format!("`{value}` is not a number"),
                    &format!("for example --set {name}=20"),
                );
            }
            Err(_) => 0.0,
        };
        match parameters.set(name, number) {
            Ok(()) => {}
            Err(ParameterError::Name(name)) => {
                return wrong(
                    &format!("the segmentation has no parameter `{name}`"),
                    &meant(&name),
                );
            }
            Err(error) => return wrong(&error.to_string(), "leave it out for the default"),
        }
        if given.contains(&name) {
            return wrong(
                &format!("`{name}` is given twice"),
                "give each parameter once",
            );
        }
        given.push(name);
    }
    Ok(parameters)
}

/// The name that was meant, or all of them.
fn meant(wrong: &str) -> String {
    let small = wrong.to_lowercase();
    let distance = |name: &&str| strsim::damerau_levenshtein(&name.to_lowercase(), &small);
    let near = Parameters::NAMES
        .into_iter()
        .min_by_key(|name| distance(name));
    match near {
        Some(name) if distance(&name) <= name.len() / 3 => format!("did you mean `{name}`?"),
        _ => format!("there are {}", Parameters::NAMES.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(settings: &[&str]) -> String {
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let error = parameters(&settings).unwrap_err();
        format!("{error}; {}", error.hint().unwrap_or_default())
    }

    #[test]
    fn what_does_not_fit_is_told_with_a_way_out() {
        for (settings, wanted) in [
            (&["G1"][..], "--set G1: expected NAME=VALUE"),
            (&["G1=many"], "`many` is not a number"),
            (&["G1="], "`` is not a number"),
            (&["G1=inf"], "takes a finite number"),
            (&["G1=1e999"], "takes a finite number"),
            (&["g1=3"], "no parameter `g1`; did you mean `G1`?"),
            (&["MinSzie=3"], "did you mean `MinSize`?"),
            (&["MinSzie=many"], "did you mean `MinSize`?"),
            (&["colour=3"], "there are B, G, R"),
            (&["=3"], "no parameter ``"),
            (&["G1=3", "G2=4", "G1=3"], "`G1` is given twice"),
        ] {
            let told = told(settings);
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn any_finite_number_will_do() {
        let set = |text: &str| parameters(&[text.to_owned()]).unwrap();
        assert_eq!(set("G1=60.9").g1, 60);
        assert_eq!(set("T1=-2.5e0").t1, -2.5);
        assert_eq!(set("MaxSize=1e300").max_size, i64::MAX);
    }
}
