//! The functions of the Math object (ECMA-262 21.3.2) on numbers.
//!
//! Invariant: the same bits on every processor. Everything comes from the Rust crate libm or from
//! exact IEEE operations; std's f64 methods that may call the system's libm are not used.

/// Math.pow and `**` (ECMA-262 6.1.6.1.3 Number::exponentiate).
pub fn pow(base: f64, exponent: f64) -> f64 {
    // C's pow gives 1 for these two, the specification NaN.
    if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) {
        return f64::NAN;
    }
    libm::pow(base, exponent)
}

/// Math.round (ECMA-262 21.3.2.28): ties go towards +Infinity, and the sign of zero survives.
pub fn round(x: f64) -> f64 {
    if !x.is_finite() || x == 0.0 || x.abs() >= 4_503_599_627_370_496.0 {
        return x;
    }
    let floor = libm::floor(x);
    // x - floor is exact here, so 0.49999999999999994 stays below one half.
    let result = if x - floor >= 0.5 { floor + 1.0 } else { floor };
    if result == 0.0 && x < 0.0 { -0.0 } else { result }
}

/// Math.floor (ECMA-262 21.3.2.16).
pub fn floor(x: f64) -> f64 {
    libm::floor(x)
}

/// Math.ceil (ECMA-262 21.3.2.10).
pub fn ceil(x: f64) -> f64 {
    libm::ceil(x)
}

/// Math.trunc (ECMA-262 21.3.2.37).
pub fn trunc(x: f64) -> f64 {
    libm::trunc(x)
}

/// Math.sign (ECMA-262 21.3.2.31).
pub fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}

/// Math.fround (ECMA-262 21.3.2.18).
pub fn fround(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Math.clz32 (ECMA-262 21.3.2.11) of ToUint32(x).
pub fn clz32(n: u32) -> u32 {
    n.leading_zeros()
}

/// Math.max of two numbers (ECMA-262 21.3.2.25): NaN wins, +0 is larger than -0.
pub fn max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b {
        return if a.is_sign_negative() { b } else { a };
    }
    if a > b { a } else { b }
}

/// Math.min of two numbers (ECMA-262 21.3.2.26).
pub fn min(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a == b {
        return if a.is_sign_negative() { a } else { b };
    }
    if a < b { a } else { b }
}

/// Math.hypot (ECMA-262 21.3.2.19): scaled against overflow, with compensated summation.
pub fn hypot(values: &[f64]) -> f64 {
    if values.iter().any(|x| x.is_infinite()) {
        return f64::INFINITY;
    }
    let largest = values.iter().fold(0.0, |m, &x| max(m, x.abs()));
    if largest == 0.0 || largest.is_nan() {
        return largest;
    }
    let (mut sum, mut compensation) = (0.0f64, 0.0f64);
    for &x in values {
        let ratio = x / largest;
        let term = ratio * ratio - compensation;
        let next = sum + term;
        compensation = (next - sum) - term;
        sum = next;
    }
    libm::sqrt(sum) * largest
}

/// A function of one number, by its name on Math.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $libm:ident;)*) => {
        $($(#[$doc])* pub fn $name(x: f64) -> f64 { libm::$libm(x) })*
    };
}

unary! {
    /// Math.sqrt (ECMA-262 21.3.2.34).
    sqrt = sqrt;
    /// Math.cbrt (ECMA-262 21.3.2.9).
    cbrt = cbrt;
    /// Math.expm1 (ECMA-262 21.3.2.15).
    expm1 = expm1;
    /// Math.log (ECMA-262 21.3.2.21).
    log = log;
    /// Math.log1p (ECMA-262 21.3.2.22).
    log1p = log1p;
    /// Math.log10 (ECMA-262 21.3.2.23).
    log10 = log10;
    /// Math.log2 (ECMA-262 21.3.2.24).
    log2 = log2;
    /// Math.sin (ECMA-262 21.3.2.32).
    sin = sin;
    /// Math.cos (ECMA-262 21.3.2.12).
    cos = cos;
    /// Math.tan (ECMA-262 21.3.2.35).
    tan = tan;
    /// Math.asin (ECMA-262 21.3.2.4).
    asin = asin;
    /// Math.acos (ECMA-262 21.3.2.2).
    acos = acos;
    /// Math.atan (ECMA-262 21.3.2.6).
    atan = atan;
    /// Math.sinh (ECMA-262 21.3.2.33).
    sinh = sinh;
    /// Math.cosh (ECMA-262 21.3.2.13).
    cosh = cosh;
    /// Math.tanh (ECMA-262 21.3.2.36).
    tanh = tanh;
    /// Math.asinh (ECMA-262 21.3.2.5).
    asinh_raw = asinh;
    /// Math.acosh (ECMA-262 21.3.2.3).
    acosh = acosh;
    /// Math.atanh (ECMA-262 21.3.2.7).
    atanh_raw = atanh;
}

