//! Exact divisibility of decimal numbers: 0.3 is a multiple of 0.1, although floats do not
//! represent either exactly.

/// A number without its sign: `digits` times a power of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: u64,
    power: i32,
}

impl Decimal {
    pub(super) fn from_int(int: i128) -> Option<Self> {
        let digits = u64::try_from(int.unsigned_abs()).ok()?;
        Some(Self { digits, power: 0 })
    }

    /// Returns the shortest decimal that parses to this float. `None` for NaN and infinities.
    pub(super) fn from_float(float: f64) -> Option<Self> {
        let text = format!("{:e}", float.abs());
        let (mantissa, power) = text.split_once('e')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let places = i32::try_from(fraction.len()).ok()?;
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            power: power.parse::<i32>().ok()?.checked_sub(places)?,
        })
    }

    /// Returns whether the number is an exact multiple of `unit`. Takes a bounded number of steps.
    pub(super) fn is_multiple_of(self, unit: Self) -> bool {
        if self.digits == 0 || unit.digits == 0 {
            return unit.digits != 0;
        }
        let power = self.power.abs_diff(unit.power);
        if self.power >= unit.power {
            return remainder(self.digits, power, unit.digits) == 0;
        }
        // The unit is multiplied by a power of ten. If that overflows, it is larger than the number.
        let zeros = 10_u64.checked_pow(power);
        let unit = zeros.and_then(|zeros| unit.digits.checked_mul(zeros));
        unit.is_some_and(|unit| self.digits.is_multiple_of(unit))
    }
}

/// Returns the remainder of `digits` times ten to the `power`, divided by `unit`, which is not 0.
fn remainder(digits: u64, mut power: u32, unit: u64) -> u64 {
    let times = |one: u64, two: u64| {
        let left = u128::from(one) * u128::from(two) % u128::from(unit);
        left as u64
    };
    let (mut left, mut square) = (digits % unit, 10 % unit);
    while power > 0 {
        if power % 2 == 1 {
            left = times(left, square);
        }
        square = times(square, square);
        power /= 2;
    }
    left
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holds(number: f64, unit: f64) -> bool {
        let of = |float| Decimal::from_float(float).unwrap();
        of(number).is_multiple_of(of(unit))
    }

    #[test]
    fn a_float_is_read_as_it_is_written() {
        for (float, digits, power) in [
            (0.07, 7, -2),
            (-19.99, 1999, -2),
            (120.0, 12, 1),
            (1.724_156_294e-19, 1_724_156_294, -28),
            (0.0, 0, 0),
            (5e-324, 5, -324),
            (f64::MAX, 17_976_931_348_623_157, 292),
        ] {
            assert_eq!(Decimal::from_float(float), Some(Decimal { digits, power }));
        }
        assert_eq!(Decimal::from_float(f64::NAN), None);
        assert_eq!(Decimal::from_float(f64::INFINITY), None);
    }

    #[test]
    fn decimals_are_multiples_of_decimals() {
        for (number, unit) in [
            (0.3, 0.1),
            (19.99, 0.01),
            (4.35, 0.01),
            (-7.5, 2.5),
            (1e23, 10.0),
            (1e308, 1e-300),
            (5e-324, 5e-324),
            (0.0, 0.7),
        ] {
            assert!(holds(number, unit), "{number} {unit}");
        }
        for (number, unit) in [
            (0.07, 1.724_156_294e-19),
            (0.35, 0.1),
            (1e-7, 1e-6),
            (1.0, 1e300),
            (1e300, 3.0),
            (1.5, 1.0),
            (1.0, 0.0),
            (0.0, 0.0),
        ] {
            assert!(!holds(number, unit), "{number} {unit}");
        }
    }

    #[test]
    fn the_longest_integers_have_exact_remainders() {
        let most = Decimal::from_int(u64::MAX.into()).unwrap();
        let half = Decimal::from_float(0.5).unwrap();
        assert!(most.is_multiple_of(half) && most.is_multiple_of(most));
        assert!(most.is_multiple_of(Decimal::from_int(-5).unwrap()));
        assert!(!most.is_multiple_of(Decimal::from_int(2).unwrap()));
        assert_eq!(Decimal::from_int(1 << 64), None);
    }

    proptest! {
        #[test]
        fn short_numbers_are_divided_as_integers_are(
            one in 0_u64..1_000_000, two in 1_u64..1_000, powers in (-9_i32..9, -9_i32..9),
        ) {
            let number = Decimal { digits: one, power: powers.0 };
            let unit = Decimal { digits: two, power: powers.1 };
            let least = powers.0.min(powers.1);
            let whole = |digits: u64, power: i32| {
                u128::from(digits) * 10_u128.pow((power - least).unsigned_abs())
            };
            let divides = whole(one, powers.0) % whole(two, powers.1) == 0;
            prop_assert_eq!(number.is_multiple_of(unit), divides);
        }
    }
}
