//! Lists that come in pages.
//!
//! Owns the following of pages: by cursor, or by offset if the service answers in the style of
//! interface section 2.1, until every row has been received, the author's limit is reached, or the
//! service contradicts itself. Knows nothing about the contents of a row.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::doubts::Beside;
use super::page::{Page, Pagination};
use super::repeated::{combined_hash, fast_hash};
use super::{ApiRequest, Client, Context, Endpoint, protocol};
use crate::rego::Value;
use crate::{Error, ErrorKind};

/// The position of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    Cursor(String),
    Offset(u64),
}

/// The longest cursor; it is sent back in a URL.
const MAX_CURSOR_BYTES: usize = 8 << 10;

/// The way in which the first page of a list is requested. Its answer decides how the others are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Paging {
    /// `pagination.limit`.
    #[default]
    Cursor,
    /// `pagination.page` and `pagination.page_size` (interface 2.1). A list in this style ends when
    /// its announced total has been received; without a total, at an empty page.
    Offset,
    /// No pages: the list comes whole.
    Whole,
}

/// The state of reading a list. After each page it knows which page to request next.
#[derive(Debug, Default)]
pub(crate) struct Pager {
    paging: Paging,
    cursors: HashSet<String>,
    next: Option<Next>,
    /// Set once a page was requested by its offset: a service that doesn't know offsets sends the
    /// first page again.
    by_offset: bool,
    /// The number of rows, once the service has announced it.
    total: Option<u64>,
    /// The number of pages, once the service has announced it.
    total_pages: u64,
    pages: usize,
    /// The rows received, by [`identity`].
    seen: HashSet<u64>,
    /// The first row.
    first: Option<u64>,
    /// Set if a row was also on an earlier page.
    moved: bool,
}

impl Pager {
    pub fn new(paging: Paging) -> Self {
        Self { paging, ..Self::default() }
    }

    /// Returns the query parameters that request the next page.
    pub fn query(&self, page_size: u64) -> Vec<(&'static str, String)> {
        let size = page_size.to_string();
        let offset = |offset: u64, size| {
            vec![("pagination.page", offset.to_string()), ("pagination.page_size", size)]
        };
        match &self.next {
            None => match self.paging {
                Paging::Cursor => vec![("pagination.limit", size)],
                Paging::Offset => offset(0, size),
                Paging::Whole => Vec::new(),
            },
            Some(Next::Cursor(cursor)) => {
                vec![("pagination.cursor", cursor.clone()), ("pagination.limit", size)]
            }
            Some(Next::Offset(at)) => offset(*at, size),
        }
    }

