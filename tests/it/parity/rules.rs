//! The rules. Each drives calls through whatever door there is, and looks at the answer, at what was
//! written down, and at what reached the tools.

use serde_json::{Value, json};

use super::door::{Answer, Call, Door, Pace};
use super::scene::{APPROVED, LONG, Scene};

type Rule = fn(&mut Stage);

/// One line a rule.
pub(super) const RULES: [(&str, Rule); 19] = [
    ("allowed", allowed),
    ("denied", denied),
    ("ask approved", ask_approved),
    ("ask refused", ask_refused),
    ("hook blocks", hook_blocks),
    ("hook rewrites", hook_rewrites),
    ("hook rewrites badly", hook_rewrites_badly),
    ("hook asks", hook_asks),
    ("hook replaces a result", hook_replaces),
    ("arguments repaired", repaired),
    ("arguments invalid", invalid),
    ("result of another shape", wrong_shape),
    ("tool unavailable", unavailable),
    ("server unavailable", server_unavailable),
    ("sequential", sequential),
    ("direct-only", direct_only),
    ("result budget", budget),
    ("unknown tool", unknown),
    ("loop guard", loop_guard),
];

const STOP: &str = "Do not repeat it";

/// A door, the scene behind it, and how much of what happened was looked at already.
pub(super) struct Stage {
    door: Box<dyn Door>,
    scene: Scene,
    reached: usize,
    records: usize,
    questions: usize,
}

/// What came of some calls.
struct Seen {
    answers: Vec<Answer>,
    reached: Vec<(String, Value)>,
    records: Vec<Value>,
    questions: Vec<String>,
    nested: bool,
}

impl Stage {
    pub(super) fn new(door: Box<dyn Door>, scene: Scene) -> Self {
        Self {
            door,
            scene,
            reached: 0,
            records: 0,
            questions: 0,
        }
    }

    /// Looks away from whatever happened so far.
    pub(super) fn settle(&mut self) {
        self.reached = self.scene.reached().len();
        self.records = self.door.records().len();
        self.questions = self.door.questions().len();
    }

    fn calls(&mut self, calls: &[Call], pace: Pace) -> Seen {
        // The server's calls stand behind the plugin's, so what is new is what was not there before.
        let mut before = self.scene.reached();
        let answers = self.door.calls(calls, pace);
        assert_eq!(answers.len(), calls.len());
        let mut reached = self.scene.reached();
        reached.retain(|one| match before.iter().position(|old| old == one) {
            Some(at) => {
                before.remove(at);
                false
            }
            None => true,
        });
        let seen = Seen {
            answers,
            reached,
            records: self.door.records().split_off(self.records),
            questions: self.door.questions().split_off(self.questions),
            nested: self.door.kind().nested,
        };
        self.settle();
        seen
    }

    fn call(&mut self, id: &str, args: Value) -> Seen {
        self.calls(&[Call::new(id, args)], Pace::InTurn)
    }
}

impl Seen {
    /// Every answer has this code, `ok` for none, and its text these words.
    #[track_caller]
    fn says(&self, code: &str, words: &[&str]) -> &Self {
        for answer in &self.answers {
            assert_eq!(answer.code(), code, "{answer:?}");
            for word in words {
                assert!(answer.text.contains(word), "`{word}`: {answer:?}");
            }
        }
        self
    }

    /// What reached the tools, and nothing else did.
    #[track_caller]
    fn ran(&self, expected: &[(&str, Value)]) -> &Self {
        let reached: Vec<(&str, Value)> = self
            .reached
            .iter()
            .map(|(name, args)| (name.as_str(), args.clone()))
            .collect();
        assert_eq!(reached, expected, "{:?}", self.answers);
        self
    }

    /// One record a call: of this tool, with this code or `ok`, and with a parent if a program made it.
    #[track_caller]
    fn recorded(&self, id: &str, code: &str) -> &Self {
        assert_eq!(self.records.len(), self.answers.len(), "{:?}", self.records);
        for record in &self.records {
            assert_eq!(record["id"], id, "{record}");
            assert_eq!(record["source"], id.split(':').next().unwrap(), "{record}");
            assert_eq!(record["error"].as_str().unwrap_or("ok"), code, "{record}");
            assert_eq!(record["ok"], code == "ok", "{record}");
            assert_eq!(record["parent"].is_string(), self.nested, "{record}");
        }
        self
    }

    #[track_caller]
    fn not_recorded(&self) -> &Self {
        assert_eq!(self.records, Vec::<Value>::new());
        self
    }

    #[track_caller]
    fn asked(&self, ids: &[&str]) -> &Self {
        assert_eq!(self.questions, ids);
        self
    }
}

fn allowed(stage: &mut Stage) {
    for (id, name) in [
        ("plugin:desk:open_note", "open_note"),
        ("mcp:post:send", "send"),
    ] {
        stage
            .call(id, json!({ "title": "a" }))
            .says("ok", &[])
            .ran(&[(name, json!({ "title": "a" }))])
            .recorded(id, "ok")
            .asked(&[]);
    }
}

