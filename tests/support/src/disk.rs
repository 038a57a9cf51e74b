//! Where files really live: the filesystem below a path, and the price of a sync there.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Names of filesystems by the number that `statfs` reports.
#[cfg(target_os = "linux")]
const MAGIC: &[(u32, &str)] = &[
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x0000_ef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xf2f5_2010, "f2fs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0x794c_7630, "overlay"),
    (0x0000_6969, "nfs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
];

/// The name of the filesystem that holds `path`, which must exist.
///
/// ext2 and ext3 answer "ext4": they share its number. A filesystem that this module does not know
/// answers its number in hexadecimal; systems other than Linux answer "unknown".
pub fn filesystem_of(path: &Path) -> io::Result<String> {
    #[cfg(target_os = "linux")]
    {
        // The kernel's field is a signed word on some targets; the numbers themselves have 32 bits.
        let magic = rustix::fs::statfs(path)?.f_type as u32;
        let known = MAGIC.iter().find(|(number, _)| *number == magic);
        Ok(known.map_or_else(|| format!("{magic:#010x}"), |(_, name)| (*name).to_owned()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        fs::metadata(path)?;
        Ok("unknown".to_owned())
    }
}

/// True when `path` lives in memory, where a sync costs nothing and proves nothing.
pub fn is_tmpfs(path: &Path) -> io::Result<bool> {
    Ok(matches!(filesystem_of(path)?.as_str(), "tmpfs" | "ramfs"))
}

/// The median time of appending 4 KiB to a new file in `dir` and making them durable.
///
/// # Panics
/// When `samples` is 0.
pub fn median_fsync(dir: &Path, samples: usize) -> io::Result<Duration> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    assert!(samples > 0, "a median needs a sample");

    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = dir.join(format!("fsync-{}-{number}", process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let mut times = Vec::with_capacity(samples);
    let measured = (0..samples).try_for_each(|_| {
        let start = Instant::now();
        file.write_all(&[0x5a; 4096])?;
        file.sync_data()?;
        times.push(start.elapsed());
        io::Result::Ok(())
    });
    fs::remove_file(&path)?;
    measured?;
    times.sort_unstable();
    Ok(times[samples / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;

    #[test]
    fn a_scratch_directory_is_not_in_memory_and_syncs_take_time() {
        let scratch = Scratch::new();
        assert!(!is_tmpfs(scratch.path()).unwrap());
        assert!(median_fsync(scratch.path(), 3).unwrap() > Duration::ZERO);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn shared_memory_is_told_apart() {
        let shm = Path::new("/dev/shm");
        if shm.exists() {
            assert_eq!(is_tmpfs(shm).unwrap(), filesystem_of(shm).unwrap() == "tmpfs");
        }
    }

    #[test]
    fn a_missing_path_is_an_error() {
        assert!(filesystem_of(Path::new("/no/such/place")).is_err());
    }
}
