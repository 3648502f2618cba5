//! Paginated lists.
//!
//! Owns the following of pages: by cursor, or by offset if the service answers in the style of
//! interface section 2.1, until every row has been received, the author's limit is reached, or the
//! service contradicts itself. Owns the rule for a list that changes while it is read: it is read again
//! from its start. Knows nothing about the contents of a row.

use std::collections::HashSet;
use std::hash::{Hash as _, Hasher};
use std::time::Instant;

use super::page::{Page, Pagination};
use super::repeated::combined_hash;
use super::{ApiRequest, Client, Context, Endpoint};
use crate::{Error, ErrorKind};
use rego::Value;

/// The position of the next page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Next {
    Cursor(String),
    Offset(u64),
}

/// The maximum length of a cursor, in bytes. It is sent back in a URL.
const MAX_CURSOR_BYTES: usize = 8 << 10;

/// The number of times that a changing list is read again.
const MAX_REREADS: u32 = 3;

/// The way in which the first page of a list is requested. Its answer decides how the others are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paging {
    /// `pagination.limit`.
    #[default]
    Cursor,
    /// `pagination.page` and `pagination.page_size` (interface 2.1). A list in this style ends when
    /// its announced total has been received; without a total, at an empty page.
    Offset,
    /// No pages: one response has the entire list.
    Whole,
}

/// The state of reading a list. After each page it knows which page to request next.
#[derive(Debug, Default)]
pub struct Pager {
    paging: Paging,
    cursors: HashSet<String>,
    next: Option<Next>,
    /// `true` once a page was requested by offset: rows that move between two requests appear twice.
    by_offset: bool,
    /// The number of rows, once the service has announced it.
    total: Option<u64>,
    pages: usize,
    have: usize,
    /// The hashes of the rows received.
    seen: HashSet<u64>,
    /// `true` if a row appeared twice.
    repeated: bool,
    /// `true` if two pages contradict each other, so that the list changed between them.
    changed: bool,
    /// The number of times that the list was read again.
    rereads: u32,
}

impl Pager {
    pub fn new(paging: Paging) -> Self {
        Self { paging, ..Self::default() }
    }

    /// Starts again after an error, if the list changed between two pages, and neither the time nor the
    /// number of rereads is used up. Otherwise returns the error.
    pub fn start_again(&mut self, error: Error, deadline: Instant) -> Result<(), Error> {
        if !self.changed {
            return Err(error);
        }
        let rereads = self.rereads + 1;
        if rereads > MAX_REREADS || Instant::now() >= deadline {
            return Err(error.with_hint(format!(
                "try again later: the list changed during every read (reads: {rereads})"
            )));
        }
        *self = Self { rereads, ..Self::new(self.paging) };
        Ok(())
    }

    /// Returns the number of times that the list was read again from its start.
    pub const fn rereads(&self) -> u32 {
        self.rereads
    }

