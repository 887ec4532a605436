//! Module namespace exotic objects (ECMA-262 10.4.6). The cell's own shape has just Symbol.toStringTag; exports
//! are looked up in the module's NAMES map, whose entries are in code-unit order.

use super::*;
use crate::names::Sym;
use crate::objects::{Descriptor, Key, OwnProperty};
use crate::shapes::{ENUMERABLE, WRITABLE};

impl Realm {
    /// GetModuleNamespace (16.2.1.11)
    pub(super) fn module_namespace(&mut self, module: Ref) -> Completion<Ref> {
        if let Some(namespace) = self.field(module, NAMESPACE).to_object_ref() {
            return Ok(namespace);
        }
        let names = self.new_collection(Kind::Set, Ref::NULL)?;
        self.exported_names(module, names, true, &mut Vec::new())?;
        let table = self.cage.r(names, 16);
        let mut sorted: Vec<u32> =
            (0..self.cage.u32(table, 8)).map(|entry| self.map_key(table, entry).as_ref().0).collect();
        sorted.sort_by(|&a, &b| self.view_flat(Ref(a)).compare(self.view_flat(Ref(b))));
        // The names stay alive in `names` while the map is filled.
        let map = self.new_collection(Kind::Map, Ref::NULL)?;
        for name in sorted {
            let name = Value::string(Ref(name));
            let resolution = self.resolve_export(module, name, &mut Vec::new())?;
            let reference = self.binding_reference(resolution)?;
            if reference.is_cell() {
                self.map_set(map, name, reference)?;
            }
        }
        std::hint::black_box(names);
        let namespace = self.new_object_of(Kind::ModuleNamespace, Ref::NULL)?;
        self.cage.init(namespace.0 + 16, module.0);
        let tag = self.intern_str("Module")?;
        self.add_property(namespace, self.symbol(Sym::ToStringTag), Value::string(tag), 0)?;
        self.restrict_shape(namespace, 7, 7)?;
        self.set_field(module, NAMES, Value::object(map));
        self.set_field(module, NAMESPACE, Value::object(namespace));
        Ok(namespace)
    }

    /// GetExportedNames (16.2.1.7.2.1), into a Set.
    fn exported_names(
        &mut self,
        module: Ref,
        names: Ref,
        with_default: bool,
        visited: &mut Vec<u32>,
    ) -> Completion<()> {
        self.check_native_stack()?;
        if visited.contains(&module.0) {
            return Ok(());
        }
        visited.push(module.0);
        for i in 0..self.rows(module, EXPORTS, 4) {
            self.charge(1)?;
            let name = self.item(module, EXPORTS, 4 * i + 1);
            if name.is_string() && (with_default || name != self.name_value(Name::default)) {
                self.map_set(names, name, Value::UNDEFINED)?;
            }
        }
        for i in 0..self.rows(module, EXPORTS, 4) {
            if self.item(module, EXPORTS, 4 * i).as_int() == STAR {
                let number = self.item(module, EXPORTS, 4 * i + 2).as_int() as u32;
                if let Some(imported) = self.requested(module, number) {
                    self.exported_names(imported, names, false, visited)?;
                }
            }
        }
        Ok(())
    }

    /// What stands for export `name`, if there is one.
    fn namespace_entry(&mut self, namespace: Ref, name: Ref) -> Completion<Option<Value>> {
        if self.cage.is(name, Kind::Symbol) {
            return Ok(None);
        }
        let module = self.cage.r(namespace, 16);
        let Some(map) = self.field(module, NAMES).to_object_ref() else { return Ok(None) };
        let table = self.cage.r(map, 16);
        Ok(self.map_find(table, Value::string(name))?.map(|entry| self.map_value(table, entry)))
    }

    /// A key as an interned string or symbol.
    fn namespace_key(&mut self, key: Key) -> Completion<Ref> {
        match key {
            Key::Name(name) => Ok(name),
            Key::Index(index) => {
                let string = self.index_string(index)?;
                self.intern(string)
            }
        }
    }

    /// [[GetOwnProperty]] (10.4.6.4) of a name that the shape lacks.
    pub(crate) fn namespace_own_property(&mut self, namespace: Ref, name: Ref) -> Completion<Option<OwnProperty>> {
        let Some(entry) = self.namespace_entry(namespace, name)? else { return Ok(None) };
        let cell = entry.as_ref();
        let value = if self.cage.is(cell, Kind::Module) {
            Value::object(self.module_namespace(cell)?)
        } else {
            self.read_import(entry, Value::string(name))?
        };
        Ok(Some(OwnProperty { value, attributes: WRITABLE | ENUMERABLE }))
    }

    /// [[HasProperty]] (10.4.6.7)
    pub(crate) fn namespace_has(&mut self, namespace: Ref, key: Key) -> Completion<bool> {
        let name = self.namespace_key(key)?;
        if self.cage.is(name, Kind::Symbol) {
            return Ok(self.shape_lookup(self.shape_of(namespace), name)?.is_some());
        }
        Ok(self.namespace_entry(namespace, name)?.is_some())
    }

    /// [[DefineOwnProperty]] (10.4.6.6)
    pub(crate) fn namespace_define_own_property(
        &mut self,
        namespace: Ref,
        key: Key,
        d: &Descriptor,
    ) -> Completion<bool> {
        let name = self.namespace_key(key)?;
        if self.cage.is(name, Kind::Symbol) {
            return self.ordinary_define_own_property(namespace, key, d);
        }
        let Some(own) = self.namespace_own_property(namespace, name)? else { return Ok(false) };
        let refused =
            d.configurable == Some(true) || d.enumerable == Some(false) || d.is_accessor() || d.writable == Some(false);
        if refused {
            return Ok(false);
        }
        match d.value {
            Some(value) => self.same_value(value, own.value),
            None => Ok(true),
        }
    }

    /// [[Delete]] (10.4.6.10)
    pub(crate) fn namespace_delete(&mut self, namespace: Ref, key: Key) -> Completion<bool> {
        Ok(!self.namespace_has(namespace, key)?)
    }

    /// [[OwnPropertyKeys]] (10.4.6.11)
    pub(crate) fn namespace_own_keys(&mut self, namespace: Ref) -> Completion<Ref> {
        let module = self.cage.r(namespace, 16);
        let map = self.field(module, NAMES).to_object_ref();
        let count = map.map_or(0, |map| self.collection_size(map));
        let list = self.new_values(count + 1, Value::UNDEFINED)?;
        let mut at = 0;
        if let Some(map) = map {
            let table = self.cage.r(map, 16);
            for entry in 0..self.cage.u32(table, 8) {
                let name = self.map_key(table, entry);
                if !name.is_hole() {
                    self.cage.set(list, 8 + 8 * at, name.0);
                    at += 1;
                }
            }
        }
        self.cage.set(list, 8 + 8 * at, Value::symbol(self.symbol(Sym::ToStringTag)).0);
        Ok(list)
    }
}
