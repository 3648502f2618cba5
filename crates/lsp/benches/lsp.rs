//! A workspace of 1,000 policies: the first findings, and those after a keystroke.
//!
//! ```text
//! cargo bench --bench lsp
//! ```

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]
#![allow(clippy::pedantic)]

#[path = "../tests/it/editor.rs"]
#[allow(dead_code)]
mod editor;

use std::time::{Duration, Instant};

use editor::{Editor, folder};
use serde_json::Value;

const FILES: usize = 1_000;

const LIB: &str = "package lib\n\nok(c) if c.user == \"app\"\n";

fn policy(number: usize) -> String {
    format!(
        "package p{number}\n\nimport data.lib\n\ndefault allow := false\n\nallow if {{\n\tinput.user == \
         \"u{number}\"\n\tsome c in input.containers\n\tc.image == \"docker.io/{number}\"\n\t\
         lib.ok(c)\n}}\n\ndeny contains msg if {{\n\tsome c in input.containers\n\tnot \
         startswith(c.image, \"docker.io/library\")\n\tmsg := sprintf(\"%s has %d\", [c.name, \
         {number}])\n}}\n\nwarn contains \"closed\" if not allow\n"
    )
}

/// Waits for findings of a file with a text in them.
fn wait(editor: &mut Editor, file: &str, text: &str) {
    editor.wait(file, |found| found.to_string().contains(text));
}

/// Changes a file, and returns the time until the findings of one have a text.
fn change(editor: &mut Editor, file: &str, content: &str, text: &str, of: &str) -> Duration {
    let start = Instant::now();
    editor.change(file, content);
    wait(editor, of, text);
    start.elapsed()
}

fn end(mut editor: Editor) {
    editor.ask("shutdown", Value::Null).unwrap();
    editor.tell("exit", Value::Null);
}

/// Returns the processor time that this process has used in its own code.
fn user_time() -> Duration {
    // Linux counts in hundredths of a second.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 =
        fields.clone().nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or_default();
    Duration::from_millis(10 * ticks)
}

fn shown(name: &str, mut times: Vec<Duration>, user: Duration) {
    times.sort();
    let rounds = u32::try_from(times.len()).unwrap();
    let (median, most) = (times[times.len() / 2], times[times.len() * 95 / 100]);
    let user = user / rounds;
    println!("{name}: median {median:.1?}, 95 % below {most:.1?}, {user:.1?} of user time each");
}

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let rounds: usize = std::env::var("ROUNDS").map_or(50, |rounds| rounds.parse().unwrap());
    let mut texts = vec![("lib.rego".to_owned(), LIB.to_owned())];
    texts.extend((0..FILES).map(|number| (format!("p{number}.rego"), policy(number))));
    let mut files: Vec<(&str, &str)> =
        texts.iter().map(|(file, text)| (&**file, &**text)).collect();
    let wrong = policy(7).replace("sprintf", "sprint");
    let right = std::mem::replace(&mut files[8], ("p7.rego", &wrong));
    let folders: Vec<_> = (0..rounds.div_ceil(10)).map(|_| folder(&files)).collect();
    let (mut times, used) = (Vec::new(), user_time());
    for folder in folders {
        let start = Instant::now();
        let mut editor = Editor::start(folder, &files);
        wait(&mut editor, "p7.rego", "function sprint");
        times.push(start.elapsed());
        end(editor);
    }
    shown("the first findings", times, user_time() - used);
    files[8] = right;
    let mut editor = Editor::new(&files);
    for file in ["p500.rego", "lib.rego"] {
        editor.open(file);
    }
    let (mut times, used) = (Vec::new(), user_time());
    for round in 0..rounds {
        let wrong = policy(500).replace("startswith", &format!("startwith{round}"));
        let expected = format!("function startwith{round}");
        times.push(change(&mut editor, "p500.rego", &wrong, &expected, "p500.rego"));
    }
    shown("after a keystroke, the errors of the file", times, user_time() - used);
    let (mut times, used) = (Vec::new(), user_time());
    for round in 0..rounds {
        let unknown = policy(500).replace("lib.ok(c)", &format!("lib.ok(c)\n\tdata.none{round}"));
        let expected = format!("data.none{round}");
        times.push(change(&mut editor, "p500.rego", &unknown, &expected, "p500.rego"));
    }
    shown("after a keystroke, a warning of the file", times, user_time() - used);
    let (mut times, used) = (Vec::new(), user_time());
    for round in 0..rounds {
        let other = format!("package lib\n\nok{round}(c) if c.user == \"app\"\n");
        times.push(change(&mut editor, "lib.rego", &other, "data.lib.ok", "p999.rego"));
        change(&mut editor, "lib.rego", LIB, "[]", "p999.rego");
    }
    shown("those of all 1,000 files", times, user_time() - used);
    end(editor);
}
