//! Much content as one number.

use std::hash::Hasher;

/// A number that two different contents do not share, for all that a test will ever see.
///
/// This package is compiled with optimisation also for tests, which a generic function would not be.
pub fn fingerprint(content: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}
