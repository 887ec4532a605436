//! Math (ECMA-262 21.3). The functions themselves are in `pure::math`.

use super::*;
use crate::names::Intrinsic;
use crate::pure::{f16, math};

/// Functions of one number: coerce, compute, box.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $function:path;)*) => {
        $($(#[$doc])* fn $name(realm: &mut Realm, args: Args) -> Completion {
            let x = args.get(realm, 0);
            Ok(Value::number($function(realm.to_number(x)?)))
        })*
    };
}

builtin_table! { 16;
    ABS("abs", 1) = abs;
    ACOS("acos", 1) = acos;
    ACOSH("acosh", 1) = acosh;
    ASIN("asin", 1) = asin;
    ASINH("asinh", 1) = asinh;
    ATAN("atan", 1) = atan;
    ATANH("atanh", 1) = atanh;
    ATAN2("atan2", 2) = atan2;
    CBRT("cbrt", 1) = cbrt;
    CEIL("ceil", 1) = ceil;
    CLZ32("clz32", 1) = clz32;
    COS("cos", 1) = cos;
    COSH("cosh", 1) = cosh;
    EXP("exp", 1) = exp;
    EXPM1("expm1", 1) = expm1;
    FLOOR("floor", 1) = floor;
    FROUND("fround", 1) = fround;
    F16ROUND("f16round", 1) = f16round;
    HYPOT("hypot", 2) = hypot;
    IMUL("imul", 2) = imul;
    LOG("log", 1) = log;
    LOG1P("log1p", 1) = log1p;
    LOG10("log10", 1) = log10;
    LOG2("log2", 1) = log2;
    MAX("max", 2) = max;
    MIN("min", 2) = min;
    POW("pow", 2) = pow;
    RANDOM("random", 0) = random;
    ROUND("round", 1) = round;
    SIGN("sign", 1) = sign;
    SIN("sin", 1) = sin;
    SINH("sinh", 1) = sinh;
    SQRT("sqrt", 1) = sqrt;
    SUM_PRECISE("sumPrecise", 1) = sum_precise;
    TAN("tan", 1) = tan;
    TANH("tanh", 1) = tanh;
    TRUNC("trunc", 1) = trunc;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let object = realm.new_plain_prototype()?;
    for (name, value) in [
        ("E", std::f64::consts::E),
        ("LN10", std::f64::consts::LN_10),
        ("LN2", std::f64::consts::LN_2),
        ("LOG10E", std::f64::consts::LOG10_E),
        ("LOG2E", std::f64::consts::LOG2_E),
        ("PI", std::f64::consts::PI),
        ("SQRT1_2", std::f64::consts::FRAC_1_SQRT_2),
        ("SQRT2", std::f64::consts::SQRT_2),
    ] {
        realm.install_constant(object, name, Value::number(value))?;
    }
    realm.install_methods(
        object,
        &[
            ABS,
            ACOS,
            ACOSH,
            ASIN,
            ASINH,
            ATAN,
            ATANH,
            ATAN2,
            CBRT,
            CEIL,
            CLZ32,
            COS,
            COSH,
            EXP,
            EXPM1,
            FLOOR,
            FROUND,
            F16ROUND,
            HYPOT,
            IMUL,
            LOG,
            LOG1P,
            LOG10,
            LOG2,
            MAX,
            MIN,
            POW,
            RANDOM,
            ROUND,
            SIGN,
            SIN,
            SINH,
            SQRT,
            SUM_PRECISE,
            TAN,
            TANH,
            TRUNC,
        ],
    )?;
    realm.install_tag(object, "Math")?;
    realm.set_intrinsic(Intrinsic::Math, Value::object(object));
    realm.install_global("Math", Value::object(object))
}

unary! {
    /// Math.acos (21.3.2.2)
    acos = math::acos;
    /// Math.acosh (21.3.2.3)
    acosh = math::acosh;
    /// Math.asin (21.3.2.4)
    asin = math::asin;
    /// Math.asinh (21.3.2.5)
    asinh = math::asinh;
    /// Math.atan (21.3.2.6)
    atan = math::atan;
    /// Math.atanh (21.3.2.7)
    atanh = math::atanh;
    /// Math.cbrt (21.3.2.9)
    cbrt = math::cbrt;
    /// Math.cos (21.3.2.12)
    cos = math::cos;
    /// Math.cosh (21.3.2.13)
    cosh = math::cosh;
    /// Math.exp (21.3.2.14)
    exp = math::exp;
    /// Math.expm1 (21.3.2.15)
    expm1 = math::expm1;
    /// Math.fround (21.3.2.18)
    fround = math::fround;
    /// Math.f16round (21.3.2.17)
    f16round = f16::f16_round;
    /// Math.log (21.3.2.21)
    log = math::log;
    /// Math.log1p (21.3.2.22)
    log1p = math::log1p;
    /// Math.log10 (21.3.2.23)
    log10 = math::log10;
    /// Math.log2 (21.3.2.24)
    log2 = math::log2;
    /// Math.sign (21.3.2.31)
    sign = math::sign;
    /// Math.sin (21.3.2.32)
    sin = math::sin;
    /// Math.sinh (21.3.2.33)
    sinh = math::sinh;
    /// Math.sqrt (21.3.2.34)
    sqrt = math::sqrt;
    /// Math.tan (21.3.2.35)
    tan = math::tan;
    /// Math.tanh (21.3.2.36)
    tanh = math::tanh;
}

