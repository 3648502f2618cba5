//! A server for policies' requests: it echoes a request, and records it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub method: String,
    pub path: String,
    /// The lines of the head, in lower case.
    pub head: String,
}

/// Serves until the process ends; one thread for each connection.
pub struct Server {
    pub port: u16,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, log) = (stream.unwrap(), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &log));
            }
        });
        Self { port, requests }
    }

    /// Returns the value of the option that allows it.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }
}

/// Answers by the path: `/status/503`, `/closed` (closes the connection), anything else: echoes the
/// request.
fn serve(stream: TcpStream, log: &Mutex<Vec<ReceivedRequest>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if !matches!(reader.read_line(&mut line), Ok(1..)) {
                return;
            }
            let line = line.to_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut words = head.split_whitespace();
        let method = words.next().unwrap().to_uppercase();
        let path = words.next().unwrap().to_owned();
        let request = ReceivedRequest { method: method.clone(), path: path.clone(), head };
        let count = {
            let mut log = log.lock().unwrap();
            log.push(request);
            log.len()
        };
        if path == "/closed" {
            return;
        }
        let status = path.strip_prefix("/status/").unwrap_or("200");
        let body = format!(r#"{{"method":"{method}","path":"{path}","count":{count}}}"#);
        let answer = format!(
            "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\nX-Of: {path}\r\n\
             content-length: {}\r\n\r\n{}",
            body.len(),
            if method == "HEAD" { "" } else { &body },
        );
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
