//! What was measured, as a table for people, for the docs and for programs.
//!
//! Law: a cell is the median of its samples, and stands beside its ratio to the first row that has one, which is
//! Headwater's and from the same run. A row that could not be measured says why and stays in the table.

use headwater::text::grouped;
use headwater_bench::{Bar, Claims, median};
use serde_json::{Value, json};

/// What a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Per second: more is better.
    Rate,
    /// Seconds: less is better.
    Seconds,
    /// Seconds that are told and compared with nothing.
    Aside,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its heading, with the unit.
    pub(crate) heading: String,
    /// What it counts.
    pub(crate) measure: Measure,
}

/// A row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Who, and how where there are several ways.
    pub(crate) engine: String,
    /// Its version.
    pub(crate) version: String,
    /// Whether it is Headwater.
    pub(crate) ours: bool,
    /// The samples of each column, none where the column is not for it; or why there are none at all.
    pub(crate) samples: Result<Vec<Vec<f64>>, String>,
}

/// A job, measured.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// The name of the job.
    pub(crate) job: &'static str,
    /// What was done.
    pub(crate) title: String,
    /// What was counted.
    pub(crate) columns: Vec<Column>,
    /// By whom.
    pub(crate) rows: Vec<Row>,
    /// What a fair reader has to know.
    pub(crate) notes: Vec<String>,
}

impl Row {
    /// The median of a column; none where there is nothing to take it of.
    pub(crate) fn figure(&self, column: usize) -> Option<f64> {
        let samples = self.samples.as_ref().ok()?.get(column)?;
        (!samples.is_empty()).then(|| median(samples.clone()))
    }
}

impl Table {
    /// How many times as fast as this the reference is, in a column; none where one of the two has no figure.
    fn ratio(&self, row: &Row, column: usize) -> Option<f64> {
        let reference = self
            .rows
            .iter()
            .find(|row| row.ours && row.figure(column).is_some())?;
        let (ours, theirs) = (reference.figure(column)?, row.figure(column)?);
        match self.columns.get(column)?.measure {
            Measure::Rate => Some(ours / theirs),
            Measure::Seconds => Some(theirs / ours),
            Measure::Aside => None,
        }
    }

    /// The cells, heading first.
    fn cells(&self) -> Vec<Vec<String>> {
        let mut head = vec!["engine".to_owned(), "version".to_owned()];
        for column in &self.columns {
            head.push(column.heading.clone());
            if column.measure != Measure::Aside {
                head.push("headwater is".to_owned());
            }
        }
        let mut lines = vec![head];
        for row in &self.rows {
            let mut line = vec![row.engine.clone(), row.version.clone()];
            for (place, column) in self.columns.iter().enumerate() {
                let figure = row.figure(place);
                line.push(figure.map_or("–".to_owned(), |figure| number(figure, column.measure)));
                if column.measure != Measure::Aside {
                    let ratio = self.ratio(row, place);
                    line.push(ratio.map_or(String::new(), |ratio| format!("{} ×", short(ratio))));
                }
            }
            lines.push(line);
        }
        lines
    }

    /// Who else was measured, with versions; ways of one engine are the same engine.
    pub(crate) fn compared(&self) -> impl Iterator<Item = String> {
        let measured = self
            .rows
            .iter()
            .filter(|row| !row.ours && row.samples.is_ok());
        measured.map(|row| {
            // It names a library itself.
            if row.version.contains(' ') {
                return row.version.clone();
            }
            let name = row.engine.split(" (").next().unwrap_or_default();
            format!("{name} {}", row.version)
        })
    }

    /// Reasons of the rows that have no figures.
    fn reasons(&self) -> impl Iterator<Item = String> {
        self.rows.iter().filter_map(|row| {
            let reason = row.samples.as_ref().err()?;
            Some(format!("{}: {reason}", row.engine))
        })
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let cells = self.cells();
        let count = cells.first().map_or(0, Vec::len);
        let width = |place: usize| cells.iter().map(|line| line[place].chars().count()).max();
        let widths: Vec<usize> = (0..count).map(|place| width(place).unwrap_or(0)).collect();
        let mut page = format!("{}\n", self.title);
        for line in &cells {
            let mut text = String::from(" ");
            for (place, cell) in line.iter().enumerate() {
                let width = widths[place];
                text.push_str(&match place {
                    0 | 1 => format!(" {cell:width$}"),
                    _ => format!("  {cell:>width$}"),
                });
            }
            page.push_str(text.trim_end());
            page.push('\n');
        }
        for line in self.notes.iter().cloned().chain(self.reasons()) {
            page.push_str(&format!("  - {line}\n"));
        }
        page
    }

