//! Many short lists of numbers in one piece, which is quick to copy and to walk.

/// Lists of edges, one after the other.
#[derive(Debug)]
pub(super) struct Lists<T> {
    starts: Vec<u32>,
    all: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self {
            starts: Vec::new(),
            all: Vec::new(),
        }
    }
}

impl<T: Copy + Ord> Lists<T> {
    /// No lists yet, with room for as many as another has.
    pub(super) fn like(other: &Self) -> Self {
        let mut starts = Vec::with_capacity(other.starts.len() + 1);
        starts.push(0);
        Self {
            starts,
            all: Vec::with_capacity(other.all.len()),
        }
    }

    /// Add an item to the list that is open.
    pub(super) fn push(&mut self, item: T) {
        self.all.push(item);
    }

    /// The list that is open ends; its items are sorted unless they are already.
    pub(super) fn close(&mut self, is_sorted: bool) {
        let start = self.starts.last().map_or(0, |start| *start as usize);
        if !is_sorted {
            self.all[start..].sort_unstable();
        }
        let end = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.starts.push(end);
    }

    /// All items of all lists.
    pub(super) fn all(&self) -> &[T] {
        &self.all
    }

    /// Lists from pairs in any order.
    pub(super) fn of(count: usize, pairs: &[(u32, T)]) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for (list, _) in pairs {
            starts[*list as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut all: Vec<T> = pairs.iter().map(|(_, item)| *item).collect();
        for (list, item) in pairs {
            let place = &mut next[*list as usize];
            all[*place as usize] = *item;
            *place += 1;
        }
        for ends in starts.windows(2) {
            all[ends[0] as usize..ends[1] as usize].sort_unstable();
        }
        Self { starts, all }
    }

    pub(super) fn get(&self, list: u32) -> &[T] {
        let at = list as usize;
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => &self.all[*start as usize..*end as usize],
            _ => &[],
        }
    }
}
