//! Exact decimal numbers, so that digits never pass through a float.
//!
//! `serde_json` may or may not be built with arbitrary precision; both give the same answers here as
//! far as the number itself kept its digits.

use std::cmp::Ordering;

use serde_json::Number;

/// Digits, and size of the exponent, beyond which a number is not computed with.
const MAX_DIGITS: usize = 2_048;
const MAX_EXPONENT: i64 = 100_000;

/// A decimal number: `digits × 10^exponent`, without leading and trailing zeros. Zero has no digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// The exact value; `None` when it is too large to compute with.
    pub(crate) fn of(number: &Number) -> Option<Self> {
        Self::parse(&number.to_string())
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = whole
            .bytes()
            .chain(fraction.bytes())
            .all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !all_digits || mantissa.len() > MAX_DIGITS {
            return None;
        }
        let mut exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let mut digits: Vec<u8> = whole
            .bytes()
            .chain(fraction.bytes())
            .skip_while(|byte| *byte == b'0')
            .map(|byte| byte - b'0')
            .collect();
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += 1;
        }
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits,
                exponent: 0,
            });
        }
        (exponent.abs() <= MAX_EXPONENT).then_some(Self {
            negative,
            digits,
            exponent,
        })
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Whether the number is a whole multiple of `step`; `None` when it cannot be computed.
    pub(crate) fn is_multiple_of(&self, step: &Self) -> Option<bool> {
        if step.digits.is_empty() {
            return None;
        }
        let base = self.exponent.min(step.exponent);
        let (value, step) = (self.scaled(base)?, step.scaled(base)?);
        value.checked_rem(step).map(|rest| rest == 0)
    }

    fn scaled(&self, base: i64) -> Option<u128> {
        let zeros = u32::try_from(self.exponent - base).ok()?;
        let value = self.digits.iter().try_fold(0_u128, |value, digit| {
            value.checked_mul(10)?.checked_add(u128::from(*digit))
        })?;
        value.checked_mul(10_u128.checked_pow(zeros)?)
    }

    /// The power of ten of the first digit.
    fn magnitude(&self) -> i64 {
        self.exponent + i64::try_from(self.digits.len()).unwrap_or(i64::MAX >> 1)
    }

    fn signum(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let signs = self.signum().cmp(&other.signum());
        if signs != Ordering::Equal {
            return signs;
        }
        // Without trailing zeros, digits of equal magnitude compare like text.
        let sizes = self
            .magnitude()
            .cmp(&other.magnitude())
            .then_with(|| self.digits.cmp(&other.digits));
        if self.negative {
            sizes.reverse()
        } else {
            sizes
        }
    }
}

/// Whether the number has no fractional part, however it is written.
pub(crate) fn is_integer(number: &Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || Decimal::of(number).is_some_and(|exact| exact.is_integer())
}

/// The number that `text` spells in JSON, if no digit is lost by reading it.
pub(crate) fn exact(text: &str) -> Option<Number> {
    let spelled = Decimal::parse(text)?;
    let number: Number = text.parse().ok()?;
    (Decimal::of(&number)? == spelled).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect("a decimal")
    }

    #[test]
    fn numbers_compare_by_value() {
        let ascending = [
            "-10",
            "-9.5",
            "-0.01",
            "0",
            "0.009",
            "0.01",
            "1",
            "9007199254740993",
            "9007199254740994",
            "1e30",
        ];
        for pair in ascending.windows(2) {
            assert!(decimal(pair[0]) < decimal(pair[1]), "{pair:?}");
        }
        for (a, b) in [
            ("1.0", "1"),
            ("-0", "0.000"),
            ("100", "1e2"),
            ("0.5", "5E-1"),
        ] {
            assert_eq!(decimal(a), decimal(b));
        }
    }

    #[test]
    fn integers_and_multiples_are_exact() {
        assert!(decimal("3.0").is_integer() && !decimal("3.7").is_integer());
        assert!(decimal("1e5").is_integer() && !decimal("1e-5").is_integer());
        assert_eq!(decimal("0.3").is_multiple_of(&decimal("0.1")), Some(true));
        assert_eq!(decimal("7").is_multiple_of(&decimal("2")), Some(false));
        assert_eq!(decimal("7").is_multiple_of(&decimal("0")), None);
        assert_eq!(decimal("1e90000").is_multiple_of(&decimal("3")), None);
    }

    #[test]
    fn only_lossless_readings_are_taken() {
        assert_eq!(
            exact("1917043659912705296").expect("fits").to_string(),
            "1917043659912705296"
        );
        assert_eq!(exact("0.5").expect("fits").to_string(), "0.5");
        for bad in [
            "",
            "abc",
            "+3",
            "0x10",
            "007",
            "1e999999999",
            "--1",
            ".5",
            "NaN",
            "1_000",
        ] {
            assert!(exact(bad).is_none(), "{bad}");
        }
        // Without arbitrary precision thirty digits cannot be kept, so they are refused.
        let long = "123456789012345678901234567890";
        assert!(exact(long).is_none_or(|number| number.to_string() == long));
    }
}
