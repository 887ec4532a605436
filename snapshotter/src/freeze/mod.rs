//! Freezing: copying a realm's reachable heap, in an order that depends on the heap alone, into the bytes
//! of a fresh image.
//!
//! `graph` finds what is reachable and decides the order, `encode` writes the cells with relocated refs,
//! `tables` builds the frozen intern, transition and root tables. Invariant: nothing here reads a clock, an
//! address or the order of a hash map, so the same heap gives the same bytes.

mod encode;
mod graph;
mod tables;

use zjs_engine::cage::{IMAGE_START, PAGE_BYTES, Ref};
use zjs_engine::kinds::Kind;
use zjs_engine::realm::{FrozenRoots, Realm};

pub use graph::Refusal;
pub(crate) use graph::{Graph, Source};

/// Why a realm cannot be frozen.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    /// JavaScript runs or jobs wait.
    #[error("the realm is not at rest: {0}")]
    Busy(String),
    /// Cells that no snapshot can hold, all of them at once.
    #[error("{} object(s) cannot be frozen:\n{}", .0.len(), .0.iter().map(|r| format!("  {r}")).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refusal>),
    /// The image would not fit into a cage.
    #[error("the image would have {0} bytes, more than a cage can hold")]
    TooLarge(u64),
}

/// A frozen template and where it came from.
#[derive(Clone, Copy, Debug)]
pub struct FrozenTemplate {
    /// Cell in the realm that was frozen.
    pub source: Ref,
    /// Cell in the image.
    pub image: Ref,
    /// Dense number.
    pub number: u32,
}

/// The bytes of an image and what else the writer needs to know.
pub struct FrozenImage {
    pub roots: FrozenRoots,
    /// Frozen part, from cage offset [`IMAGE_START`] on; whole pages.
    pub ro: Vec<u8>,
    /// Writable part, right behind it; whole pages.
    pub rw: Vec<u8>,
    pub templates: Vec<FrozenTemplate>,
    /// Names and arities of the host functions in the image, in the order of their numbers.
    pub host_functions: Vec<(String, u32)>,
    graph: Graph,
}

impl FrozenImage {
    /// Where a cell of the frozen realm lies in the image.
    pub fn relocate(&self, source: Ref) -> Option<Ref> {
        self.graph.address_of(source)
    }

    /// Changes a 32-bit field of an image cell (the writer patches native entries).
    ///
    /// # Panics
    /// If the field does not lie in the frozen part.
    pub fn patch_ro(&mut self, cell: Ref, offset: u32, value: u32) {
        let at = (cell.0 - IMAGE_START + offset) as usize;
        self.ro[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}

fn page_round(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE_BYTES as usize)
}

/// Freezes `realm`, which keeps working afterwards.
///
/// # Errors
/// See [`FreezeError`].
pub fn freeze(realm: &mut Realm) -> Result<FrozenImage, FreezeError> {
    if realm.depth != 0 {
        return Err(FreezeError::Busy("JavaScript is running".into()));
    }
    if realm.pending_jobs() != 0 {
        return Err(FreezeError::Busy(format!("{} jobs wait in the queue", realm.pending_jobs())));
    }
    if realm.termination.is_some() {
        return Err(FreezeError::Busy("the realm was terminated".into()));
    }
    realm.collect_at_rest();
    let mut graph = Graph::walk(realm)?;
    let (ro_bytes, rw_bytes) = graph.assign_addresses(realm);
    let ro_len = page_round(ro_bytes);
    let rw_len = page_round(rw_bytes);
    let image_end = IMAGE_START as usize + ro_len + rw_len;
    if image_end > (zjs_engine::cage::HEAP_END / 2) as usize {
        return Err(FreezeError::TooLarge(image_end as u64));
    }
    graph.shift_writable(IMAGE_START + ro_len as u32);
    let mut ro = vec![0u8; ro_len];
    let mut rw = vec![0u8; rw_len];
    let rw_start = IMAGE_START + ro_len as u32;
    let mut templates = Vec::new();
    for index in 0..graph.len() {
        let bytes = encode::encode(realm, &graph, index);
        let address = graph.address(index);
        let (part, start) = if address.0 < rw_start { (&mut ro, IMAGE_START) } else { (&mut rw, rw_start) };
        let at = (address.0 - start) as usize;
        part[at..at + bytes.len()].copy_from_slice(&bytes);
        if let Source::Cell(source) = graph.source(index)
            && realm.cage.is(source, Kind::Template)
        {
            templates.push(FrozenTemplate { source, image: address, number: graph.template_number(index) });
        }
    }
    let special = |source| graph.special_address(source);
    let roots = FrozenRoots {
        image_end: image_end as u32,
        realm_record: graph.address_of(realm.realm_record()).unwrap_or_default(),
        intern_table: special(Source::Intern),
        transition_table: special(Source::Transitions),
        root_table: special(Source::Roots),
        template_count: templates.len() as u32,
    };
    let host_functions = graph.host_functions().to_vec();
    Ok(FrozenImage { roots, ro, rw, templates, host_functions, graph })
}
