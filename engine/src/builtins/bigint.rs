//! BigInt (ECMA-262 21.2), and the operators on BigInt cells (6.1.6.2). The arithmetic is in
//! `pure::bigint`.
//!
//! Invariant: a BigInt cell's digits are normalised: no leading zeros, and zero is not negative.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::*;
use crate::convert::Hint;
use crate::interp::arith::Operator;
use crate::kinds::Kind;
use crate::names::Intrinsic;
use crate::pure::bigint::{self as big, BigIntError};
use crate::pure::number_parse;

builtin_table! { 11;
    BIGINT("BigInt", 1, constructor) = bigint;
    AS_INT_N("asIntN", 2) = as_int_n;
    AS_UINT_N("asUintN", 2) = as_uint_n;
    TO_LOCALE_STRING("toLocaleString", 0) = to_locale_string;
    TO_STRING("toString", 0) = to_string;
    VALUE_OF("valueOf", 0) = value_of;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.install_constructor(BIGINT, prototype, Intrinsic::BigInt, Intrinsic::BigIntPrototype)?;
    realm.install_methods(constructor, &[AS_INT_N, AS_UINT_N])?;
    realm.install_methods(prototype, &[TO_LOCALE_STRING, TO_STRING, VALUE_OF])?;
    realm.install_tag(prototype, "BigInt")
}

/// The number in a BigInt cell.
pub(crate) fn load(realm: &Realm, cell: Ref) -> BigInt {
    let (negative, digits) = realm.bigint_parts(cell);
    big::from_digits(negative, &digits)
}

/// A new BigInt value.
pub(crate) fn store(realm: &mut Realm, value: &BigInt) -> Completion {
    let (negative, digits) = big::to_digits(value);
    Ok(Value::bigint(realm.new_bigint_cell(negative, &digits)?))
}

fn finish(realm: &mut Realm, result: Result<BigInt, BigIntError>) -> Completion {
    match result {
        Ok(value) => store(realm, &value),
        Err(error) => Err(realm.throw_range(error.message())),
    }
}

/// A BigInt of one digit at most as i64: the fast path of the operators.
fn small(realm: &Realm, cell: Ref) -> Option<i64> {
    let magnitude = match realm.cage.u32(cell, 4) {
        0 => 0,
        1 => i64::from(realm.cage.u32(cell, 8)),
        _ => return None,
    };
    Some(if realm.cage.flags(cell) != 0 { -magnitude } else { magnitude })
}

fn store_small(realm: &mut Realm, value: i64) -> Completion {
    let magnitude = value.unsigned_abs();
    let digits = [magnitude as u32, (magnitude >> 32) as u32];
    let count = if digits[1] != 0 { 2 } else { usize::from(digits[0] != 0) };
    Ok(Value::bigint(realm.new_bigint_cell(value < 0, &digits[..count])?))
}

impl Realm {
    /// A binary operator on two BigInts (6.1.6.2).
    ///
    /// # Errors
    /// RangeError for results that are too large, division by zero and negative exponents; TypeError for `>>>`.
    pub(crate) fn bigint_operator(&mut self, operator: Operator, a: Ref, b: Ref) -> Completion {
        if let (Some(x), Some(y)) = (small(self, a), small(self, b)) {
            let result = match operator {
                Operator::Add => Some(x + y),
                Operator::Sub => Some(x - y),
                // Two 32-bit magnitudes: the product may exceed i64 by a bit.
                Operator::Mul => x.checked_mul(y),
                Operator::Div if y != 0 => Some(x / y),
                Operator::Mod if y != 0 => Some(x % y),
                Operator::BitAnd => Some(x & y),
                Operator::BitOr => Some(x | y),
                Operator::BitXor => Some(x ^ y),
                _ => None,
            };
            if let Some(result) = result {
                return store_small(self, result);
            }
        }
        // Multiplying and dividing cost more than linear time: fuel by the size of the operands.
        let words = self.cage.u32(a, 4) + self.cage.u32(b, 4);
        self.charge(1 + words / 16)?;
        let (x, y) = (load(self, a), load(self, b));
        let result = match operator {
            Operator::Add => big::add(&x, &y),
            Operator::Sub => big::sub(&x, &y),
            Operator::Mul => big::mul(&x, &y),
            Operator::Div => big::div(&x, &y),
            Operator::Mod => big::rem(&x, &y),
            Operator::Exp => big::pow(&x, &y),
            Operator::BitAnd => Ok(big::and(&x, &y)),
            Operator::BitOr => Ok(big::or(&x, &y)),
            Operator::BitXor => Ok(big::xor(&x, &y)),
            Operator::Shl => big::shl(&x, &y),
            Operator::Shr => big::shr(&x, &y),
            Operator::UShr => {
                return Err(self.throw_type("BigInts have no unsigned right shift, use >> instead"));
            }
        };
        finish(self, result)
    }

