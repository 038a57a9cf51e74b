//! placeholder
pub type WalwrightStore = crate::baseline::Baseline;
