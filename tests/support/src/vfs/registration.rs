//! The VFS object that SQLite holds, and its methods.
//!
//! Every function here has SQLite's contract: `vfs` is the object that [`register`] made, and the
//! other pointers are valid for what their names say.

use super::plan::Operation;
use super::{FaultVfs, FileKind, file};
use rusqlite::ffi;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// A VFS as SQLite passes it.
type VfsPtr = *mut ffi::sqlite3_vfs;

/// Registers `own` under its name.
///
/// # Panics
/// When the name is taken.
pub(super) fn register(own: &'static FaultVfs) {
    // SAFETY: A terminated name.
    let taken = unsafe { ffi::sqlite3_vfs_find(own.c_name().as_ptr()) };
    assert!(taken.is_null(), "there is a VFS called {:?} already", own.name());
    let base = own.base.get();
    let object = Box::leak(Box::new(ffi::sqlite3_vfs {
        // Version 3 adds only the replacement of system calls.
        iVersion: base.iVersion.min(2),
        szOsFile: file::block_size(base),
        mxPathname: base.mxPathname,
        pNext: ptr::null_mut(),
        zName: own.c_name().as_ptr(),
        pAppData: ptr::from_ref(own).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        // Loadable extensions are opened through the default VFS.
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }));
    // SAFETY: The object and its name live for ever; 0 leaves the default VFS as it is.
    let code = unsafe { ffi::sqlite3_vfs_register(object, 0) };
    assert_eq!(code, ffi::SQLITE_OK, "SQLite registers a VFS");
}

/// The VFS behind the object.
///
/// # Safety
/// As for every function here.
unsafe fn own(vfs: VfsPtr) -> &'static FaultVfs {
    // SAFETY: `register` has put a reference there that lives for ever.
    unsafe { &*(*vfs).pAppData.cast::<FaultVfs>() }
}

/// Calls a method of the default VFS: `forward!(vfs.xSleep(microseconds))`.
/// To be used where `vfs` follows the contract of this module.
macro_rules! forward {
    ($vfs:ident.$method:ident($($argument:expr),*)) => {{
        let base = &own($vfs).base;
        let method = base.get().$method.expect("the default VFS has all methods");
        method(base.as_ptr() $(, $argument)*)
    }};
}

unsafe extern "C" fn open(
    vfs: VfsPtr,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: The contract of this module; SQLite allocates the `szOsFile` bytes that were asked for.
    unsafe { file::open(own(vfs), name, file, flags, flags_out) }
}

unsafe extern "C" fn delete(vfs: VfsPtr, name: *const c_char, sync_directory: c_int) -> c_int {
    // SAFETY: The contract of this module.
    let (own, name_bytes) = unsafe { (own(vfs), CStr::from_ptr(name).to_bytes()) };
    let path = Path::new(OsStr::from_bytes(name_bytes));
    let kind = FileKind::from_path(path);
    if let Some(code) = own.faults.code(Operation::Delete, kind) {
        return code;
    }
    let _alone = own.recorder.alone();
    own.recorder.deleting(path, kind, &own.base);
    // Without opening it: that could cost this process its locks.
    let size = fs::metadata(path).map_or(0, |found| found.len());
    // SAFETY: The contract of this module.
    let code = unsafe { forward!(vfs.xDelete(name, sync_directory)) };
    if code == ffi::SQLITE_OK {
        own.counters.deleted(kind);
        own.space.give_back(size);
        own.recorder.deleted(path, sync_directory != 0 && !own.lies());
    }
    code
}

unsafe extern "C" fn access(vfs: VfsPtr, name: *const c_char, flags: c_int, answer: *mut c_int) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(vfs.xAccess(name, flags, answer)) }
}

unsafe extern "C" fn full_pathname(
    vfs: VfsPtr,
    name: *const c_char,
    room: c_int,
    full: *mut c_char,
) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(vfs.xFullPathname(name, room, full)) }
}

unsafe extern "C" fn randomness(vfs: VfsPtr, amount: c_int, bytes: *mut c_char) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(vfs.xRandomness(amount, bytes)) }
}

unsafe extern "C" fn sleep(vfs: VfsPtr, microseconds: c_int) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(vfs.xSleep(microseconds)) }
}

unsafe extern "C" fn current_time(vfs: VfsPtr, julian_day: *mut f64) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(vfs.xCurrentTime(julian_day)) }
}

unsafe extern "C" fn get_last_error(vfs: VfsPtr, room: c_int, message: *mut c_char) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(vfs.xGetLastError(room, message)) }
}

unsafe extern "C" fn current_time_int64(vfs: VfsPtr, milliseconds: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(vfs.xCurrentTimeInt64(milliseconds)) }
}
