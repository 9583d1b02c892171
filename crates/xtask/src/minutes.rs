//! How long the commands with a long mode run: `--minutes N`.

use crate::failure::Failure;

/// When nothing is said.
const DEFAULT: u32 = 10;

/// The number of minutes that `command` is asked for.
pub(crate) fn parse(command: &str, arguments: &[String]) -> Result<u32, Failure> {
    let number = match arguments {
        [] => return Ok(DEFAULT),
        [flag, number] if flag == "--minutes" => number,
        _ => {
            let message = format!("`{command}` takes `--minutes N` or nothing");
            return Err(Failure::usage(message));
        }
    };
    match number.parse() {
        Ok(minutes) if minutes > 0 => Ok(minutes),
        _ => Err(Failure::usage(format!(
            "`--minutes` takes a whole number above 0, not `{number}`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn arguments() {
        let check = |line: &str, expected: Option<u32>| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(parse("fuzz", &words).ok(), expected, "{line}");
        };
        check("", Some(10));
        check("--minutes 3", Some(3));
        check("--minutes 0", None);
        check("--minutes", None);
        check("--minutes soon", None);
        check("3", None);
    }
}
