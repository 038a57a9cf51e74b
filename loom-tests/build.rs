//! Chooses loom's primitives in `src/sync.rs` for this package alone: a global `--cfg` would reach every
//! dependency, and some of them (tokio) change with it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(walwright_model)");
    println!("cargo::rustc-cfg=walwright_model");
}
