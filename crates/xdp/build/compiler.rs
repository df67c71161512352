//! The compiler of the BPF programs. The tests use it, too (`tests/compiler.rs`).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Compilers to try, best first.
const COMPILERS: [&str; 4] = ["clang-21", "clang-20", "clang-19", "clang"];

/// Directories with C headers of the system that clang does not search when it compiles for BPF (Debian).
const HEADERS: [&str; 2] = ["/usr/include/x86_64-linux-gnu", "/usr/include"];

/// Uses what the programs need and an older clang lacks (arenas, of clang 19), and headers of the system.
const PROBE: &str = "#include <stdbool.h>\n#include <linux/bpf.h>\n\
    int *in_kernel(int __attribute__((address_space(1))) *in_arena) { return (int *)in_arena; }\n";

/// A clang that can compile the programs.
pub struct Compiler(String);

impl Compiler {
    /// The requested compiler, or the best available. An error says why none is suitable.
    pub fn find(asked: Option<&str>) -> Result<Self, String> {
        let candidates = asked.map_or(COMPILERS.to_vec(), |asked| vec![asked]);
        let mut reasons = Vec::new();
        for name in candidates {
            let compiler = Self(name.to_owned());
            match compiler.run(&["-".as_ref(), "-o".as_ref(), "/dev/null".as_ref()], PROBE) {
                Ok(_) => return Ok(compiler),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("\n"))
    }

    /// Compiles a program. An error has the compiler's output.
    pub fn compile(&self, source: &Path, object: &Path) -> Result<(), String> {
        self.run(&[source, "-o".as_ref(), object], "").map(drop)
    }

    fn run(&self, arguments: &[&Path], input: &str) -> Result<Output, String> {
        let name = &self.0;
        let mut command = Command::new(name);
        command
            .args(["-O2", "-g0", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-c", "-x", "c"])
            .args(HEADERS.map(|folder| format!("-idirafter{folder}")))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // If it does not read its input, its status says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(|error| format!("{name}: {error}"))?;
        if output.status.success() {
            return Ok(output);
        }
        Err(format!("{name} ends with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
    }
}
