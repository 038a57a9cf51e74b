//! Which columns a command names, in one word.

/// Which columns there are, as far as 64 bits can tell.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct ColumnMask(u64);

impl ColumnMask {
    pub(crate) const NONE: Self = Self(0);
    /// The bit of all columns that have none of their own.
    const LAST: usize = 63;

    /// One column.
    pub(super) fn of(column: usize) -> Self {
        Self(1 << column.min(Self::LAST))
    }

    #[inline]
    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether the column may be among them. False is sure.
    #[inline]
    pub(crate) fn may_have(self, column: usize) -> bool {
        self.0 >> column.min(Self::LAST) & 1 == 1
    }

    /// There are at least so many.
    pub(crate) fn least_count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it tells of each column whether it is among them.
    pub(crate) fn is_exact(self) -> bool {
        !self.may_have(Self::LAST)
    }
}

impl FromIterator<usize> for ColumnMask {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        let mut mask = Self::NONE;
        columns.into_iter().for_each(|column| mask.add(Self::of(column)));
        mask
    }
}
