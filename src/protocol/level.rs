//! When a command may be acknowledged.

/// When a write may be acknowledged.
///
/// Deletes are always acknowledged at [`Durable`](Self::Durable), whatever was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AckLevel {
    /// After COMMIT returned: readers see the write, and it survives a crash of the process.
    ///
    /// **A power cut may take it back**, together with every other write that was acknowledged at this
    /// level since the last sync. It never tears a command in two and never damages the file.
    Committed,
    /// After the sync that covers the write: it survives power loss, if the device honours a flush.
    #[default]
    Durable,
}
