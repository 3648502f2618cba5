//! The functions that answer with a list: one implementation of the request for all of them.
//!
//! Owns how filters become a query and rows an answer. Each function's file declares its filters,
//! rows and endpoint; `client` owns how pages are followed.

use std::sync::Arc;

use crate::rego::Value;
use crate::rego::value::Object;

use super::arguments::{Filter, Filters, Invalid, argument, checked_filters, normalised, query};
use super::enumeration::Enumeration;
use super::{Answer, AnswerFuture, Field, Parsed, Request, Type};
use crate::Error;
use crate::client::{Client, Context, Endpoint, List, Paging, Reader, parse_rows};
use crate::resources::validate::Asked;

/// A list function: its endpoint, filters and rows.
#[derive(Debug)]
pub(crate) struct Listing {
    pub endpoint: Endpoint,
    pub paging: Paging,
    /// The keys of the only argument, `filters`.
    pub filters: &'static [Field],
    /// The only field of the answer, the array.
    pub result: &'static [Field],
    /// The filters that each row is compared with, and the row's field for each; a dot leads to a
    /// field of the rows in a list.
    pub checked: &'static [(&'static str, &'static str)],
    /// The filters that are enumerations.
    pub enumerations: &'static [(&'static str, Enumeration)],
    /// `true` if the function's result is the array itself, not an object with it.
    pub bare: bool,
}

impl Listing {
    /// Checks the arguments of a call.
    pub fn parse(&'static self, arguments: &[Value]) -> Parsed {
        let (filters, limit) = self.check(argument(arguments, 0))?;
        Ok(Arc::new(ListRequest { listing: self, filters, limit }))
    }

    /// Returns the list that `filters` select, and the filters, to compare its rows with.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), as for a policy.
    pub fn list(&self, filters: &Value) -> Result<(List, Vec<(&'static str, Filter)>), Invalid> {
        let (filters, limit) = self.check(filters)?;
        Ok((self.query(&filters, limit), filters))
    }

    /// Checks the only argument.
    fn check(&self, given: &Value) -> Result<Filters, Invalid> {
        let name = if self.bare { "request" } else { "filters" };
        let (mut filters, limit) = checked_filters(name, given, self.filters)?;
        for (field, enumeration) in self.enumerations {
            if let Some(value) = given.get_str(field) {
                let values = enumeration.values(&format!("{name}.{field}"), value)?;
                filters.push((field, Filter::Many(values)));
            }
        }
        Ok((filters, limit))
    }

    fn query(&self, filters: &[(&'static str, Filter)], limit: Option<u64>) -> List {
        List { endpoint: self.endpoint, paging: self.paging, query: query(filters), limit }
    }

    /// Compares rows with the filters: a gateway that drops the query would return rows that don't match.
    pub fn check_rows(
        &self,
        filters: &[(&'static str, Filter)],
        rows: &[Value],
    ) -> Result<(), Error> {
        for (filter, field) in self.checked {
            let values = match filters.iter().find(|(name, _)| name == filter) {
                Some((_, Filter::One(text))) => vec![text.as_str()],
                Some((_, Filter::Many(texts))) => texts.iter().map(String::as_str).collect(),
                _ => continue,
            };
            let asked = Asked { field, values };
            rows.iter().try_for_each(|row| asked.check(row)).map_err(other_answer)?;
        }
        Ok(())
    }

    /// The array's name, and the fields of its rows.
    pub fn rows(&self) -> (&'static str, &'static [Field]) {
        match self.result {
            [Field { name, ty: Type::Array(Type::Object(fields)), .. }] => (name, fields),
            _ => ("", &[]),
        }
    }
}

/// A call whose arguments have been checked.
#[derive(Debug)]
struct ListRequest {
    listing: &'static Listing,
    filters: Vec<(&'static str, Filter)>,
    limit: Option<u64>,
}

impl Request for ListRequest {
    fn normalised(&self) -> Vec<Value> {
        vec![normalised(&self.filters, self.limit)]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            let (name, fields) = self.listing.rows();
            let reader = Reader::new(self.listing.query(&self.filters, self.limit));
            // One more than the limit, so that exceeding it is noticed.
            let most = client.settings.max_results.saturating_add(1);
            let read = |body: &str| parse_rows(name, fields, most, body);
            let check = |rows: &[Value]| self.listing.check_rows(&self.filters, rows);
            let listed = reader.all(client, context, read, check).await?;
            let rows = Value::from(listed.rows);
            let value = if self.listing.bare {
                rows
            } else {
                Value::from(Object::from([(Value::from(name), rows)]))
            };
            Ok(Answer { cut: listed.cut, rereads: listed.rereads, ..value.into() })
        })
    }
}

/// Returns the error of an answer to another question.
pub(super) fn other_answer(why: String) -> Error {
    Error::protocol(why).with_hint("check that no proxy removes the query string")
}

#[cfg(test)]
mod tests {
    use crate::functions::*;

    #[test]
    fn every_list_has_a_name_and_rows() {
        for listing in [
            &evidence::LISTING,
            &project_compliance::LISTING,
            &products::LISTING,
            &projects::LISTING,
            &environments::LISTING,
            &product_compliance::LISTING,
            &findings::LISTING,
        ] {
            let (name, fields) = listing.rows();
            assert!(!name.is_empty() && fields.len() > 3, "{listing:?}");
            // Such a filter that weren't one of the enumerations would be left out of the query.
            for filter in
                listing.filters.iter().filter(|filter| matches!(filter.ty, Type::Either(..)))
            {
                assert!(listing.enumerations.iter().any(|(name, _)| *name == filter.name));
            }
        }
    }
}