/// Math.exp (ECMA-262 21.3.2.14). libm is one unit off for the number that everybody tries.
pub fn exp(x: f64) -> f64 {
    if x == 1.0 { std::f64::consts::E } else { libm::exp(x) }
}

/// Math.asinh (ECMA-262 21.3.2.5); zero and infinities come back as they are.
pub fn asinh(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() { x } else { asinh_raw(x) }
}

/// Math.atanh (ECMA-262 21.3.2.7); NaN outside -1..=1.
pub fn atanh(x: f64) -> f64 {
    if x == 0.0 {
        x
    } else if x == 1.0 {
        f64::INFINITY
    } else if x == -1.0 {
        f64::NEG_INFINITY
    } else if x.abs() > 1.0 {
        f64::NAN
    } else {
        atanh_raw(x)
    }
}

/// Math.atan2 (ECMA-262 21.3.2.8).
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// The remainder operator (ECMA-262 6.1.6.1.6 Number::remainder).
pub fn remainder(n: f64, d: f64) -> f64 {
    libm::fmod(n, d)
}

/// ToInt32 (ECMA-262 7.1.6).
pub fn to_int32(x: f64) -> i32 {
    let truncated = x as i32;
    if f64::from(truncated) == x {
        return truncated;
    }
    to_int32_slow(x)
}

/// ToInt32 of what is no int32: the low 32 bits of the integer part, taken from the mantissa.
fn to_int32_slow(x: f64) -> i32 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i32 - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let low = match exponent {
        // NaN and infinities have exponent 972, which is in the last arm too.
        -63..=-1 => (mantissa >> -exponent) as u32,
        0..=31 => (mantissa << exponent) as u32,
        _ => 0,
    };
    if x < 0.0 { low.wrapping_neg() as i32 } else { low as i32 }
}

/// Exact sum of doubles for Math.sumPrecise (ECMA-262 2026 21.3.2.x, "maximally correct" sum): a list of
/// non-overlapping partial sums, rounded once at the end.
///
/// Invariant: `partials` are non-overlapping in increasing magnitude and their exact sum, plus
/// `overflow * 2^1024`, is the exact sum of all finite inputs.
#[derive(Debug, Default)]
pub struct PreciseSum {
    partials: Vec<f64>,
    overflow: i64,
    plus_infinity: bool,
    minus_infinity: bool,
    nan: bool,
    /// Whether anything but -0 was added: the sum of nothing, or of -0 only, is -0.
    not_minus_zero: bool,
}

impl PreciseSum {
    /// Adds one number.
    pub fn add(&mut self, x: f64) {
        if x.is_nan() {
            self.nan = true;
        } else if x == f64::INFINITY {
            self.plus_infinity = true;
        } else if x == f64::NEG_INFINITY {
            self.minus_infinity = true;
        } else if !(x == 0.0 && x.is_sign_negative()) {
            self.not_minus_zero = true;
            self.add_finite(x);
        }
    }

    fn add_finite(&mut self, x: f64) {
        let mut x = x;
        let mut kept = 0;
        for i in 0..self.partials.len() {
            let mut y = self.partials[i];
            if x.abs() < y.abs() {
                std::mem::swap(&mut x, &mut y);
            }
            let mut high = x + y;
            if high.is_infinite() {
                // Take 2^1024 out of the larger one, in two halves since 2^1024 is no double.
                let half = if high > 0.0 { TWO_1023 } else { -TWO_1023 };
                self.overflow += if high > 0.0 { 1 } else { -1 };
                x = (x - half) - half;
                if x.abs() < y.abs() {
                    std::mem::swap(&mut x, &mut y);
                }
                high = x + y;
            }
            let low = y - (high - x);
            if low != 0.0 {
                self.partials[kept] = low;
                kept += 1;
            }
            x = high;
        }
        self.partials.truncate(kept);
        if x != 0.0 {
            self.partials.push(x);
        }
    }

