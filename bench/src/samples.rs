//! Raw samples, kept as they came, and the few statistics that a report needs.
//!
//! Invariant: nothing is dropped or trimmed; a statistic is computed from all samples of its cell.

use std::fmt::Write as _;

use crate::plan::Mode;

/// One sample of one peer in one row.
#[derive(Clone, Debug)]
pub struct Record {
    pub mode: Mode,
    pub row: String,
    pub lanes: u32,
    pub jobs: u32,
    pub peer: &'static str,
    /// Which sample of this row, from 0.
    pub sample: u32,
    /// This peer's place in the sample's order, from 0.
    pub place: u32,
    /// Realms or calls over which the value is a mean.
    pub repeats: u32,
    /// Which call within the sample, from 1 (`direct`), else 1.
    pub call: u32,
    /// Nanoseconds, or bytes for `memory`.
    pub value: f64,
    /// A second figure of the same sample: bytes of page tables for `memory`.
    pub beside: Option<f64>,
    /// The lanes' checksums, joined by commas.
    pub checksums: String,
}

/// Every sample and every failure of a run.
#[derive(Debug)]
pub struct Store {
    /// Which quantile of a cell's samples is its figure: 0.5 is the median.
    pub quantile: f64,
    pub records: Vec<Record>,
    /// Row, lanes, peer and what went wrong.
    pub failures: Vec<String>,
    /// Untimed set-up of programs: (row, peer, nanoseconds, remark).
    pub setups: Vec<(String, &'static str, u64, String)>,
}

/// Selects the samples of one printed cell.
#[derive(Clone, Copy, Debug)]
pub struct CellKey<'a> {
    pub mode: Mode,
    pub row: &'a str,
    pub lanes: u32,
    pub call: u32,
    pub peer: &'a str,
}

impl Store {
    /// An empty store that shows this quantile.
    pub fn new(quantile: f64) -> Store {
        Store { quantile, records: Vec::new(), failures: Vec::new(), setups: Vec::new() }
    }

    fn cell<'a>(&'a self, key: CellKey<'a>) -> impl Iterator<Item = &'a Record> {
        self.records.iter().filter(move |record| {
            record.mode == key.mode
                && record.row == key.row
                && record.lanes == key.lanes
                && record.call == key.call
                && record.peer == key.peer
        })
    }

    /// The cell's values in ascending order.
    pub fn sorted(&self, key: CellKey<'_>) -> Vec<f64> {
        let mut values: Vec<f64> = self.cell(key).map(|record| record.value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// The figure that the report shows for a cell, if it has samples.
    pub fn figure(&self, key: CellKey<'_>) -> Option<f64> {
        quantile(&self.sorted(key), self.quantile)
    }

    /// The same of the figure beside.
    pub fn figure_beside(&self, key: CellKey<'_>) -> Option<f64> {
        let mut values: Vec<f64> = self.cell(key).filter_map(|record| record.beside).collect();
        values.sort_by(f64::total_cmp);
        quantile(&values, self.quantile)
    }

    /// All samples as tab-separated values with a head line.
    pub fn to_tsv(&self) -> String {
        let mut text = String::from(
            "mode\trow\tlanes\tjobs\tpeer\tsample\tplace\trepeats\tcall\tns_or_bytes\tpage_table_bytes\tchecksums\n",
        );
        for record in &self.records {
            let Record { mode, row, lanes, jobs, peer, sample, place, repeats, call, .. } = record;
            let beside = record.beside.map(|value| format!("{value:.0}")).unwrap_or_default();
            writeln!(
                text,
                "{}\t{row}\t{lanes}\t{jobs}\t{peer}\t{sample}\t{place}\t{repeats}\t{call}\t{:.1}\t{beside}\t{}",
                mode.name(),
                record.value,
                record.checksums,
            )
            .expect("writing to a string does not fail");
        }
        text
    }
}

/// The value at `fraction` of sorted values, linear between neighbours.
pub fn quantile(sorted: &[f64], fraction: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = fraction * last as f64;
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (position - low as f64))
}

/// Geometric mean of positive numbers, if there are any.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.5), Some(3.0));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 10.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), Some(3.0));
    }

    #[test]
    fn geometric_means() {
        assert_eq!(geometric_mean(&[]), None);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
    }
}