    /// Records a page with `received` rows, after which there are `have` rows in all. Returns
    /// `true` if there is another page.
    pub fn advance(
        &mut self,
        pagination: Option<&Pagination>,
        have: usize,
        received: usize,
        max_pages: usize,
    ) -> Result<bool, Error> {
        self.pages += 1;
        let none = Pagination::default();
        let pagination = pagination.unwrap_or(&none);
        self.check(pagination, have)?;
        let next = if let Some(cursor) = pagination.next_cursor.clone().filter(|c| !c.is_empty()) {
            if cursor.len() > MAX_CURSOR_BYTES {
                return Err(protocol(format!(
                    "the service's cursor is {} bytes long, the limit is {MAX_CURSOR_BYTES}",
                    cursor.len()
                )));
            }
            if !self.cursors.insert(cursor.clone()) {
                return Err(protocol(
                    "the service's pages go round in a circle: a cursor came again",
                ));
            }
            Some(Next::Cursor(cursor))
        } else if self.total.is_some_and(|total| (have as u64) < total) {
            if received == 0 {
                return Err(protocol(format!(
                    "the service announced {} results and stopped after {have}",
                    self.total.unwrap_or_default()
                )));
            }
            Some(Next::Offset(have as u64))
        } else if self.announces_pages(pagination, have) {
            if received == 0 || self.total.is_some() {
                return Err(protocol(format!(
                    "the service announced {} pages and stopped after {have} results",
                    self.total_pages
                )));
            }
            Some(Next::Offset(have as u64))
        } else if received > 0 && self.is_open(pagination, received) {
            Some(Next::Offset(have as u64))
        } else {
            None
        };
        self.by_offset |= matches!(next, Some(Next::Offset(_)));
        if next.is_some() && self.pages >= max_pages {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!("the list has more than {max_pages} pages, the limit"),
            ));
        }
        self.next = next;
        Ok(self.next.is_some())
    }

    /// Returns `true` if the service announced pages that can't have come yet.
    fn announces_pages(&self, pagination: &Pagination, have: usize) -> bool {
        let before_last = self.total_pages.saturating_sub(1);
        let size = pagination.page_size.unwrap_or(u64::MAX);
        (self.pages as u64) <= before_last && have as u64 <= before_last.saturating_mul(size)
    }

    /// Returns `true` if nothing indicates that a list paged by offset is at its end: neither a total
    /// nor, in a list that is paged by cursor elsewhere, a page that isn't full.
    fn is_open(&self, pagination: &Pagination, received: usize) -> bool {
        let is_full = match (pagination.page_size, pagination.page) {
            (Some(size), _) => received as u64 >= size,
            (None, page) => page.is_some(),
        };
        (self.paging == Paging::Offset || is_full)
            && self.total.is_none()
            && self.total_pages == 0
            && pagination.total_pages.is_none()
            && pagination.next_cursor.is_none()
            && !matches!(self.next, Some(Next::Cursor(_)))
    }

    /// Refuses totals that change or are exceeded, and a page other than the one that was
    /// requested.
    fn check(&mut self, pagination: &Pagination, have: usize) -> Result<(), Error> {
        if let (Some(Next::Offset(asked)), Some(page)) = (&self.next, pagination.page)
            && page != *asked
        {
            return Err(protocol(format!(
                "the service answered with the page at {page} instead of {asked}"
            )));
        }
        if let Some(total) = pagination.total_count {
            if self.total.is_some_and(|before| before != total) {
                return Err(protocol("the number of results changed from page to page"));
            }
            self.total = Some(total);
        }
        if let Some(pages) = pagination.total_pages {
            if self.total_pages > 0 && pages != self.total_pages {
                return Err(protocol("the number of pages changed from page to page"));
            }
            self.total_pages = pages;
        }
        // Without a total, nothing else shows that the rows before it are missing.
        let skips = pagination.page.is_some_and(|page| page > 0);
        if self.pages == 1 && skips && self.total.is_none() {
            return Err(protocol("the service's first page isn't the beginning of the list"));
        }
        match self.total {
            Some(total) if have as u64 > total => {
                Err(protocol(format!("the service announced {total} results and sent {have}")))
            }
            _ => Ok(()),
        }
    }

    /// Returns `true` before the first page.
    pub const fn is_at_start(&self) -> bool {
        self.pages == 0
    }

    /// Returns `true` if the service announced more rows than it has sent, or has another page.
    pub fn has_more(&self, have: usize) -> bool {
        self.next.is_some() || self.total.is_some_and(|total| total > have as u64)
    }

    /// Checks that a page brings something new: a service that doesn't know offsets would send the
    /// first page for ever, and one that loses its place sends rows again, perhaps in another order
    /// or in parts, in place of the rest.
    pub fn check_new(&mut self, page: &[Value]) -> Result<(), Error> {
        let again = |what: &str| {
            Err(protocol(format!("the service sent {what} again instead of the next page")))
        };
        let identities: Vec<u64> = page.iter().map(identity).collect();
        let Some(head) = identities.first().copied() else { return Ok(()) };
        if self.by_offset && self.first == Some(head) {
            return again("the first page");
        }
        let before = self.seen.len();
        self.moved |= identities.iter().any(|row| self.seen.contains(row));
        self.seen.extend(identities);
        if self.first.is_some() && self.seen.len() == before {
            return again("results that it had sent");
        }
        self.first.get_or_insert(head);
        Ok(())
    }

    /// Checks, at the end, that the rows of a list paged by offset are distinct.
    pub fn finish(&self, rows: &[Value]) -> Result<(), Error> {
        // Rows with distinct identities are distinct, and there is one for each row.
        let known = self.seen.len() == rows.len();
        if self.must_be_distinct() && (self.moved || !known && !are_distinct(rows)) {
            return Err(twice());
        }
        Ok(())
    }

    /// Returns `true` if a row was also on an earlier page, though perhaps with other values: it has
    /// moved, and another one may have been missed.
    pub const fn has_moved(&self) -> bool {
        self.moved
    }

    /// Returns `true` if the service announced a total, which a row that comes twice would fill, or
    /// if pages were read by offset: rows that move between two requests come twice.
    fn must_be_distinct(&self) -> bool {
        self.total.is_some() || self.by_offset
    }
}