fn denied(stage: &mut Stage) {
    let hits = stage.door.search("open a note");
    assert!(
        hits.contains(&"plugin:desk:open_note".to_owned()),
        "{hits:?}"
    );
    for (id, query) in [
        ("plugin:desk:shred_note", "shred a note for good"),
        ("mcp:post:recall", "recall a letter"),
    ] {
        let seen = stage.call(id, json!({ "title": "a" }));
        seen.says("not_found", &[])
            .ran(&[])
            .not_recorded()
            .asked(&[]);
        let hits = stage.door.search(query);
        assert!(!hits.contains(&id.to_owned()), "{hits:?}");
        // A name that is close to a denied one is not told about it either.
        let near = stage.call(&format!("{id}s"), json!({}));
        near.says("not_found", &[]);
        let told = near.answers[0].text.replace(&format!("{id}s"), "");
        let name = id.rsplit(':').next().unwrap();
        assert!(
            !told.replace(&format!("{name}s"), "").contains(name),
            "{told}"
        );
    }
}

fn ask_approved(stage: &mut Stage) {
    let asks = stage.door.kind().asks;
    for id in APPROVED {
        let name = id.rsplit(':').next().unwrap();
        let args = json!({ "title": "approved" });
        let seen = stage.call(id, args.clone());
        if asks {
            seen.says("ok", &[])
                .ran(&[(name, args)])
                .recorded(id, "ok")
                .asked(&[id]);
        } else {
            seen.says("approval_denied", &["nobody"])
                .ran(&[])
                .recorded(id, "approval_denied");
        }
    }
}

/// Every call is asked for by itself, also in a program whose other calls were approved.
fn ask_refused(stage: &mut Stage) {
    let id = "plugin:desk:burn_note";
    let seen = stage.call(id, json!({ "title": "a", "approved": true }));
    seen.says("invalid_arguments", &["approved"]).ran(&[]);
    let seen = stage.call(id, json!({ "title": "a" }));
    seen.says("approval_denied", &[id])
        .ran(&[])
        .recorded(id, "approval_denied");
    if !stage.door.kind().asks {
        return;
    }
    seen.asked(&[id]);
    let sign = Call::new(APPROVED[0], json!({ "title": "one" }));
    let again = Call::new(APPROVED[0], json!({ "title": "two" }));
    let burn = Call::new(id, json!({ "title": "three" }));
    let seen = stage.calls(&[sign, again, burn], Pace::InTurn);
    let codes: Vec<&str> = seen.answers.iter().map(Answer::code).collect();
    assert_eq!(codes, ["ok", "ok", "approval_denied"]);
    seen.asked(&[APPROVED[0], APPROVED[0], id]);
    seen.ran(&[
        ("sign_note", json!({ "title": "one" })),
        ("sign_note", json!({ "title": "two" })),
    ]);
}

fn hook_blocks(stage: &mut Stage) {
    let id = "plugin:desk:lock_note";
    stage
        .call(id, json!({ "title": "a" }))
        .says("policy_denied", &["guard", "not on Sundays"])
        .ran(&[])
        .recorded(id, "policy_denied");
}

fn hook_rewrites(stage: &mut Stage) {
    let id = "plugin:desk:stamp_note";
    stage
        .call(id, json!({ "title": "a" }))
        .says("ok", &[])
        .ran(&[("stamp_note", json!({ "title": "stamped" }))])
        .recorded(id, "ok");
}

fn hook_rewrites_badly(stage: &mut Stage) {
    let id = "plugin:desk:smudge_note";
    stage
        .call(id, json!({ "title": "a" }))
        .says("invalid_arguments", &["title"])
        .ran(&[])
        .recorded(id, "invalid_arguments");
}

fn hook_asks(stage: &mut Stage) {
    let id = "plugin:desk:doubt_note";
    let seen = stage.call(id, json!({ "title": "a" }));
    seen.says("approval_denied", &[id])
        .ran(&[])
        .recorded(id, "approval_denied");
    if stage.door.kind().asks {
        seen.asked(&[id]);
    }
}

fn hook_replaces(stage: &mut Stage) {
    let id = "plugin:desk:veil_note";
    let seen = stage.call(id, json!({ "title": "a" }));
    seen.says("ok", &["veiled"])
        .ran(&[("veil_note", json!({ "title": "a" }))])
        .recorded(id, "ok");
    assert!(!seen.answers[0].text.contains("done"), "{:?}", seen.answers);
}

fn repaired(stage: &mut Stage) {
    let id = "plugin:desk:open_note";
    let seen = stage.call(id, json!({ "title": "a", "pages": "3" }));
    seen.says("ok", &[])
        .ran(&[("open_note", json!({ "title": "a", "pages": 3 }))])
        .recorded(id, "ok");
    let repairs = seen.records[0]["repairs"].as_array();
    assert_eq!(repairs.map(Vec::len), Some(1), "{:?}", seen.records);
}

fn invalid(stage: &mut Stage) {
    let id = "plugin:desk:open_note";
    for (args, word) in [
        (json!({}), "title"),
        (json!({ "title": "a", "pages": "many" }), "pages"),
        (json!({ "title": "a", "titel": "b" }), "titel"),
    ] {
        stage
            .call(id, args)
            .says("invalid_arguments", &[word])
            .ran(&[])
            .recorded(id, "invalid_arguments");
    }
}

