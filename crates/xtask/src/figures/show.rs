//! Figures as tables: for the README, for the page of all figures, for people at a terminal.
//!
//! Law: a figure has three digits that count, and stands beside its bar; one that falls short says so.

use std::fmt::Write;

use super::read::{Claim, Figures, Job, Told};

impl Figures {
    /// The part of the README.
    pub(super) fn readme(&self) -> String {
        let mut page = format!("{}\n\n", self.circumstances());
        page.push_str("| what | measured | bar | benchmark |\n| --- | --- | --- | --- |\n");
        for line in &self.table {
            let (measured, bar) = match &line.claim {
                Some(claim) => (measured(claim), claim.bar.clone()),
                None => ("not measured".to_owned(), String::new()),
            };
            let _ = writeln!(
                page,
                "| {} | {measured} | {bar} | `{}` |",
                line.what, line.bench
            );
        }
        if !self.jobs.is_empty() {
            page.push_str(
                "\nThe same jobs in other engines (`cargo xtask bench peers`). Starting up counts for the engines that are \
                 servers where the row says so, and for Headwater always:\n\n",
            );
            page.push_str(
                "| job, on two cores | Headwater | the others, the best first |\n| --- | --- | --- |\n",
            );
        }
        for job in &self.jobs {
            let _ = writeln!(page, "| {} |", job_cells(job).join(" | "));
        }
        page
    }

    /// The page of all figures.
    pub(super) fn page(&self) -> String {
        let mut page = self.circumstances();
        for told in &self.benches {
            let _ = write!(page, "\n\n## {}\n\n{}", told.bench, section(told));
        }
        page
    }

    /// The tables of other engines.
    pub(super) fn peers(&self) -> String {
        format!("{}\n\n{}", self.circumstances(), self.markdown)
    }

    /// For people at a terminal: the tables of the README, and what falls short.
    pub(crate) fn text(&self) -> String {
        let mut page = format!("{}\n\n", self.circumstances());
        for line in &self.table {
            let told = match &line.claim {
                Some(claim) => format!("{} (bar {})", measured(claim), claim.bar),
                None => "not measured".to_owned(),
            };
            let _ = writeln!(page, "{}: {told}", line.what);
        }
        for job in &self.jobs {
            let [what, ours, others] = job_cells(job);
            let _ = writeln!(page, "{what}: Headwater {ours}; {others}");
        }
        let claims = || self.benches.iter().flat_map(|told| &told.claims);
        for claim in claims().filter(|claim| !claim.holds) {
            let _ = writeln!(
                page,
                "{}: {}: {} (bar {})",
                claim.bench,
                claim.claim,
                measured(claim),
                claim.bar
            );
        }
        for told in &self.benches {
            if let Some(error) = &told.error {
                let _ = writeln!(page, "{}: no figures: {error}", told.bench);
            }
        }
        let held = claims().filter(|claim| claim.holds).count();
        let _ = writeln!(page, "{held} of {} claims hold", claims().count());
        page
    }

    /// When, where and beside what.
    fn circumstances(&self) -> String {
        let mut compared: Vec<&str> = self
            .benches
            .iter()
            .flat_map(|told| told.compared.iter().map(String::as_str))
            .flat_map(|words| words.split(", "))
            .collect();
        compared.sort_by_key(|name| name.to_lowercase());
        compared.dedup();
        let claims = || self.benches.iter().flat_map(|told| &told.claims);
        let held = claims().filter(|claim| claim.holds).count();
        let mut text = format!(
            "One run of `cargo xtask bench all` on {}: {}. {held} of {} claims hold.",
            self.date,
            self.machine,
            claims().count()
        );
        if let Some(note) = &self.note {
            let _ = write!(text, " {note}");
        }
        let _ = write!(text, " Headwater {}", self.version);
        if !compared.is_empty() {
            let _ = write!(text, " beside {}", compared.join(", "));
        }
        text.push('.');
        text
    }
}

/// All that one benchmark told.
fn section(told: &Told) -> String {
    let mut page = String::new();
    if let Some(error) = &told.error {
        let _ = writeln!(page, "No figures: {error}");
        return page;
    }
    page.push_str("| claim | measured | bar |\n| --- | --- | --- |\n");
    for claim in &told.claims {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            escaped(&claim.claim),
            measured(claim),
            claim.bar
        );
    }
    // What is laid out in columns is for the terminal.
    let notes: Vec<&String> = told
        .notes
        .iter()
        .filter(|note| !note.contains("  "))
        .collect();
    if !notes.is_empty() {
        page.push('\n');
    }
    for note in notes {
        let _ = writeln!(page, "- {}", escaped(note));
    }
    page.trim_end().to_owned()
}

