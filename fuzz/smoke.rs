//! The smoke run, on stable Rust: the seeds of a target, and damaged copies of them, always the same ones.

use std::path::Path;

/// Runs the seeds in a target's folder of `corpus`, and `count` damaged copies.
pub fn run(corpus: &Path, target: &str, count: usize, mut one: impl FnMut(&[u8])) {
    let folder = corpus.join(target);
    let entries = std::fs::read_dir(&folder).expect("a folder of seeds");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a seed").path()).collect();
    paths.sort();
    let read = |path| std::fs::read(path).expect("a seed");
    let seeds: Vec<Vec<u8>> = paths.iter().map(read).collect();
    assert!(!seeds.is_empty(), "{} is empty", folder.display());
    for seed in &seeds {
        one(seed);
    }
    let mut random = Random(1);
    for _ in 0..count {
        let seed = &seeds[random.below(seeds.len())];
        one(&damaged(seed, &mut random));
    }
}

/// Numbers that look random: splitmix64.
struct Random(u64);

impl Random {
    /// Returns a number below `end`; 0 for 0.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from(mixed >> 33).map_or(0, |number| number.checked_rem(end).unwrap_or(0))
    }
}

/// Returns the bytes with some of them changed, left out, repeated or moved.
fn damaged(seed: &[u8], random: &mut Random) -> Vec<u8> {
    const SPECIAL: &[u8] = b"{}[]()<>\"'\\|*+?^$.,:;-_=%&#!/ \n\t0129azAZ\xc3\xa9\xf0\x00\x80\xff";
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(3) {
        let (at, end) = (random.below(bytes.len()), random.below(bytes.len()));
        let part = at.min(end)..at.max(end).min(at.min(end) + 40);
        match random.below(5) {
            0 if !bytes.is_empty() => bytes[at] = SPECIAL[random.below(SPECIAL.len())],
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.drain(part)),
            3 => bytes.insert(at, SPECIAL[random.below(SPECIAL.len())]),
            _ => {
                let copy = bytes[part].to_vec();
                drop(bytes.splice(end..end, copy));
            }
        }
    }
    bytes
}
