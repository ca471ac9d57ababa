//! Real runs in a real Node within real walls. This binary is its own worker, so it has a `main` of its
//! own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod programs;
mod walls;

use std::{process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Trial};
use toolsearch_sandbox_node::Node;
use toolsearch_sandbox_process::{Options, ProcessEngine, Worker, is_worker, launcher_main};
use toolsearch_testing::engine::{self, Bench};

fn main() -> ExitCode {
    if is_worker() {
        launcher_main();
    }
    let mut arguments = Arguments::from_args();
    // Tests count the children of this process.
    arguments.test_threads = Some(1);
    let mut trials = programs::trials();
    trials.extend(walls::trials());
    trials.push(trial("keeps_the_rules_of_engines", conforms));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A test that fails by panicking.
fn trial(name: &'static str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}

fn engine() -> ProcessEngine {
    let mut options = Options::default();
    options.warm = 0;
    ProcessEngine::external(
        Arc::new(Node::new()),
        Worker::current_exe().unwrap(),
        options,
    )
}

fn conforms() {
    let bench = Bench::new(Arc::new(engine()));
    toolsearch_testing::block_on(engine::conforms(&bench));
}
