//! What is printed, bounded.
//!
//! The interpreter writes down a printed value whatever its size, and a small policy can make one
//! that is larger than any memory. Owns the function that each argument of `print` passes through:
//!
//! ```text
//! print("seen", x)  →  print(internal.printed("seen"), internal.printed(x))
//! ```

use regorus::Value;

use super::super::bounded::fits;
use super::super::scope::{self, Limits};
use super::helpers::{Helper, misused};
use super::text::Edit;

const NAME: &str = "internal.printed";

/// Most bytes of one argument, and of all that one pass prints.
const MAX_BYTES: u64 = 16 << 20;
/// Most parts of one argument.
const MAX_NODES: u64 = 1_000_000;

pub(super) const HELPERS: [Helper; 1] = [Helper { name: NAME, arity: 1, run: pass }];

fn pass(args: Vec<Value>) -> anyhow::Result<Value> {
    match <[Value; 1]>::try_from(args) {
        Ok([value]) => Ok(printed(value)),
        Err(_) => misused(NAME),
    }
}

/// The value, or why it isn't printed.
fn printed(value: Value) -> Value {
    let limits = Limits { nodes: MAX_NODES, ..Limits::default() };
    let instead = match fits(&value, &limits) {
        Ok(written) => {
            let room = scope::current().is_none_or(|scope| scope.print(written.bytes, MAX_BYTES));
            (!room).then(|| format!("more than {MAX_BYTES} bytes are printed"))
        }
        Err(error) => Some(error.to_string()),
    };
    match instead {
        Some(reason) => Value::from(format!("<not printed: {reason}>")),
        None => value,
    }
}

/// The edits that pass an argument through the function.
pub(super) fn edits((start, end): (usize, usize)) -> [Edit; 2] {
    [Edit::new(start, start, format!("{NAME}((")), Edit::new(end, end, "))")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_too_often_is_not_written_down() {
        let small = Value::from(vec![Value::from("x"), Value::from(1)]);
        assert_eq!(printed(small.clone()), small);
        let shared = (0..40).fold(small, |value, _| Value::from(vec![value.clone(), value]));
        let text = printed(shared).to_string();
        assert!(text.contains("more than 1000000 parts"), "{text}");
    }
}
