//! The walls of a worker, put up by the worker itself, before it knows the program.
//!
//! Order matters. First Landlock, which needs a descriptor, then the resource limits, which leave none.
//! Then the engine is loaded. Then the seccomp filter, after which almost every system call fails. What a
//! platform lacks is reported as missing, never claimed.

use std::convert::Infallible;

use toolsearch_sandbox::{Launch, Layer, LayerState, Layers};

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
    let mut list = vec![process()];
    #[cfg(target_os = "linux")]
    list.extend([linux::no_new_privileges(), linux::landlock()]);
    #[cfg(not(target_os = "linux"))]
    list.extend([absent("no_new_privs"), absent("landlock")]);
    list.push(resource_limits(ADDRESS_SPACE, 3));
    Layers { list }
}

/// Puts up every wall that an interpreter can live within and becomes it. Returns only a reason.
#[cfg(target_os = "linux")]
pub(crate) fn become_interpreter(launch: &Launch) -> Result<Infallible, String> {
    use std::{os::unix::process::CommandExt, process::Command};

    let mut list = vec![process(), linux::no_new_privileges()];
    // Nobody else would end one that is busy when its host is gone.
    let end = rustix::process::Signal::KILL;
    rustix::process::set_parent_process_death_signal(Some(end))
        .map_err(|error| format!("it would outlive its host: {error}"))?;
    list.push(linux::landlock_for(&launch.files));
    list.push(resource_limits(launch.address_space, launch.descriptors));
    list.push(linux::seccomp_for_interpreter());
    let layers = serde_json::to_string(&list).map_err(|error| error.to_string())?;
    let error = Command::new(&launch.program)
        .args(&launch.arguments)
        .arg(layers)
        .env_clear()
        .env("TZ", "UTC0")
        .exec();
    Err(format!(
        "{} cannot be started: {error}",
        launch.program.display()
    ))
}

/// Elsewhere nothing stands around the doors that an interpreter has.
#[cfg(not(target_os = "linux"))]
pub(crate) fn become_interpreter(_: &Launch) -> Result<Infallible, String> {
    Err("this operating system has no walls for an interpreter".to_owned())
}

/// The process itself: nothing inherited, the root as its folder.
fn process() -> Layer {
    let mut left = Vec::new();
    #[cfg(target_os = "linux")]
    if let Err(error) = crate::descriptors::close_inherited() {
        left.push(format!("inherited descriptors may be open: {error}"));
    }
    #[cfg(unix)]
    if let Err(error) = std::env::set_current_dir("/") {
        left.push(format!("it stands in its host's folder: {error}"));
    }
    if left.is_empty() {
        let detail = "a process of its own, empty environment, nothing open, killed by its host";
        return Layer::new("process", LayerState::Enforced, detail);
    }
    Layer::new("process", LayerState::Partial, left.join("; "))
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
fn resource_limits(address_space: u64, descriptors: u64) -> Layer {
    use rustix::process::{Resource, Rlimit, setrlimit};

    let limits = [
        (Resource::As, address_space, "address space"),
        (Resource::Cpu, CPU_SECONDS, "CPU time"),
        (Resource::Fsize, 0, "file size"),
        (Resource::Core, 0, "core dumps"),
        (Resource::Memlock, 0, "locked memory"),
        (Resource::Nofile, descriptors, "descriptors"),
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
fn resource_limits(_: u64, _: u64) -> Layer {
    absent("rlimits")
}
