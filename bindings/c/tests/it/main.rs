//! The C library, as programs in C use it: they are compiled here, and need a C compiler.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
use tempfile::TempDir;

/// The clean image of the shipped data.
const CLEAN_IMAGE: &str = "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A compiled program, in a folder that is removed with it.
struct Program {
    folder: TempDir,
}

impl Program {
    /// Compiles a file, of this crate if its path is relative. `C_TEST_FLAGS` adds options of the compiler.
    fn new(file: impl AsRef<Path>) -> Self {
        let built = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let library = ["librego_platform_c.so", "librego_platform_c.dylib"]
            .map(|name| built.join(name))
            .into_iter()
            .find(|path| path.exists())
            .unwrap_or_else(|| panic!("no library in {}", built.display()));
        let folder = tempfile::tempdir().unwrap();
        let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        compiler.args(["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", "-g"]);
        let further = std::env::var("C_TEST_FLAGS").unwrap_or_default();
        compiler.args(further.split_whitespace());
        compiler.arg("-I").arg(self::folder().join("include"));
        compiler.arg(self::folder().join(file.as_ref())).arg(library);
        compiler.arg(format!("-Wl,-rpath,{}", built.display()));
        compiler.args(["-pthread", "-o"]).arg(folder.path().join("program"));
        let output = compiler.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { folder }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.path());
        // No configuration of whoever runs the tests.
        for name in ["HOME", "XDG_CONFIG_HOME"] {
            command.env(name, self.folder.path());
        }
        command.env_remove("REGO_PLATFORM_PRODUCT");
        command
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }
}

/// Runs a program to its end, and returns its output if it succeeds.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    output
}

/// Starts the service on the shipped data.
fn emulator() -> Emulator {
    let dataset = Dataset::load(&folder().join("../../testdata/platform")).unwrap();
    Emulator::start(dataset, EmulatorOptions::default()).unwrap()
}

/// Sets the environment to the service.
fn asks(command: &mut Command, emulator: &Emulator) {
    command
        .env("PLATFORM_TOKEN", emulator.default_token())
        .env("PLATFORM_CONTROLPLANE_URL", emulator.controlplane_url())
        .env("PLATFORM_BASE_URL", emulator.base_url());
}

#[test]
fn sixty_four_threads_evaluate_gate_and_cancel() {
    run(&mut Program::new("tests/threads.c").command());
}

#[test]
fn wrong_arguments_and_failed_callbacks_are_errors() {
    run(&mut Program::new("tests/errors.c").command());
}

#[test]
fn forked_processes_evaluate() {
    let emulator = emulator();
    let program = Program::new("tests/fork.c");
    let mut command = program.command();
    asks(&mut command, &emulator);
    run(&mut command);
    // The child before the first request, the parent three times, and the child that loads again.
    assert!(emulator.requests().len() >= 4);
}

#[test]
fn the_example_gates_with_the_service() {
    let emulator = emulator();
    let program = Program::new("examples/gate.c");
    let policy = program.folder.path().join("release.rego");
    let text = "package release\n\ndeny contains \"no SBOM\" if {\n\timage := platform.discover(input.image, \
                \"\")\n\tcount([r | some r in image.references; startswith(r.kind, data.prefix)]) == 0\n}\n";
    std::fs::write(&policy, text).unwrap();
    let gate = |prefix: &str, input: &str| {
        std::fs::write(
            program.folder.path().join("data.json"),
            format!("{{\"prefix\": \"{prefix}\"}}"),
        )
        .unwrap();
        let mut command = program.command();
        asks(&mut command, &emulator);
        let output = command
            .args([program.folder.path().to_str().unwrap(), "data.release.deny", input])
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    };
    let clean = format!(r#"{{"image": "{CLEAN_IMAGE}"}}"#);

    let (status, text) = gate("SBOM_", &clean);
    assert_eq!(status, 0, "{text}");
    assert!(text.starts_with(r#"{"result":[],"#), "{text}");
    assert!(text.contains(r#""function":"platform.discover""#), "{text}");
    let (status, text) = gate("NONE_", &clean);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("no SBOM"), "{text}");
    let (status, text) = gate("SBOM_", "{}");
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("argument `input.image` is undefined"), "{text}");
}

#[test]
fn the_program_of_the_guide_gates_with_the_service() {
    let emulator = emulator();
    let guide = std::fs::read_to_string(folder().join("../../docs/guides/embed.md")).unwrap();
    let (_, from) = guide.split_once("\n```c\n").unwrap();
    let (text, _) = from.split_once("```").unwrap();
    let place = tempfile::tempdir().unwrap();
    let policies = place.path().join("policies");
    std::fs::create_dir(&policies).unwrap();
    let (_, from) = guide.split_once("cat > policies/release.rego <<'END'\n").unwrap();
    let (policy, _) = from.split_once("END\n").unwrap();
    std::fs::write(policies.join("release.rego"), policy).unwrap();
    let file = place.path().join("main.c");
    let image = format!(r#"\"image\": \"{CLEAN_IMAGE}\""#);
    assert!(text.contains(&image), "{text}");
    for (input, status, expected) in
        [(image.as_str(), 0, "passed\n"), ("", 2, "argument `input.image` is undefined")]
    {
        std::fs::write(&file, text.replace(&image, input)).unwrap();
        let program = Program::new(&file);
        let mut command = program.command();
        asks(&mut command, &emulator);
        let output = command.current_dir(place.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}
