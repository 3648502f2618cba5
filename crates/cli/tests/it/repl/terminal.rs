//! The line editor of `run`, and `eval --watch`, at a terminal.

use std::net::TcpListener;

use rexpect::process::{Signal, WaitStatus};
use rexpect::reader::Options;
use rexpect::session::{PtySession, spawn_with_options};

use super::POLICY;
use crate::cli::Sandbox;
use crate::support::{CLEAN_IMAGE, HANG};

const UP: &str = "\u{1b}[A";
const ENTER: &str = "\r";
const TAB: &str = "\t";
/// A prompt on a line of its own, where the editor reads keys again: what is typed before is lost.
const PROMPT: &str = "\n\r> ";

/// A command line at a terminal of its own; whoever waits for a text waits as long as `HANG`.
fn terminal(sandbox: &Sandbox, arguments: &[&str]) -> Terminal {
    let command = sandbox.run(arguments).env("TERM", "xterm").command();
    let patience = u64::try_from(HANG.as_millis()).unwrap();
    let options = Options::new().timeout_ms(Some(patience)).strip_ansi_escape_codes(true);
    Terminal(spawn_with_options(command, options).unwrap())
}

struct Terminal(PtySession);

impl Terminal {
    fn types(&mut self, keys: &str) {
        self.0.send(keys).unwrap();
        self.0.flush().unwrap();
    }

    /// Waits for a text, which comes after those that were waited for before.
    #[track_caller]
    fn shows(&mut self, text: &str) -> String {
        match self.0.exp_string(text) {
            Ok(before) => before,
            Err(error) => panic!("`{text}`: {error}"),
        }
    }

    #[track_caller]
    fn answers(&mut self, query: &str, answer: &str) {
        self.types(&format!("{query}{ENTER}"));
        self.shows(&format!("\n{answer}\r\n"));
        self.shows("> ");
    }

    #[track_caller]
    fn ends(mut self) -> WaitStatus {
        self.0.exp_eof().unwrap();
        self.0.process().wait().unwrap()
    }
}

fn run(sandbox: &Sandbox) -> Terminal {
    let policy = sandbox.write("p.rego", POLICY);
    let mut terminal = terminal(sandbox, &["run", &policy]);
    terminal.shows("`:quit` ends");
    terminal.shows("> ");
    terminal
}

#[test]
fn names_are_completed_and_lines_are_kept() {
    let sandbox = Sandbox::new();
    let mut first = run(&sandbox);
    // The one name that begins so, of a policy, a function and a command.
    first.answers(&format!("data.p.al{TAB}"), "undefined");
    first.answers(&format!("cou{TAB}([1, 1, 1, 1, 1]) * 11"), "55");
    first.types(&format!(":hel{TAB}{ENTER}"));
    first.shows(":explain [QUERY]");
    first.shows(PROMPT);
    // Of several, what they have in common, and a list.
    first.types(&format!("time.parse_{TAB}{TAB}"));
    first.shows("time.parse_duration_ns");
    // The line stands below the list once more.
    first.shows("> time.parse_");
    first.types("\u{3}");
    first.shows(PROMPT);
    first.answers("40 + 2", "42");
    first.types("\u{4}");
    assert!(matches!(first.ends(), WaitStatus::Exited(_, 0)));

    // A session that begins later has the lines of the one before.
    let mut second = run(&sandbox);
    second.answers(UP, "42");
    second.answers(&format!("{UP}{UP}{UP}"), "55");
    second.types("exit\r");
    assert!(matches!(second.ends(), WaitStatus::Exited(_, 0)));
}

#[test]
fn control_c_drops_what_is_typed_and_control_d_ends() {
    let sandbox = Sandbox::new();
    let mut terminal = run(&sandbox);
    terminal.types("1 +\u{3}");
    terminal.shows(PROMPT);
    terminal.answers("6 * 7", "42");
    // A rule that isn't finished, too.
    terminal.types(&format!("q if {{{ENTER}"));
    terminal.shows("| ");
    terminal.types("\u{3}");
    terminal.shows(PROMPT);
    terminal.answers("5 * 11", "55");
    // On a line with something in it, Ctrl-D doesn't end.
    terminal.types("7 * 1\u{4}1");
    terminal.answers("", "77");
    terminal.types("\u{4}");
    assert!(matches!(terminal.ends(), WaitStatus::Exited(_, 0)));
}

#[test]
fn control_c_stops_a_query_and_the_session_goes_on() {
    let sandbox = Sandbox::new();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", service.local_addr().unwrap());
    let arguments = ["run", "--timeout", "1h", "--token", "t", "--controlplane-url", &address];
    let mut terminal = terminal(&sandbox, &arguments);
    terminal.shows("> ");
    terminal.types(&format!("x := 6 * 7{ENTER}"));
    terminal.shows(PROMPT);
    // A call that is never answered.
    let digest = format!("sha256:{}", "0".repeat(64));
    terminal.types(&format!("platform.discover(\"{digest}\", \"\"){ENTER}"));
    let (asked, _) = service.accept().unwrap();
    terminal.types("\u{3}");
    terminal.shows("cancelled");
    terminal.shows(PROMPT);
    drop(asked);
    terminal.answers("x", "42");
    terminal.types("\u{4}");
    assert!(matches!(terminal.ends(), WaitStatus::Exited(_, 0)));
}

#[test]
fn control_c_stops_a_computation_and_the_session_goes_on() {
    let sandbox = Sandbox::new();
    let service = format!("{}/testdata/platform", crate::ROOT);
    let arguments = ["run", "-v", "--timeout", "1h", "--local", &service];
    let mut terminal = terminal(&sandbox, &arguments);
    terminal.shows("> ");
    // The answer of the call shows that the line is being executed.
    terminal.types(&format!(
        "platform.discover(\"{CLEAN_IMAGE}\", \"\"); \
        some i in numbers.range(1, 1000000); some j in numbers.range(1, 1000000); i + j < 0{ENTER}"
    ));
    terminal.shows("200");
    terminal.types("\u{3}");
    terminal.shows("cancelled");
    terminal.shows(PROMPT);
    terminal.answers("6 * 7", "42");
    terminal.types("\u{4}");
    assert!(matches!(terminal.ends(), WaitStatus::Exited(_, 0)));
}

#[test]
fn a_changed_file_is_evaluated_again() {
    let sandbox = Sandbox::new();
    let policy = sandbox.write("w/p.rego", "package p\n\nx := 11 * input.n\n");
    let input = sandbox.write("w/i.json", "{\"n\": 1}");
    let arguments = ["eval", "-d", &policy, "-i", &input, "--format", "raw", "--watch", "data.p.x"];
    let mut terminal = terminal(&sandbox, &arguments);
    terminal.shows("11");
    terminal.shows("watching for changes");
    sandbox.write("w/p.rego", "package p\n\nx := 22 * input.n\n");
    terminal.shows("22");
    terminal.shows("watching for changes");
    // A change that is wrong is shown, and ends nothing.
    sandbox.write("w/p.rego", "package p\n\nx := \n");
    terminal.shows("parse-error");
    terminal.shows("watching for changes");
    sandbox.write("w/p.rego", "package p\n\nx := 11 * input.n\n");
    terminal.shows("11");
    terminal.shows("watching for changes");
    sandbox.write("w/i.json", "{\"n\": 5}");
    terminal.shows("55");
    terminal.shows("watching for changes");
    // It goes on until a signal ends it.
    let status = terminal.0.process_mut().kill(Signal::SIGTERM).unwrap();
    assert!(matches!(status, WaitStatus::Signaled(_, Signal::SIGTERM, _)), "{status:?}");
}
