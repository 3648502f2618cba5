//! The functions that answer with a list: one implementation of the request for all of them.
//!
//! Owns how filters become a query and rows an answer. Each function's file declares its filters,
//! rows and endpoint; `client` owns how pages are followed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::rego::Value;

use super::arguments::{Filter, argument, checked_filters, normalised, query};
use super::{Answer, AnswerCheck, AnswerFuture, Field, Parsed, Request, Type};
use crate::Error;
use crate::client::{
    Client, Context, Endpoint, List, Organization, Paging, Reader, parse_rows, protocol,
};
use crate::text::{same_letters, shorten};

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
    /// Returns how a row contradicts itself, if it does.
    pub contradiction: fn(&Value) -> Option<String>,
}

/// The `contradiction` of rows that can't contradict themselves.
pub(super) fn none(_: &Value) -> Option<String> {
    None
}

impl Listing {
    /// Checks the arguments of a call.
    pub fn parse(&'static self, arguments: &[Value]) -> Parsed {
        let (filters, limit) = checked_filters("filters", argument(arguments, 0), self.filters)?;
        Ok(Arc::new(ListRequest { listing: self, filters, limit }))
    }

    /// Returns the list that `filters` select, and the filters, to compare its rows with.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument), as for a policy.
    pub fn list(
        &self,
        filters: &Value,
    ) -> Result<(List, Vec<(&'static str, Filter)>), super::arguments::Invalid> {
        let (filters, limit) = checked_filters("filters", filters, self.filters)?;
        Ok((self.query(&filters, limit), filters))
    }

    fn query(&self, filters: &[(&'static str, Filter)], limit: Option<u64>) -> List {
        List { endpoint: self.endpoint, paging: self.paging, query: query(filters), limit }
    }

    /// Compares rows with the filters: a gateway that drops the query would return other rows.
    /// Returns the number of fields that should have been compared and weren't in the rows.
    pub fn check_rows(
        &self,
        filters: &[(&'static str, Filter)],
        rows: &[Value],
    ) -> Result<u64, Error> {
        if let Some(contradiction) = rows.iter().find_map(self.contradiction) {
            return Err(protocol(format!("the service contradicts itself: {contradiction}")));
        }
        self.refuse_two_projects(filters, rows)?;
        refuse_hidden(filters, rows)?;
        let mut unchecked = 0;
        for (filter, field) in self.checked {
            let Some((_, asked)) = filters.iter().find(|(name, _)| name == filter) else {
                continue;
            };
            let wanted: Vec<&str> = match asked {
                Filter::One(text) => vec![text],
                Filter::Many(texts) => texts.iter().map(String::as_str).collect(),
                Filter::Flag(_) => continue,
            };
            let is_documented = self.documents(field);
            let found =
                |row| if is_documented { values(row, field) } else { vec![named(row, field)] };
            for found in rows.iter().flat_map(found) {
                match found {
                    Some(Value::String(found)) if !found.is_empty() => {
                        let found: &str = found;
                        let same = |wanted: &&str| {
                            let uuid = field.ends_with("_id");
                            **wanted == *found || (uuid && wanted.eq_ignore_ascii_case(found))
                        };
                        if !wanted.iter().any(same) {
                            let found = shorten(found, 80);
                            return Err(protocol(format!(
                                "the service answered with the `{field}` `{found}`, which the \
                                 filter `{filter}` didn't ask for"
                            ))
                            .with_hint("does a proxy drop the query string?"));
                        }
                    }
                    _ => unchecked += u64::from(is_documented),
                }
            }
        }
        Ok(unchecked)
    }

    /// Returns `true` if rows have a field, so that a row without it lacks it.
    fn documents(&self, field: &str) -> bool {
        let first = field.split_once('.').map_or(field, |(first, _)| first);
        self.rows().1.iter().any(|documented| documented.name == first)
    }

    /// Notes what was asked for by its identifier and isn't in any row.
    fn note_missing(&self, filters: &[(&'static str, Filter)], rows: &[Value], context: &Context) {
        for (filter, field) in self.checked.iter().filter(|(filter, _)| filter.ends_with("_ids")) {
            let asked = filters.iter().find_map(|(name, asked)| match asked {
                Filter::Many(texts) if name == filter => Some(texts),
                _ => None,
            });
            for id in asked.into_iter().flatten() {
                let is_it = |found: Option<&Value>| {
                    found
                        .and_then(Value::as_str)
                        .is_some_and(|found| found.eq_ignore_ascii_case(id))
                };
                if !rows.iter().flat_map(|row| values(row, field)).any(is_it) {
                    let id = shorten(id, 80);
                    context
                        .doubt(format!("nothing with the `{field}` `{id}`, which was asked for"));
                }
            }
        }
    }

    /// Returns the doubt about a map in the rows whose values aren't all strings, as their kind is.
    fn odd_map(&self, rows: &[Value]) -> Option<String> {
        let maps = self.rows().1.iter().filter(|field| matches!(field.ty, Type::Map(Type::Any)));
        maps.flat_map(|field| rows.iter().map(|row| (field.name, row))).find_map(|(map, row)| {
            let members = row.get_str(map)?.as_object()?;
            let (key, _) = members.iter().find(|(_, value)| !matches!(value, Value::String(_)))?;
            let key = shorten(key.as_str().unwrap_or_default(), 80);
            Some(format!("`{map}` that aren't strings, such as `{key}`"))
        })
    }

    /// Refuses rows of two projects if one was asked for by its name.
    fn refuse_two_projects(
        &self,
        filters: &[(&'static str, Filter)],
        rows: &[Value],
    ) -> Result<(), Error> {
        let by_name = self.checked.contains(&("project_name", "project_name"))
            && filters.iter().any(|(name, _)| *name == "project_name");
        let ids = rows.iter().filter_map(|row| row.get_str("project_id")?.as_str());
        let mut ids = ids.filter(|id| by_name && !id.is_empty());
        let Some(first) = ids.next() else { return Ok(()) };
        match ids.find(|id| !id.eq_ignore_ascii_case(first)) {
            Some(other) => Err(protocol(format!(
                "the service answered about two projects with the name that was asked for, `{}` and \
                 `{}`",
                shorten(first, 80),
                shorten(other, 80)
            ))),
            None => Ok(()),
        }
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
        self.read(client, context, |_, _| Ok(()))
    }

    fn send_checked<'a>(
        &'a self,
        client: &'a Client,
        context: &'a Context,
        check: AnswerCheck,
    ) -> Option<AnswerFuture<'a>> {
        Some(self.read(client, context, check))
    }
}

impl ListRequest {
    fn read<'a>(
        &'a self,
        client: &'a Client,
        context: &'a Context,
        check_answer: AnswerCheck,
    ) -> AnswerFuture<'a> {
        Box::pin(async move {
            let (name, fields) = self.listing.rows();
            let reader = Reader::new(self.listing.query(&self.filters, self.limit));
            // One more than the limit, so that exceeding it is noticed.
            let most = client.settings.max_results.saturating_add(1);
            let read = |body: &str| parse_rows(name, fields, most, body);
            let organization = client.organization(context.deadline).await?;
            let (mut unchecked, mut odd_map) = (0, None);
            let check = |rows: &[Value]| {
                rows.iter().try_for_each(|row| check_answer(Type::Object(fields), row))?;
                unchecked += self.listing.check_rows(&self.filters, rows)?;
                odd_map = odd_map.take().or_else(|| self.listing.odd_map(rows));
                check_organization(&organization, rows)
            };
            let listed = reader.all(client, context, read, check).await?;
            if !listed.cut {
                self.listing.note_missing(&self.filters, &listed.rows, context);
                if let Some(doubt) = odd_map {
                    context.doubt(doubt);
                }
            }
            let rows = BTreeMap::from([(Value::from(name), Value::from(listed.rows))]);
            Ok(Answer { cut: listed.cut, unchecked, ..Value::from(rows).into() })
        })
    }
}

/// Refuses rows of another organization than the one that was asked: a gateway that drops the header
/// or replaces the token would answer for another one.
pub(crate) fn check_organization(asked: &Organization, rows: &[Value]) -> Result<(), Error> {
    let within = |row: &Value, field: &str| row.get_str("organization")?.get_str(field).cloned();
    for (asked, field, nested) in
        [(&asked.name, "organization_name", "name"), (&asked.id, "organization_id", "id")]
    {
        let Some(asked) = asked else { continue };
        for row in rows {
            let found = row.get_str(field).cloned().or_else(|| within(row, nested));
            let found = found.as_ref().and_then(Value::as_str).unwrap_or_default();
            let same =
                found == asked || field == "organization_id" && found.eq_ignore_ascii_case(asked);
            if !found.is_empty() && !same {
                return Err(protocol(format!(
                    "the service answered for the organization `{}`, and `{}` was asked",
                    shorten(found, 80),
                    shorten(asked, 80)
                ))
                .with_hint("does a proxy drop or replace headers?"));
            }
        }
    }
    Ok(())
}

/// Filters that leave rows out, with the field and the value that those rows have.
const HIDDEN: [(&str, &str, &str); 1] = [("hide_attestation", "kind", "ATTESTATION")];

/// Refuses rows that a filter leaves out.
fn refuse_hidden(filters: &[(&'static str, Filter)], rows: &[Value]) -> Result<(), Error> {
    for (filter, field, value) in HIDDEN {
        let is_set = filters.iter().any(|(name, it)| *name == filter && *it == Filter::Flag(true));
        let is_hidden = |row: &Value| row.get_str(field).and_then(Value::as_str) == Some(value);
        if is_set && rows.iter().any(is_hidden) {
            return Err(protocol(format!(
                "the service answered with the `{field}` `{value}`, which the filter `{filter}` leaves \
                 out"
            ))
            .with_hint("does a proxy drop the query string?"));
        }
    }
    Ok(())
}

/// Returns the value of an undocumented field, in any casing.
fn named<'v>(row: &'v Value, field: &str) -> Option<&'v Value> {
    let is_it = |key: &Value| key.as_str().is_some_and(|key| same_letters(key, field));
    row.as_object()?.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value)
}

/// Returns the values of a field, or of a field of the rows in a list.
fn values<'v>(row: &'v Value, field: &str) -> Vec<Option<&'v Value>> {
    match field.split_once('.') {
        None => vec![row.get_str(field)],
        Some((list, field)) => match row.get_str(list) {
            Some(Value::Array(rows)) => rows.iter().map(|row| row.get_str(field)).collect(),
            _ => Vec::new(),
        },
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
