//! The file object that SQLite holds, and its methods.
//!
//! SQLite allocates one block of memory for each open file. Its head is a [`FaultFile`], the rest is
//! the file object of the default VFS. Every function here has the same contract, SQLite's: `file`
//! points to such a block that [`open`] has filled, one thread at a time uses it, and the other
//! pointers are valid for what their names say.

use super::FaultVfs;
use super::handle::Handle;
use rusqlite::ffi;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::{ptr, slice};

/// The head of the block.
#[repr(C)]
struct FaultFile {
    /// What SQLite sees.
    object: ffi::sqlite3_file,
    /// From `Box::into_raw`; this object owns it until it is closed.
    handle: *mut Handle,
}

// The object of the default VFS follows and needs the same alignment.
const _: () = assert!(size_of::<FaultFile>().is_multiple_of(8));

/// Version 2 has shared memory, which WAL needs. Version 3 would have memory-mapped reads.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// A file object as SQLite passes it.
type FilePtr = *mut ffi::sqlite3_file;

/// How large a block has to be.
pub(super) fn block_size(base: &ffi::sqlite3_vfs) -> c_int {
    size_of::<FaultFile>() as c_int + base.szOsFile
}

/// The file object of the default VFS.
///
/// # Safety
/// `file` points to a block of [`block_size`] bytes.
unsafe fn real(file: FilePtr) -> FilePtr {
    // SAFETY: Within the block, by the contract.
    unsafe { file.cast::<FaultFile>().add(1).cast() }
}

/// The handle of an open file.
///
/// # Safety
/// `file` points to a block that [`open`] has filled and that is not closed; the reference is not
/// used after that.
unsafe fn handle<'open>(file: FilePtr) -> &'open Handle {
    // SAFETY: `open` has stored a pointer from `Box::into_raw`, freed only by `close`.
    unsafe { &*(*file.cast::<FaultFile>()).handle }
}

/// Calls a method of the default VFS's file object: `forward!(file.xRead(buffer, length))`.
/// To be used where `file` follows the contract of this module.
macro_rules! forward {
    ($file:ident.$method:ident($($argument:expr),*)) => {{
        let real = real($file);
        let methods = (*real).pMethods;
        let method = (*methods).$method.expect("the default VFS has all methods");
        method(real $(, $argument)*)
    }};
}

/// The size of an open file, or 0 if it cannot be asked.
///
/// # Safety
/// As for every function here.
unsafe fn size_now(file: FilePtr) -> u64 {
    let mut size = 0;
    // SAFETY: The contract of this module; `size` is a place for the answer.
    let code = unsafe { forward!(file.xFileSize(&raw mut size)) };
    if code == ffi::SQLITE_OK { size.unsigned_abs() } else { 0 }
}

/// `xOpen` of the VFS.
///
/// # Safety
/// `file` points to a block of [`block_size`] bytes, `name` is null or a name as SQLite passes it,
/// `flags_out` is null or a place for the flags.
pub(super) unsafe fn open(
    vfs: &'static FaultVfs,
    name: *const c_char,
    file: FilePtr,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let own: *mut FaultFile = file.cast();
    // SAFETY: The block is ours to fill. Without methods SQLite closes nothing.
    unsafe {
        (*own).object.pMethods = ptr::null();
        (*real(file)).pMethods = ptr::null();
    }
    // SAFETY: A name that is not null is terminated.
    let path = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    let path = path.map(|name| PathBuf::from(OsStr::from_bytes(name.to_bytes())));
    let (code, handle) = Handle::open(vfs, path, flags, || {
        let open = vfs.base.get().xOpen.expect("the default VFS opens files");
        // SAFETY: The rest of the block has the size that the default VFS asks for. `name` goes on as
        // it is: SQLite finds URI parameters behind its terminator.
        unsafe {
            let code = open(vfs.base.as_ptr(), name, real(file), flags, flags_out);
            (code, !(*real(file)).pMethods.is_null())
        }
    });
    if let Some(handle) = handle {
        // SAFETY: As above.
        unsafe {
            (*own).handle = Box::into_raw(Box::new(handle));
            (*own).object.pMethods = &raw const METHODS;
        }
    }
    code
}

