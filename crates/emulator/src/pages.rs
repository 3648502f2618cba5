//! Pages of a list, by cursor or by offset.
//!
//! Owns cursors (opaque, valid for one search) and the limits of page sizes. Knows nothing about
//! the rows.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::dataset::Paging;
use super::query::Query;
use super::refusal::Refusal;
/// The page sizes of lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub max: usize,
    pub default: usize,
    /// `true` if every second page is empty and every third one short.
    pub ragged: bool,
}

/// A page: its rows, and the `pagination` object.
pub(super) struct Page<T> {
    pub rows: Vec<T>,
    pub pagination: Value,
}

impl Limits {
    fn size(self, requested: Option<usize>, key: &str) -> Result<usize, Refusal> {
        match requested {
            None => Ok(self.default.min(self.max)),
            Some(0) => Err(Refusal::bad_request(format!("`{key}` is less than 1"))),
            Some(size) => Ok(size.min(self.max)),
        }
    }

    /// Returns the page of `rows` that `query` asks for. A cursor is valid only for the `search`
    /// that it comes from.
    pub fn cut<T>(
        self,
        style: Paging,
        rows: Vec<T>,
        query: &Query,
        search: &str,
    ) -> Result<Page<T>, Refusal> {
        match style {
            Paging::Cursor => self.by_cursor(rows, query, search),
            Paging::Page => self.by_offset(rows, query),
        }
    }

    fn by_cursor<T>(self, rows: Vec<T>, query: &Query, search: &str) -> Result<Page<T>, Refusal> {
        let mut size = self.size(query.number("pagination.limit")?, "pagination.limit")?;
        let check = &super::hex_sha256(format!("{search}?{}", query.filters()).as_bytes());
        let (offset, step) = match query.optional("pagination.cursor")? {
            None => (0, 0),
            Some(cursor) => {
                read_cursor(cursor, check).filter(|(offset, _)| *offset <= rows.len()).ok_or_else(
                    || Refusal::bad_request("`pagination.cursor` isn't one of this list"),
                )?
            }
        };
        if self.ragged {
            size = match step % 3 {
                1 => 0,
                2 => size.div_ceil(2),
                _ => size,
            };
        }
        let total = rows.len();
        let rows: Vec<T> = rows.into_iter().skip(offset).take(size).collect();
        let next = offset + rows.len();
        let cursor = if next < total { write_cursor(next, step + 1, check) } else { String::new() };
        let pagination = json!({ "next_cursor": cursor });
        Ok(Page { rows, pagination })
    }

    fn by_offset<T>(self, rows: Vec<T>, query: &Query) -> Result<Page<T>, Refusal> {
        if query.optional("pagination.cursor")?.is_some() {
            return Err(Refusal::bad_request("this list has no cursors"));
        }
        let limit = query.number("pagination.limit")?;
        let size = query.number("pagination.page_size")?.or(limit);
        let size = self.size(size, "pagination.page_size")?;
        let offset = query.number("pagination.page")?.unwrap_or_default();
        let total = rows.len();
        let pagination = json!({
            "total_count": total,
            "page": offset,
            "total_pages": total.div_ceil(size),
            "page_size": size,
        });
        Ok(Page { rows: rows.into_iter().skip(offset).take(size).collect(), pagination })
    }
}

fn write_cursor(offset: usize, step: usize, check: &str) -> String {
    let check = check.get(..16).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(format!("{offset}.{step}.{check}"))
}

fn read_cursor(cursor: &str, check: &str) -> Option<(usize, usize)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let mut parts = text.split('.');
    let offset = parts.next()?.parse().ok()?;
    let step = parts.next()?.parse().ok()?;
    let fits = parts.next() == check.get(..16) && parts.next().is_none();
    fits.then_some((offset, step))
}
