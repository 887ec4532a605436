//! Arithmetic and comparison behind the interpreter's fast paths (ECMA-262 6.1.6, 13.15.3, 7.2.12).

use crate::convert::{Hint, double_to_int32};
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// Product of two int32 as a value, if the int32 path may be taken (no overflow, no -0).
#[inline(always)]
pub fn mul_int(x: i32, y: i32) -> Option<Value> {
    let product = i64::from(x) * i64::from(y);
    if product == 0 && (x < 0 || y < 0) {
        return None;
    }
    i32::try_from(product).ok().map(Value::int)
}

/// Quotient where it is exact and not -0.
#[inline(always)]
pub fn div_int(x: i32, y: i32) -> Option<Value> {
    if y == 0 || x == 0 || (x == i32::MIN && y == -1) || x % y != 0 {
        return None;
    }
    Some(Value::int(x / y))
}

/// Remainder where it is not -0 or NaN.
#[inline(always)]
pub fn mod_int(x: i32, y: i32) -> Option<Value> {
    if y == 0 || x < 0 {
        return None;
    }
    Some(Value::int((x as u32 % y.unsigned_abs()) as i32))
}

/// Number::remainder (6.1.6.1.6): the sign of the dividend, exact.
#[inline]
pub fn mod_double(x: f64, y: f64) -> f64 {
    // Rust's `%` is exact fmod: the result does not depend on the processor.
    x % y
}

/// `x >>> y` of two int32.
#[inline(always)]
pub fn ushr_int(x: i32, y: i32) -> Value {
    let n = (x as u32).wrapping_shr(y as u32);
    if n <= i32::MAX as u32 { Value::int(n as i32) } else { Value::double(f64::from(n)) }
}

/// The binary operators that BigInts share with numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    Sub,
    Mul,
    Div,
    Mod,
    Exp,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    UShr,
    Add,
}

macro_rules! slow_operators {
    ($($name:ident = $operator:ident;)*) => {
        impl Realm {
            $(#[inline(never)]
            pub(crate) fn $name(&mut self, a: Value, b: Value) -> Completion {
                self.numeric_operator(Operator::$operator, a, b)
            })*
        }
    };
}

slow_operators! {
    sub_slow = Sub; mul_slow = Mul; div_slow = Div; mod_slow = Mod; exp = Exp;
    bit_and_slow = BitAnd; bit_or_slow = BitOr; bit_xor_slow = BitXor; shl_slow = Shl; shr_slow = Shr; ushr_slow = UShr;
}

impl Realm {
    /// ApplyStringOrNumericBinaryOperator for `+`.
    #[inline(never)]
    pub(crate) fn add_slow(&mut self, a: Value, b: Value) -> Completion {
        if a.is_string() && b.is_string() {
            return Ok(Value::string(self.concat(a.as_ref(), b.as_ref())?));
        }
        let a = self.to_primitive(a, Hint::Default)?;
        let b = self.to_primitive(b, Hint::Default)?;
        if a.is_string() || b.is_string() {
            let left = self.to_string(a)?;
            let right = self.to_string(b)?;
            return Ok(Value::string(self.concat(left, right)?));
        }
        self.numeric_operator(Operator::Add, a, b)
    }

    fn numeric_operator(&mut self, operator: Operator, a: Value, b: Value) -> Completion {
        let a = self.to_numeric(a)?;
        let b = self.to_numeric(b)?;
        if a.is_bigint() || b.is_bigint() {
            if !(a.is_bigint() && b.is_bigint()) {
                return Err(self.throw_type("Cannot mix BigInt and other types, use explicit conversions"));
            }
            return self.bigint_operator(operator, a.as_ref(), b.as_ref());
        }
        let (x, y) = (a.as_number(), b.as_number());
        let (i, j) = (|| double_to_int32(x), || double_to_int32(y));
        Ok(match operator {
            Operator::Add => Value::number(x + y),
            Operator::Sub => Value::number(x - y),
            Operator::Mul => Value::number(x * y),
            Operator::Div => Value::number(x / y),
            Operator::Mod => Value::number(mod_double(x, y)),
            Operator::Exp => Value::number(number_pow(x, y)),
            Operator::BitAnd => Value::int(i() & j()),
            Operator::BitOr => Value::int(i() | j()),
            Operator::BitXor => Value::int(i() ^ j()),
            Operator::Shl => Value::int(i().wrapping_shl(j() as u32)),
            Operator::Shr => Value::int(i().wrapping_shr(j() as u32)),
            Operator::UShr => ushr_int(i(), j()),
        })
    }