    /// Returns the error of pages that contradict themselves. Between two pages a list may have changed; a
    /// single page shows no change.
    fn contradiction(&mut self, message: impl Into<String>) -> Error {
        self.changed = self.pages > 1;
        let error = Error::protocol(message);
        if !self.changed {
            return error;
        }
        error.with_hint("try again: the list changed between two pages")
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

    /// Records a page with `received` rows. Returns `true` if there is another page.
    pub fn advance(
        &mut self,
        pagination: Option<&Pagination>,
        received: usize,
        max_pages: usize,
    ) -> Result<bool, Error> {
        let none = Pagination::default();
        let pagination = pagination.unwrap_or(&none);
        self.pages += 1;
        self.have += received;
        self.count(pagination)?;
        self.next = match pagination.next_cursor.as_deref() {
            Some(cursor) if !cursor.is_empty() => Some(self.follow(cursor)?),
            _ if self.goes_on(pagination, received)? => {
                self.by_offset = true;
                Some(Next::Offset(self.have as u64))
            }
            _ => None,
        };
        match self.total {
            Some(total) if self.next.is_none() && total != self.have as u64 => {
                Err(self.miscounted(total))
            }
            _ if self.next.is_some() && self.pages >= max_pages => Err(Error::too_large(format!(
                "too many pages of the list: the limit is {max_pages}"
            ))),
            _ => Ok(self.next.is_some()),
        }
    }

    /// Checks the announced number of rows: every page announces the same number, and no more rows follow.
    fn count(&mut self, pagination: &Pagination) -> Result<(), Error> {
        let Some(total) = pagination.total_count else { return Ok(()) };
        if self.total.replace(total).is_some_and(|before| before != total) {
            return Err(self.contradiction("number of results changed between pages"));
        }
        if self.have as u64 > total {
            return Err(self.miscounted(total));
        }
        Ok(())
    }

    fn miscounted(&mut self, total: u64) -> Error {
        let have = self.have;
        self.contradiction(format!("result count mismatch: expected {total}, found {have}"))
    }

    fn follow(&mut self, cursor: &str) -> Result<Next, Error> {
        if cursor.len() > MAX_CURSOR_BYTES {
            return Err(Error::protocol(format!(
                "cursor of the service too long: {} bytes, the limit is {MAX_CURSOR_BYTES}",
                cursor.len()
            )));
        }
        if !self.cursors.insert(cursor.to_owned()) {
            return Err(self.contradiction("duplicate cursor of the service"));
        }
        Ok(Next::Cursor(cursor.to_owned()))
    }

    /// Returns `true` if a list without a cursor continues at the next offset: announced rows or pages are
    /// missing, or an offset list announces neither.
    fn goes_on(&mut self, pagination: &Pagination, received: usize) -> Result<bool, Error> {
        if matches!(self.next, Some(Next::Cursor(_))) {
            return Ok(false);
        }
        Ok(match (self.total, pagination.total_pages) {
            (Some(total), _) => received > 0 && (self.have as u64) < total,
            (None, Some(pages)) if self.pages as u64 >= pages => false,
            (None, Some(_)) if received > 0 => true,
            (None, Some(pages)) => {
                let have = self.have;
                let message = format!(
                    "page count mismatch: expected {pages} pages, but the list ended after {have} results"
                );
                return Err(self.contradiction(message));
            }
            (None, None) => {
                let by_cursor = pagination.next_cursor.is_some();
                received > 0 && self.paging == Paging::Offset && !by_cursor
            }
        })
    }

    /// Returns `true` before the first page.
    pub const fn is_at_start(&self) -> bool {
        self.pages == 0
    }

    /// Returns `true` if the service announced more rows than it has sent, or has another page.
    fn has_more(&self) -> bool {
        self.next.is_some() || self.total.is_some_and(|total| total > self.have as u64)
    }

    /// Checks that the last page has new rows: a service without support for offsets would send the first
    /// page forever. At the end of a list with a total or with offsets no row may have come twice: another
    /// would be missing.
    pub fn check_rows(&mut self, rows: &[Value]) -> Result<(), Error> {
        let is_last = self.next.is_none();
        let must_be_distinct = self.total.is_some() || self.by_offset;
        if is_last && self.pages == 1 && !must_be_distinct {
            return Ok(());
        }
        let before = self.seen.len();
        for row in rows {
            self.repeated |= !self.seen.insert(hash(row));
        }
        if before > 0 && !rows.is_empty() && self.seen.len() == before {
            let message = "duplicate page of the service";
            return Err(self.contradiction(message));
        }
        if is_last && must_be_distinct && self.repeated {
            return Err(self.contradiction("duplicate result of the service"));
        }
        Ok(())
    }
}

/// Returns a fast hash without resistance to collisions: the service isn't an attacker.
fn hash(row: &Value) -> u64 {
    struct Fast(u64);

    impl Hasher for Fast {
        fn write(&mut self, bytes: &[u8]) {
            let (words, rest) = bytes.as_chunks::<8>();
            // Its own length comes first: fewer than eight bytes leave room for it.
            let rest =
                rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte));
            let words = words.iter().map(|word| u64::from_le_bytes(*word));
            self.0 = words.chain([rest]).fold(self.0, combined_hash);
        }

        // What stands between texts: kinds, lengths, the end of a text.
        fn write_u8(&mut self, byte: u8) {
            self.0 = combined_hash(self.0, u64::from(byte));
        }

