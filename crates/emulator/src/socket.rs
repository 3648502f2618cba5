//! Sockets that can be reset.
//!
//! Owns accepting connections, and resetting one in the middle, which HTTP libraries don't offer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Marks a connection to be reset at its next write.
#[derive(Debug, Clone, Default)]
pub(super) struct ResetFlag(Arc<AtomicBool>);

impl ResetFlag {
    /// Resets the connection instead of writing to it again.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Connected<IncomingStream<'_, ResettableListener>> for ResetFlag {
    fn connect_info(stream: IncomingStream<'_, ResettableListener>) -> Self {
        stream.remote_addr().clone()
    }
}

/// A listener whose connections can be reset.
pub(super) struct ResettableListener(pub TcpListener);

impl Listener for ResettableListener {
    type Io = Socket;
    type Addr = ResetFlag;

    async fn accept(&mut self) -> (Socket, ResetFlag) {
        loop {
            if let Ok((stream, _)) = self.0.accept().await {
                // Otherwise small answers wait 40 ms for an acknowledgement.
                let _ = stream.set_nodelay(true);
                let reset = ResetFlag::default();
                return (Socket { stream, reset: reset.clone() }, reset);
            }
            // Most likely out of file descriptors: trying again at once would spin.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn local_addr(&self) -> io::Result<ResetFlag> {
        Ok(ResetFlag::default())
    }
}

/// A connection.
pub(super) struct Socket {
    stream: TcpStream,
    reset: ResetFlag,
}

impl Socket {
    /// Fails if the flag is set; dropping the socket then sends RST, not FIN.
    fn check(&self) -> io::Result<()> {
        if !self.reset.is_set() {
            return Ok(());
        }
        self.stream.set_zero_linger()?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
