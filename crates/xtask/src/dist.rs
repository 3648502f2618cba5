//! `cargo xtask dist`: everything that a release publishes, in one folder.
//!
//! Owns the builds and the names of the files. The content depends on the commit, the toolchain and the
//! pinned tools only: paths are remapped, times are those of the commit, and archives are sorted.

mod archive;
mod image;
mod sbom;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use super::{Outcome, cargo, output, root, run};
use archive::Archive;

/// The target without `--target`.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The oldest glibc that the programs run on: that of `CentOS` 7 and `manylinux2014`.
const GLIBC: &str = "2.17";

/// The tools from `PyPI` that build for that glibc, and the authorities of the image.
const TOOLS: [&str; 4] =
    ["cargo-zigbuild==0.24.1", "ziglang==0.17.1", "maturin==1.16.0", "certifi==2026.10.19.post1"];

/// The shells that get a completion script.
const SHELLS: [&str; 4] = ["bash", "zsh", "fish", "powershell"];

/// The options of a distribution: the target, the profile and the destination.
struct Dist {
    target: String,
    profile: String,
    out: PathBuf,
    /// The command, if it is packed instead of built.
    binary: Option<PathBuf>,
    version: String,
    commit: String,
    /// The time of all files, in seconds since 1970.
    epoch: u64,
}

pub(super) fn make(arguments: &[String]) -> Outcome {
    let dist = Dist::new(arguments)?;
    match fs::remove_dir_all(&dist.out) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed(&dist.out, &error));
        }
        _ => {}
    }
    create(&dist.out)?;
    let binary = match &dist.binary {
        Some(binary) => binary.clone(),
        None => dist.build_all()?,
    };
    dist.pack_command(&binary)?;
    sbom::write(&dist, "rego-platform-cli", "rego-platform")?;
    if dist.target.contains("linux") {
        image::write(&dist, &binary)?;
    }
    let script = root().join("install.sh");
    fs::copy(&script, dist.out.join("install.sh")).map_err(|error| failed(&script, &error))?;
    dist.write_checksums()
}