    /// BigInt::bitwiseNOT (6.1.6.2.2).
    ///
    /// # Errors
    /// RangeError.
    pub(crate) fn bigint_not(&mut self, a: Ref) -> Completion {
        let result = big::not(&load(self, a));
        finish(self, result)
    }

    /// The order of two primitives of which one at least is a BigInt; `None` where one is not a number.
    fn bigint_compare(&mut self, a: Value, b: Value) -> Completion<Option<Ordering>> {
        if a.is_bigint() && b.is_bigint() {
            return Ok(Some(load(self, a.as_ref()).cmp(&load(self, b.as_ref()))));
        }
        if !a.is_bigint() {
            return Ok(self.bigint_compare(b, a)?.map(Ordering::reverse));
        }
        let x = load(self, a.as_ref());
        if b.is_string() {
            let view = self.view(b.as_ref())?;
            return Ok(number_parse::string_to_bigint(&view).map(|y| x.cmp(&y)));
        }
        let y = self.to_number(b)?;
        Ok(big::compare_with_f64(&x, y))
    }

    /// IsLessThan (7.2.12 steps 3 and 4) where one operand at least is a BigInt.
    ///
    /// # Errors
    /// TypeError for symbols.
    pub(crate) fn bigint_less_than(&mut self, a: Value, b: Value) -> Completion<Option<bool>> {
        Ok(self.bigint_compare(a, b)?.map(Ordering::is_lt))
    }

    /// IsLooselyEqual (7.2.13 steps 7 to 13) of a BigInt and a number or string.
    ///
    /// # Errors
    /// Out of memory while flattening.
    pub(crate) fn bigint_loosely_equal(&mut self, a: Value, b: Value) -> Completion<bool> {
        Ok(self.bigint_compare(a, b)? == Some(Ordering::Equal))
    }

    /// BigInt::toString (6.1.6.2.23).
    ///
    /// # Errors
    /// Fuel.
    pub(crate) fn bigint_to_text(&mut self, a: Ref, radix: u32) -> Completion<String> {
        // Conversion costs quadratic time in the digits.
        let words = self.cage.u32(a, 4);
        self.charge(1 + (words / 64).saturating_mul(words / 64))?;
        Ok(big::to_string(&load(self, a), radix))
    }

    /// ToBigInt (7.1.13).
    ///
    /// # Errors
    /// TypeError for numbers, symbols, undefined and null; SyntaxError for other text.
    pub fn to_bigint(&mut self, value: Value) -> Completion<Ref> {
        let primitive = self.to_primitive(value, Hint::Number)?;
        if primitive.is_bigint() {
            return Ok(primitive.as_ref());
        }
        if primitive.is_boolean() {
            return Ok(store_small(self, i64::from(primitive.is_true()))?.as_ref());
        }
        if primitive.is_string() {
            let view = self.view(primitive.as_ref())?;
            let units = view.len() as u32;
            let parsed = number_parse::string_to_bigint(&view);
            self.charge(1 + (units / 512).saturating_mul(units / 512))?;
            return match parsed {
                Some(value) => {
                    Ok(finish(self, if value.bits() > big::MAX_BITS { Err(BigIntError::TooBig) } else { Ok(value) })?
                        .as_ref())
                }
                None => {
                    let text = self.string_text(primitive.as_ref())?;
                    Err(self.throw_syntax(&format!("Cannot convert {text} to a BigInt")))
                }
            };
        }
        let text = if primitive.is_symbol() { "Symbol()".to_owned() } else { self.describe(primitive) };
        Err(self.throw_type(&format!("Cannot convert {text} to a BigInt")))
    }
}

