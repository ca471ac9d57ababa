//! The calls: one after the other for the time of one, many at once for how many fit into a second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wire::{Http, HttpServer, Stdio};

/// Calls before anything is measured.
const WARM_UP: usize = 200;
/// Calls that are measured one after the other.
const CALLS: usize = 2_000;
/// Calls of a measurement with several in flight.
const MANY: usize = 4_000;
const IN_FLIGHT: [usize; 3] = [1, 16, 128];
/// A measurement ends after so long, however many calls it had: of a gateway that takes 40 ms for one,
/// fewer say as much.
const LONGEST: Duration = Duration::from_secs(10);

/// What came out.
pub(super) struct Numbers {
    pub(super) median: Duration,
    p99: Duration,
    per_second: BTreeMap<usize, f64>,
}

impl Numbers {
    pub(super) fn report(&self, direct: Option<&Self>) -> Value {
        let us = |time: Duration| (time.as_nanos() as f64 / 100.0).round() / 10.0;
        let mut report = json!({
            "median_us": us(self.median),
            "p99_us": us(self.p99),
            "calls_per_second": self.per_second.iter()
                .map(|(flying, rate)| (flying.to_string(), json!(rate.round())))
                .collect::<serde_json::Map<_, _>>(),
        });
        if let Some(direct) = direct {
            report["added_median_us"] = json!(us(self.median.saturating_sub(direct.median)));
            report["added_p99_us"] = json!(us(self.p99.saturating_sub(direct.p99)));
        }
        report
    }
}

fn params(tool: &str, arguments: Option<&Value>) -> Value {
    let arguments = arguments.cloned();
    json!({ "name": tool, "arguments": arguments.unwrap_or_else(|| json!({ "text": "hello" })) })
}

fn one_by_one(
    mut call: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<(Duration, Duration)> {
    let begun = Instant::now();
    for _ in 0..WARM_UP {
        call()?;
        if begun.elapsed() > LONGEST / 10 {
            break;
        }
    }
    let mut times = Vec::with_capacity(CALLS);
    let first = Instant::now();
    while times.len() < CALLS && first.elapsed() < LONGEST {
        let begun = Instant::now();
        call()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok((times[times.len() / 2], times[times.len() * 99 / 100]))
}

pub(super) fn stdio(
    start: impl Fn() -> anyhow::Result<Stdio>,
    tool: &str,
    arguments: Option<&Value>,
) -> anyhow::Result<Numbers> {
    let params = params(tool, arguments);
    let mut client = start()?;
    client.ask("tools/list", &json!({}))?;
    let (median, p99) = one_by_one(|| client.ask("tools/call", &params).map(|_| ()))?;
    let mut per_second = BTreeMap::new();
    for flying in IN_FLIGHT {
        let begun = Instant::now();
        for _ in 0..flying {
            client.send("tools/call", &params)?;
        }
        let (mut sent, mut answered) = (flying, 0);
        while answered < sent {
            client.answered()?;
            answered += 1;
            if sent < MANY && begun.elapsed() < LONGEST {
                client.send("tools/call", &params)?;
                sent += 1;
            }
        }
        per_second.insert(flying, answered as f64 / begun.elapsed().as_secs_f64());
    }
    Ok(Numbers {
        median,
        p99,
        per_second,
    })
}

pub(super) fn http(
    server: &HttpServer,
    tool: &str,
    arguments: Option<&Value>,
) -> anyhow::Result<Numbers> {
    let params = params(tool, arguments);
    let mut client = Http::connect(server.port)?;
    client.greet()?;
    client.ask("tools/list", &json!({}))?;
    let (median, p99) = one_by_one(|| client.ask("tools/call", &params).map(|_| ()))?;
    let mut per_second = BTreeMap::new();
    for flying in IN_FLIGHT {
        let mut callers = Vec::new();
        for nth in 0..flying {
            callers.push(client.beside(server.port, nth)?);
        }
        let begun = Instant::now();
        let calls = std::thread::scope(|scope| {
            let callers: Vec<_> = callers
                .iter_mut()
                .map(|caller| {
                    let params = &params;
                    scope.spawn(move || -> anyhow::Result<usize> {
                        let mut calls = 0;
                        while calls < MANY / flying && begun.elapsed() < LONGEST {
                            caller.ask("tools/call", params)?;
                            calls += 1;
                        }
                        Ok(calls)
                    })
                })
                .collect();
            let mut calls = 0;
            for caller in callers {
                calls += caller.join().expect("a caller does not panic")?;
            }
            anyhow::Ok(calls)
        })?;
        per_second.insert(flying, calls as f64 / begun.elapsed().as_secs_f64());
    }
    Ok(Numbers {
        median,
        p99,
        per_second,
    })
}
