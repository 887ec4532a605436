//! zjs loader: open a snapshot, make realms from it, pool them.
//!
//! ```no_run
//! use zjs_loader::{HostValue, RealmOptions, Snapshot};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let snapshot = Snapshot::open("app.zsnap")?;
//! let mut realm = snapshot.new_realm(&RealmOptions::default())?;
//! let html = realm.call("render", &[HostValue::from("# Hello")])?;
//! println!("{html}");
//! # Ok(())
//! # }
//! ```

mod map;
pub mod metadata;
mod pool;
mod realm;
mod snapshot;
mod value;
mod verify;

pub use map::MappingStrategy;
pub use pool::{PoolOptions, PooledRealm, RealmPool};
pub use realm::{Realm, RealmError};
pub use snapshot::{OpenError, OpenOptions, Snapshot};
pub use value::HostValue;
pub use zjs_engine::host::{HostFunctions, HostHooks};
pub use zjs_engine::realm::RealmOptions;
