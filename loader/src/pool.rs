//! `RealmPool`: slots that keep their mapping and are reset by copying dirty pages back.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use zjs_engine::realm::{ImagePages, RealmOptions};

use crate::realm::{Realm, RealmError};
use crate::snapshot::Snapshot;

/// How a pool keeps slots.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Options of each realm handed out.
    pub realm: RealmOptions,
    /// Slots made when the pool is made.
    pub prepared: usize,
    /// Most idle slots that are kept; more are unmapped when they come back.
    pub idle_max: usize,
    /// Heap bytes that an idle slot keeps; what a realm used above goes back to the kernel.
    pub keep_heap_bytes: u32,
    /// Zero the kept heap between lives, so that nothing of one tenant is left for the next.
    pub wipe: bool,
}

impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions {
            realm: RealmOptions::default(),
            prepared: 0,
            idle_max: 1024,
            keep_heap_bytes: 512 << 10,
            wipe: false,
        }
    }
}

/// Shards, so that threads that make realms do not wait for each other.
const SHARDS: usize = 16;

/// Idle slots of one snapshot. Threads share it by reference.
pub struct RealmPool {
    snapshot: Snapshot,
    options: PoolOptions,
    shards: [Mutex<Vec<Realm>>; SHARDS],
}

/// The shard of this thread.
fn own_shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
    }
    SHARD.with(|s| *s)
}

impl RealmPool {
    /// A pool over `snapshot` with `options.prepared` slots made at once.
    ///
    /// # Errors
    /// When the kernel refuses memory for a slot.
    pub fn new(snapshot: &Snapshot, options: PoolOptions) -> Result<RealmPool, RealmError> {
        let pool = RealmPool { snapshot: snapshot.clone(), options, shards: Default::default() };
        for i in 0..pool.options.prepared {
            let mut realm = snapshot.new_realm(&pool.options.realm)?;
            pool.warm(&mut realm);
            pool.put(i % SHARDS, realm);
        }
        Ok(pool)
    }

    /// Takes the page faults of the first touches now rather than in the first life.
    fn warm(&self, realm: &mut Realm) {
        realm.engine.touch_pages();
    }

    /// A fresh realm: an idle slot if there is one, else a new mapping.
    ///
    /// # Errors
    /// When the kernel refuses memory for a new slot.
    pub fn acquire(&self) -> Result<PooledRealm<'_>, RealmError> {
        let own = own_shard();
        for i in 0..SHARDS {
            let shard = &self.shards[(own + i) % SHARDS];
            let taken = if i == 0 {
                shard.lock().ok().and_then(|mut s| s.pop())
            } else {
                shard.try_lock().ok().and_then(|mut s| s.pop())
            };
            if let Some(realm) = taken {
                return Ok(PooledRealm { pool: self, realm: Some(realm) });
            }
        }
        let realm = self.snapshot.new_realm(&self.options.realm)?;
        Ok(PooledRealm { pool: self, realm: Some(realm) })
    }

    fn put(&self, shard: usize, realm: Realm) {
        if let Ok(mut slots) = self.shards[shard].lock()
            && slots.len() * SHARDS <= self.options.idle_max.max(SHARDS)
        {
            slots.push(realm);
        }
    }

    /// Number of idle slots.
    pub fn idle(&self) -> usize {
        self.shards.iter().map(|s| s.lock().map_or(0, |s| s.len())).sum()
    }

    /// Makes `realm` as new: dirty image pages copied back, heap and run-time state reset.
    pub(crate) fn reset(&self, realm: &mut Realm) {
        let inner = &*self.snapshot.inner;
        let options = &self.options;
        realm.life = 0;
        realm.engine.reset(
            &options.realm,
            &inner.filter,
            options.keep_heap_bytes,
            options.wipe,
            inner as &dyn ImagePages,
        );
        self.snapshot.equip(&mut realm.engine);
    }
}

/// A realm on loan; dropping it resets the slot and gives it back.
pub struct PooledRealm<'a> {
    pool: &'a RealmPool,
    realm: Option<Realm>,
}

impl Deref for PooledRealm<'_> {
    type Target = Realm;
    fn deref(&self) -> &Realm {
        match &self.realm {
            Some(realm) => realm,
            None => unreachable!("the realm is only taken by drop"),
        }
    }
}

impl DerefMut for PooledRealm<'_> {
    fn deref_mut(&mut self) -> &mut Realm {
        match &mut self.realm {
            Some(realm) => realm,
            None => unreachable!("the realm is only taken by drop"),
        }
    }
}

impl Drop for PooledRealm<'_> {
    fn drop(&mut self) {
        if let Some(mut realm) = self.realm.take() {
            self.pool.reset(&mut realm);
            self.pool.put(own_shard(), realm);
        }
    }
}
