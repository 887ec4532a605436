//! What is reachable from the realm record, in breadth-first order of fields, and where each cell goes.

use std::collections::HashMap;
use std::fmt;

use zjs_engine::bytecode::template::{JsStr, Latin1};
use zjs_engine::cage::{IMAGE_START, Ref};
use zjs_engine::kinds::{Kind, Place, Tail};
use zjs_engine::realm::Realm;
use zjs_engine::shapes::{ACCESSOR, DICTIONARY, table};
use zjs_engine::strings::StrView;
use zjs_engine::value::Value;

use super::FreezeError;

/// Shapes with more properties get a table in the image.
pub(super) const CHAIN_WALK_MAX: u32 = 8;
/// Shapes with more properties do not keep their ancestors: they are rarely rebuilt property by property.
pub(super) const ANCESTORS_MAX: u32 = 32;

/// Where an item of the image comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Source {
    /// A cell of the realm.
    Cell(Ref),
    /// The ready-built table of an ordinary shape.
    ShapeTable(Ref),
    Intern,
    Transitions,
    Roots,
}

/// One object that cannot be frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Path from the global object.
    pub path: String,
    pub reason: String,
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.reason, self.remedy)
    }
}

struct Item {
    source: Source,
    /// Item through which this one was found first.
    parent: u32,
    frozen: bool,
    address: Ref,
}

/// The reachable graph. Indices are in discovery order.
pub(crate) struct Graph {
    items: Vec<Item>,
    index: HashMap<Source, u32>,
    strings: HashMap<JsStr, u32>,
    /// Interned string item per string cell (several cells may have the same content).
    string_items: HashMap<Ref, u32>,
    template_numbers: HashMap<u32, u32>,
    host_functions: Vec<(String, u32)>,
    /// Rows (four words each) of the transition and root tables, addresses filled in later.
    pub(super) transition_rows: Vec<[u32; 4]>,
    pub(super) root_rows: Vec<[u32; 4]>,
}

impl Graph {
    pub(super) fn walk(realm: &mut Realm) -> Result<Graph, FreezeError> {
        let mut graph = Graph {
            items: Vec::new(),
            index: HashMap::new(),
            strings: HashMap::new(),
            string_items: HashMap::new(),
            template_numbers: HashMap::new(),
            host_functions: Vec::new(),
            transition_rows: Vec::new(),
            root_rows: Vec::new(),
        };
        graph.reach(realm, realm.realm_record(), 0);
        let mut refusals = Vec::new();
        let mut next = 0;
        while next < graph.items.len() {
            graph.expand(realm, next, &mut refusals);
            next += 1;
        }
        if !refusals.is_empty() {
            return Err(FreezeError::Refused(refusals));
        }
        graph.collect_shape_facts(realm);
        for source in [Source::Intern, Source::Transitions, Source::Roots] {
            graph.add(source, 0, true);
        }
        Ok(graph)
    }

    fn add(&mut self, source: Source, parent: u32, frozen: bool) -> u32 {
        let id = self.items.len() as u32;
        self.items.push(Item { source, parent, frozen, address: Ref::NULL });
        self.index.insert(source, id);
        id
    }

    fn reach(&mut self, realm: &mut Realm, cell: Ref, parent: u32) {
        if cell.is_null() || self.index.contains_key(&Source::Cell(cell)) || self.string_items.contains_key(&cell) {
            return;
        }
        let kind = realm.cage.kind(cell);
        if matches!(kind, Kind::String8 | Kind::String16 | Kind::Rope | Kind::Slice) {
            let content = string_content(realm, cell);
            let id = match self.strings.get(&content) {
                Some(&id) => id,
                None => {
                    let id = self.add(Source::Cell(cell), parent, true);
                    self.strings.insert(content, id);
                    id
                }
            };
            self.string_items.insert(cell, id);
            return;
        }
        let frozen = match kind {
            Kind::Shape => realm.cage.flags(cell) & DICTIONARY == 0,
            // Only dictionaries reach their tables through this path.
            Kind::PropertyTable => false,
            _ => kind.info().place == Place::Ro,
        };
        let id = self.add(Source::Cell(cell), parent, frozen);
        if kind == Kind::Template {
            let number = self.template_numbers.len() as u32;
            self.template_numbers.insert(id, number);
        }
    }

    fn reach_value(&mut self, realm: &mut Realm, value: Value, parent: u32) {
        if value.is_ref() {
            self.reach(realm, value.as_ref(), parent);
        }
    }

