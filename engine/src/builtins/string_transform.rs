//! String.prototype: case, padding, trimming, normalisation and the HTML methods (ECMA-262 22.1.3, B.2.2).

use super::string::this_string;
use super::text::TextBuilder;
use super::*;
use crate::pure::unicode::{self, CaseMapped, NormalizationForm};
use crate::strings::{STRING_UNITS_MAX, StrView};

fn case_mapped(realm: &mut Realm, text: Ref, mapped: CaseMapped) -> Completion {
    Ok(Value::string(match mapped {
        CaseMapped::Unchanged => text,
        CaseMapped::Latin1(units) => realm.new_latin1(&units)?,
        CaseMapped::Wide(units) => realm.new_utf16(&units)?,
    }))
}

/// String.prototype.toLowerCase (22.1.3.28)
pub(super) fn to_lower_case(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "toLowerCase")?;
    let mapped = match realm.view(text)? {
        StrView::Latin1(units) => unicode::latin1_to_lower(units),
        StrView::Utf16(units) => CaseMapped::Wide(unicode::to_lower(units)),
    };
    case_mapped(realm, text, mapped)
}

/// String.prototype.toUpperCase (22.1.3.30)
pub(super) fn to_upper_case(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "toUpperCase")?;
    let mapped = match realm.view(text)? {
        StrView::Latin1(units) => unicode::latin1_to_upper(units),
        StrView::Utf16(units) => CaseMapped::Wide(unicode::to_upper(units)),
    };
    case_mapped(realm, text, mapped)
}

/// String.prototype.localeCompare (22.1.3.12)
pub(super) fn locale_compare(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "localeCompare")?;
    let other = args.get(realm, 0);
    let other = realm.to_string(other)?;
    let a = realm.view(text)?;
    let b = realm.view(other)?;
    if a.equals(b) {
        return Ok(Value::int(0));
    }
    Ok(Value::int(crate::pure::collate::compare(&a, &b) as i32))
}

/// String.prototype.normalize (22.1.3.15)
pub(super) fn normalize(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "normalize")?;
    let form = args.get(realm, 0);
    let form = if form.is_undefined() {
        NormalizationForm::Nfc
    } else {
        let form = realm.to_string(form)?;
        match realm.string_text(form)?.as_str() {
            "NFC" => NormalizationForm::Nfc,
            "NFD" => NormalizationForm::Nfd,
            "NFKC" => NormalizationForm::Nfkc,
            "NFKD" => NormalizationForm::Nfkd,
            _ => return Err(realm.throw_range("The normalization form should be one of NFC, NFD, NFKC, NFKD.")),
        }
    };
    let view = realm.view(text)?;
    if let StrView::Latin1(units) = view
        && units.is_ascii()
    {
        return Ok(Value::string(text));
    }
    let units = unicode::normalize(&view, form);
    Ok(Value::string(realm.new_utf16(&units)?))
}

/// String.prototype.isWellFormed (22.1.3.10)
pub(super) fn is_well_formed(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "isWellFormed")?;
    Ok(Value::boolean(match realm.view(text)? {
        StrView::Latin1(_) => true,
        StrView::Utf16(units) => unicode::is_well_formed(units),
    }))
}

/// String.prototype.toWellFormed (22.1.3.31)
pub(super) fn to_well_formed(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "toWellFormed")?;
    match realm.view(text)? {
        StrView::Utf16(units) if !unicode::is_well_formed(units) => {
            let units = unicode::to_well_formed(units);
            Ok(Value::string(realm.new_utf16(&units)?))
        }
        _ => Ok(Value::string(text)),
    }
}

/// StringPaddingBuiltinsImpl (22.1.3.17.1) and StringPad (22.1.3.17.2)
fn pad(realm: &mut Realm, args: Args, at_start: bool) -> Completion {
    let text = this_string(realm, args, if at_start { "padStart" } else { "padEnd" })?;
    let length = f64::from(realm.string_len(text));
    let target = args.get(realm, 0);
    let target = realm.to_length(target)?;
    if target <= length {
        return Ok(Value::string(text));
    }
    let filler = args.get(realm, 1);
    let filler = if filler.is_undefined() { realm.single_unit(b' ') } else { realm.to_string(filler)? };
    let filler = realm.view(filler)?;
    if filler.is_empty() {
        return Ok(Value::string(text));
    }
    if target > f64::from(STRING_UNITS_MAX) {
        return Err(realm.throw_range("Invalid string length"));
    }
    let fill_length = (target - length) as usize;
    realm.charge(fill_length as u32 / 64 + 1)?;
    let mut out = TextBuilder::new();
    if !at_start {
        out.push_string(realm, text)?;
    }
    let mut rest = fill_length;
    while rest >= filler.len() {
        out.push_view(filler);
        rest -= filler.len();
    }
    out.push_view(filler.slice(0, rest));
    if at_start {
        out.push_string(realm, text)?;
    }
    Ok(Value::string(out.finish(realm)?))
}

