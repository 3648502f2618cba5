//! The example policies with their inputs and a sample service, as in the repository.
//!
//! Owns where each file is written. Collections of policies, which are folders in `policies`, aren't examples.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rego_platform::Product;

use crate::collections;
use crate::shipped::{FILES, of_product};

/// The folders that are written, with what each is for.
pub(super) const FOLDERS: [(&str, &str); 4] = [
    ("policies", "policies for a release gate, with tests"),
    ("release_gate", "a policy for a whole product, for `--functions all`"),
    ("inputs", "a passing and a failing input for each policy"),
    ("service", "the data of a sample service, for `--local`"),
];

/// Returns the files below `dir`; policies call the functions of `product`.
pub(super) fn files(dir: &Path, product: &Product) -> Vec<(PathBuf, Cow<'static, [u8]>)> {
    let own = FILES.iter().filter(|(path, _)| !collections::contain(path));
    own.map(|&(path, content)| (dir.join(path), of_product(path, content, product))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_lies_in_one_of_the_folders() {
        for (folder, _) in FOLDERS {
            assert!(FILES.iter().any(|(path, _)| Path::new(path).starts_with(folder)), "{folder}");
        }
        for (path, _) in FILES {
            assert!(
                FOLDERS.iter().any(|(folder, _)| Path::new(path).starts_with(folder)),
                "{path}"
            );
        }
    }
}
