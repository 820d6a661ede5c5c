//! Steps of the readers of files: what tests count to see how effort grows with a file.
//!
//! A step is a node that is visited, an item that is compared, or some bytes that are looked
//! through. Only tests count; for everybody else there is nothing.

/// Bytes that are looked through in about the time of one visit.
const BYTES: usize = 64;

/// So many steps are taken.
#[inline(always)]
pub(crate) fn take(steps: usize) {
    #[cfg(test)]
    counter::add(steps);
    #[cfg(not(test))]
    let _ = steps;
}

/// So many bytes are looked through.
#[inline(always)]
pub(crate) fn scan(bytes: usize) {
    take(1 + bytes / BYTES);
}

#[cfg(test)]
pub(crate) use counter::counted;

#[cfg(test)]
mod counter {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn add(steps: usize) {
        STEPS.with(|all| all.set(all.get() + steps));
    }

    /// The steps that this thread takes while something runs.
    pub(crate) fn counted(run: impl FnOnce()) -> usize {
        let before = STEPS.with(Cell::get);
        run();
        STEPS.with(Cell::get) - before
    }
}
