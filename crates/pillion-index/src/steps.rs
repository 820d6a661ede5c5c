//! Steps of the readers of files: what tests count to see how effort grows with a file.
//!
//! A step is a node that is visited, an item that is compared, or some bytes that are looked
//! through. Only builds with debug assertions count, as those of tests are, also of the crates
//! above; in all others there is nothing.

/// Bytes that are looked through in about the time of one visit.
const BYTES: usize = 64;

/// So many steps are taken.
#[inline(always)]
pub fn take(steps: usize) {
    #[cfg(debug_assertions)]
    counter::add(steps);
    #[cfg(not(debug_assertions))]
    let _ = steps;
}

/// So many bytes are looked through.
#[inline(always)]
pub fn scan(bytes: usize) {
    take(1 + bytes / BYTES);
}

#[cfg(debug_assertions)]
pub use counter::counted;

#[cfg(debug_assertions)]
mod counter {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(steps: usize) {
        STEPS.with(|all| all.set(all.get() + steps));
    }

    /// The steps that this thread takes while something runs.
    pub fn counted(run: impl FnOnce()) -> usize {
        let before = STEPS.with(Cell::get);
        run();
        STEPS.with(Cell::get) - before
    }
}