/// The error of a row that came twice: another may have been missed.
pub(crate) fn twice() -> Error {
    protocol("the service sent the same result twice: its list changed between two pages")
        .with_hint("try again; another result may have been missed")
}

/// Returns a hash of what makes a row the same one on another page: of a row with an id, all its
/// identifiers, since other fields can change from request to request. Rows that collide, on purpose
/// or not, are refused or compared in full.
fn identity(row: &Value) -> u64 {
    let slow = |value: &Value| {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    };
    match row {
        Value::Object(fields) if row.get_str("id").is_some() => {
            let identifiers = fields.iter().filter(|(name, _)| {
                name.as_str().is_some_and(|name| {
                    name == "id" || name.ends_with("_id") || name.ends_with("Id")
                })
            });
            identifiers.fold(0, |hash, (_, identifier)| {
                let of_one = identifier.as_str().map_or_else(|| slow(identifier), fast_hash);
                combined_hash(hash, of_one)
            })
        }
        _ => slow(row),
    }
}

/// Returns `true` if no two rows are equal.
fn are_distinct(rows: &[Value]) -> bool {
    // Rows with different ids differ: comparing whole ones would take longer than reading them.
    let mut ids = HashSet::with_capacity(rows.len());
    if rows
        .iter()
        .all(|row| row.get_str("id").and_then(Value::as_str).is_some_and(|id| ids.insert(id)))
    {
        return true;
    }
    let mut seen = BTreeSet::new();
    rows.iter().all(|row| seen.insert(row))
}

/// A list to be read: its endpoint, paging and query.
#[derive(Debug)]
pub(crate) struct List {
    pub endpoint: Endpoint,
    pub paging: Paging,
    pub query: Vec<(&'static str, String)>,
    /// The author's limit on the number of results.
    pub limit: Option<u64>,
}

/// The number of results requested per page; the service replaces a number above its maximum by the
/// maximum.
const PAGE_SIZE: u64 = 1000;

/// Reads a list page by page: the only loop over pages takes its steps here.
#[derive(Debug)]
pub(crate) struct Reader {
    list: List,
    pager: Pager,
    have: usize,
    over: bool,
    /// Set if the service had more than the author's limit.
    cut: bool,
    /// What was beside the list on any page and may mean that it isn't whole.
    beside: Vec<Beside>,
}

impl Reader {
    pub fn new(list: List) -> Self {
        let pager = Pager::new(list.paging);
        Self { list, pager, have: 0, over: false, cut: false, beside: Vec::new() }
    }

    /// Returns the rows of the next page, or `None` when the list has ended.
    pub async fn next<T>(
        &mut self,
        client: &Client,
        context: &Context,
        parse: impl Fn(&str) -> serde_json::Result<Page<T>>,
    ) -> Result<Option<Vec<T>>, Error> {
        if self.over {
            return Ok(None);
        }
        let settings = &client.settings;
        let mut call = ApiRequest::get(self.list.endpoint, None);
        call.query.clone_from(&self.list.query);
        call.query.extend(self.pager.query(self.list.limit.unwrap_or(PAGE_SIZE).min(PAGE_SIZE)));
        let (page, announced) = client
            .page(context, &call, parse)
            .await
            .map_err(|error| within_list(error, &self.pager))?;
        let received = page.rows.as_ref().map_or(0, Vec::len);
        self.beside.extend(page.beside.into_iter().filter(|it| it.doubt(received).is_some()));
        let mut rows = page.rows.unwrap_or_default();
        let before = self.have;
        self.have += rows.len();
        let pagination = page.pagination.as_ref();
        let more = self.pager.advance(pagination, self.have, rows.len(), settings.max_pages)?;
        let limit = self.list.limit.map(|l| usize::try_from(l).unwrap_or(usize::MAX));
        if let Some(limit) = limit
            && self.have >= limit
        {
            self.cut =
                self.have > limit || self.pager.has_more(self.have) || announced.more.is_some();
            self.over = true;
            rows.truncate(limit.saturating_sub(before));
        } else if self.have > settings.max_results {
            return Err(too_many(settings.max_results));
        }
        self.over |= !more;
        if !self.cut {
            announced.refuse_more(more)?;
        }
        if self.over && !self.cut {
            announced.check_end(self.have, context)?;
        }
        if self.over {
            self.beside
                .iter()
                .filter_map(|it| it.doubt(self.have))
                .for_each(|it| context.doubt(it));
        }
        Ok(Some(rows))
    }

