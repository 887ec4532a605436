//! Numbers and text: what conversions need, from the pure library.

use crate::strings::StrView;

/// Number::toString with radix 10 (6.1.6.1.20).
pub fn number_to_text(n: f64) -> String {
    crate::pure::number_format::to_string(n)
}

/// StringToNumber (7.1.4.1.1).
pub fn string_to_number(view: StrView) -> f64 {
    match view {
        StrView::Latin1(units) => crate::pure::number_parse::string_to_number(units),
        StrView::Utf16(units) => crate::pure::number_parse::string_to_number(units),
    }
}