/// NumberToBigInt (21.2.1.1.1)
fn number_to_bigint(realm: &mut Realm, number: Value) -> Completion {
    match big::from_f64(number.as_number()) {
        Some(value) => store(realm, &value),
        None => {
            let text = crate::pure::number_format::to_string(number.as_number());
            Err(realm.throw_range(&format!(
                "The number {text} cannot be converted to a BigInt because it is not an integer"
            )))
        }
    }
}

/// BigInt ( value ) (21.2.1.1)
fn bigint(realm: &mut Realm, args: Args) -> Completion {
    if args.is_construct() {
        return Err(realm.throw_type("BigInt is not a constructor"));
    }
    let value = args.get(realm, 0);
    let primitive = realm.to_primitive(value, Hint::Number)?;
    if primitive.is_number() {
        return number_to_bigint(realm, primitive);
    }
    Ok(Value::bigint(realm.to_bigint(primitive)?))
}

fn wrap(realm: &mut Realm, args: Args, wrap: fn(u64, &BigInt) -> Result<BigInt, BigIntError>) -> Completion {
    let (bits, value) = (args.get(realm, 0), args.get(realm, 1));
    let bits = realm.to_index(bits)? as u64;
    let cell = realm.to_bigint(value)?;
    let result = wrap(bits, &load(realm, cell));
    finish(realm, result)
}

/// BigInt.asIntN (21.2.2.1)
fn as_int_n(realm: &mut Realm, args: Args) -> Completion {
    wrap(realm, args, big::as_int_n)
}

/// BigInt.asUintN (21.2.2.2)
fn as_uint_n(realm: &mut Realm, args: Args) -> Completion {
    wrap(realm, args, big::as_uint_n)
}

/// ThisBigIntValue (21.2.3.4.1)
fn this_bigint(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    if args.this.is_bigint() {
        return Ok(args.this.as_ref());
    }
    if let Some(object) = args.this.to_object_ref()
        && realm.cage.is(object, Kind::PrimitiveObject)
    {
        let value = Value(realm.cage.get(object, 16));
        if value.is_bigint() {
            return Ok(value.as_ref());
        }
    }
    Err(realm.throw_type(&format!("BigInt.prototype.{method} requires that 'this' be a BigInt")))
}

/// BigInt.prototype.toLocaleString (21.2.3.2) as in en-US
fn to_locale_string(realm: &mut Realm, args: Args) -> Completion {
    let cell = this_bigint(realm, args, "toLocaleString")?;
    let text = realm.bigint_to_text(cell, 10)?;
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let mut out = String::from(sign);
    for (i, digit) in digits.char_indices() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    realm.string_value(&out)
}

/// BigInt.prototype.toString (21.2.3.3)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    let cell = this_bigint(realm, args, "toString")?;
    let radix = args.get(realm, 0);
    let radix = if radix.is_undefined() { 10.0 } else { realm.to_integer(radix)? };
    if !(2.0..=36.0).contains(&radix) {
        return Err(realm.throw_range("toString() radix argument must be between 2 and 36"));
    }
    let text = realm.bigint_to_text(cell, radix as u32)?;
    realm.string_value(&text)
}

/// BigInt.prototype.valueOf (21.2.3.4)
fn value_of(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::bigint(this_bigint(realm, args, "valueOf")?))
}
