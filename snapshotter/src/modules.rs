//! Finding and evaluating module files at build time and for `zjs-snapshot run`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zjs_engine::bytecode::template::SourceKind;
use zjs_engine::realm::{Completion, Realm};
use zjs_engine::value::Value;

/// A file of a CommonJS graph: name, text, and which file each of its specifiers names.
type CommonJsFile = (String, String, Vec<(String, String)>);

/// Resolves relative specifiers from the folder of an entry file. Module names are paths relative to that
/// folder, so that a snapshot does not depend on where it was built.
pub struct Resolver {
    root: PathBuf,
}

impl Resolver {
    /// A resolver for the entry at `path`.
    pub fn new(path: &Path) -> Resolver {
        let root = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Resolver { root }
    }

    /// Makes `import` work in `realm`.
    pub fn install(&self, realm: &mut Realm) {
        let root = self.root.clone();
        realm.hooks.module_loader = Some(Arc::new(move |referrer: &str, specifier: &str, _kind: Option<&str>| {
            let (name, path) =
                resolve(&root, referrer, specifier, &["", ".mjs", ".js", ".json", "/index.mjs", "/index.js"])?;
            let source = std::fs::read_to_string(&path).map_err(|e| format!("cannot read {name}: {e}"))?;
            Ok((name, source))
        }));
    }

    /// Evaluates a module graph: the promise of its evaluation.
    ///
    /// # Errors
    /// What linking throws.
    pub fn evaluate_module(&self, realm: &mut Realm, source: &str, name: &str) -> Completion {
        self.install(realm);
        realm.enter(|realm| realm.evaluate_module(source, name))
    }

    /// Turns a rejected evaluation promise into an exception.
    ///
    /// # Errors
    /// The rejection's reason; TypeError for an evaluation that never finishes.
    pub fn check_module(&self, realm: &mut Realm, promise: Value) -> Completion {
        let Some(promise) = promise.to_object_ref() else { return Ok(promise) };
        let (state, result) = realm.promise_state(promise);
        match state {
            zjs_engine::builtins::promise::FULFILLED => Ok(result),
            zjs_engine::builtins::promise::REJECTED => Err(realm.throw(result)),
            _ => Err(realm.throw_type("the module's top-level await never finishes")),
        }
    }

    /// Evaluates a CommonJS module. Its exports become globals: an object's properties under their names, and
    /// the exports themselves as `module.exports` of the global `module`.
    ///
    /// # Errors
    /// What the module throws.
    pub fn evaluate_commonjs(&self, realm: &mut Realm, source: &str, name: &str) -> Completion {
        let mut files = Vec::new();
        self.collect_commonjs(source, name, &mut files);
        realm.evaluate(COMMONJS_PRELUDE, "zjs:commonjs", &SourceKind::Script)?;
        for (file, text, requests) in &files {
            let edges: String = requests.iter().map(|(from, to)| format!("{from:?}: {to:?}, ")).collect();
            let wrapped = format!(
                "__zjs_commonjs.define({file:?}, {{ {edges} }}, function (exports, require, module, __filename, __dirname) {{{text}\n}});"
            );
            realm.evaluate(&wrapped, file, &SourceKind::Script)?;
        }
        realm.evaluate(&format!("__zjs_commonjs.main({name:?});"), "zjs:commonjs", &SourceKind::Script)
    }

    /// The files that `require("./...")` calls with literal arguments reach, dependencies found by text.
    fn collect_commonjs(&self, source: &str, name: &str, files: &mut Vec<CommonJsFile>) {
        if files.iter().any(|(file, _, _)| file == name) {
            return;
        }
        let index = files.len();
        files.push((name.to_string(), source.to_string(), Vec::new()));
        for specifier in required_specifiers(source) {
            let endings = ["", ".js", ".cjs", ".json", "/index.js"];
            if let Ok((resolved, path)) = resolve(&self.root, name, &specifier, &endings)
                && let Ok(text) = std::fs::read_to_string(&path)
            {
                let text = if resolved.ends_with(".json") { format!("module.exports = {text};") } else { text };
                files[index].2.push((specifier, resolved.clone()));
                self.collect_commonjs(&text, &resolved, files);
            }
        }
    }
}

const COMMONJS_PRELUDE: &str = r#"
var module = { exports: {} };
var __zjs_commonjs = (function () {
  var modules = Object.create(null);
  function load(name) {
    var entry = modules[name];
    if (entry.loaded) return entry.module.exports;
    entry.loaded = true;
    entry.body.call(entry.module.exports, entry.module.exports, function require(specifier) {
      var target = entry.edges[specifier];
      if (target === undefined) throw new Error("Cannot find module '" + specifier + "'");
      return load(target);
    }, entry.module, name, ".");
    return entry.module.exports;
  }
  return {
    define: function (name, edges, body) { modules[name] = { edges: edges, body: body, module: { exports: {} }, loaded: false }; },
    main: function (name) {
      var exports = load(name);
      module.exports = exports;
      if (exports !== null && (typeof exports === "object" || typeof exports === "function")) {
        Object.keys(exports).forEach(function (key) { if (!(key in globalThis)) globalThis[key] = exports[key]; });
      }
      return exports;
    }
  };
})();
"#;

/// Literal arguments of `require(...)` calls.
fn required_specifiers(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices("require(") {
        let rest = source[at + "require(".len()..].trim_start();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else { continue };
        if let Some(end) = rest[1..].find(quote) {
            let specifier = rest[1..1 + end].to_string();
            if specifier.starts_with('.') && !found.contains(&specifier) {
                found.push(specifier);
            }
        }
    }
    found
}

/// The module that `specifier` names in `referrer`: its name relative to the root, and its path.
fn resolve(root: &Path, referrer: &str, specifier: &str, endings: &[&str]) -> Result<(String, PathBuf), String> {
    if !specifier.starts_with("./") && !specifier.starts_with("../") && !specifier.starts_with('/') {
        return Err(format!("cannot find module '{specifier}': only relative paths can be imported"));
    }
    let base = Path::new(referrer).parent().unwrap_or(Path::new(""));
    let mut parts: Vec<std::ffi::OsString> = Vec::new();
    for part in base.join(specifier).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if parts.last().is_some_and(|p| p != "..") => {
                parts.pop();
            }
            other => parts.push(other.as_os_str().to_os_string()),
        }
    }
    let relative: PathBuf = parts.iter().collect();
    for ending in endings {
        let name = format!("{}{ending}", relative.display());
        let path = root.join(&name);
        if path.is_file() {
            return Ok((name, path));
        }
    }
    Err(format!("cannot find module '{specifier}' from '{referrer}'"))
}
