//! The walls that Linux has: no new privileges, Landlock, seccomp.

use std::{collections::BTreeMap, path::PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};
use toolsearch_sandbox::{Layer, LayerState};

mod interpreter;

pub(crate) use interpreter::seccomp_for_interpreter;

/// Nothing that this process starts can gain rights, and no other process may look into it.
pub(crate) fn no_new_privileges() -> Layer {
    use rustix::{
        process::{DumpableBehavior, set_dumpable_behavior},
        thread::set_no_new_privs,
    };
    let dumpable = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    match (set_no_new_privs(true), dumpable) {
        (Ok(()), Ok(())) => Layer::new("no_new_privs", LayerState::Enforced, "no rights to gain"),
        (Ok(()), Err(error)) => Layer::new(
            "no_new_privs",
            LayerState::Partial,
            format!("the process can be traced by its own user: {error}"),
        ),
        (Err(error), _) => Layer::new("no_new_privs", LayerState::Missing, error.to_string()),
    }
}

/// No file, no port, no signal to others: a rule set without a rule.
pub(crate) fn landlock() -> Layer {
    told(restrict(&[]), "no files, TCP ports, signals to others")
}

/// The same, but for reading and running these files.
pub(crate) fn landlock_for(files: &[PathBuf]) -> Layer {
    let detail = "no files but the interpreter's own, no TCP ports, signals to others";
    told(restrict(files), detail)
}

fn told(status: Result<RulesetStatus, RulesetError>, detail: &str) -> Layer {
    match status {
        Ok(RulesetStatus::FullyEnforced) => Layer::new("landlock", LayerState::Enforced, detail),
        Ok(RulesetStatus::PartiallyEnforced) => Layer::new(
            "landlock",
            LayerState::Partial,
            "this kernel knows an older form: files are closed, ports or signals may not be",
        ),
        Ok(RulesetStatus::NotEnforced) => Layer::new(
            "landlock",
            LayerState::Missing,
            "this kernel has no Landlock",
        ),
        Err(error) => Layer::new("landlock", LayerState::Missing, error.to_string()),
    }
}

fn restrict(files: &[PathBuf]) -> Result<RulesetStatus, RulesetError> {
    let rules = path_beneath_rules(files, AccessFs::Execute | AccessFs::ReadFile);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V6))?
        .handle_access(AccessNet::from_all(ABI::V6))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?
        .add_rules(rules)?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Allows what a loaded engine needs: memory, its two pipes, waiting, the clock. Everything else fails
/// with "operation not permitted".
pub(crate) fn seccomp() -> Layer {
    let applied = filter().and_then(|program| {
        apply_filter_all_threads(&program).map_err(|error| format!("cannot be set: {error}"))
    });
    match applied {
        Ok(()) => Layer::new(
            "seccomp",
            LayerState::Enforced,
            "memory, the pipe and the clock only",
        ),
        Err(reason) => Layer::new("seccomp", LayerState::Missing, reason),
    }
}

fn filter() -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| format!("no filter for {}", std::env::consts::ARCH))?;
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let text = |error: seccompiler::BackendError| error.to_string();
    let rules = rules().map_err(text)?;
    let filter = SeccompFilter::new(rules, denied, SeccompAction::Allow, arch).map_err(text)?;
    filter.try_into().map_err(text)
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let free = [
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sigaltstack,
        libc::SYS_clock_gettime,
        libc::SYS_gettimeofday,
        libc::SYS_getrandom,
        libc::SYS_restart_syscall,
        libc::SYS_sched_yield,
        libc::SYS_gettid,
        libc::SYS_getpid,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll,
        libc::SYS_ppoll,
    ];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        free.into_iter().map(|call| (call, Vec::new())).collect();
    // Descriptors that a host left open by mistake stay useless: only the pipe can be used.
    rules.insert(libc::SYS_read, vec![argument(0, SeccompCmpOp::Eq, 0)?]);
    rules.insert(
        libc::SYS_write,
        vec![
            argument(0, SeccompCmpOp::Eq, 1)?,
            argument(0, SeccompCmpOp::Eq, 2)?,
        ],
    );
    // Memory that is never code, and never a file.
    let no_exec = || condition(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0);
    let no_file = condition(4, SeccompCmpOp::Eq, u64::from(u32::MAX))?;
    rules.insert(
        libc::SYS_mmap,
        vec![SeccompRule::new(vec![no_exec()?, no_file])?],
    );
    rules.insert(
        libc::SYS_mprotect,
        vec![SeccompRule::new(vec![no_exec()?])?],
    );
    Ok(rules)
}

fn argument(
    index: u8,
    compare: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![condition(index, compare, value)?])
}

fn condition(
    index: u8,
    compare: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, compare, value)
}
