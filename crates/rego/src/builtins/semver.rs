//! Versions, according to Semantic Versioning 2.0.

use std::cmp::Ordering;

use super::operands::{answer, operand, string};
use super::{Answer, Context, Error, Value};

/// A version without its build metadata, which doesn't affect the order.
struct Version<'a> {
    numbers: [i64; 3],
    pre_release: &'a str,
}

/// Returns `true` for dot-separated identifiers of letters, digits and hyphens.
fn are_identifiers(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

fn is_numeric(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

impl<'a> Version<'a> {
    /// Parses a version, which may start with `v`.
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, metadata) =
            text.split_once('+').map_or((text, None), |(text, metadata)| (text, Some(metadata)));
        if metadata.is_some_and(|metadata| !are_identifiers(metadata)) {
            return None;
        }
        let (text, pre_release) = text
            .split_once('-')
            .map_or((text, None), |(text, pre_release)| (text, Some(pre_release)));
        let good = |pre: &str| {
            are_identifiers(pre)
                && !pre.split('.').any(|part| is_numeric(part) && has_leading_zero(part))
        };
        if pre_release.is_some_and(|pre| !good(pre)) {
            return None;
        }
        let mut parts = text.split('.').map(|part| {
            if is_numeric(part) && !has_leading_zero(part) {
                part.parse::<i64>().ok()
            } else {
                None
            }
        });
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        if parts.next().is_some() {
            return None;
        }
        Some(Self { numbers, pre_release: pre_release.unwrap_or_default() })
    }

    fn compare(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.cmp(&other.numbers);
        // A release is higher than its pre-releases.
        numbers.then_with(|| match (self.pre_release, other.pre_release) {
            (a, b) if a == b => Ordering::Equal,
            ("", _) => Ordering::Greater,
            (_, "") => Ordering::Less,
            (a, b) => compare_identifiers(a, b),
        })
    }
}

fn compare_identifiers(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => match (is_numeric(a), is_numeric(b)) {
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                // Numbers above 64 bits count as the highest 64-bit number.
                (true, true) => {
                    let number = |text: &str| text.parse::<i64>().unwrap_or(i64::MAX);
                    number(a).cmp(&number(b))
                }
                (false, false) => a.cmp(b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

pub(super) fn compare(_: &dyn Context, args: &[Value]) -> Answer {
    let (a, b) = (string(args, 0)?, string(args, 1)?);
    let version = |position: usize, text| {
        let invalid =
            || format!("operand {position}: string {} is not a valid SemVer", Value::from(text));
        Version::parse(text).ok_or_else(|| Error::failed(invalid()))
    };
    let (a, b) = (version(1, a)?, version(2, b)?);
    answer(a.compare(&b) as i32)
}

pub(super) fn is_valid(_: &dyn Context, args: &[Value]) -> Answer {
    answer(operand(args, 0)?.as_str().is_some_and(|text| Version::parse(text).is_some()))
}
