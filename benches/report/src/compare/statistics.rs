//! Medians and what they hide.

/// The middle of some figures, and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) median: f64,
    pub(super) high: f64,
}

impl Spread {
    /// Returns the spread of figures in any order; nothing when there are none.
    pub(super) fn new(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            low: quantile(&sorted, 0.25)?,
            median: quantile(&sorted, 0.5)?,
            high: quantile(&sorted, 0.75)?,
        })
    }

    /// Returns the spread of the figures of one contestant over those of another, each divided by the other's of the
    /// same round. A round that lacks one of the two does not count.
    pub(super) fn of_ratios(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<Self> {
        let pairs = ours.iter().zip(theirs);
        Self::new(pairs.filter_map(|(ours, theirs)| {
            let theirs = theirs.filter(|theirs| *theirs > 0.0)?;
            Some((*ours)? / theirs)
        }))
    }
}

/// Returns the figure at a share, between the two next to it where it falls between two.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = part * last as f64;
    let below = sorted[at.floor() as usize];
    let above = sorted[at.ceil() as usize];
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated_and_order_does_not_matter() {
        let spread = Spread::new([4.0, 1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (2.0, 3.0, 4.0));
        let spread = Spread::new([2.0, 1.0]).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (1.25, 1.5, 1.75));
        assert_eq!(Spread::new([7.0]).unwrap().low, 7.0);
        assert_eq!(Spread::new([]), None);
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The machine was twice as fast in the second round; the ratio does not see it.
        let ours = [Some(10.0), Some(20.0), None, Some(1.0), Some(1.0)];
        let theirs = [Some(20.0), Some(40.0), Some(1.0), None, Some(0.0)];
        let spread = Spread::of_ratios(&ours, &theirs).unwrap();
        assert_eq!((spread.low, spread.median, spread.high), (0.5, 0.5, 0.5));
        assert_eq!(Spread::of_ratios(&[None], &[Some(1.0)]), None);
    }
}
