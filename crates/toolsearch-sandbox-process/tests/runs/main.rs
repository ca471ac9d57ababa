//! Real runs in real workers. This binary is its own worker, so it has a `main` of its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod abuse;
mod conformance;
mod guests;
mod host;
mod processes;
mod programs;
mod resume;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use toolsearch_sandbox_process::{is_worker, worker_main};
use toolsearch_sandbox_quickjs::QuickJs;

fn main() -> ExitCode {
    if is_worker() {
        match std::env::args().nth(2).as_deref() {
            Some("probe") => worker_main(guests::Probe),
            Some("liar") => worker_main(guests::Liar),
            Some("broken") => worker_main(guests::Broken),
            _ => worker_main(QuickJs::new()),
        }
    }
    if std::env::args().nth(1).as_deref() == Some(processes::SUB_HOST) {
        processes::be_a_host();
    }
    let mut arguments = Arguments::from_args();
    // Tests count the children of this process.
    arguments.test_threads = Some(1);
    let groups = [
        programs::trials(),
        abuse::trials(),
        resume::trials(),
        processes::trials(),
        conformance::trials(),
    ];
    let trials = groups.into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test that fails by panicking.
fn trial(name: &'static str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}