    /// For the docs.
    pub(crate) fn markdown(&self) -> String {
        let mut page = format!("**{}**\n\n", self.title);
        for (place, line) in self.cells().iter().enumerate() {
            let escaped: Vec<String> = line.iter().map(|cell| cell.replace('|', "\\|")).collect();
            page.push_str(&format!("| {} |\n", escaped.join(" | ")));
            if place == 0 {
                let rules: Vec<&str> = (0..line.len())
                    .map(|place| if place < 2 { "---" } else { "---:" })
                    .collect();
                page.push_str(&format!("| {} |\n", rules.join(" | ")));
            }
        }
        page.push('\n');
        for line in self.notes.iter().cloned().chain(self.reasons()) {
            page.push_str(&format!("- {line}\n"));
        }
        page
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let columns = self.columns.iter().enumerate().map(|(place, column)| {
                let samples = row.samples.as_ref().ok().and_then(|all| all.get(place));
                json!({
                    "column": column.heading,
                    "median": row.figure(place),
                    "samples": samples,
                    "headwater_times_as_fast": self.ratio(row, place),
                })
            });
            json!({
                "engine": row.engine,
                "version": row.version,
                "columns": columns.collect::<Vec<_>>(),
                "failed": row.samples.as_ref().err(),
            })
        });
        json!({
            "job": self.job, "title": self.title, "rows": rows.collect::<Vec<_>>(), "notes": self.notes,
        })
    }

    /// One claim for each column in which there are peers: that Headwater, in its slowest way, is ahead of the quickest
    /// of them.
    pub(crate) fn claim(&self, claims: &mut Claims) {
        for row in self.rows.iter().filter(|row| row.ours) {
            if let Err(reason) = &row.samples {
                let what = format!("{}: {} could be measured ({reason})", self.job, row.engine);
                claims.claim(&what, 0.0, "of its turns", Bar::AtLeast(1.0));
            }
        }
        for (place, column) in self.columns.iter().enumerate() {
            let peers = self.rows.iter().filter(|row| !row.ours);
            let ours = self.rows.iter().filter(|row| row.ours);
            let slowest = ours.filter_map(|row| self.ratio(row, place));
            let slowest = slowest.fold(1.0, f64::max);
            let nearest = peers
                .filter_map(|row| Some((self.ratio(row, place)?, row.engine.as_str())))
                .min_by(|one, other| one.0.total_cmp(&other.0));
            if let Some((ratio, engine)) = nearest {
                let what = format!(
                    "{}: {}: headwater against {engine}",
                    self.job, column.heading
                );
                claims.claim(&what, ratio / slowest, "times as fast", Bar::AtLeast(1.0));
            }
        }
    }
}

/// A figure with as many digits as it deserves.
fn number(figure: f64, measure: Measure) -> String {
    match measure {
        Measure::Rate => grouped(figure.round() as u64),
        _ if figure < 0.1 => format!("{figure:.3}"),
        _ => format!("{figure:.2}"),
    }
}

/// A ratio with two digits that count.
fn short(ratio: f64) -> String {
    match ratio {
        _ if ratio < 10.0 => format!("{ratio:.1}"),
        _ => grouped(ratio.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::{Column, Measure, Row, Table, number, short};

    fn table() -> Table {
        let column = |heading: &str, measure| Column {
            heading: heading.to_owned(),
            measure,
        };
        let row = |engine: &str, samples| Row {
            engine: engine.to_owned(),
            version: "1".to_owned(),
            ours: engine == "headwater",
            samples,
        };
        Table {
            job: "fan",
            title: "a fan".to_owned(),
            columns: vec![
                column("tasks/s", Measure::Rate),
                column("whole s", Measure::Seconds),
                column("start s", Measure::Aside),
            ],
            rows: vec![
                row(
                    "headwater",
                    Ok(vec![vec![900.0, 1000.0, 5000.0], vec![2.0], vec![]]),
                ),
                row("slow", Ok(vec![vec![100.0], vec![5.0], vec![1.5]])),
                row("quick", Ok(vec![vec![2000.0], vec![], vec![0.012]])),
                row("gone", Err("it could not be installed".to_owned())),
            ],
            notes: vec!["no note".to_owned()],
        }
    }

    #[test]
    fn cells_are_medians_with_the_ratio_to_headwater() {
        let lines = table().cells();
        assert_eq!(
            lines[0],
            [
                "engine",
                "version",
                "tasks/s",
                "headwater is",
                "whole s",
                "headwater is",
                "start s"
            ]
        );
        assert_eq!(
            lines[1],
            ["headwater", "1", "1,000", "1.0 ×", "2.00", "1.0 ×", "–"]
        );
        assert_eq!(
            lines[2],
            ["slow", "1", "100", "10 ×", "5.00", "2.5 ×", "1.50"]
        );
        assert_eq!(lines[3], ["quick", "1", "2,000", "0.5 ×", "–", "", "0.012"]);
        assert_eq!(lines[4], ["gone", "1", "–", "", "–", "", "–"]);
    }

    #[test]
    fn those_that_were_measured_are_told_with_their_versions() {
        let compared: Vec<String> = table().compared().collect();
        assert_eq!(compared, ["slow 1", "quick 1"]);
    }

    #[test]
    fn who_could_not_be_measured_is_told_with_the_reason() {
        for page in [table().text(), table().markdown()] {
            assert!(page.contains("- gone: it could not be installed"), "{page}");
            assert!(page.contains("- no note"), "{page}");
        }
        let json = table().json();
        assert_eq!(json["rows"][3]["failed"], "it could not be installed");
        assert_eq!(
            json["rows"][1]["columns"][0]["headwater_times_as_fast"],
            10.0
        );
        assert_eq!(json["rows"][0]["columns"][0]["median"], 1000.0);
    }

    #[test]
    fn a_markdown_table_has_a_rule_below_its_head() {
        let page = table().markdown();
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines[0], "**a fan**");
        assert!(lines[2].starts_with("| engine | version | tasks/s |"));
        assert!(lines[3].starts_with("| --- | --- | ---: |"));
        assert_eq!(lines[2].matches('|').count(), lines[5].matches('|').count());
    }

    #[test]
    fn figures_have_the_digits_that_count() {
        assert_eq!(number(38.4, Measure::Rate), "38");
        assert_eq!(number(0.0123, Measure::Seconds), "0.012");
        assert_eq!(short(9.94), "9.9");
        assert_eq!(short(1234.0), "1,234");
    }
}
