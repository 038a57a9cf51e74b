//! Makes `fsync` and `fdatasync` sleep first, for as many microseconds as `SLOW_SYNC_MICROS` says.
//!
//! The peers link SQLites of their own, or none, so a VFS that delays would reach none of them; the C library is
//! what all of them sync through. For `LD_PRELOAD`, on Linux.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use std::time::Duration;

type Sync = unsafe extern "C" fn(c_int) -> c_int;

fn sleep() {
    static DELAY: OnceLock<Duration> = OnceLock::new();
    let delay = *DELAY.get_or_init(|| {
        let micros = std::env::var("SLOW_SYNC_MICROS").ok().and_then(|micros| micros.parse().ok());
        Duration::from_micros(micros.unwrap_or(0))
    });
    if !delay.is_zero() {
        std::thread::sleep(delay);
    }
}

/// The function of this name that would have been called.
fn next(name: &CStr) -> Sync {
    // SAFETY: the name ends with a NUL, and the C library has functions of this type under these names.
    unsafe { std::mem::transmute::<*mut libc::c_void, Sync>(libc::dlsym(libc::RTLD_NEXT, name.as_ptr())) }
}

/// # Safety
/// As for the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(file: c_int) -> c_int {
    static NEXT: OnceLock<Sync> = OnceLock::new();
    sleep();
    // SAFETY: what the caller gave is passed on.
    unsafe { NEXT.get_or_init(|| next(c"fsync"))(file) }
}

/// # Safety
/// As for the C library's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    static NEXT: OnceLock<Sync> = OnceLock::new();
    sleep();
    // SAFETY: what the caller gave is passed on.
    unsafe { NEXT.get_or_init(|| next(c"fdatasync"))(file) }
}
