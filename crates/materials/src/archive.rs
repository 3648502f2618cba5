//! The entries of zip and tar.gz archives, in their order.
//!
//! Nothing is written to disk. The number of entries and the bytes that they unpack to are bounded.

use std::io::{self, Read};
use std::ops::ControlFlow;

use flate2::Crc;
use flate2::read::{DeflateDecoder, MultiGzDecoder};
use tar::EntryType;

/// The maximum number of entries of an archive.
const MAX_ENTRIES: usize = 10_000;
/// The maximum unpacked size of an archive, in bytes.
const MAX_BYTES: u64 = 1 << 28;

/// A callback for the name and the bytes of an entry, which can end the read.
pub(crate) type Each<'a> = &'a mut dyn FnMut(&str, &[u8]) -> Result<ControlFlow<()>, String>;

const TRUNCATED: &str = "truncated zip archive";

/// Passes the regular files of a tar.gz whose names are wanted.
pub(crate) fn tar_gz(
    bytes: &[u8],
    is_wanted: impl Fn(&str) -> bool,
    each: Each<'_>,
) -> Result<(), String> {
    let invalid = |error: io::Error| format!("invalid tar.gz archive: {error}");
    let unpacked = Bounded { inner: MultiGzDecoder::new(bytes), left: MAX_BYTES };
    let mut archive = tar::Archive::new(unpacked);
    for (index, entry) in archive.entries().map_err(invalid)?.enumerate() {
        if index >= MAX_ENTRIES {
            return Err(format!("more than {MAX_ENTRIES} entries in the archive"));
        }
        let mut entry = entry.map_err(invalid)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() != EntryType::Regular || !is_wanted(&name) {
            continue;
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(invalid)?;
        if each(&name, &content)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Passes the files of a zip whose names are wanted, in the order of its directory.
pub(crate) fn zip(
    bytes: &[u8],
    is_wanted: impl Fn(&str) -> bool,
    each: Each<'_>,
) -> Result<(), String> {
    let invalid = |error: io::Error| format!("invalid zip archive: {error}");
    let (mut at, count, base) = directory(bytes)?;
    if count > MAX_ENTRIES {
        return Err(format!("more than {MAX_ENTRIES} entries in the archive"));
    }
    let mut left = MAX_BYTES;
    for _ in 0..count {
        let header = Fields::at(bytes, at, *b"PK\x01\x02")?;
        let (name_len, extra_len) = (header.u16(28)?, header.u16(30)?);
        let name = String::from_utf8_lossy(header.bytes(46, name_len)?);
        let sizes = header.zip64(46 + name_len, extra_len)?;
        let is_folder = name.ends_with('/') || header.u32(38)? & 0x10 != 0;
        at += 46 + name_len + extra_len + header.u16(32)?;
        if is_folder || !is_wanted(&name) {
            continue;
        }
        let local = Fields::at(bytes, base.saturating_add(sizes.offset), *b"PK\x03\x04")?;
        let data = local.bytes(30 + local.u16(26)? + local.u16(28)?, sizes.packed)?;
        let unpacked: &mut dyn Read = match header.u16(10)? {
            0 => &mut &*data,
            8 => &mut DeflateDecoder::new(data),
            method => return Err(format!("unsupported compression method {method} of {name}")),
        };
        let mut content = Vec::new();
        Bounded { inner: unpacked, left }.read_to_end(&mut content).map_err(invalid)?;
        left -= content.len() as u64;
        let mut crc = Crc::new();
        crc.update(&content);
        let expected = usize::try_from(crc.sum()).ok();
        if content.len() != sizes.unpacked || expected != Some(header.u32(16)?) {
            return Err(format!("checksum mismatch of {name}"));
        }
        if each(&name, &content)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the offset of a zip's directory, its number of entries, and the length of data before the archive.
fn directory(bytes: &[u8]) -> Result<(usize, usize, usize), String> {
    let earliest = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
    let tail = bytes.get(earliest..).unwrap_or_default();
    let found = tail.windows(4).rposition(|window| window == b"PK\x05\x06");
    let end = earliest + found.ok_or("invalid zip archive: missing directory")?;
    let record = Fields::at(bytes, end, *b"PK\x05\x06")?;
    let (count, size, offset) = (record.u16(10)?, record.u32(12)?, record.u32(16)?);
    let (count, size, offset, end) = match end.checked_sub(20) {
        Some(locator) if count == 0xffff || size == 0xffff_ffff || offset == 0xffff_ffff => {
            let end = Fields::at(bytes, locator, *b"PK\x06\x07")?.u64(8)?;
            let record = Fields::at(bytes, end, *b"PK\x06\x06")?;
            (record.u64(32)?, record.u64(40)?, record.u64(48)?, end)
        }
        _ => (count, size, offset, end),
    };
    let start = end.checked_sub(size).ok_or(TRUNCATED)?;
    Ok((start, count, start.checked_sub(offset).ok_or(TRUNCATED)?))
}

/// The sizes and the place of an entry.
struct Sizes {
    packed: usize,
    unpacked: usize,
    offset: usize,
}

/// The numbers of a record, which are little-endian.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn at(bytes: &'a [u8], at: usize, signature: [u8; 4]) -> Result<Self, String> {
        let rest = bytes.get(at..).filter(|rest| rest.starts_with(&signature));
        rest.map(Self).ok_or_else(|| TRUNCATED.to_owned())
    }

    fn bytes(self, at: usize, len: usize) -> Result<&'a [u8], String> {
        let found = at.checked_add(len).and_then(|end| self.0.get(at..end));
        found.ok_or_else(|| TRUNCATED.to_owned())
    }

    fn number(self, at: usize, len: usize) -> Result<usize, String> {
        let bytes = self.bytes(at, len)?.iter().rev();
        let number = bytes.fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        usize::try_from(number).map_err(|error| error.to_string())
    }

    fn u16(self, at: usize) -> Result<usize, String> {
        self.number(at, 2)
    }

    fn u32(self, at: usize) -> Result<usize, String> {
        self.number(at, 4)
    }

    fn u64(self, at: usize) -> Result<usize, String> {
        self.number(at, 8)
    }

    /// Returns the sizes of a directory entry, which the extra field has if they are large.
    fn zip64(self, mut at: usize, extra_len: usize) -> Result<Sizes, String> {
        let (mut unpacked, mut packed, mut offset) = (self.u32(24)?, self.u32(20)?, self.u32(42)?);
        let end = at + extra_len;
        while at + 4 <= end {
            let (id, len) = (self.u16(at)?, self.u16(at + 2)?);
            let mut own = at + 4;
            if id == 1 {
                for field in [&mut unpacked, &mut packed, &mut offset] {
                    if *field == 0xffff_ffff {
                        *field = self.u64(own)?;
                        own += 8;
                    }
                }
            }
            at += 4 + len;
        }
        Ok(Sizes { packed, unpacked, offset })
    }
}

/// A reader that fails at the bound instead of ending there.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| {
            io::Error::other(format!(
                "archive too large: the limit is {} MiB unpacked",
                MAX_BYTES >> 20
            ))
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn all(_: &str) -> bool {
        true
    }

    #[test]
    fn a_bounded_reader_fails_at_its_bound() {
        let mut bounded = Bounded { inner: io::repeat(b' '), left: 100 };
        let error = bounded.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "archive too large: the limit is 256 MiB unpacked");
    }

    #[test]
    fn a_broken_archive_is_an_error() {
        let mut zipped = GzEncoder::new(Vec::new(), Compression::best());
        zipped.write_all(b"text").unwrap();
        let text = zipped.finish().unwrap();
        for bytes in [b"PK\x03\x04".as_slice(), b"PK\x05\x06", b"", &text] {
            zip(bytes, all, &mut |_, _| Ok(ControlFlow::Continue(()))).unwrap_err();
            tar_gz(bytes, all, &mut |_, _| Ok(ControlFlow::Continue(()))).unwrap_err();
        }
    }
}
