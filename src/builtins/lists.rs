//! Functions that answer with a list: one request, whatever the list is of.
//!
//! Owns how filters become a query and rows an answer. Which filters, rows and endpoint a list has
//! is said by its function's file; how pages are followed belongs to `client`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::rego::Value;

use super::arguments::{Filter, argument, checked_filters, normalised, query};
use super::{Answer, AnswerFuture, Field, Parsed, Request, Type};
use crate::client::{Client, Context, Endpoint, List, PageSeed, Paging, Reader, parse};

/// What a list is of.
#[derive(Debug)]
pub(crate) struct Listing {
    pub endpoint: Endpoint,
    pub paging: Paging,
    /// The keys of the one argument, `filters`.
    pub filters: &'static [Field],
    /// The one field of the answer, the array.
    pub result: &'static [Field],
}

impl Listing {
    /// Checks the arguments of a call.
    pub fn parse(&'static self, arguments: &[Value]) -> Parsed {
        let (filters, limit) = checked_filters("filters", argument(arguments, 0), self.filters)?;
        Ok(Arc::new(Listed { of: self, filters, limit }))
    }

    /// The list that `filters` ask for.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), as for a policy.
    pub fn list(&self, filters: &Value) -> Result<List, super::arguments::Invalid> {
        let (filters, limit) = checked_filters("filters", filters, self.filters)?;
        Ok(self.query(&filters, limit))
    }

    fn query(&self, filters: &[(&'static str, Filter)], limit: Option<u64>) -> List {
        List { endpoint: self.endpoint, paging: self.paging, query: query(filters), limit }
    }

    /// The array's name, and the fields of its rows.
    pub fn rows(&self) -> (&'static str, &'static [Field]) {
        match self.result {
            [Field { name, ty: Type::Array(Type::Object(fields)), .. }] => (name, fields),
            _ => ("", &[]),
        }
    }
}

/// A checked call.
#[derive(Debug)]
struct Listed {
    of: &'static Listing,
    filters: Vec<(&'static str, Filter)>,
    limit: Option<u64>,
}

impl Request for Listed {
    fn normalised(&self) -> Vec<Value> {
        vec![normalised(&self.filters, self.limit)]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            let (name, fields) = self.of.rows();
            let reader = Reader::new(self.of.query(&self.filters, self.limit));
            let seed = PageSeed::of_values(name, fields);
            let listed = reader.all(client, context, |body| parse(seed, body)).await?;
            let rows = BTreeMap::from([(Value::from(name), Value::from(listed.rows))]);
            Ok(Answer { value: Value::from(rows), cut: listed.cut })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::builtins::*;

    #[test]
    fn every_list_has_a_name_and_rows() {
        for listing in [
            &evidence::LISTING,
            &project_compliance::LISTING,
            &products::LISTING,
            &projects::LISTING,
            &environments::LISTING,
            &product_compliance::LISTING,
        ] {
            let (name, fields) = listing.rows();
            assert!(!name.is_empty() && fields.len() > 3, "{listing:?}");
        }
    }
}