    #[inline(never)]
    pub(crate) fn negate_slow(&mut self, a: Value) -> Completion {
        let a = self.to_numeric(a)?;
        if a.is_bigint() {
            let (negative, digits) = self.bigint_parts(a.as_ref());
            return Ok(Value::bigint(self.new_bigint_cell(!negative, &digits)?));
        }
        Ok(Value::number(-a.as_number()))
    }

    #[inline(never)]
    pub(crate) fn bit_not_slow(&mut self, a: Value) -> Completion {
        let a = self.to_numeric(a)?;
        if a.is_bigint() {
            return self.bigint_not(a.as_ref());
        }
        Ok(Value::int(!double_to_int32(a.as_number())))
    }

    #[inline(never)]
    pub(crate) fn increment_slow(&mut self, a: Value, by: i32) -> Completion {
        let a = self.to_numeric(a)?;
        if a.is_bigint() {
            let one = self.new_bigint_cell(by < 0, &[1])?;
            return self.bigint_operator(Operator::Add, a.as_ref(), one);
        }
        Ok(Value::number(a.as_number() + f64::from(by)))
    }

    /// IsLessThan (7.2.13): `None` for undefined (a NaN).
    fn is_less_than(&mut self, a: Value, b: Value, left_first: bool) -> Completion<Option<bool>> {
        let (a, b) = if left_first {
            let a = self.to_primitive(a, Hint::Number)?;
            (a, self.to_primitive(b, Hint::Number)?)
        } else {
            let b = self.to_primitive(b, Hint::Number)?;
            (self.to_primitive(a, Hint::Number)?, b)
        };
        if a.is_string() && b.is_string() {
            self.view(a.as_ref())?;
            let right = self.view(b.as_ref())?;
            return Ok(Some(self.view_flat(a.as_ref()).compare(right).is_lt()));
        }
        if a.is_bigint() || b.is_bigint() {
            return self.bigint_less_than(a, b);
        }
        let a = self.to_number(a)?;
        let b = self.to_number(b)?;
        Ok(if a.is_nan() || b.is_nan() { None } else { Some(a < b) })
    }

    #[inline(never)]
    pub(crate) fn less_slow(&mut self, a: Value, b: Value) -> Completion<bool> {
        Ok(self.is_less_than(a, b, true)? == Some(true))
    }

    #[inline(never)]
    pub(crate) fn greater_slow(&mut self, a: Value, b: Value) -> Completion<bool> {
        Ok(self.is_less_than(b, a, false)? == Some(true))
    }

    #[inline(never)]
    pub(crate) fn less_equal_slow(&mut self, a: Value, b: Value) -> Completion<bool> {
        Ok(self.is_less_than(b, a, false)? == Some(false))
    }

    #[inline(never)]
    pub(crate) fn greater_equal_slow(&mut self, a: Value, b: Value) -> Completion<bool> {
        Ok(self.is_less_than(a, b, true)? == Some(false))
    }
}

/// Number::exponentiate (6.1.6.1.3).
pub fn number_pow(x: f64, y: f64) -> f64 {
    if y.is_nan() || (y.is_infinite() && x.abs() == 1.0) {
        return f64::NAN;
    }
    libm::pow(x, y)
}
