//! The packages of the crates, as a registry would get them.

use super::{Outcome, cargo, output, published, run};

/// The largest package, in bytes before it is compressed: what everyone downloads who builds with the crate.
const MAX_BYTES: u64 = 4 << 20;

/// Makes each crate's package and, without `--no-verify`, builds it from that alone, so that a file that
/// the code includes and the package lacks is found.
pub(super) fn check(arguments: &[String]) -> Outcome {
    let mut command = cargo(&["package", "--locked", "--allow-dirty"]);
    command.args(arguments);
    for member in published() {
        command.args(["--package", &member.name]);
    }
    run(&mut command)?;
    for member in published() {
        let files =
            output(&mut cargo(&["package", "--list", "--allow-dirty", "--package", &member.name]))?;
        let bytes: u64 = files
            .lines()
            .filter_map(|file| std::fs::metadata(member.folder.join(file)).ok())
            .map(|file| file.len())
            .sum();
        println!("{}: {} files, {} KiB", member.name, files.lines().count(), bytes / 1024);
        if bytes > MAX_BYTES {
            return Err(format!("{} has more than {MAX_BYTES} bytes", member.name));
        }
    }
    Ok(())
}