/// Functions that give an int32 back as it is.
macro_rules! rounding {
    ($($(#[$doc:meta])* $name:ident = $function:path;)*) => {
        $($(#[$doc])* fn $name(realm: &mut Realm, args: Args) -> Completion {
            let x = args.get(realm, 0);
            if x.is_int() {
                return Ok(x);
            }
            Ok(Value::number($function(realm.to_number(x)?)))
        })*
    };
}

rounding! {
    /// Math.ceil (21.3.2.10)
    ceil = math::ceil;
    /// Math.floor (21.3.2.16)
    floor = math::floor;
    /// Math.round (21.3.2.28)
    round = math::round;
    /// Math.trunc (21.3.2.37)
    trunc = math::trunc;
}

/// Math.abs (21.3.2.1)
fn abs(realm: &mut Realm, args: Args) -> Completion {
    let x = args.get(realm, 0);
    Ok(Value::number(realm.to_number(x)?.abs()))
}

/// Math.atan2 (21.3.2.8)
fn atan2(realm: &mut Realm, args: Args) -> Completion {
    let (y, x) = (args.get(realm, 0), args.get(realm, 1));
    let y = realm.to_number(y)?;
    let x = realm.to_number(x)?;
    Ok(Value::number(math::atan2(y, x)))
}

/// Math.clz32 (21.3.2.11)
fn clz32(realm: &mut Realm, args: Args) -> Completion {
    let x = args.get(realm, 0);
    Ok(Value::int(math::clz32(realm.to_uint32(x)?) as i32))
}

/// Math.imul (21.3.2.20)
fn imul(realm: &mut Realm, args: Args) -> Completion {
    let (a, b) = (args.get(realm, 0), args.get(realm, 1));
    let a = realm.to_int32(a)?;
    let b = realm.to_int32(b)?;
    Ok(Value::int(a.wrapping_mul(b)))
}

/// All arguments as numbers: every one is converted before the first is looked at.
fn numbers(realm: &mut Realm, args: Args) -> Completion<Vec<f64>> {
    let mut numbers = Vec::with_capacity(args.len());
    for i in 0..args.len() {
        let value = args.get(realm, i);
        numbers.push(realm.to_number(value)?);
    }
    Ok(numbers)
}

/// Math.hypot (21.3.2.19)
fn hypot(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::number(math::hypot(&numbers(realm, args)?)))
}

/// The fold behind max and min, without a list: conversion order is argument order.
fn fold(realm: &mut Realm, args: Args, start: f64, pick: fn(f64, f64) -> f64) -> Completion {
    let mut result = start;
    for i in 0..args.len() {
        let value = args.get(realm, i);
        result = pick(result, realm.to_number(value)?);
    }
    Ok(Value::number(result))
}

/// Math.max (21.3.2.25)
fn max(realm: &mut Realm, args: Args) -> Completion {
    if args.len() == 2 && args.get(realm, 0).is_int() && args.get(realm, 1).is_int() {
        return Ok(Value::int(args.get(realm, 0).as_int().max(args.get(realm, 1).as_int())));
    }
    fold(realm, args, f64::NEG_INFINITY, math::max)
}

/// Math.min (21.3.2.26)
fn min(realm: &mut Realm, args: Args) -> Completion {
    if args.len() == 2 && args.get(realm, 0).is_int() && args.get(realm, 1).is_int() {
        return Ok(Value::int(args.get(realm, 0).as_int().min(args.get(realm, 1).as_int())));
    }
    fold(realm, args, f64::INFINITY, math::min)
}

/// Math.pow (21.3.2.27)
fn pow(realm: &mut Realm, args: Args) -> Completion {
    let (base, exponent) = (args.get(realm, 0), args.get(realm, 1));
    let base = realm.to_number(base)?;
    let exponent = realm.to_number(exponent)?;
    Ok(Value::number(math::pow(base, exponent)))
}

/// Math.random (21.3.2.29)
fn random(realm: &mut Realm, _: Args) -> Completion {
    Ok(Value::number(realm.next_random()))
}

/// Math.sumPrecise (ES2026, proposal-math-sum)
fn sum_precise(realm: &mut Realm, args: Args) -> Completion {
    let items = args.get(realm, 0);
    realm.require_object_coercible(items, "Math.sumPrecise")?;
    let mut sum = math::PreciseSum::default();
    realm.for_each_value(items, |realm, value| {
        if !value.is_number() {
            return Err(realm.throw_type("Math.sumPrecise takes only numbers"));
        }
        sum.add(value.as_number());
        Ok(())
    })?;
    Ok(Value::number(sum.finish()))
}