    /// Reads the list to its end, or to the author's limit. `check` sees each page as it comes: a
    /// hundred thousand rows aren't in the processor's cache any more when the last one is there.
    pub async fn all(
        mut self,
        client: &Client,
        context: &Context,
        parse: impl Fn(&str) -> serde_json::Result<Page<Value>>,
        mut check: impl FnMut(&[Value]) -> Result<(), Error>,
    ) -> Result<Listed, Error> {
        let mut rows = Vec::new();
        while let Some(page) = self.next(client, context, &parse).await? {
            self.pager.check_new(&page)?;
            check(&page)?;
            rows.extend(page);
        }
        self.pager.finish(&rows)?;
        Ok(Listed { rows, cut: self.cut })
    }

    /// Checks that the page which was just read brings something new.
    pub fn check_new(&mut self, page: &[Value]) -> Result<(), Error> {
        self.pager.check_new(page)
    }

    /// Returns `true` if no row may come twice.
    pub fn must_be_distinct(&self) -> bool {
        self.pager.must_be_distinct()
    }

    /// Returns `true` if a row was also on an earlier page.
    pub const fn has_moved(&self) -> bool {
        self.pager.has_moved()
    }
}

/// The rows of a list that was read.
#[derive(Debug)]
pub(crate) struct Listed {
    pub rows: Vec<Value>,
    /// Set if the service had more than the author's limit.
    pub cut: bool,
}

/// Turns "not found" after the first page into a protocol error: the service contradicts itself,
/// and a host must not make that undefined.
pub(crate) fn within_list(error: Error, pager: &Pager) -> Error {
    if error.kind() == ErrorKind::NotFound && !pager.is_at_start() {
        return protocol(format!("the list broke off: {error}"));
    }
    error
}

pub(crate) fn too_many(max: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("there are more than {max} results, the limit"))
        .with_hint(
            "narrow the filters, give a `limit`, or raise `max-results` in the configuration",
        )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn cursor(text: &str) -> Pagination {
        Pagination { next_cursor: Some(text.into()), ..Pagination::default() }
    }

    fn total(total: u64) -> Pagination {
        Pagination { total_count: Some(total), ..Pagination::default() }
    }

    fn numbers<const N: usize>(numbers: [u64; N]) -> [Value; N] {
        numbers.map(Value::from)
    }

