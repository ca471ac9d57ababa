//! The seccomp filter around an interpreter, which must still start, load its libraries and have threads.
//!
//! It names what is forbidden, because what an interpreter needs changes with its versions. Landlock stands
//! behind it for files, and for running anything else.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};
use toolsearch_sandbox::{Layer, LayerState};

use super::argument;

/// Forbids sockets, new processes, signals to others, other processes' memory, changes to files' data
/// about files, and everything that only administrators need. For this process and all of its threads.
pub(crate) fn seccomp_for_interpreter() -> Layer {
    match apply() {
        Ok(()) => Layer::new(
            "seccomp",
            LayerState::Enforced,
            "no sockets, no processes, no signals to others",
        ),
        Err(reason) => Layer::new("seccomp", LayerState::Missing, reason),
    }
}

fn apply() -> Result<(), String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)
        .map_err(|_| format!("no filter for {}", std::env::consts::ARCH))?;
    // Threads are made with the older call, whose flags a filter can read.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let filters = [
        filter(unknown, libc::ENOSYS, arch)?,
        without_other_numbers(filter(
            denied().map_err(|error| error.to_string())?,
            libc::EPERM,
            arch,
        )?),
    ];
    for program in &filters {
        apply_filter(program).map_err(|error| format!("cannot be set: {error}"))?;
    }
    Ok(())
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    error: libc::c_int,
    arch: TargetArch,
) -> Result<BpfProgram, String> {
    let denied = SeccompAction::Errno(error.unsigned_abs());
    let text = |error: BackendError| error.to_string();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).map_err(text)?;
    filter.try_into().map_err(text)
}

/// On `x86_64` every call has a second number, in the table of another word size, which the rules do not
/// name. None of those is allowed.
#[cfg(target_arch = "x86_64")]
fn without_other_numbers(mut program: BpfProgram) -> BpfProgram {
    const OTHER_TABLE: u32 = 0x4000_0000;
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| seccompiler::sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt,
        jf,
        k,
    };
    let head = [
        // The number of the call.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(
            libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
            0,
            1,
            OTHER_TABLE,
        ),
        instruction(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs(),
        ),
    ];
    program.splice(0..0, head);
    program
}

#[cfg(not(target_arch = "x86_64"))]
fn without_other_numbers(program: BpfProgram) -> BpfProgram {
    program
}

fn denied() -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let whole = NETWORK
        .iter()
        .chain(PROCESSES)
        .chain(FILES)
        .chain(MACHINE)
        .chain(OF_THIS_ARCHITECTURE);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        whole.map(|call| (*call, Vec::new())).collect();
    // A new thread, but no new process.
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    rules.insert(
        libc::SYS_clone,
        vec![argument(0, SeccompCmpOp::MaskedEq(thread), 0)?],
    );
    // Signals to itself: an interpreter that gives up ends itself by one.
    let own = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, vec![argument(0, SeccompCmpOp::Ne, own)?]);
    }
    // Limits may be read and not set.
    let set = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![set])?]);
    Ok(rules)
}

const NETWORK: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

const PROCESSES: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setrlimit,
    libc::SYS_setpriority,
    libc::SYS_setpgid,
    libc::SYS_setsid,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_memfd_create,
    libc::SYS_userfaultfd,
];

/// What Landlock does not know, and what would lead around it.
const FILES: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
];

const MACHINE: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const OF_THIS_ARCHITECTURE: &[i64] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_inotify_init,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];

#[cfg(not(target_arch = "x86_64"))]
const OF_THIS_ARCHITECTURE: &[i64] = &[];