    fn expand(&mut self, realm: &mut Realm, id: usize, refusals: &mut Vec<Refusal>) {
        let Source::Cell(cell) = self.items[id].source else { return };
        let parent = id as u32;
        let cage = realm.cage;
        let kind = cage.kind(cell);
        match kind {
            Kind::String8 | Kind::String16 | Kind::Rope | Kind::Slice => return,
            Kind::Shape if cage.flags(cell) & DICTIONARY == 0 => return self.expand_shape(realm, cell, parent),
            Kind::HostFunction => {
                let name = cage.r(cell, 24);
                let name = realm.view_flat(name).to_text();
                let length_key = realm.key_for(zjs_engine::names::Name::length);
                let arity = realm
                    .get_own_quiet(cell, length_key)
                    .map_or(0, |p| if p.value.is_int() { p.value.as_int() as u32 } else { 0 });
                if !self.host_functions.iter().any(|(n, _)| *n == name) {
                    self.host_functions.push((name, arity));
                }
            }
            Kind::HostObject => refusals.push(Refusal {
                path: self.path(realm, id),
                reason: "an object of the embedder has no way to be restored".into(),
                remedy: "create it after the snapshot is loaded".into(),
            }),
            _ if kind.info().place == Place::Never => refusals.push(Refusal {
                path: self.path(realm, id),
                reason: format!("a cell of kind {} cannot be in a snapshot", kind.info().name),
                remedy: "report this as a bug of zjs".into(),
            }),
            _ => {}
        }
        let info = kind.info();
        for &at in info.refs {
            self.reach(realm, cage.r(cell, at), parent);
        }
        for &at in info.values {
            self.reach_value(realm, Value(cage.get(cell, at)), parent);
        }
        let fixed = info.fixed_bytes;
        match info.tail {
            Tail::Values(_) | Tail::Inline => {
                let used = match kind {
                    Kind::ElementsValues => cage.u32(cell, 8),
                    _ => cage.tail_count(cell, info.tail),
                };
                for i in 0..used {
                    self.reach_value(realm, Value(cage.get(cell, fixed + 8 * i)), parent);
                }
            }
            Tail::Refs(at) => {
                for i in 0..cage.u32(cell, at) {
                    self.reach(realm, cage.r(cell, fixed + 4 * i), parent);
                }
            }
            Tail::Sparse => {
                for i in 0..cage.u32(cell, 8) {
                    self.reach_value(realm, Value(cage.get(cell, fixed + 16 * i + 8)), parent);
                }
            }
            Tail::PropertyTable => {
                for (key, _) in table::entries(cage, cell) {
                    self.reach(realm, key, parent);
                }
            }
            Tail::MapTable => {
                for i in 0..cage.u32(cell, 8) {
                    self.reach_value(realm, Value(cage.get(cell, fixed + 16 * i)), parent);
                    self.reach_value(realm, Value(cage.get(cell, fixed + 16 * i + 8)), parent);
                }
            }
            Tail::None | Tail::Bytes(_) | Tail::Units16(_) | Tail::Words32(_) | Tail::Words64(_) | Tail::Caches(_) => {}
        }
    }

    fn expand_shape(&mut self, realm: &mut Realm, shape: Ref, parent: u32) {
        let cage = realm.cage;
        let count = cage.u32(shape, 24);
        if keeps_ancestors(realm, shape) {
            self.reach(realm, cage.r(shape, 4), parent);
            self.reach(realm, cage.r(shape, 8), parent);
        }
        self.reach(realm, cage.r(shape, 16), parent);
        self.reach(realm, cage.r(shape, 32), parent);
        if has_table(realm, shape) && !self.index.contains_key(&Source::ShapeTable(shape)) {
            for (key, _) in realm.shape_properties(shape) {
                self.reach(realm, key, parent);
            }
            self.add(Source::ShapeTable(shape), parent, true);
        }
        debug_assert!(count < 1 << 24);
    }

    /// Transitions and roots whose members are all in the image, in a fixed order.
    fn collect_shape_facts(&mut self, realm: &mut Realm) {
        let mut transitions: Vec<[u32; 4]> =
            realm.shape_overlay().transitions().map(|((a, b, c), child)| [a, b, c, child]).collect();
        let mut roots: Vec<[u32; 4]> = realm.shape_overlay().roots().map(|((a, b), shape)| [a, b, 0, shape]).collect();
        transitions.extend(frozen_rows(realm, realm.frozen.transition_table));
        roots.extend(frozen_rows(realm, realm.frozen.root_table));
        let id = |r: u32| self.id_of(Ref(r));
        let mut kept: Vec<[u32; 4]> = transitions
            .into_iter()
            .filter_map(|[shape, key, attributes, child]| {
                let key = if key == 0 { u32::MAX } else { id(key)? };
                Some([id(shape)?, key, attributes, id(child)?])
            })
            .collect();
        kept.sort_unstable();
        kept.dedup();
        let mut kept_roots: Vec<[u32; 4]> = roots
            .into_iter()
            .filter_map(|[prototype, layout, _, shape]| {
                let prototype = if prototype == 0 { u32::MAX } else { id(prototype)? };
                let shape = if shape == 0 { u32::MAX } else { id(shape)? };
                Some([prototype, layout, 0, shape])
            })
            .collect();
        kept_roots.sort_unstable();
        kept_roots.dedup();
        self.transition_rows = kept;
        self.root_rows = kept_roots;
    }