unsafe extern "C" fn close(file: FilePtr) -> c_int {
    // SAFETY: The contract of this module; SQLite does not use the file after this, so the handle
    // can be taken back.
    unsafe {
        let code = forward!(file.xClose());
        Box::from_raw((*file.cast::<FaultFile>()).handle).closed();
        code
    }
}

unsafe extern "C" fn read(file: FilePtr, buffer: *mut c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes `amount` initialised or at least allocated bytes; as bytes are only
    // written before the default VFS has filled them, nothing uninitialised is read.
    let bytes = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), amount.unsigned_abs() as usize) };
    // SAFETY: The contract of this module.
    unsafe {
        handle(file).read(bytes, |bytes| forward!(file.xRead(bytes.as_mut_ptr().cast(), amount, offset)))
    }
}

unsafe extern "C" fn write(file: FilePtr, buffer: *const c_void, amount: c_int, offset: i64) -> c_int {
    // SAFETY: The contract of this module: `buffer` holds `amount` bytes.
    unsafe {
        let data = slice::from_raw_parts(buffer.cast::<u8>(), amount.unsigned_abs() as usize);
        handle(file).write(
            data,
            offset.unsigned_abs(),
            || size_now(file),
            || forward!(file.xWrite(buffer, amount, offset)),
        )
    }
}

unsafe extern "C" fn truncate(file: FilePtr, size: i64) -> c_int {
    // SAFETY: The contract of this module.
    unsafe {
        handle(file).truncate(size.unsigned_abs(), || size_now(file), || forward!(file.xTruncate(size)))
    }
}

unsafe extern "C" fn sync(file: FilePtr, flags: c_int) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { handle(file).sync(|| forward!(file.xSync(flags))) }
}

unsafe extern "C" fn file_size(file: FilePtr, size: *mut i64) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(file.xFileSize(size)) }
}

unsafe extern "C" fn lock(file: FilePtr, level: c_int) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { handle(file).lock(|| forward!(file.xLock(level))) }
}

unsafe extern "C" fn unlock(file: FilePtr, level: c_int) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(file.xUnlock(level)) }
}

unsafe extern "C" fn check_reserved_lock(file: FilePtr, held: *mut c_int) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(file.xCheckReservedLock(held)) }
}

unsafe extern "C" fn file_control(file: FilePtr, operation: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: The contract of this module; for VFSNAME the argument is the place of a string that
    // SQLite's allocator made, which `%z` frees.
    unsafe {
        let code = forward!(file.xFileControl(operation, argument));
        if operation == ffi::SQLITE_FCNTL_VFSNAME && code == ffi::SQLITE_OK {
            let name = argument.cast::<*mut c_char>();
            *name = ffi::sqlite3_mprintf(c"%s/%z".as_ptr(), handle(file).vfs.c_name().as_ptr(), *name);
        }
        code
    }
}

unsafe extern "C" fn sector_size(file: FilePtr) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(file.xSectorSize()) }
}

unsafe extern "C" fn device_characteristics(file: FilePtr) -> c_int {
    // SAFETY: The contract of this module.
    let device = unsafe { forward!(file.xDeviceCharacteristics()) };
    // A recording has no atomic batches.
    device & !ffi::SQLITE_IOCAP_BATCH_ATOMIC
}

unsafe extern "C" fn shm_map(
    file: FilePtr,
    region: c_int,
    size: c_int,
    extend: c_int,
    memory: *mut *mut c_void,
) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(file.xShmMap(region, size, extend, memory)) }
}

unsafe extern "C" fn shm_lock(file: FilePtr, first: c_int, count: c_int, flags: c_int) -> c_int {
    // SAFETY: The contract of this module.
    let real = || unsafe { forward!(file.xShmLock(first, count, flags)) };
    if flags & ffi::SQLITE_SHM_LOCK == 0 {
        return real();
    }
    // SAFETY: The contract of this module.
    unsafe { handle(file).lock_shared_memory(real) }
}

unsafe extern "C" fn shm_barrier(file: FilePtr) {
    // SAFETY: The contract of this module.
    unsafe { forward!(file.xShmBarrier()) }
}

unsafe extern "C" fn shm_unmap(file: FilePtr, delete: c_int) -> c_int {
    // SAFETY: The contract of this module.
    unsafe { forward!(file.xShmUnmap(delete)) }
}
