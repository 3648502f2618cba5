//! Sockets that can be told to die.
//!
//! Owns accepting connections and resetting one in the middle, which no HTTP library offers.

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

/// Marks a connection as one to be reset at its next write.
#[derive(Debug, Clone, Default)]
pub(super) struct Doom(Arc<AtomicBool>);

impl Doom {
    /// Resets the connection instead of writing to it again.
    pub fn seal(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_sealed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Connected<IncomingStream<'_, Sockets>> for Doom {
    fn connect_info(stream: IncomingStream<'_, Sockets>) -> Self {
        stream.remote_addr().clone()
    }
}

/// A listener whose connections can be reset.
pub(super) struct Sockets(pub TcpListener);

impl Listener for Sockets {
    type Io = Socket;
    type Addr = Doom;

    async fn accept(&mut self) -> (Socket, Doom) {
        loop {
            if let Ok((stream, _)) = self.0.accept().await {
                // Small answers wait 40 ms for an acknowledgement otherwise.
                let _ = stream.set_nodelay(true);
                let doom = Doom::default();
                return (Socket { stream, doom: doom.clone() }, doom);
            }
            // Out of file descriptors, most likely: more of the same would spin.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn local_addr(&self) -> io::Result<Doom> {
        Ok(Doom::default())
    }
}

/// A connection.
pub(super) struct Socket {
    stream: TcpStream,
    doom: Doom,
}

impl Socket {
    /// Dropping the socket after this sends RST, not FIN.
    fn check(&self) -> io::Result<()> {
        if !self.doom.is_sealed() {
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