    #[test]
    fn rows_are_distinct_by_their_ids_or_as_a_whole() {
        let rows = |text: &str| match Value::from_json(text).unwrap() {
            Value::Array(rows) => are_distinct(&rows),
            _ => unreachable!(),
        };
        assert!(rows(r#"[{"id":"a"},{"id":"b"}]"#) && rows(r#"[{"id":"a"},{}]"#) && rows("[]"));
        assert!(rows(r#"[{"id":"a","x":1},{"id":"a","x":2}]"#));
        assert!(!rows(r#"[{"id":"a","x":1},{"id":"b"},{"id":"a","x":1}]"#) && !rows("[{},{}]"));
    }

    #[test]
    fn cursors_are_followed_and_circles_refused() {
        let mut pager = Pager::default();
        assert!(pager.advance(Some(&cursor("a")), 0, 0, 10).unwrap());
        assert!(pager.advance(Some(&cursor("b")), 2, 2, 10).unwrap());
        assert!(pager.advance(Some(&cursor("a")), 2, 0, 10).is_err());
        let mut pager = Pager::default();
        assert!(!pager.advance(None, 2, 2, 10).unwrap());
    }

    #[test]
    fn a_page_that_comes_again_is_refused() {
        let (one, two) = (numbers([1, 2]), numbers([3, 1]));
        let read = |again: &[Value]| {
            let mut pager = Pager::default();
            let pages = [&one[..], &[], &two, &[], again];
            pages.into_iter().try_for_each(|page| pager.check_new(page))
        };
        read(&numbers([1, 4])).unwrap();
        for again in [&[2_u64, 1][..], &[1, 2], &[3], &[3, 2, 1], &[1, 1]] {
            let again: Vec<_> = again.iter().copied().map(Value::from).collect();
            assert_eq!(read(&again).unwrap_err().kind(), ErrorKind::Protocol, "{again:?}");
        }
        // An id is enough: other fields can change from request to request.
        let row =
            |served: u64| Value::from_json(&format!(r#"{{"id":"a","at":{served}}}"#)).unwrap();
        let mut pager = Pager::default();
        pager.check_new(&[row(1)]).unwrap();
        assert!(pager.check_new(&[row(2)]).is_err());
    }

    #[test]
    fn offsets_follow_the_rows_received_and_totals_must_hold() {
        let mut pager = Pager::default();
        assert!(pager.advance(Some(&total(5)), 2, 2, 10).unwrap());
        assert_eq!(pager.query(2)[0], ("pagination.page", "2".to_owned()));
        assert!(pager.advance(Some(&total(5)), 4, 2, 10).unwrap());
        assert!(!pager.advance(Some(&total(5)), 5, 1, 10).unwrap());
        assert!(pager.finish(&numbers([1, 1])).is_err());
        for (second, have, received) in [(total(5), 2, 0), (total(4), 4, 2), (total(5), 6, 4)] {
            let mut pager = Pager::default();
            pager.advance(Some(&total(5)), 2, 2, 10).unwrap();
            assert!(pager.advance(Some(&second), have, received, 10).is_err());
        }
    }

    #[test]
    fn announced_pages_are_read_or_missed() {
        let pages = |total_pages, page_size| Pagination {
            total_pages: Some(total_pages),
            page_size,
            ..Pagination::default()
        };
        let mut pager = Pager::default();
        assert!(pager.advance(Some(&pages(3, Some(2))), 2, 2, 10).unwrap());
        assert_eq!(pager.query(2)[0], ("pagination.page", "2".to_owned()));
        assert!(pager.advance(Some(&pages(3, Some(2))), 4, 2, 10).unwrap());
        assert!(!pager.advance(Some(&pages(3, Some(2))), 5, 1, 10).unwrap());
        // A list that shrinks between two pages.
        let mut pager = Pager::default();
        assert!(pager.advance(Some(&pages(3, Some(2))), 2, 2, 10).unwrap());
        assert!(pager.advance(Some(&pages(2, Some(2))), 4, 2, 10).is_err());
        // Larger pages than the service says that it sends.
        assert!(!Pager::default().advance(Some(&pages(3, Some(2))), 5, 5, 10).unwrap());
        for last in [0, 1] {
            assert!(!Pager::default().advance(Some(&pages(last, Some(2))), 2, 2, 10).unwrap());
        }
        assert!(Pager::default().advance(Some(&pages(5, None)), 0, 0, 10).is_err());
        let contradiction = Pagination { total_count: Some(1), ..pages(3, Some(1)) };
        assert!(Pager::default().advance(Some(&contradiction), 1, 1, 10).is_err());
        let agreed = Pagination { total_count: Some(2), ..pages(1, Some(2)) };
        assert!(!Pager::default().advance(Some(&agreed), 2, 2, 10).unwrap());
        let second = Pagination { page: Some(1), ..Pagination::default() };
        assert!(Pager::default().advance(Some(&second), 1, 1, 10).is_err());
    }

    #[test]
    fn a_list_by_offset_without_a_total_ends_with_an_empty_page() {
        let mut pager = Pager::new(Paging::Offset);
        assert_eq!(pager.query(2)[0], ("pagination.page", "0".to_owned()));
        assert!(pager.advance(None, 2, 2, 10).unwrap());
        assert_eq!(pager.query(2)[0], ("pagination.page", "2".to_owned()));
        assert!(!pager.advance(Some(&Pagination::default()), 2, 0, 10).unwrap());
        assert!(pager.finish(&numbers([1, 2])).is_ok() && pager.finish(&numbers([1, 1])).is_err());
        // A row that moved, though it has changed since.
        let row =
            |id: &str, at: u64| Value::from_json(&format!(r#"{{"id":"{id}","at":{at}}}"#)).unwrap();
        let read = |second: [Value; 2]| {
            let first = [row("a", 1), row("b", 1)];
            let mut pager = Pager::new(Paging::Offset);
            pager.advance(None, 2, 2, 10).unwrap();
            pager.check_new(&first).unwrap();
            pager.advance(None, 4, 2, 10).unwrap();
            pager.check_new(&second).unwrap();
            pager.finish(&[first, second].concat())
        };
        read([row("c", 1), row("d", 1)]).unwrap();
        read([row("b", 2), row("c", 1)]).unwrap_err();
        // A cursor has precedence.
        let mut pager = Pager::new(Paging::Offset);
        assert!(pager.advance(Some(&cursor("a")), 2, 2, 10).unwrap());
        assert!(!pager.advance(None, 4, 2, 10).unwrap());
        let mut pager = Pager::new(Paging::Offset);
        assert!(!pager.advance(Some(&cursor("")), 2, 2, 10).unwrap());
    }
}