        fn write_usize(&mut self, number: usize) {
            self.0 = combined_hash(self.0, number as u64);
        }

        fn finish(&self) -> u64 {
            self.0
        }
    }

    let mut hasher = Fast(0);
    row.hash(&mut hasher);
    hasher.finish()
}

/// A list to be read: its endpoint, paging and query.
#[derive(Debug)]
pub struct List {
    pub endpoint: Endpoint,
    pub paging: Paging,
    pub query: Vec<(&'static str, String)>,
    /// The author's limit on the number of results.
    pub limit: Option<u64>,
}

/// The number of results requested per page; the service replaces a number above its maximum by the
/// maximum.
const PAGE_SIZE: u64 = 1000;

/// Reads a list page by page.
#[derive(Debug)]
pub struct Reader {
    list: List,
    pager: Pager,
    over: bool,
    /// `true` if the service had more than the author's limit.
    cut: bool,
}

impl Reader {
    pub fn new(list: List) -> Self {
        let pager = Pager::new(list.paging);
        Self { list, pager, over: false, cut: false }
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
        let page = client
            .json(context, &call, parse)
            .await
            .map_err(|error| within_list(error, &self.pager))?;
        let mut rows = page.contents.unwrap_or_default();
        let before = self.pager.have;
        let more = self.pager.advance(page.pagination.as_ref(), rows.len(), settings.max_pages)?;
        let limit = self.list.limit.map(|l| usize::try_from(l).unwrap_or(usize::MAX));
        if let Some(limit) = limit
            && self.pager.have >= limit
        {
            self.cut = self.pager.have > limit || self.pager.has_more();
            self.over = true;
            rows.truncate(limit.saturating_sub(before));
        } else if self.pager.have > settings.max_results {
            return Err(too_many(settings.max_results));
        }
        self.over |= !more;
        Ok(Some(rows))
    }

    /// Reads the list to its end or to the author's limit. A list that changes during the read is read again.
    /// `check` sees each page as it comes: a hundred thousand rows aren't in the processor's cache any more
    /// when the last one is there.
    pub async fn all(
        mut self,
        client: &Client,
        context: &Context,
        parse: impl Fn(&str) -> serde_json::Result<Page<Value>>,
        check: impl Fn(&[Value]) -> Result<(), Error>,
    ) -> Result<Listed, Error> {
        loop {
            match self.rest(client, context, &parse, &check).await {
                Ok(rows) => {
                    return Ok(Listed { rows, cut: self.cut, rereads: self.pager.rereads });
                }
                Err(error) => {
                    self.pager.start_again(error, context.deadline)?;
                    (self.over, self.cut) = (false, false);
                }
            }
        }
    }

    async fn rest(
        &mut self,
        client: &Client,
        context: &Context,
        parse: impl Fn(&str) -> serde_json::Result<Page<Value>>,
        check: impl Fn(&[Value]) -> Result<(), Error>,
    ) -> Result<Vec<Value>, Error> {
        let mut rows = Vec::new();
        while let Some(page) = self.next(client, context, &parse).await? {
            self.pager.check_rows(&page)?;
            check(&page)?;
            rows.extend(page);
        }
        Ok(rows)
    }

    /// Checks the rows of the page that was just read.
    pub fn check_rows(&mut self, page: &[Value]) -> Result<(), Error> {
        self.pager.check_rows(page)
    }
}

/// The rows of a list that was read.
#[derive(Debug)]
pub struct Listed {
    pub rows: Vec<Value>,
    /// `true` if the service had more than the author's limit.
    pub cut: bool,
    /// The number of times that the list was read again because it changed.
    pub rereads: u32,
}

/// Turns "not found" after the first page into a protocol error: the service contradicts itself, which a host
/// must not make undefined.
pub fn within_list(error: Error, pager: &Pager) -> Error {
    if error.kind() == ErrorKind::NotFound && !pager.is_at_start() {
        return Error::protocol(format!("incomplete list: {error}"));
    }
    error
}

pub fn too_many(max: usize) -> Error {
    Error::too_large(format!("too many results: the limit is {max}")).with_hint(
        "narrow the filters, give a `limit`, or raise `max-results` in the configuration",
    )
}
