//! Type conversion and comparison (ECMA-262 7.1 and 7.2).

use crate::cage::Ref;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// Preferred type of ToPrimitive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hint {
    Default,
    Number,
    String,
}

/// Largest integer of ToLength.
pub const LENGTH_MAX: f64 = 9_007_199_254_740_991.0;

/// ToInt32 of a double (7.1.6).
#[inline]
pub fn double_to_int32(n: f64) -> i32 {
    let i = n as i32;
    if f64::from(i) == n {
        return i;
    }
    double_to_int32_slow(n)
}

fn double_to_int32_slow(n: f64) -> i32 {
    if !n.is_finite() {
        return 0;
    }
    if n.abs() < 9.2e18 {
        return n as i64 as i32;
    }
    let bits = n.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i32 - 1075;
    if exponent >= 32 {
        return 0;
    }
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let magnitude = if exponent >= 0 { (mantissa << exponent) as u32 } else { (mantissa >> -exponent) as u32 };
    let signed = magnitude as i32;
    if n < 0.0 { signed.wrapping_neg() } else { signed }
}

impl Realm {
    /// ToPrimitive (7.1.1).
    ///
    /// # Errors
    /// TypeError; whatever the methods throw.
    pub fn to_primitive(&mut self, value: Value, hint: Hint) -> Completion {
        let Some(object) = value.to_object_ref() else {
            // No script sees internal cells, but a forged image may hand one out: conversions must end.
            if value.is_cell() || value.is_hole() {
                return Err(self.throw_type("not a JavaScript value"));
            }
            return Ok(value);
        };
        self.check_native_stack()?;
        let key = Key::Name(self.symbol(Sym::ToPrimitive));
        let exotic = self.get_method(value, key)?;
        if !exotic.is_undefined() {
            let hint = match hint {
                Hint::Default => Name::default,
                Hint::Number => Name::number,
                Hint::String => Name::string,
            };
            let result = self.call(exotic, value, &[self.name_value(hint)])?;
            if !result.is_object() {
                return Ok(result);
            }
            return Err(self.throw_type("Cannot convert object to primitive value"));
        }
        let order =
            if hint == Hint::String { [Name::to_string, Name::value_of] } else { [Name::value_of, Name::to_string] };
        for name in order {
            let method = self.get_name(object, name)?;
            if self.is_callable(method) {
                let result = self.call(method, value, &[])?;
                if !result.is_object() {
                    return Ok(result);
                }
            }
        }
        Err(self.throw_type("Cannot convert object to primitive value"))
    }

    /// ToBoolean (7.1.2).
    #[inline]
    pub fn to_boolean(&self, value: Value) -> bool {
        if value.is_boolean() {
            return value.is_true();
        }
        if value.is_int() {
            return value.as_int() != 0;
        }
        if value.is_object() {
            return true;
        }
        if value.is_string() {
            return self.string_len(value.as_ref()) != 0;
        }
        if value.is_double() {
            let n = value.as_double();
            return !(n == 0.0 || n.is_nan());
        }
        if value.is_bigint() {
            return self.cage.u32(value.as_ref(), 4) != 0;
        }
        value.is_symbol()
    }

    /// ToNumeric (7.1.3): a number or BigInt value.
    ///
    /// # Errors
    /// TypeError for symbols; whatever conversion throws.
    pub fn to_numeric(&mut self, value: Value) -> Completion {
        if value.is_number() {
            return Ok(value);
        }
        let primitive = self.to_primitive(value, Hint::Number)?;
        if primitive.is_bigint() {
            return Ok(primitive);
        }
        Ok(Value::number(self.to_number(primitive)?))
    }

    /// ToNumber (7.1.4).
    ///
    /// # Errors
    /// TypeError for symbols and BigInts; whatever conversion throws.
    #[inline]
    pub fn to_number(&mut self, value: Value) -> Completion<f64> {
        if value.is_number() {
            return Ok(value.as_number());
        }
        self.to_number_slow(value)
    }

    #[inline(never)]
    fn to_number_slow(&mut self, value: Value) -> Completion<f64> {
        if value.is_undefined() {
            return Ok(f64::NAN);
        }
        if value.is_null() {
            return Ok(0.0);
        }
        if value.is_boolean() {
            return Ok(f64::from(u8::from(value.is_true())));
        }
        if value.is_string() {
            let string = value.as_ref();
            if self.cage.flags(string) & crate::strings::INTERNED != 0 {
                let index = self.cage.u32(string, 12);
                if index != u32::MAX {
                    return Ok(f64::from(index));
                }
            }
            let view = self.view(string)?;
            return Ok(crate::builtins::number_support::string_to_number(view));
        }
        if value.is_symbol() {
            return Err(self.throw_type("Cannot convert a Symbol value to a number"));
        }
        if value.is_bigint() {
            return Err(self.throw_type("Cannot convert a BigInt value to a number"));
        }
        let primitive = self.to_primitive(value, Hint::Number)?;
        self.to_number(primitive)
    }