/// String.prototype.padStart (22.1.3.17)
pub(super) fn pad_start(realm: &mut Realm, args: Args) -> Completion {
    pad(realm, args, true)
}

/// String.prototype.padEnd (22.1.3.16)
pub(super) fn pad_end(realm: &mut Realm, args: Args) -> Completion {
    pad(realm, args, false)
}

/// String.prototype.repeat (22.1.3.18)
pub(super) fn repeat(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "repeat")?;
    let value = args.get(realm, 0);
    let count = realm.to_integer(value)?;
    if count < 0.0 || count.is_infinite() {
        let shown = realm.to_string(value)?;
        let shown = realm.string_text(shown)?;
        return Err(realm.throw_range(&format!("Invalid count value: {shown}")));
    }
    let length = realm.string_len(text);
    if count == 0.0 || length == 0 {
        return Ok(Value::string(realm.names.empty));
    }
    if count == 1.0 {
        return Ok(Value::string(text));
    }
    let total = count * f64::from(length);
    if total > f64::from(STRING_UNITS_MAX) {
        return Err(realm.throw_range("Invalid string length"));
    }
    realm.charge(total as u32 / 64 + 1)?;
    let result = match realm.view(text)? {
        StrView::Latin1(units) => realm.new_latin1(&units.repeat(count as usize))?,
        StrView::Utf16(units) => realm.new_utf16(&units.repeat(count as usize))?,
    };
    Ok(Value::string(result))
}

/// TrimString (22.1.3.32.1)
fn trim_sides(realm: &mut Realm, args: Args, method: &str, at_start: bool, at_end: bool) -> Completion {
    let text = this_string(realm, args, method)?;
    let view = realm.view(text)?;
    let (mut start, mut end) = crate::pure::number_parse::trimmed(&view);
    // For a text of white space only both ends meet somewhere: either side alone empties it.
    if start < end {
        start = if at_start { start } else { 0 };
        end = if at_end { end } else { view.len() };
    }
    Ok(Value::string(realm.substring(text, start as u32, end as u32)?))
}

/// String.prototype.trim (22.1.3.32)
pub(super) fn trim(realm: &mut Realm, args: Args) -> Completion {
    trim_sides(realm, args, "trim", true, true)
}

/// String.prototype.trimStart (22.1.3.34)
pub(super) fn trim_start(realm: &mut Realm, args: Args) -> Completion {
    trim_sides(realm, args, "trimStart", true, false)
}

/// String.prototype.trimEnd (22.1.3.33)
pub(super) fn trim_end(realm: &mut Realm, args: Args) -> Completion {
    trim_sides(realm, args, "trimEnd", false, true)
}

/// CreateHTML (B.2.2.2.1)
fn create_html(realm: &mut Realm, args: Args, method: &str, tag: &str, attribute: &str) -> Completion {
    let text = this_string(realm, args, method)?;
    let mut out = TextBuilder::new();
    out.push_ascii("<");
    out.push_ascii(tag);
    if !attribute.is_empty() {
        let value = args.get(realm, 0);
        let value = realm.to_string(value)?;
        out.push_ascii(" ");
        out.push_ascii(attribute);
        out.push_ascii("=\"");
        for unit in realm.view(value)?.units() {
            if unit == u16::from(b'"') {
                out.push_ascii("&quot;");
            } else {
                out.push(unit);
            }
        }
        out.push_ascii("\"");
    }
    out.push_ascii(">");
    out.push_string(realm, text)?;
    out.push_ascii("</");
    out.push_ascii(tag);
    out.push_ascii(">");
    Ok(Value::string(out.finish(realm)?))
}

/// The methods of Annex B that wrap a string in a tag.
macro_rules! html_methods {
    ($($(#[$doc:meta])* $name:ident = $tag:literal, $attribute:literal;)*) => {
        $($(#[$doc])* pub(super) fn $name(realm: &mut Realm, args: Args) -> Completion {
            create_html(realm, args, stringify!($name), $tag, $attribute)
        })*
    };
}

html_methods! {
    /// String.prototype.anchor (B.2.2.2)
    anchor = "a", "name";
    /// String.prototype.big (B.2.2.3)
    big = "big", "";
    /// String.prototype.blink (B.2.2.4)
    blink = "blink", "";
    /// String.prototype.bold (B.2.2.5)
    bold = "b", "";
    /// String.prototype.fixed (B.2.2.6)
    fixed = "tt", "";
    /// String.prototype.fontcolor (B.2.2.7)
    fontcolor = "font", "color";
    /// String.prototype.fontsize (B.2.2.8)
    fontsize = "font", "size";
    /// String.prototype.italics (B.2.2.9)
    italics = "i", "";
    /// String.prototype.link (B.2.2.10)
    link = "a", "href";
    /// String.prototype.small (B.2.2.11)
    small = "small", "";
    /// String.prototype.strike (B.2.2.12)
    strike = "strike", "";
    /// String.prototype.sub (B.2.2.13)
    sub = "sub", "";
    /// String.prototype.sup (B.2.2.14)
    sup = "sup", "";
}
