//! Nothing is left behind: no process after a run, a timeout, a dropped run, a killed host.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use libtest_mimic::Trial;
use toolsearch_sandbox::*;
use toolsearch_sandbox_process::{Options, ProcessEngine, WORKER_ARG, Worker};
use toolsearch_testing::{PATIENCE, engine::Footprint};

use crate::{host::*, trial};

/// Makes this binary a host that can be killed.
pub(crate) const SUB_HOST: &str = "--sub-host";

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("one_process_a_run_and_none_after", none_left),
        trial("a_dropped_run_is_gone_at_once", dropped),
        trial("a_killed_worker_is_reported", killed),
        trial("a_thousand_runs_and_some_killed", stress),
        trial("a_worker_dies_with_its_host", orphan),
    ]
}

/// The workers among the children of a process.
fn workers_of(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_worker = command
            .split(|b| *b == 0)
            .any(|word| word == WORKER_ARG.as_bytes());
        if is_worker && parent_of(pid) == Some(parent) {
            found.push(pid);
        }
    }
    found
}

/// Parent of a process; none for one that is gone or a zombie.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" {
        None
    } else {
        fields.next()?.parse().ok()
    }
}

pub(crate) fn mine() -> Vec<u32> {
    workers_of(std::process::id())
}

/// The one worker there is. A process that was just started shows its arguments a moment later, and one
/// that was killed is seen a moment longer.
fn one_worker() -> u32 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match mine()[..] {
            [worker] => return worker,
            _ => assert!(Instant::now() < deadline, "{:?}", mine()),
        }
        std::thread::yield_now();
    }
}

pub(crate) fn cold() -> ProcessEngine {
    let mut options = Options::default();
    options.warm = 0;
    ProcessEngine::with_options("quickjs", Worker::current_exe().unwrap(), options)
}

fn none_left() {
    for (source, wall) in [
        ("return 1", LONG),
        ("while (true) {}", 200),
        ("throw 1", LONG),
        (
            "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
            LONG,
        ),
        ("await tools.call('ask', { n: 1 })", LONG),
    ] {
        let engine = cold();
        block_on(engine.run(program(source), Arc::new(Tools::default()), &limits(wall)));
        none_soon(source);
    }
    let engine = engine();
    engine.check().unwrap();
    let warm = one_worker();
    let mut next = warm;
    // The first run may come before the warm worker is there to be taken.
    for _ in 0..10 {
        let tools = Arc::new(Tools::default());
        block_on(engine.run(program("return 1"), tools, &limits(LONG)));
        next = one_worker();
        if next != warm {
            break;
        }
    }
    assert_ne!(next, warm, "a worker runs one program");
    drop(engine);
    none_soon("the engine was dropped");
}

/// Waits until the processes that were killed are gone.
fn none_soon(after: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !mine().is_empty() {
        assert!(Instant::now() < deadline, "after {after}: {:?}", mine());
        std::thread::yield_now();
    }
}

fn dropped() {
    block_on(async {
        let (engine, tools) = (cold(), Arc::new(Tools::default()));
        for source in [
            "await tools.call('never', {})",
            "tools.call('never', {}); while (true) {}",
        ] {
            let limits = limits(LONG);
            let mut run = engine.run(program(source), tools.clone(), &limits);
            let deadline = Instant::now() + PATIENCE;
            while tools.open.load(Ordering::SeqCst) == 0 {
                assert!(Instant::now() < deadline);
                let step = tokio::time::timeout(Duration::from_millis(5), &mut run).await;
                assert!(step.is_err(), "{step:?}");
            }
            one_worker();
            drop(run);
            assert_eq!(mine(), [0_u32; 0]);
            assert_eq!(
                tools.open.load(Ordering::SeqCst),
                0,
                "the host's call is cancelled too"
            );
        }
    });
}

fn killed() {
    block_on(async {
        let (engine, tools) = (cold(), Arc::new(Tools::default()));
        let limits = limits(LONG);
        let mut run = engine.run(
            program("await tools.call('never', {})"),
            tools.clone(),
            &limits,
        );
        while tools.open.load(Ordering::SeqCst) == 0 {
            let _ = tokio::time::timeout(Duration::from_millis(5), &mut run).await;
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(one_worker()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        let report = run.await;
        let error = report.error().unwrap();
        assert_eq!(error.code, ErrorCode::ProtocolError);
        assert!(error.message.contains("signal 9"), "{error}");
    });
}

/// Of a thousand runs, sixteen at a time, some lose their process.
fn stress() {
    use futures::StreamExt;
    const RUNS: u64 = 1000;
    block_on(async {
        let (engine, tools) = (engine(), Arc::new(Tools::default()));
        let limits = limits(LONG);
        let before = Footprint::now();
        let runs = (0..RUNS).map(|n| {
            let source = format!(
                "const r = await tools.callValue('slow', {{ ms: 2, tag: {n} }}); return r.tag"
            );
            let (engine, tools, limits) = (&engine, tools.clone(), &limits);
            async move { (n, engine.run(program(&source), tools, limits).await) }
        });
        let mut runs = futures::stream::iter(runs).buffer_unordered(16);
        let (mut right, mut lost, mut killed) = (0, 0, 0);
        while let Some((n, report)) = runs.next().await {
            match report.error() {
                None => {
                    assert_eq!(report.value(), Some(&serde_json::json!(n)), "{report:#?}");
                    right += 1;
                }
                Some(error) => {
                    assert_eq!(error.code, ErrorCode::ProtocolError, "{report:#?}");
                    assert!(error.message.contains("signal 9"), "{report:#?}");
                    lost += 1;
                }
            }
            let workers = mine();
            // Somewhere among them, another place each time.
            let place = usize::try_from(n * 7919).unwrap() % workers.len().max(1);
            if n % 20 == 0
                && let Some(pid) = workers.get(place)
            {
                let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
                killed += u64::from(
                    rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok(),
                );
            }
        }
        assert_eq!(right + lost, RUNS);
        // A worker that was killed while it was warm, or after its last word, costs no run.
        assert!(lost > 0 && lost <= killed, "{lost} of {killed}");
        drop(runs);
        drop(engine);
        assert_eq!(mine(), [0_u32; 0]);
        assert_eq!(tools.open.load(Ordering::SeqCst), 0);
        Footprint::is_back(before.as_ref(), 32 << 10);
    });
}

fn orphan() {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .arg(SUB_HOST)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(host.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let worker: u32 = line.trim().parse().unwrap();
    assert_eq!(parent_of(worker), Some(host.id()));
    host.kill().unwrap();
    host.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while parent_of(worker).is_some() {
        assert!(
            Instant::now() < deadline,
            "worker {worker} outlived its host"
        );
        std::thread::yield_now();
    }
}

/// Runs an endless program and prints the worker's process id, until killed.
pub(crate) fn be_a_host() -> ! {
    block_on(async {
        let (engine, tools) = (cold(), Arc::new(Tools::default()));
        let limits = limits(60_000);
        let source = "tools.call('never', {}); while (true) {}";
        let mut run = engine.run(program(source), tools.clone(), &limits);
        while tools.open.load(Ordering::SeqCst) == 0 {
            let _ = tokio::time::timeout(Duration::from_millis(5), &mut run).await;
        }
        let mut out = std::io::stdout();
        writeln!(out, "{}", one_worker()).unwrap();
        out.flush().unwrap();
        run.await;
    });
    std::process::exit(0)
}
