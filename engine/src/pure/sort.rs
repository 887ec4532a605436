//! A stable merge sort over indices with a comparator that may fail (ECMA-262 23.1.3.30.1
//! SortIndexedProperties, 10.4.5.16 TypedArraySort).
//!
//! Invariant: it calls the comparator O(n log n) times, in an order that depends only on the answers,
//! and ends with a permutation of `0..count` whatever the comparator answers: inconsistent answers give
//! some order, never a fault. An error stops at once.

/// Runs below this length are sorted by insertion.
const RUN_LENGTH: usize = 8;

/// Sorts the indices `0..count`. `less(a, b)` says whether the item with index `a` must come before
/// the one with index `b`; equal items keep their order.
pub fn merge_sort<E>(count: usize, mut less: impl FnMut(u32, u32) -> Result<bool, E>) -> Result<Vec<u32>, E> {
    let mut items: Vec<u32> = (0..count as u32).collect();
    for run in items.chunks_mut(RUN_LENGTH) {
        insertion_sort(run, &mut less)?;
    }
    let mut buffer = items.clone();
    let mut width = RUN_LENGTH;
    while width < count {
        for start in (0..count).step_by(2 * width) {
            let middle = (start + width).min(count);
            let end = (start + 2 * width).min(count);
            merge(&items[start..middle], &items[middle..end], &mut buffer[start..end], &mut less)?;
        }
        std::mem::swap(&mut items, &mut buffer);
        width *= 2;
    }
    Ok(items)
}

fn insertion_sort<E>(run: &mut [u32], less: &mut impl FnMut(u32, u32) -> Result<bool, E>) -> Result<(), E> {
    for i in 1..run.len() {
        let item = run[i];
        let mut at = i;
        while at > 0 && less(item, run[at - 1])? {
            run[at] = run[at - 1];
            at -= 1;
        }
        run[at] = item;
    }
    Ok(())
}

fn merge<E>(
    left: &[u32],
    right: &[u32],
    out: &mut [u32],
    less: &mut impl FnMut(u32, u32) -> Result<bool, E>,
) -> Result<(), E> {
    // Sorted input is frequent: one question instead of a merge.
    if let (Some(&last), Some(&first)) = (left.last(), right.first())
        && !less(first, last)?
    {
        out[..left.len()].copy_from_slice(left);
        out[left.len()..].copy_from_slice(right);
        return Ok(());
    }
    let (mut l, mut r) = (0, 0);
    for slot in out {
        let take_right = match (left.get(l), right.get(r)) {
            (Some(&a), Some(&b)) => less(b, a)?,
            (None, Some(_)) => true,
            _ => false,
        };
        if take_right {
            *slot = right[r];
            r += 1;
        } else {
            *slot = left[l];
            l += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_stably() {
        let mut state = 12345u32;
        for count in [0usize, 1, 2, 7, 8, 9, 100, 1000] {
            let keys: Vec<u32> = (0..count)
                .map(|_| {
                    state = state.wrapping_mul(1664525).wrapping_add(1013904223);
                    state >> 28
                })
                .collect();
            let order = merge_sort::<()>(count, |a, b| Ok(keys[a as usize] < keys[b as usize])).unwrap();
            let mut expected: Vec<u32> = (0..count as u32).collect();
            expected.sort_by_key(|&i| keys[i as usize]);
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn survives_nonsense() {
        let mut state = 1u32;
        let mut calls = 0;
        let mut order = merge_sort::<()>(1000, |_, _| {
            calls += 1;
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            Ok(state >> 31 == 0)
        })
        .unwrap();
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(i, &x)| i as u32 == x));
        assert!(calls < 20_000);
        assert_eq!(merge_sort(10, |_, _| Err("stop")), Err("stop"));
    }
}