/// A job as the cells of its row.
fn job_cells(job: &Job) -> [String; 3] {
    let row = |(engine, figure): &(String, f64)| format!("{engine} {}", digits(*figure));
    let ours: Vec<String> = job
        .ours
        .iter()
        .enumerate()
        .map(|(place, (engine, figure))| {
            let way = engine.strip_prefix("headwater").unwrap_or(engine).trim();
            let way = way.trim_matches(['(', ')']);
            match (place, way) {
                (_, "") => format!("{} {}", digits(*figure), job.unit),
                (0, way) => format!("{} {}, {way}", digits(*figure), job.unit),
                (_, way) => format!("{}, {way}", digits(*figure)),
            }
        })
        .collect();
    let others: Vec<String> = job.others.iter().map(row).collect();
    [job.what.to_owned(), ours.join("; "), others.join(", ")]
}

/// A claim's figure with its unit, and whether it falls short.
fn measured(claim: &Claim) -> String {
    let figure = digits(claim.measured);
    let text = match claim.unit.as_str() {
        "" => figure,
        "%" => format!("{figure} %"),
        unit => format!("{figure} {unit}"),
    };
    if claim.holds {
        text
    } else {
        format!("{text}, **falls short**")
    }
}

/// A number with three digits that count; thousands in groups.
fn digits(figure: f64) -> String {
    let size = figure.abs();
    match size {
        _ if figure == figure.trunc() && size < 1e3 => format!("{figure:.0}"),
        _ if size >= 1e3 => {
            let unit = 10f64.powi(size.log10().floor() as i32 - 2);
            grouped(((figure / unit).round() * unit).round() as i64)
        }
        _ if size >= 100.0 => format!("{figure:.0}"),
        _ if size >= 10.0 => format!("{figure:.1}"),
        _ if size >= 1.0 => format!("{figure:.2}"),
        _ if size >= 0.001 => format!("{figure:.3}"),
        _ => format!("{figure:.1e}"),
    }
}

/// A whole number with commas between thousands.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let parts: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|part| std::str::from_utf8(part).ok())
        .collect();
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", parts.join(","))
}

/// Text that stays in its cell and means nothing to Markdown.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read::Figures;
    use super::digits;

    fn figures() -> Figures {
        let claim = |claim: &str, measured: f64, holds: bool| json!({"claim": claim, "measured": measured, "unit": "times", "bar": "≥ 3", "holds": holds});
        let row = |engine: &str, figure: f64| {
            json!({"engine": engine, "version": "1", "failed": null,
                "columns": [{"column": "tasks/s", "median": figure}]})
        };
        Figures::read(&json!({
            "headwater": "0.1.0", "date": "2026-01-02", "machine": "2 cores of Some CPU",
            "benches": [
                {"bench": "study", "compared_with": ["zlib 1", "Alib 2, Blib 3"], "notes": ["a note | b"],
                 "claims": [claim("graph+content, speed-up over none", 5.678, true), claim("another", 2.0, false)]},
                {"bench": "peers", "claims": [], "markdown": "**a table**", "tables": [{"job": "fan",
                 "rows": [row("headwater (in process)", 789_611.0), row("headwater (remembered)", 95_124.0),
                          row("slow", 20.0), row("quick", 4547.0)]}]},
                {"bench": "plan", "claims": [], "error": "it ended badly"},
            ],
        }))
        .unwrap()
    }

    #[test]
    fn the_readme_has_measured_lines_and_says_what_was_not_measured() {
        let page = figures().readme();
        let starts = "One run of `cargo xtask bench all` on 2026-01-02: 2 cores of Some CPU. 1 of 2 claims hold. \
                      Headwater 0.1.0 beside Alib 2, Blib 3, zlib 1.\n";
        assert!(page.starts_with(starts), "{page}");
        for line in [
            "| a screening of 640 parameter sets, beside computing each set by itself | 5.68 times | ≥ 3 | `study` |",
            "| the same study again | not measured |  | `study` |",
            "| 10,000 tasks that do nothing | 790,000 per second, in process; 95,100, remembered | quick 4,550, slow 20 |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn the_page_has_everything_and_what_falls_short() {
        let page = figures().page();
        for part in [
            "## study",
            "| another | 2 times, **falls short** | ≥ 3 |",
            "- a note \\| b",
            "## plan\n\nNo figures: it ended badly",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(figures().peers().ends_with("**a table**"));
    }

    #[test]
    fn a_claim_or_a_benchmark_that_falls_short_counts() {
        assert!(!figures().holds());
        let table = figures().table_json();
        assert_eq!(table[0]["measured"], 5.678);
        assert_eq!(table[2]["measured"], json!(null));
        assert_eq!(figures().jobs_json()[0]["others"][0]["engine"], "quick");
        assert!(figures().text().ends_with("1 of 2 claims hold\n"));
    }

    #[test]
    fn figures_have_three_digits_that_count() {
        for (figure, text) in [
            (0.0, "0"),
            (3.0, "3"),
            (1.2345, "1.23"),
            (67.89, "67.9"),
            (123.4, "123"),
            (0.0567, "0.057"),
            (789_611.0, "790,000"),
            (4_547.0, "4,550"),
            (1_234_567.0, "1,230,000"),
        ] {
            assert_eq!(digits(figure), text);
        }
    }
}
