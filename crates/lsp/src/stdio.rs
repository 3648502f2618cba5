//! Messages over standard input and output, of a bounded size.

use std::error::Error;
use std::io::{self, BufRead, Read as _, Write as _};
use std::thread::{self, JoinHandle};

use lsp_server::{Connection, ErrorCode, Message};
use serde_json::json;

/// The largest message, in bytes.
const LARGEST: u64 = 64 << 20;

/// The largest head of a message, in bytes.
const HEAD: u64 = 64 << 10;

/// The threads that read and write.
pub(crate) struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits until everything is written.
    ///
    /// # Errors
    /// When reading or writing failed.
    pub fn join(self) -> Result<(), Box<dyn Error + Send + Sync>> {
        for thread in [self.reader, self.writer] {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        Ok(())
    }
}

/// Connects to standard input and output.
pub(crate) fn connect() -> io::Result<(Connection, Threads)> {
    let (editor, server) = Connection::memory();
    let Connection { sender, receiver } = editor;
    let reader = thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(message) = read(&mut input)? {
            let message = match message {
                Ok(message) => message,
                Err(error) => {
                    refuse(&error)?;
                    continue;
                }
            };
            let is_last = matches!(&message, Message::Notification(own) if own.method == "exit");
            if sender.send(message).is_err() || is_last {
                break;
            }
        }
        Ok(())
    })?;
    let writer = thread::Builder::new().name("writer".to_owned()).spawn(move || {
        // The reader writes as well, between messages.
        receiver.into_iter().try_for_each(|message| message.write(&mut io::stdout().lock()))
    })?;
    Ok((server, Threads { reader, writer }))
}

fn invalid(message: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Responds to a text that isn't a message, and so has no identifier: `lsp_server` has no such response.
fn refuse(error: &serde_json::Error) -> io::Result<()> {
    let code =
        if error.is_data() { ErrorCode::InvalidRequest } else { ErrorCode::ParseError } as i32;
    let error = json!({ "code": code, "message": error.to_string() });
    let text = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    let mut output = io::stdout().lock();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

/// Reads a message; `None` at the end of the input. The inner error is about its text alone.
fn read(input: &mut impl BufRead) -> io::Result<Option<serde_json::Result<Message>>> {
    let mut size = None;
    let mut head = input.by_ref().take(HEAD);
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return match (size, head.limit()) {
                (None, 1..) => Ok(None),
                _ => Err(invalid("incomplete header of a message")),
            };
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("content-length") {
            size = Some(value.trim().parse::<u64>().map_err(invalid)?);
        }
    }
    let size = size.ok_or_else(|| invalid("missing Content-Length of a message"))?;
    if size > LARGEST {
        let message = format!("message too large: {size} bytes, the limit is {LARGEST}");
        return Err(invalid(message));
    }
    let mut text = Vec::new();
    input.by_ref().take(size).read_to_end(&mut text)?;
    if text.len() as u64 != size {
        return Err(invalid("incomplete message"));
    }
    Ok(Some(serde_json::from_slice(&text)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn messages_are_bounded() {
        let text = r#"{"jsonrpc": "2.0", "method": "exit"}"#;
        let head = format!("Content-Length: {}\r\n\r\n", text.len());
        let mut input = format!("{head}{text}{head}{text}");
        let mut all = input.as_bytes();
        for _ in 0..2 {
            assert!(matches!(read(&mut all).unwrap(), Some(Ok(Message::Notification(_)))));
        }
        assert!(read(&mut all).unwrap().is_none());
        input.pop();
        for text in [
            input.get(head.len() + text.len()..).unwrap().to_owned(),
            format!("Content-Length: {}\r\n\r\n{text}", u64::MAX),
            format!("Content-Length: {}\r\n\r\n{text}", 1_u64 << 40),
            format!("X: {}\r\n{head}{text}", "x".repeat(1 << 20)),
            format!("X: 1\r\n\r\n{text}"),
            head.clone(),
        ] {
            assert!(read(&mut text.as_bytes()).is_err());
        }
    }
}
