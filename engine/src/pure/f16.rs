//! Half-precision floats: Math.f16round, Float16Array and DataView (ECMA-262 21.3.2.17, 25.1.3).
//!
//! Invariant: conversions round once, directly from the double, to nearest with ties to even.

/// The bits of the half-precision float nearest to `x` (ECMA-262 25.1.3.16 NumericToRawBytes).
pub fn to_bits(x: f64) -> u16 {
    let bits = x.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    if x.is_nan() {
        return 0x7E00;
    }
    let magnitude = x.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7C00;
    }
    // Below 2^-14 the unit in the last place is 2^-24, above it is 2^(e-10). Adding and dividing by
    // powers of two is exact, so one rounding remains.
    let exponent = (((bits >> 52) & 0x7FF) as i32 - 1023).max(-14);
    let steps = round_half_even(libm::ldexp(magnitude, 10 - exponent)) as u32;
    // steps is 0..=2048, with the implicit bit at 1024 (and a carry into the exponent at 2048).
    let biased = (exponent + 14) as u32;
    sign | (biased * 1024 + steps) as u16
}

fn round_half_even(x: f64) -> f64 {
    libm::rint(x)
}

/// The value of half-precision bits (ECMA-262 25.1.3.14 RawBytesToNumeric).
pub fn from_bits(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    let magnitude = match exponent {
        0 => libm::ldexp(fraction, -24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => return f64::NAN,
        _ => libm::ldexp(fraction + 1024.0, exponent - 25),
    };
    sign * magnitude
}

/// Math.f16round (ECMA-262 21.3.2.17).
pub fn f16_round(x: f64) -> f64 {
    from_bits(to_bits(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives() {
        for bits in 0..=u16::MAX {
            let value = from_bits(bits);
            if value.is_nan() {
                assert!(from_bits(to_bits(value)).is_nan());
            } else {
                assert_eq!(to_bits(value), bits);
            }
        }
    }

    #[test]
    fn rounding() {
        assert_eq!(f16_round(1.337), 1.3369140625);
        assert_eq!(f16_round(65519.99), 65504.0);
        assert_eq!(f16_round(65520.0), f64::INFINITY);
        assert_eq!(f16_round(2.980232238769531e-8), 0.0);
        assert_eq!(f16_round(2.980232238769532e-8), 5.960464477539063e-8);
        // A double just above a tie must not be rounded through f32 first.
        assert_eq!(f16_round(1.000_488_281_250_000_2), 1.0009765625);
        assert_eq!(f16_round(1.00048828125), 1.0);
        assert!(f16_round(-0.0).is_sign_negative());
        assert_eq!(f16_round(2047.9999), 2048.0);
    }
}