    /// ToIntegerOrInfinity (7.1.5).
    ///
    /// # Errors
    /// As `to_number`.
    #[inline]
    pub fn to_integer(&mut self, value: Value) -> Completion<f64> {
        if value.is_int() {
            return Ok(f64::from(value.as_int()));
        }
        let n = self.to_number(value)?;
        Ok(if n.is_nan() { 0.0 } else { n.trunc() + 0.0 })
    }

    /// ToInt32 (7.1.6).
    ///
    /// # Errors
    /// As `to_number`.
    #[inline]
    pub fn to_int32(&mut self, value: Value) -> Completion<i32> {
        if value.is_int() {
            return Ok(value.as_int());
        }
        Ok(double_to_int32(self.to_number(value)?))
    }

    /// ToUint32 (7.1.7).
    ///
    /// # Errors
    /// As `to_number`.
    pub fn to_uint32(&mut self, value: Value) -> Completion<u32> {
        Ok(self.to_int32(value)? as u32)
    }

    /// ToLength (7.1.20).
    ///
    /// # Errors
    /// As `to_number`.
    pub fn to_length(&mut self, value: Value) -> Completion<f64> {
        Ok(self.to_integer(value)?.clamp(0.0, LENGTH_MAX))
    }

    /// ToIndex (7.1.22).
    ///
    /// # Errors
    /// RangeError.
    pub fn to_index(&mut self, value: Value) -> Completion<f64> {
        if value.is_undefined() {
            return Ok(0.0);
        }
        let n = self.to_integer(value)?;
        if !(0.0..=LENGTH_MAX).contains(&n) {
            return Err(self.throw_range("Invalid index or length"));
        }
        Ok(n)
    }

    /// LengthOfArrayLike (7.3.18).
    ///
    /// # Errors
    /// Whatever reading or converting `length` throws.
    pub fn length_of(&mut self, object: Ref) -> Completion<f64> {
        if self.cage.is(object, Kind::Array) {
            return Ok(f64::from(self.cage.u32(object, 16)));
        }
        let length = self.get_name(object, Name::length)?;
        self.to_length(length)
    }

    /// ToString (7.1.17): a string cell.
    ///
    /// # Errors
    /// TypeError for symbols; whatever conversion throws.
    #[inline]
    pub fn to_string(&mut self, value: Value) -> Completion<Ref> {
        if value.is_string() {
            return Ok(value.as_ref());
        }
        self.to_string_slow(value)
    }

    #[inline(never)]
    fn to_string_slow(&mut self, value: Value) -> Completion<Ref> {
        if value.is_int() {
            return self.int_to_string(value.as_int());
        }
        if value.is_double() {
            let text = crate::builtins::number_support::number_to_text(value.as_double());
            return self.new_string(&text);
        }
        if value.is_object() {
            let primitive = self.to_primitive(value, Hint::String)?;
            return self.to_string(primitive);
        }
        if value.is_symbol() {
            return Err(self.throw_type("Cannot convert a Symbol value to a string"));
        }
        if value.is_bigint() {
            let text = self.bigint_to_text(value.as_ref(), 10)?;
            return self.new_string(&text);
        }
        Ok(match value {
            Value::UNDEFINED => self.name(Name::undefined),
            Value::NULL => self.name(Name::null),
            Value::TRUE => self.name(Name::true_),
            Value::FALSE => self.name(Name::false_),
            _ => self.names.empty,
        })
    }

