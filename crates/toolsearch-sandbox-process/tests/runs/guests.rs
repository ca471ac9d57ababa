//! Guests that are no language: one that attacks its walls, one that lies to its host.

use std::io::{Read, Write};

use serde_json::{Value, json};
use toolsearch_sandbox::*;

/// Tries from inside what a taken-over engine would try, natively, and reports what succeeded.
pub(crate) struct Probe;

impl Guest for Probe {
    fn name(&self) -> &str {
        "probe"
    }

    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn run(
        &mut self,
        program: &GuestProgram,
        _: &Limits,
        _: &StopFlag,
        bridge: Box<dyn Bridge>,
    ) -> GuestOutcome {
        drop(bridge);
        let parent: i32 = program.source.parse().unwrap();
        let mut succeeded: Vec<&str> = Vec::new();
        let mut attempt = |name: &'static str, worked: bool| {
            if worked {
                succeeded.push(name);
            }
        };
        attempt("read /etc/passwd", std::fs::read("/etc/passwd").is_ok());
        attempt(
            "read /proc/self/mem",
            std::fs::File::open("/proc/self/mem").is_ok(),
        );
        attempt("list /", std::fs::read_dir("/").is_ok());
        attempt("stat /", std::fs::metadata("/").is_ok());
        attempt(
            "write /tmp",
            std::fs::write("/tmp/toolsearch-probe", "x").is_ok(),
        );
        attempt("chmod", chmod());
        attempt(
            "tcp listen",
            std::net::TcpListener::bind("127.0.0.1:0").is_ok(),
        );
        attempt(
            "tcp connect",
            refused(std::net::TcpStream::connect("127.0.0.1:9")),
        );
        attempt("udp", std::net::UdpSocket::bind("127.0.0.1:0").is_ok());
        attempt(
            "unix",
            std::os::unix::net::UnixListener::bind("/tmp/toolsearch-probe.sock").is_ok(),
        );
        attempt("socketpair", std::os::unix::net::UnixStream::pair().is_ok());
        attempt(
            "exec",
            std::process::Command::new("/bin/true").status().is_ok(),
        );
        attempt("thread", std::thread::Builder::new().spawn(|| ()).is_ok());
        attempt("pipe", std::io::pipe().is_ok());
        let parent = rustix::process::Pid::from_raw(parent).unwrap();
        attempt(
            "signal the parent",
            rustix::process::test_kill_process(parent).is_ok(),
        );
        attempt("raise limits", raise_limits());
        attempt(
            "duplicate stdout",
            rustix::io::dup(std::io::stdout()).is_ok(),
        );
        let json = json!({
            "succeeded": succeeded,
            "environment": std::env::vars().map(|(name, _)| name).collect::<Vec<_>>(),
        });
        GuestOutcome::Value {
            json: json.to_string(),
            hints: Vec::new(),
        }
    }
}

fn chmod() -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions("/tmp", std::fs::Permissions::from_mode(0o1777)).is_ok()
}

/// A refused connection had a socket.
fn refused(result: std::io::Result<std::net::TcpStream>) -> bool {
    result.is_ok_and(|_| true)
}

fn raise_limits() -> bool {
    use rustix::process::{Resource, Rlimit, setrlimit};
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(64),
            maximum: Some(64),
        },
    )
    .is_ok()
}

/// Writes its program's text to the host as it is, then waits to be killed.
pub(crate) struct Liar;

impl Guest for Liar {
    fn name(&self) -> &str {
        "liar"
    }

    fn prepare(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn run(
        &mut self,
        program: &GuestProgram,
        _: &Limits,
        _: &StopFlag,
        mut bridge: Box<dyn Bridge>,
    ) -> GuestOutcome {
        match program.source.strip_prefix("long:") {
            Some(bytes) => flood(bytes.parse().unwrap()),
            None => raw(program.source.as_bytes()),
        }
        // Says "wait" and blocks.
        let _ = bridge.receive();
        GuestOutcome::Nothing { hints: Vec::new() }
    }
}

fn flood(bytes: usize) {
    let chunk = vec![b'x'; 1 << 16];
    for _ in 0..bytes / chunk.len() {
        raw(&chunk);
    }
}

fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Cannot be prepared.
pub(crate) struct Broken;

impl Guest for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn prepare(&mut self) -> Result<(), String> {
        let mut text = String::new();
        let found =
            std::fs::File::open("/etc/hostname").and_then(|mut f| f.read_to_string(&mut text));
        Err(format!(
            "nothing to run, and files are open: {}",
            found.is_ok()
        ))
    }

    fn run(
        &mut self,
        _: &GuestProgram,
        _: &Limits,
        _: &StopFlag,
        _: Box<dyn Bridge>,
    ) -> GuestOutcome {
        GuestOutcome::Value {
            json: Value::Null.to_string(),
            hints: Vec::new(),
        }
    }
}