impl Dist {
    fn new(arguments: &[String]) -> Result<Self, String> {
        let mut dist = Self {
            target: TARGET.to_owned(),
            profile: "release".to_owned(),
            out: root().join("dist"),
            binary: None,
            version: version()?,
            commit: git(&["rev-parse", "HEAD"])?,
            epoch: 0,
        };
        let mut arguments = arguments.iter();
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("missing value of `{option}`"))?;
            match option.as_str() {
                "--target" => dist.target.clone_from(value),
                "--profile" => dist.profile.clone_from(value),
                "--out" => dist.out = absolute(value)?,
                "--binary" => dist.binary = Some(absolute(value)?),
                _ => return Err(format!("unknown option `{option}`")),
            }
        }
        // What is released is what a commit has. Everything else is a trial.
        let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
        if !changed.is_empty() {
            if dist.profile == "release" && dist.binary.is_none() {
                return Err(format!("uncommitted changes: commit or stash them\n{changed}"));
            }
            dist.commit += "-dirty";
        }
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(epoch) => epoch,
            Err(_) => git(&["log", "-1", "--format=%ct"])?,
        };
        dist.epoch = epoch.parse().map_err(|_| format!("invalid `SOURCE_DATE_EPOCH`: {epoch}"))?;
        Ok(dist)
    }

    /// Builds the command, the C library and the wheel. Returns the command's path.
    fn build_all(&self) -> Result<PathBuf, String> {
        let tools = tools()?;
        let folder = self.build(&tools, "rego-platform-cli")?;
        self.build(&tools, "rego-platform-c")?;
        self.pack_library(&folder)?;
        sbom::write(self, "rego-platform-c", "rego-platform-c")?;
        self.build_wheel(&tools)?;
        sbom::write(self, "rego-platform-python", "rego-platform-python")?;
        let name =
            if self.target.contains("windows") { "rego-platform.exe" } else { "rego-platform" };
        Ok(folder.join(name))
    }

    /// Builds a package, and returns the folder with the result.
    fn build(&self, tools: &Path, package: &str) -> Result<PathBuf, String> {
        let zig = self.target.contains("linux");
        let target = self.zig_target();
        let mut command = cargo(&[if zig { "zigbuild" } else { "build" }, "--locked"]);
        command.args(["--profile", &self.profile, "--package", package, "--target", &target]);
        run(self.reproducible(&mut command, tools)?)?;
        let profile = if self.profile == "dev" { "debug" } else { &self.profile };
        Ok(root().join("target").join(&self.target).join(profile))
    }

    fn zig_target(&self) -> String {
        let glibc =
            if self.target.ends_with("linux-gnu") { format!(".{GLIBC}") } else { String::new() };
        format!("{}{glibc}", self.target)
    }

    fn build_wheel(&self, tools: &Path) -> Outcome {
        let mut command = Command::new(tools.join("maturin"));
        command
            .args([
                "build",
                "--locked",
                "--quiet",
                "--profile",
                &self.profile,
                "--target",
                &self.target,
            ])
            .arg("--out")
            .arg(&self.out)
            .current_dir(root().join("bindings/python"));
        if self.target.ends_with("linux-gnu") {
            command.args(["--zig", "--compatibility", "manylinux2014"]);
        } else if self.target.contains("linux") {
            command.args(["--zig", "--compatibility", "musllinux_1_2"]);
        }
        run(self.reproducible(&mut command, tools)?)
    }

    /// Sets what makes a build independent of the machine's folders and of the time.
    fn reproducible<'a>(
        &self,
        command: &'a mut Command,
        tools: &Path,
    ) -> Result<&'a mut Command, String> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let home = home.ok_or("there is no home folder")?;
        let sysroot =
            output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()))?;
        let places =
            [(root(), "/rego-platform"), (home, "/cargo"), (sysroot.trim().into(), "/rust")];
        let (mut rust, mut c) = (Vec::new(), Vec::new());
        for (folder, name) in places {
            let folder = folder.display();
            rust.push(format!("--remap-path-prefix={folder}={name}"));
            c.push(format!("-ffile-prefix-map={folder}={name}"));
        }
        if self.target.contains("windows") {
            // A static C runtime, as elsewhere.
            rust.push("-Ctarget-feature=+crt-static".to_owned());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(tools.to_owned()).chain(std::env::split_paths(&path));
        let path = std::env::join_paths(path).map_err(|error| error.to_string())?;
        let c_flags = format!("CFLAGS_{}", self.target.replace('-', "_"));
        without_settings(command)
            .env("PATH", path)
            // Separated as in no folder's name.
            .env("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}"))
            .env_remove("RUSTFLAGS")
            .env("CARGO_INCREMENTAL", "0")
            .env("REGO_PLATFORM_COMMIT", &self.commit)
            .env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        if !self.target.contains("windows") {
            command.env(c_flags, c.join(" "));
        }
        Ok(command)
    }

    /// Returns the name of a file of the release.
    fn name(&self, product: &str) -> String {
        format!("{product}-{}-{}", self.version, self.target)
    }

    /// Packs the command with its manual, completions and licence.
    fn pack_command(&self, binary: &Path) -> Outcome {
        let pages = root().join("target/man");
        let _ = fs::remove_dir_all(&pages);
        run(Command::new(binary).arg("man").arg(&pages))?;
        let name = self.name("rego-platform");
        let mut archive = Archive::new(self.epoch);
        let file_name =
            if self.target.contains("windows") { "rego-platform.exe" } else { "rego-platform" };
        archive.add_file(&format!("{name}/{file_name}"), binary, 0o755)?;
        for page in files(&pages)? {
            archive.add_file(&format!("{name}/man/{}", file_name_of(&page)), &page, 0o644)?;
        }
        for shell in SHELLS {
            let script = output(Command::new(binary).args(["completions", shell]))?;
            let path = format!("{name}/completions/rego-platform.{shell}");
            archive.add(&path, script.into_bytes(), 0o644);
        }
        for file in ["LICENSE", "README.md", "CHANGELOG.md"] {
            archive.add_file(&format!("{name}/{file}"), &root().join(file), 0o644)?;
        }
        self.write(&format!("{name}.tar.gz"), &archive.compressed()?)
    }

    /// Packs the C library with its header.
    fn pack_library(&self, folder: &Path) -> Outcome {
        let name = self.name("rego-platform-c");
        let mut archive = Archive::new(self.epoch);
        for library in [
            "librego_platform_c.so",
            "librego_platform_c.dylib",
            "rego_platform_c.dll",
            "rego_platform_c.dll.lib",
            "librego_platform_c.a",
            "rego_platform_c.lib",
        ] {
            let path = folder.join(library);
            if path.exists() {
                archive.add_file(&format!("{name}/lib/{library}"), &path, 0o644)?;
            }
        }
        for (file, path) in [
            ("include/rego_platform.h", "bindings/c/include/rego_platform.h"),
            ("examples/gate.c", "bindings/c/examples/gate.c"),
            ("README.md", "bindings/c/README.md"),
            ("LICENSE", "LICENSE"),
        ] {
            archive.add_file(&format!("{name}/{file}"), &root().join(path), 0o644)?;
        }
        self.write(&format!("{name}.tar.gz"), &archive.compressed()?)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Outcome {
        let path = self.out.join(name);
        fs::write(&path, bytes).map_err(|error| failed(&path, &error))
    }

    /// Writes the digest of each file, as `sha256sum --check` reads it, and prints it.
    fn write_checksums(&self) -> Outcome {
        let mut list = String::new();
        for path in files(&self.out)? {
            list += &format!("{}  {}\n", sha256(&read(&path)?), file_name_of(&path));
        }
        print!("{list}");
        self.write("SHA256SUMS", list.as_bytes())
    }
}

/// Returns the folder with the programs of [`TOOLS`], which are installed below `target` unless they are there.
fn tools() -> Result<PathBuf, String> {
    let folder = root().join("target/tools/dist");
    let bin = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let installed = folder.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|list| list == TOOLS.join("\n")) {
        return Ok(bin);
    }
    let python = if cfg!(windows) { "python" } else { "python3" };
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(bin.join(python)).args(install).args(TOOLS))?;
    fs::write(&installed, TOOLS.join("\n")).map_err(|error| failed(&installed, &error))?;
    Ok(bin)
}

/// Removes Cargo's settings in the environment, with which it would build something else.
fn without_settings(command: &mut Command) -> &mut Command {
    const PREFIXES: [&str; 5] =
        ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_RESOLVER_", "CARGO_TARGET_", "CARGO_UNSTABLE_"];
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
        {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the version that all crates share.
pub(super) fn version() -> Result<String, String> {
    manifest("version")
}

/// Returns a value of the workspace's manifest: its first line with this key.
pub(super) fn manifest(key: &str) -> Result<String, String> {
    let path = root().join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
    let value = |line: &str| {
        line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned)
    };
    text.lines().find_map(value).ok_or_else(|| format!("Cargo.toml has no `{key}`"))
}

pub(super) fn git(arguments: &[&str]) -> Result<String, String> {
    let text = output(Command::new("git").args(arguments).current_dir(root()))?;
    Ok(text.trim_end().to_owned())
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| failed(Path::new(path), &error))
}

/// Returns the files of a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let paths: std::io::Result<Vec<PathBuf>> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| failed(folder, &error))?;
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

fn file_name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| failed(path, &error))
}

fn create(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn sha256(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
