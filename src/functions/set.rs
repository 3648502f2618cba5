//! The functions that are enabled.
//!
//! Owns the choice and its spelling (`all`, or names). A function that is off doesn't exist for a
//! policy: the loader refuses its name as it refuses any other.

use super::{FUNCTIONS, Function};
use crate::text::{did_you_mean, escape, nearest};
use crate::{Error, setting};

/// The functions that policies can call: the five of interface section 4.7, and those of the others
/// that the host enables.
///
/// ```
/// use rego_platform::functions::FunctionSet;
///
/// let some: FunctionSet = "products,environments".parse().unwrap();
/// assert!(some.has("discover") && some.has("products") && !some.has("projects"));
/// assert!("approve".parse::<FunctionSet>().is_err()); // nothing that writes is a function
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionSet {
    /// One bit for each row of the table.
    rows: u32,
}

impl Default for FunctionSet {
    /// The five functions of interface section 4.7.
    fn default() -> Self {
        Self::of(|function| !function.optional)
    }
}

impl FunctionSet {
    /// Every function, the optional read functions included.
    pub fn all() -> Self {
        Self::of(|_| true)
    }

    fn of(wanted: impl Fn(&Function) -> bool) -> Self {
        let bits = FUNCTIONS.iter().zip(0..).filter(|(function, _)| wanted(function));
        Self { rows: bits.fold(0, |rows, (_, bit)| rows | 1 << bit) }
    }

    /// Returns this set with `name` added, given without a prefix.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](crate::ErrorKind::Configuration) when there is no such function.
    pub fn with(self, name: &str) -> Result<Self, Error> {
        if name == "all" {
            let message = "`all` includes every function: give it alone";
            return Err(Error::configuration(message));
        }
        if super::function(name).is_none() {
            let message = format!("unknown function `{}`", escape(name));
            let all: Vec<_> = FUNCTIONS.iter().map(|function| function.name).collect();
            let they = format!("expected one of {}", all.join(", "));
            return Err(Error::configuration(message).with_hint(did_you_mean(name, all, they)));
        }
        Ok(Self { rows: self.rows | Self::of(|function| function.name == name).rows })
    }

    /// Returns `true` if the function called `name`, without a prefix, is enabled.
    pub fn has(self, name: &str) -> bool {
        self.iter().any(|function| function.name == name)
    }

    /// Iterates over the functions, in the order of the table.
    pub fn iter(self) -> impl Iterator<Item = &'static Function> + Clone {
        let rows = FUNCTIONS.iter().copied().zip(0..);
        rows.filter(move |(_, bit)| self.rows & (1 << bit) != 0).map(|(function, _)| function)
    }

    /// Returns the function called `name`, without a prefix, if it is enabled.
    #[doc(hidden)]
    pub fn find(self, name: &str) -> Result<&'static Function, Error> {
        if let Some(function) = self.iter().find(|function| function.name == name) {
            return Ok(function);
        }
        if let Some(function) = super::function(name) {
            let message = format!("`{}` is off by default", function.name);
            return Err(
                Error::invalid_argument(message).by_setting(setting::FUNCTION.of(function.name))
            );
        }
        let names: Vec<String> = self.iter().map(|f| format!("`{}`", f.name)).collect();
        let list = format!("the functions are {}", names.join(", "));
        let near = nearest(name, self.iter().map(|f| f.name));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        let error = Error::invalid_argument(format!("unknown function `{}`", escape(name)));
        Err(error.with_hint(near + &list))
    }
}

impl std::str::FromStr for FunctionSet {
    type Err = Error;

    /// Parses `all`, or the names of optional functions, separated by commas.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text.trim() == "all" {
            return Ok(Self::all());
        }
        text.split(',').try_fold(Self::default(), |set, name| set.with(name.trim()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_add_to_the_five() {
        let names = |set: FunctionSet| set.iter().map(|f| f.name).collect::<Vec<_>>();
        assert_eq!(names(FunctionSet::default()).len(), 5);
        assert_eq!(FunctionSet::default().iter().filter(|f| f.optional).count(), 0);
        assert_eq!(names("all".parse().unwrap()).len(), FUNCTIONS.len());
        let two: FunctionSet = "projects, products".parse().unwrap();
        assert_eq!(names(two).len(), 7);
        assert_eq!("discover".parse::<FunctionSet>().unwrap(), FunctionSet::default());
        for bad in ["", "none", "products,", "product", "All", "platform.products"] {
            assert!(bad.parse::<FunctionSet>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_function_that_is_off_names_its_setting() {
        let error = FunctionSet::default().find("products").unwrap_err();
        assert_eq!(error.setting(), Some(setting::FUNCTION.of("products")));
        assert!(FunctionSet::all().find("products").is_ok());
        let error = FunctionSet::all().find("product").unwrap_err();
        assert!(error.hint().unwrap().starts_with("did you mean `products`?"));
    }
}
