//! Evaluates cases in a child process, since bare regorus can be made to abort or hang.
//!
//! The child is this same program; it reads case numbers from standard input, one a line, and
//! writes one judgement a line. A child that dies or takes too long is replaced.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context as _;

use crate::Subject;
use crate::cases::Case;
use crate::judge::{Judgement, judge};

/// The child's side: answers until standard input ends.
pub(crate) fn serve(subject: Subject, cases: &[Case]) -> anyhow::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let number: usize = line?.trim().parse()?;
        let case = cases.get(number).context("no such case")?;
        let judgement = judge(case, subject.evaluate(case));
        println!("{}", serde_json::to_string(&judgement)?);
    }
    Ok(())
}

/// The parent's side.
pub(crate) struct Worker {
    subject: Subject,
    folder: PathBuf,
    limit: Duration,
    running: Option<Running>,
}

struct Running {
    child: Child,
    questions: ChildStdin,
    answers: Receiver<String>,
}

impl Worker {
    pub(crate) fn new(subject: Subject, folder: &Path, limit: Duration) -> Self {
        Self { subject, folder: folder.to_owned(), limit, running: None }
    }

    /// Judges case `number`, at the cost of a new child when the last one is gone.
    pub(crate) fn judge(&mut self, number: usize) -> anyhow::Result<Judgement> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => start(self.subject, &self.folder)?,
        };
        if writeln!(running.questions, "{number}").is_err() {
            return Ok(Judgement::gone("the process died before it read the case"));
        }
        match running.answers.recv_timeout(self.limit) {
            Ok(line) => {
                self.running = Some(running);
                Ok(serde_json::from_str(&line)?)
            }
            Err(RecvTimeoutError::Timeout) => {
                running.child.kill()?;
                running.child.wait()?;
                Ok(Judgement::gone(format!("hangs: no answer after {:?}", self.limit)))
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = running.child.wait()?;
                Ok(Judgement::gone(format!("the process died: {status}")))
            }
        }
    }
}

fn start(subject: Subject, folder: &Path) -> anyhow::Result<Running> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg(folder)
        .args(["--child", subject.name()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let questions = child.stdin.take().context("the child has no standard input")?;
    let output = child.stdout.take().context("the child has no standard output")?;
    let (send, answers) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Policies print too: only what looks like a judgement is one.
            if line.starts_with("{\"verdict\"") && send.send(line).is_err() {
                break;
            }
        }
    });
    Ok(Running { child, questions, answers })
}
