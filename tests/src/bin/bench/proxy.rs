//! What the proxy adds to a request: the same requests to a scripted model directly and through
//! `toolsearch serve --http`, in turns, over connections that stay open.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use toolsearch_it::model::{Asked, Said, ScriptedModel};

/// Tools of a request.
const TOOLS: usize = 200;
/// Requests of each kind, and those before that are not counted.
const ROUNDS: usize = 300;
const WARM_UP: usize = 30;
/// The goals.
const ADDED_US: i128 = 1_000;
const LEAST_SMALLER: f64 = 90.0;

/// Runs every measurement and prints one document.
pub(crate) fn run() -> Result<()> {
    let binary = std::env::var_os("TOOLSEARCH_BIN").map(PathBuf::from);
    let binary = binary.context("TOOLSEARCH_BIN names no binary; use `cargo xtask bench proxy`")?;
    let model = ScriptedModel::start(|_: &Asked| {
        Said::text("This is what the model says, in a few pieces that follow each other.")
    })?;
    let folder = tempfile::tempdir()?;
    let gateway = Gateway::start(&binary, folder.path(), &model)?;
    let body = request(false);
    let sent = body.len();
    let mut direct = Connection::open(&model.address())?;
    let mut through = Connection::open(&gateway.address)?;
    let whole = compare(&mut direct, &mut through, &body)?;
    let asked = model.take();
    let smallest = asked.iter().map(|asked| asked.raw.len()).min();
    let upstream = smallest.context("the model was not asked")?;
    let first = compare(&mut direct, &mut through, &request(true))?;
    let smaller = 100.0 - 100.0 * upstream as f64 / sent as f64;
    let report = json!({
        "benchmark": "proxy",
        "tools": TOOLS,
        "client_bytes": sent,
        "upstream_bytes": upstream,
        "smaller_percent": (smaller * 10.0).round() / 10.0,
        "whole_us": whole.report(),
        "first_streamed_byte_us": first.report(),
    });
    #[expect(clippy::print_stdout, reason = "a program that people run")]
    {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    ensure!(
        smaller >= LEAST_SMALLER,
        "the payload is only {smaller:.1} % smaller; {LEAST_SMALLER} is asked"
    );
    for (what, times) in [("a whole answer", &whole), ("a first byte", &first)] {
        let added = times.added();
        ensure!(
            added < ADDED_US,
            "{what} comes {added} us later; less than {ADDED_US} is asked"
        );
    }
    Ok(())
}

/// Medians of two lanes.
struct Times {
    direct: Duration,
    through: Duration,
}

impl Times {
    fn added(&self) -> i128 {
        let micros = |time: Duration| i128::try_from(time.as_micros()).unwrap_or(i128::MAX);
        micros(self.through) - micros(self.direct)
    }

    fn report(&self) -> Value {
        let added = i64::try_from(self.added()).unwrap_or(i64::MAX);
        json!({
            "direct": u64::try_from(self.direct.as_micros()).unwrap_or(u64::MAX),
            "through": u64::try_from(self.through.as_micros()).unwrap_or(u64::MAX),
            "added": added,
        })
    }
}

/// The same request on both lanes, in turns: the time to the first byte of the body.
fn compare(direct: &mut Connection, through: &mut Connection, body: &[u8]) -> Result<Times> {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + WARM_UP {
        let (a, b) = (direct.ask(body)?, through.ask(body)?);
        if round >= WARM_UP {
            one.push(a);
            other.push(b);
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    Ok(Times {
        direct: median(one),
        through: median(other),
    })
}

fn request(stream: bool) -> Vec<u8> {
    let tool = |at: usize| {
        json!({"type": "function", "function": {
            "name": format!("service_{:02}_action_{at:03}", at % 20),
            "description": format!("Does action {at} of a service: takes what the user names, follows \
                the rules of its department, and tells which records were changed and why"),
            "parameters": {"type": "object", "required": ["subject"], "properties": {
                "subject": {"type": "string", "description": "What it is about, in the user's words"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "tags": {"type": "array", "items": {"type": "string"}}}},
        }})
    };
    let tools: Vec<Value> = (0..TOOLS).map(tool).collect();
    let messages = json!([{"role": "user", "content": "Say something."}]);
    let body = json!({"model": "m", "messages": messages, "tools": tools, "stream": stream});
    body.to_string().into_bytes()
}

/// A connection that stays open.
struct Connection {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self {
            address: address.to_owned(),
            stream: BufReader::new(stream),
        })
    }

    fn ask(&mut self, body: &[u8]) -> Result<Duration> {
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        let begun = Instant::now();
        self.stream.get_mut().write_all(&request)?;
        let mut length = None;
        let mut first = String::new();
        self.stream.read_line(&mut first)?;
        ensure!(first.contains(" 200 "), "not answered: {first}");
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            if name.eq_ignore_ascii_case("content-length") {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        if let Some(length) = length {
            let mut whole = vec![0; length];
            self.stream.read_exact(&mut whole)?;
            return Ok(begun.elapsed());
        }
        self.stream.fill_buf()?;
        let took = begun.elapsed();
        self.skip_chunks()?;
        Ok(took)
    }

    fn skip_chunks(&mut self) -> Result<()> {
        loop {
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            let Ok(size) = usize::from_str_radix(size.trim(), 16) else {
                bail!("a chunk without a size: {size:?}");
            };
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk)?;
            if size == 0 {
                return Ok(());
            }
        }
    }
}

/// A running gateway; it ends when it is dropped.
struct Gateway {
    child: Child,
    address: String,
}

impl Gateway {
    fn start(
        binary: &std::path::Path,
        folder: &std::path::Path,
        model: &ScriptedModel,
    ) -> Result<Self> {
        let config = folder.join("toolsearch.json5");
        let text = json!({
            "tools": {"toolSearch": {"mode": "tools"}},
            "providers": {"scripted": {"dialects": ["openai-chat"], "baseUrl": model.base_url()}},
            "telemetry": {"dir": folder.join("sessions")},
        });
        fs::write(&config, text.to_string())?;
        let mut child = Command::new(binary)
            .args(["serve", "--http", "127.0.0.1:0", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let stderr = child.stderr.take().context("no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let address = lines
            .by_ref()
            .map_while(std::result::Result::ok)
            .find_map(|line| {
                let (_, rest) = line.split_once("http://")?;
                Some(rest.split('/').next()?.to_owned())
            });
        std::thread::spawn(move || lines.for_each(drop));
        let address = address.context("the gateway said no address");
        match address {
            Ok(address) => Ok(Self { child, address }),
            Err(error) => {
                let _ = child.kill();
                Err(error)
            }
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
