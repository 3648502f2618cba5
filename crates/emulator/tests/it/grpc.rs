//! The content store over gRPC, by messages written byte by byte.

use super::*;

/// Returns a field of a message that is a text or a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    assert!(length < 128, "longer ones are written otherwise");
    [&[number << 3 | 2, length], content].concat()
}

/// Sends a message. Returns the code of a refusal, or the answer's first message.
fn ask(address: &str, method: &str, token: &str, message: &[u8]) -> Result<Vec<u8>, String> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let body = [&[0], &length[..], message].concat();
    let answer = send(|client| {
        let request = client.post(format!("http://{address}{method}"));
        request.bearer_auth(token).header("content-type", "application/grpc").body(body)
    });
    let answer = answer.unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/grpc"));
    match answer.header("grpc-status") {
        "" | "0" => {
            let length = u32::from_be_bytes(answer.body[1..5].try_into().unwrap());
            Ok(answer.body[5..][..usize::try_from(length).unwrap()].to_vec())
        }
        code => Err(code.to_owned()),
    }
}

fn ticket(emulator: &Emulator, role: u8, digest: &str) -> Result<String, String> {
    let message = [&[8, role], &field(2, digest.as_bytes())[..]].concat();
    let address = emulator.grpc_address();
    let method = "/controlplane.v1.CASCredentialsService/Get";
    let answer = ask(&address, method, &emulator.default_token(), &message)?;
    // A token in a result.
    Ok(String::from_utf8(answer[4..].to_vec()).unwrap())
}

fn read(emulator: &Emulator, token: &str, digest: &str) -> Result<Vec<u8>, String> {
    let name = digest.strip_prefix("sha256:").unwrap();
    let method = "/google.bytestream.ByteStream/Read";
    ask(&emulator.store_address(), method, token, &field(1, name.as_bytes()))
}

const PERMISSION_DENIED: &str = "7";
const UNAUTHENTICATED: &str = "16";

#[test]
fn content_is_for_the_ticket_of_its_digest() {
    let emulator = start(EmulatorOptions::default());
    let token = ticket(&emulator, 1, THREAT_MODEL).unwrap();
    let part = read(&emulator, &token, THREAT_MODEL).unwrap();
    assert_eq!(part[0], 10 << 3 | 2);
    assert!(String::from_utf8_lossy(&part).contains("# Threat model"), "{part:?}");
    let refused = |result: Result<Vec<u8>, String>| result.unwrap_err();
    assert_eq!(refused(read(&emulator, &token, BINARY)), UNAUTHENTICATED);
    assert_eq!(refused(read(&emulator, "", THREAT_MODEL)), UNAUTHENTICATED);
    let own = emulator.default_token();
    assert_eq!(refused(read(&emulator, &own, THREAT_MODEL)), UNAUTHENTICATED);
}

#[test]
fn tickets_are_for_what_the_caller_may_download() {
    let emulator = start(EmulatorOptions::default());
    assert_eq!(ticket(&emulator, 1, STORED_ONLY).unwrap_err(), PERMISSION_DENIED);
    let nothing = format!("sha256:{}", "0".repeat(64));
    assert_eq!(ticket(&emulator, 1, &nothing).unwrap_err(), "5");
    assert_eq!(ticket(&emulator, 1, "nonsense").unwrap_err(), "3");
    // Another role, that of uploads, isn't to be had.
    assert_eq!(ticket(&emulator, 2, THREAT_MODEL).unwrap_err(), "3");
}
