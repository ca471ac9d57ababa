//! The walls of a worker, put up by the worker itself, before it knows the program.
//!
//! Order matters. First Landlock, which needs a descriptor, then the resource limits, which leave none.
//! Then the engine is loaded. Then the seccomp filter, after which almost every system call fails. What a
//! platform lacks is reported as missing, never claimed.

use toolsearch_sandbox::{Layer, LayerState, Layers};

#[cfg(target_os = "linux")]
mod linux;

/// Address space of a worker. The engine's own limit is far below; this bounds what the engine does not
/// count.
#[cfg(unix)]
const ADDRESS_SPACE: u64 = 512 << 20;

/// CPU time of a worker: the backstop for one whose host was stopped and cannot kill it.
#[cfg(unix)]
const CPU_SECONDS: u64 = 300;

/// Everything that can stand before the engine is loaded.
pub(crate) fn before_engine() -> Layers {
    let mut list = vec![Layer::new(
        "process",
        LayerState::Enforced,
        "a process of its own, empty environment, killed by its host",
    )];
    #[cfg(target_os = "linux")]
    list.extend([linux::no_new_privileges(), linux::landlock()]);
    #[cfg(not(target_os = "linux"))]
    list.extend([absent("no_new_privs"), absent("landlock")]);
    list.push(resource_limits());
    Layers { list }
}

/// The last wall, for all threads of the process. Only the pipe is left.
pub(crate) fn after_engine(layers: &mut Layers) {
    #[cfg(target_os = "linux")]
    layers.list.push(linux::seccomp());
    #[cfg(not(target_os = "linux"))]
    layers.list.push(absent("seccomp"));
}

#[cfg(not(target_os = "linux"))]
fn absent(name: &str) -> Layer {
    Layer::new(
        name,
        LayerState::Missing,
        "this operating system has no such wall",
    )
}

#[cfg(unix)]
fn resource_limits() -> Layer {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let limits = [
        (Resource::As, ADDRESS_SPACE, "address space"),
        (Resource::Cpu, CPU_SECONDS, "CPU time"),
        (Resource::Fsize, 0, "file size"),
        (Resource::Core, 0, "core dumps"),
        (Resource::Memlock, 0, "locked memory"),
        (Resource::Nofile, 3, "descriptors"),
    ];
    let failed: Vec<&str> = limits
        .into_iter()
        .filter(|(resource, most, _)| {
            let limit = Rlimit {
                current: Some(*most),
                maximum: Some(*most),
            };
            setrlimit(*resource, limit).is_err()
        })
        .map(|(_, _, name)| name)
        .collect();
    if failed.is_empty() {
        let detail = "address space, CPU time, descriptors, file size, core dumps, locked memory";
        return Layer::new("rlimits", LayerState::Enforced, detail);
    }
    let state = if failed.len() == limits.len() {
        LayerState::Missing
    } else {
        LayerState::Partial
    };
    Layer::new(
        "rlimits",
        state,
        format!("could not limit {}", failed.join(", ")),
    )
}

#[cfg(not(unix))]
fn resource_limits() -> Layer {
    absent("rlimits")
}
