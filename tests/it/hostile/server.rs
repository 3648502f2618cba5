//! A server that answers with arbitrary bytes, at any speed.
//!
//! Owns connections and the record of requests. Knows nothing of HTTP except the end of a request,
//! and shares nothing with the emulator.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// The next action on a connection.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// One byte at a time.
    Drip(Vec<u8>, Duration),
    /// The same bytes until the other side closes the connection.
    Endless(Vec<u8>),
    Pause(Duration),
    /// RST instead of FIN.
    Reset,
}

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub fn method(&self) -> &str {
        self.line().split(' ').next().unwrap_or_default()
    }

    pub fn target(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or_default()
    }

    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// Returns the values of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Vec<String> {
        let query = self.target().split_once('?').map_or("", |(_, query)| query);
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

type Handler = Arc<dyn Fn(&Request) -> Vec<Step> + Send + Sync>;

/// A running server; it stops when this is dropped.
pub struct Server {
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    accepting: JoinHandle<()>,
}

impl Server {
    pub fn start(handler: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::serve(None, Arc::new(handler))
    }

    pub fn start_tls(
        tls: rustls::ServerConfig,
        handler: impl Fn(&Request) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self::serve(Some(Arc::new(tls).into()), Arc::new(handler))
    }

    fn serve(tls: Option<tokio_rustls::TlsAcceptor>, handler: Handler) -> Self {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let log = Arc::clone(&requests);
        let accepting = runtime().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                let (tls, handler, log) = (tls.clone(), Arc::clone(&handler), Arc::clone(&log));
                tokio::spawn(async move { serve(stream, tls, &handler, &log).await });
            }
        });
        Self { address, requests, accepting }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The runtime of every hostile server of the test process.
pub fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
    })
}

async fn serve(
    stream: TcpStream,
    tls: Option<tokio_rustls::TlsAcceptor>,
    handler: &Handler,
    log: &Mutex<Vec<Request>>,
) {
    let Some(tls) = tls else {
        let (mut stream, reset) = converse(stream, handler, log).await;
        if reset {
            let _ = stream.set_zero_linger();
        } else {
            let _ = stream.shutdown().await;
        }
        return;
    };
    if let Ok(stream) = tls.accept(stream).await {
        let (mut stream, reset) = converse(stream, handler, log).await;
        if !reset {
            let _ = stream.shutdown().await;
        }
    }
}

/// Reads one request and answers it; returns the stream, and whether to reset it.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    handler: &Handler,
    log: &Mutex<Vec<Request>>,
) -> (S, bool) {
    let Some(request) = read(&mut stream).await else { return (stream, false) };
    let steps = handler(&request);
    log.lock().unwrap().push(request);
    for step in steps {
        let gone = match step {
            Step::Send(bytes) => stream.write_all(&bytes).await.is_err(),
            Step::Drip(bytes, pause) => drip(&mut stream, &bytes, pause).await,
            Step::Endless(bytes) => {
                while stream.write_all(&bytes).await.is_ok() {}
                true
            }
            Step::Pause(time) => {
                tokio::time::sleep(time).await;
                false
            }
            Step::Reset => return (stream, true),
        };
        if gone {
            break;
        }
        let _ = stream.flush().await;
    }
    (stream, false)
}

async fn drip<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8], pause: Duration) -> bool {
    for byte in bytes {
        if stream.write_all(&[*byte]).await.is_err() || stream.flush().await.is_err() {
            return true;
        }
        tokio::time::sleep(pause).await;
    }
    false
}

async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Option<Request> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(head);
    let request = Request { head: String::from_utf8_lossy(&bytes).into_owned(), body: Vec::new() };
    let length = request.header("content-length").map_or(0, |v| v.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(Request { body, ..request })
}