    fn int_to_string(&mut self, n: i32) -> Completion<Ref> {
        if (0..10).contains(&n) {
            return Ok(self.single_unit(b'0' + n as u8));
        }
        let mut buffer = [0u8; 11];
        let mut at = buffer.len();
        let mut rest = n.unsigned_abs();
        while rest > 0 {
            at -= 1;
            buffer[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if n < 0 {
            at -= 1;
            buffer[at] = b'-';
        }
        self.new_latin1_cell(&buffer[at..])
    }

    /// ToObject (7.1.18).
    ///
    /// # Errors
    /// TypeError for undefined and null.
    pub fn to_object(&mut self, value: Value) -> Completion<Ref> {
        if let Some(object) = value.to_object_ref() {
            return Ok(object);
        }
        let Some(prototype) = self.primitive_prototype(value) else {
            return Err(self.throw_type("Cannot convert undefined or null to object"));
        };
        self.new_primitive_object(value, prototype)
    }

    /// A Boolean, Number, String, Symbol or BigInt object.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_primitive_object(&mut self, value: Value, prototype: Ref) -> Completion<Ref> {
        let object = self.new_object_of(Kind::PrimitiveObject, prototype)?;
        self.cage.set(object, 16, value.0);
        Ok(object)
    }

    /// RequireObjectCoercible (7.2.1).
    ///
    /// # Errors
    /// TypeError naming `what`.
    pub fn require_object_coercible(&mut self, value: Value, what: &str) -> Completion<()> {
        if value.is_nullish() {
            return Err(self.throw_type(&format!("{what} called on null or undefined")));
        }
        Ok(())
    }

    /// SameValue (7.2.10).
    ///
    /// # Errors
    /// Out of memory while flattening strings.
    pub fn same_value(&mut self, a: Value, b: Value) -> Completion<bool> {
        if a.is_number() && b.is_number() {
            let (x, y) = (a.as_number(), b.as_number());
            return Ok(if x == y {
                x != 0.0 || x.is_sign_negative() == y.is_sign_negative()
            } else {
                x.is_nan() && y.is_nan()
            });
        }
        self.is_strictly_equal(a, b)
    }

    /// SameValueZero (7.2.11).
    ///
    /// # Errors
    /// Out of memory while flattening strings.
    pub fn same_value_zero(&mut self, a: Value, b: Value) -> Completion<bool> {
        if a.is_number() && b.is_number() {
            let (x, y) = (a.as_number(), b.as_number());
            return Ok(x == y || (x.is_nan() && y.is_nan()));
        }
        self.is_strictly_equal(a, b)
    }

    /// IsStrictlyEqual (7.2.14).
    ///
    /// # Errors
    /// Out of memory while flattening strings.
    #[inline]
    pub fn is_strictly_equal(&mut self, a: Value, b: Value) -> Completion<bool> {
        if a.is_number() && b.is_number() {
            return Ok(a.as_number() == b.as_number());
        }
        if a == b {
            return Ok(true);
        }
        if a.is_string() && b.is_string() {
            return self.strings_equal(a.as_ref(), b.as_ref());
        }
        if a.is_bigint() && b.is_bigint() {
            return Ok(self.bigint_cells_equal(a.as_ref(), b.as_ref()));
        }
        Ok(false)
    }

    /// IsLooselyEqual (7.2.13).
    ///
    /// # Errors
    /// Whatever conversion throws.
    pub fn is_loosely_equal(&mut self, a: Value, b: Value) -> Completion<bool> {
        let (mut a, mut b) = (a, b);
        loop {
            let same_type = a.is_number() && b.is_number() || a.tag() == b.tag() && !a.is_double();
            if same_type {
                if a.is_nullish() && b.is_nullish() {
                    return Ok(true);
                }
                return self.is_strictly_equal(a, b);
            }
            if a.is_nullish() || b.is_nullish() {
                return Ok(a.is_nullish() && b.is_nullish());
            }
            if a.is_boolean() {
                a = Value::int(i32::from(a.is_true()));
            } else if b.is_boolean() {
                b = Value::int(i32::from(b.is_true()));
            } else if a.is_object() {
                a = self.to_primitive(a, Hint::Default)?;
            } else if b.is_object() {
                b = self.to_primitive(b, Hint::Default)?;
            } else if a.is_symbol() || b.is_symbol() {
                return Ok(false);
            } else if a.is_bigint() || b.is_bigint() {
                return self.bigint_loosely_equal(a, b);
            } else {
                let (x, y) = (self.to_number(a)?, self.to_number(b)?);
                return Ok(x == y);
            }
        }
    }

    /// typeof (13.5.3).
    pub fn type_of(&self, value: Value) -> Name {
        if value.is_number() {
            Name::number
        } else if value.is_string() {
            Name::string
        } else if value.is_undefined() {
            Name::undefined
        } else if value.is_boolean() {
            Name::boolean
        } else if value.is_symbol() {
            Name::symbol
        } else if value.is_bigint() {
            Name::bigint
        } else if self.is_callable(value) {
            Name::function
        } else {
            Name::object
        }
    }

    /// SpeciesConstructor (7.3.22).
    ///
    /// # Errors
    /// TypeError where `constructor` or species is unusable.
    pub fn species_constructor(&mut self, object: Ref, default: Intrinsic) -> Completion {
        let default = self.intrinsic_value(default);
        let constructor = self.get_name(object, Name::constructor)?;
        if constructor.is_undefined() {
            return Ok(default);
        }
        let Some(function) = constructor.to_object_ref() else {
            return Err(self.throw_type("The .constructor property is not an object"));
        };
        let key = Key::Name(self.symbol(Sym::Species));
        let species = self.get(function, key)?;
        if species.is_nullish() {
            return Ok(default);
        }
        if self.is_constructor(species) {
            return Ok(species);
        }
        Err(self.throw_type("object.constructor[Symbol.species] is not a constructor"))
    }
}