    fn id_of(&self, cell: Ref) -> Option<u32> {
        self.index.get(&Source::Cell(cell)).or_else(|| self.string_items.get(&cell)).copied()
    }

    /// Places every item; writable ones are relative to the start of their part until `shift_writable`.
    pub(super) fn assign_addresses(&mut self, realm: &mut Realm) -> (usize, usize) {
        let (mut ro, mut rw) = (0usize, 0usize);
        for id in 0..self.items.len() {
            let bytes = super::encode::item_bytes(realm, self, id).next_multiple_of(8);
            let at = if self.items[id].frozen { &mut ro } else { &mut rw };
            self.items[id].address = Ref(*at as u32);
            *at += bytes;
        }
        (ro, rw)
    }

    pub(super) fn shift_writable(&mut self, writable_start: u32) {
        for item in &mut self.items {
            item.address.0 += if item.frozen { IMAGE_START } else { writable_start };
        }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn source(&self, id: usize) -> Source {
        self.items[id].source
    }

    pub(super) fn address(&self, id: usize) -> Ref {
        self.items[id].address
    }

    /// Image address of a cell of the realm.
    pub(super) fn address_of(&self, cell: Ref) -> Option<Ref> {
        self.id_of(cell).map(|id| self.items[id as usize].address)
    }

    pub(super) fn special_address(&self, source: Source) -> Ref {
        self.index.get(&source).map_or(Ref::NULL, |&id| self.items[id as usize].address)
    }

    pub(super) fn template_number(&self, id: usize) -> u32 {
        self.template_numbers.get(&(id as u32)).copied().unwrap_or(0)
    }

    pub(super) fn host_functions(&self) -> &[(String, u32)] {
        &self.host_functions
    }

    /// String items in image order.
    pub(super) fn string_ids(&self, realm: &Realm) -> Vec<usize> {
        (0..self.items.len())
            .filter(|&id| match self.items[id].source {
                Source::Cell(cell) => {
                    matches!(realm.cage.kind(cell), Kind::String8 | Kind::String16 | Kind::Rope | Kind::Slice)
                }
                _ => false,
            })
            .collect()
    }

    /// How an item is reached from the global object or the realm record, for messages.
    fn path(&self, realm: &mut Realm, id: usize) -> String {
        let mut parts = Vec::new();
        let mut at = id;
        while at != 0 && parts.len() < 12 {
            let parent = self.items[at].parent as usize;
            if let (Source::Cell(child), Source::Cell(owner)) = (self.items[at].source, self.items[parent].source)
                && let Some(name) = edge_name(realm, owner, child)
            {
                parts.push(name);
            }
            at = parent;
        }
        parts.reverse();
        if parts.is_empty() { "(realm)".into() } else { parts.join(".") }
    }
}

/// Property name under which `owner` holds `child`, if it is an object that does.
fn edge_name(realm: &mut Realm, owner: Ref, child: Ref) -> Option<String> {
    if !realm.cage.kind(owner).info().is_object {
        return None;
    }
    let shape = realm.shape_of(owner);
    for (key, info) in realm.shape_properties(shape) {
        if info as u8 & ACCESSOR != 0 {
            continue;
        }
        let value = realm.read_slot(owner, shape, info >> 8);
        if value.is_ref() && value.as_ref() == child {
            return Some(realm.key_text(zjs_engine::objects::Key::Name(key)));
        }
    }
    None
}

/// Whether the image's shape gets a ready-built table.
pub(super) fn has_table(realm: &Realm, shape: Ref) -> bool {
    let count = realm.cage.u32(shape, 24);
    count > CHAIN_WALK_MAX || count > 0 && realm.cage.r(shape, 8).is_null()
}

/// Whether the image's shape keeps its parent and key.
pub(super) fn keeps_ancestors(realm: &Realm, shape: Ref) -> bool {
    realm.cage.u32(shape, 24) <= ANCESTORS_MAX
}

/// Content of a string in canonical form.
pub(super) fn string_content(realm: &mut Realm, cell: Ref) -> JsStr {
    match realm.view(cell) {
        Ok(StrView::Latin1(s)) => JsStr::Latin1(Latin1::from_slice(s)),
        Ok(StrView::Utf16(s)) => JsStr::from_units(s),
        Err(_) => JsStr::Latin1(Latin1::new()),
    }
}

fn frozen_rows(realm: &Realm, table: Ref) -> Vec<[u32; 4]> {
    if table.is_null() {
        return Vec::new();
    }
    (0..realm.cage.u32(table, 4) / 4)
        .map(|i| std::array::from_fn(|k| realm.cage.u32(table, 8 + 16 * i + 4 * k as u32)))
        .filter(|row: &[u32; 4]| row[0] != u32::MAX)
        .collect()
}