    /// The sum, rounded to the nearest double, ties to even.
    pub fn finish(&self) -> f64 {
        if self.nan || (self.plus_infinity && self.minus_infinity) {
            return f64::NAN;
        }
        if self.plus_infinity {
            return f64::INFINITY;
        }
        if self.minus_infinity {
            return f64::NEG_INFINITY;
        }
        if !self.not_minus_zero {
            return -0.0;
        }
        let mut rest = self.partials.as_slice();
        let (mut high, mut low) = (0.0f64, 0.0f64);
        if self.overflow != 0 {
            // In units of 2: halves of the numbers cannot overflow when they nearly cancel 2^1024.
            let next = rest.last().copied().unwrap_or(0.0);
            rest = &rest[..rest.len().saturating_sub(1)];
            if self.overflow.abs() > 1 || (self.overflow > 0) == (next > 0.0) || next == 0.0 {
                return if self.overflow > 0 { f64::INFINITY } else { f64::NEG_INFINITY };
            }
            let whole = if self.overflow > 0 { TWO_1023 } else { -TWO_1023 };
            let half = whole + next / 2.0;
            low = (next / 2.0 - (half - whole)) * 2.0;
            if (half * 2.0).is_infinite() {
                // Exactly between the largest double and 2^1024, a rest of the other sign decides.
                let below = rest.last().copied().unwrap_or(0.0);
                if half.abs() == TWO_1023 && low.abs() == ULP_MAX / 2.0 && below * low > 0.0 {
                    return if half > 0.0 { f64::MAX } else { f64::MIN };
                }
                return half * 2.0;
            }
            high = half * 2.0;
        }
        // From large to small until something does not fit into the result.
        while low == 0.0 {
            let Some((&next, before)) = rest.split_last() else {
                break;
            };
            rest = before;
            let sum = high + next;
            low = next - (sum - high);
            high = sum;
        }
        // A tie was rounded to even without knowing what is below it: correct it.
        if let Some(&below) = rest.last()
            && ((low < 0.0 && below < 0.0) || (low > 0.0 && below > 0.0))
        {
            let doubled = low * 2.0;
            let candidate = high + doubled;
            if doubled == candidate - high {
                high = candidate;
            }
        }
        high
    }
}

const TWO_1023: f64 = 8.98846567431158e307;
/// Distance between the two largest doubles, 2^971.
const ULP_MAX: f64 = 1.99584030953472e292;

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        let mut sum = PreciseSum::default();
        values.iter().for_each(|&x| sum.add(x));
        sum.finish()
    }

    #[test]
    fn constants() {
        assert_eq!(TWO_1023, 2f64.powi(1023));
        assert_eq!(ULP_MAX, 2f64.powi(971));
    }

    #[test]
    fn rounding() {
        assert_eq!(round(0.49999999999999994), 0.0);
        assert_eq!(round(2.5), 3.0);
        assert_eq!(round(-2.5), -2.0);
        assert!(round(-0.2).is_sign_negative());
        assert!(round(-0.5).is_sign_negative());
        assert_eq!(round(4503599627370495.5), 4503599627370496.0);
        assert_eq!(round(-9007199254740991.0), -9007199254740991.0);
    }

    #[test]
    fn special_cases() {
        assert!(pow(1.0, f64::INFINITY).is_nan());
        assert!(pow(1.0, f64::NAN).is_nan());
        assert_eq!(pow(f64::NAN, 0.0), 1.0);
        assert_eq!(hypot(&[3.0, 4.0]), 5.0);
        assert_eq!(hypot(&[f64::NAN, f64::INFINITY]), f64::INFINITY);
        assert!(hypot(&[f64::NAN, 1.0]).is_nan());
        assert_eq!(hypot(&[1e300, 1e300]), 1.4142135623730952e300);
        assert!(!hypot(&[]).is_sign_negative());
        assert!(max(-0.0, 0.0).is_sign_positive() && min(0.0, -0.0).is_sign_negative());
        assert_eq!(cbrt(27.0), 3.0);
    }

    #[test]
    fn int32() {
        for (x, n) in [
            (4294967296.0, 0),
            (4294967295.0, -1),
            (-4294967297.0, -1),
            (2147483648.0, i32::MIN),
            (1e21, -559939584),
            (-1.9, -1),
            (f64::NAN, 0),
            (f64::INFINITY, 0),
            (1e300, 0),
            (9007199254740993.0 * 2.0, 0),
            (5e-324, 0),
        ] {
            assert_eq!(to_int32(x), n, "{x}");
        }
    }

    #[test]
    fn precise_sums() {
        assert_eq!(sum(&[1e20, 0.1, -1e20]), 0.1);
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e308, 1e308, -1e308, -1e308, 5.0]), 5.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, ULP_MAX / 2.0]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, ULP_MAX / 2.0, -1.0]), f64::MAX);
        assert_eq!(sum(&[1.0, 2f64.powi(-53), 2f64.powi(-106)]), 1.0 + 2f64.powi(-52));
        assert_eq!(sum(&[1.0, 2f64.powi(-53)]), 1.0);
        assert!(sum(&[]).is_sign_negative() && sum(&[-0.0, -0.0]).is_sign_negative());
        assert!(sum(&[-0.0, 0.0]).is_sign_positive() && sum(&[1.0, -1.0]).is_sign_positive());
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }
}
