//! console: what libraries expect to find; output goes through the host function `print`, if there is one.

use super::*;
use crate::names::Intrinsic;

builtin_table! { 12;
    LOG("log", 0) = log;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let console = realm.new_object()?;
    for name in ["log", "info", "warn", "error", "debug", "trace"] {
        let key = realm.key(name)?;
        realm.install_method_at(console, key, LOG)?;
    }
    realm.set_intrinsic(Intrinsic::Console, Value::object(console));
    realm.install_global("console", Value::object(console))
}

fn log(realm: &mut Realm, args: Args) -> Completion {
    let global = realm.global();
    let key = realm.key("print")?;
    let print = realm.get(global, key)?;
    if realm.is_callable(print) {
        let rest = args.rest(realm, 0);
        realm.call(print, Value::UNDEFINED, &rest)?;
    }
    Ok(Value::UNDEFINED)
}