fn wrong_shape(stage: &mut Stage) {
    let id = "plugin:desk:count_note";
    stage
        .call(id, json!({ "title": "a" }))
        .says("output_mismatch", &["may have had effects"])
        .ran(&[("count_note", json!({ "title": "a" }))])
        .recorded(id, "output_mismatch");
}

fn unavailable(stage: &mut Stage) {
    let args = || json!({ "title": "a" });
    let id = "plugin:desk:lost_note";
    stage
        .call(id, args())
        .says("unavailable", &["no-such-program"])
        .ran(&[])
        .recorded(id, "unavailable");
    let id = "mcp:post:return";
    stage
        .call(id, args())
        .says("unavailable", &["post"])
        .ran(&[("return", args())])
        .recorded(id, "unavailable");
    let id = "mcp:post:vanish";
    stage
        .call(id, args())
        .says("unavailable", &["post"])
        .ran(&[("vanish", args())])
        .recorded(id, "unavailable");
    // The server comes back for the next call.
    stage.call("mcp:post:send", args()).says("ok", &[]);
}

fn server_unavailable(stage: &mut Stage) {
    stage
        .call("mcp:absent:anything", json!({}))
        .says("unavailable", &["absent"])
        .ran(&[])
        .not_recorded();
}

fn sequential(stage: &mut Stage) {
    let id = "plugin:desk:carry_note";
    let pace = match stage.door.kind().lasting {
        true => Pace::AtOnce,
        false => Pace::InTurn,
    };
    let calls: Vec<Call> = (0..4)
        .map(|number| Call::new(id, json!({ "title": number.to_string() })))
        .collect();
    let seen = stage.calls(&calls, pace);
    seen.says("ok", &[]).recorded(id, "ok");
    assert_eq!(seen.reached.len(), calls.len());
    assert!(!stage.scene.overlapped(), "two calls ran at once");
}

/// A tool that stays visible is called like any other, and no search knows it.
fn direct_only(stage: &mut Stage) {
    let id = "plugin:desk:pinned_note";
    stage
        .call(id, json!({ "title": "a" }))
        .says("ok", &[])
        .ran(&[("pinned_note", json!({ "title": "a" }))])
        .recorded(id, "ok");
    let hits = stage.door.search("read the pinned note");
    assert!(!hits.contains(&id.to_owned()), "{hits:?}");
}

fn budget(stage: &mut Stage) {
    let id = "plugin:desk:copy_note";
    let seen = stage.call(id, json!({ "title": "a" }));
    seen.says("ok", &[]).recorded(id, "ok");
    let answer = &seen.answers[0];
    let bytes = seen.records[0]["resultBytes"].as_u64();
    assert!(bytes.is_some_and(|bytes| bytes >= LONG as u64), "{bytes:?}");
    if stage.door.kind().whole {
        assert_eq!(answer.length, LONG);
        return;
    }
    assert!(answer.length < 66_000, "{}", answer.length);
    let reader = "native:toolsearch:result_read";
    let word = format!("bytes are shown; read on with {reader}");
    assert!(answer.text.contains(&word), "{answer:?}");
    let (_, rest) = answer.text.rsplit_once(reader).unwrap();
    let args: Value = serde_json::from_str(rest.trim().trim_end_matches(']')).unwrap();
    let read = stage.call(reader, args);
    read.says("ok", &["x"]).ran(&[]).recorded(reader, "ok");
}

fn unknown(stage: &mut Stage) {
    for id in [
        "plugin:desk:no_such_thing",
        "nobody:knows:this",
        "\u{202e}",
        "a".repeat(5_000).as_str(),
    ] {
        stage
            .call(id, json!({}))
            .says("not_found", &[])
            .ran(&[])
            .not_recorded()
            .asked(&[]);
    }
}

/// The third equal failure says to stop, where the calls belong to one session.
fn loop_guard(stage: &mut Stage) {
    let lasting = stage.door.kind().lasting;
    for (id, title, code) in [
        ("plugin:desk:tear_note", "a", "tool_error"),
        ("plugin:desk:lock_note", "loop", "policy_denied"),
        ("plugin:desk:nothing_of_the_kind", "a", "not_found"),
    ] {
        let call = Call::new(id, json!({ "title": title }));
        let seen = stage.calls(&vec![call; 3], Pace::InTurn);
        seen.says(code, &[]);
        let stops: Vec<bool> = seen
            .answers
            .iter()
            .map(|answer| answer.text.contains(STOP))
            .collect();
        assert_eq!(stops, [false, false, lasting], "{id}: {:?}", seen.answers);
        if code == "not_found" {
            seen.not_recorded();
        } else {
            seen.recorded(id, code);
        }
    }
    let other = stage.call("plugin:desk:tear_note", json!({ "title": "another" }));
    other.says("tool_error", &["torn apart"]);
    assert!(!other.answers[0].text.contains(STOP));
}
