//! A small generator of numbers (SplitMix64).

use std::ops::Range;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.within(0..times) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.within(0..from.len() as u64) as usize]
    }

    pub fn many<T>(&mut self, count: Range<u64>, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.within(count)).map(|_| make(self)).collect()
    }
}
