//! Bodies, read in chunks within their limits.

use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};

use super::retry::Failed;
use crate::Error;
use crate::call::Context;

/// A bounded source of a response's bytes.
pub trait Source: Send {
    /// The announced number of bytes.
    fn announced(&self) -> Option<u64>;

    /// Returns the next chunk; `None` at the end of a complete body.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Failed>> + Send;
}

impl<S: Source> Source for &mut S {
    fn announced(&self) -> Option<u64> {
        (**self).announced()
    }

    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Failed>> + Send {
        (**self).next()
    }
}

/// A receiver of a body.
pub trait Sink: Send {
    /// Takes a chunk. The next one is read when this is done.
    fn take(&mut self, chunk: &[u8]) -> impl Future<Output = Result<(), Error>> + Send;
}

impl Sink for Vec<u8> {
    async fn take(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.extend_from_slice(chunk);
        Ok(())
    }
}

impl Context {
    /// Reads a source to its end and counts its bytes. What it announces is taken from the allowance at once:
    /// of responses that are too large together, the first ones come whole, and the others fail early. A
    /// failed attempt gives back what it took.
    pub async fn read(&self, mut source: impl Source, sink: &mut impl Sink) -> Result<(), Failed> {
        let allowance = self.allowance.as_deref();
        let (mut total, mut taken) = (0, 0);
        let mut read = async || {
            while let Some(chunk) = source.next().await? {
                total += chunk.len() as u64;
                let needed = source.announced().unwrap_or(0).max(total);
                if let Some(allowance) = allowance {
                    if !allowance.take(needed - taken) {
                        return Err(allowance.used_up().into());
                    }
                    taken = needed;
                }
                sink.take(&chunk).await?;
            }
            Ok(())
        };
        let read = read().await;
        if let Some(allowance) = allowance {
            allowance.give_back(if read.is_ok() { taken - total } else { taken });
        }
        if read.is_ok() {
            self.bytes.fetch_add(total, Ordering::Relaxed);
        }
        read
    }
}

/// The reason why a body can't be used.
#[derive(Debug)]
pub enum Unread {
    TooLarge,
    Broken(reqwest::Error),
}

/// Reads a body of at most `limit` bytes.
pub async fn read(mut response: reqwest::Response, limit: u64) -> Result<Bytes, Unread> {
    if response.content_length().is_some_and(|length| length > limit) {
        return Err(Unread::TooLarge);
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(Unread::Broken)? {
        if (body.len() + chunk.len()) as u64 > limit {
            return Err(Unread::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::call::Allowance;

    /// A body of chunks of five bytes that announces its length.
    struct Announced(u64, u64);

    impl Source for Announced {
        fn announced(&self) -> Option<u64> {
            Some(self.0)
        }

        async fn next(&mut self) -> Result<Option<Bytes>, Failed> {
            self.1 += 5;
            Ok((self.1 <= self.0).then(|| Bytes::from_static(b"12345")))
        }
    }

    /// Begins to read another answer of ten bytes with each chunk, and counts those that fail.
    struct Beside<'a>(&'a Context, usize);

    impl Sink for Beside<'_> {
        async fn take(&mut self, _: &[u8]) -> Result<(), Error> {
            let failed = self.0.read(Announced(10, 0), &mut Vec::new()).await.is_err();
            self.1 += usize::from(failed);
            Ok(())
        }
    }

    #[tokio::test]
    async fn an_answer_that_has_begun_comes_whole_within_the_allowance() {
        let allowance = Arc::new(Allowance::new(15));
        let context = Context::new(Instant::now(), Some(Arc::clone(&allowance)));
        let mut beside = Beside(&context, 0);
        context.read(Announced(10, 0), &mut beside).await.unwrap();
        assert_eq!(beside.1, 2);
        assert_eq!(context.used().1, 10);
        // Those that failed gave everything back.
        assert!(allowance.take(5) && !allowance.take(1));
    }
}
