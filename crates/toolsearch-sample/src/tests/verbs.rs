//! What single tools do, told as short stories.

use serde_json::{Value, json};

use super::Desk;

#[test]
fn an_issue_is_filed_discussed_and_closed() {
    let desk = Desk::new();
    let schema = &desk.tool("github", "create_issue").input_schema;
    assert_eq!(schema["required"], json!(["title"]));
    let issue = desk.ok(
        "github",
        "create_issue",
        json!({"title": "Crash on startup", "body": "Steps to reproduce..."}),
    );
    assert_eq!(issue["id"], "ISS-1005");
    assert_eq!(issue["state"], "open");
    assert_eq!(issue["created_at"], "2026-01-05T09:01:00Z");
    let id = json!({"issue_id": "ISS-1005"});
    let commented = desk.ok(
        "github",
        "add_issue_comment",
        json!({"issue_id": "ISS-1005", "body": "Same here"}),
    );
    let comment = json!({"body": "Same here", "author": "you", "at": "2026-01-05T09:02:00Z"});
    assert_eq!(commented["comments"], json!([comment]));
    let closed = json!({"issue_id": "ISS-1005", "state_reason": "completed"});
    assert_eq!(desk.ok("github", "close_issue", closed)["state"], "closed");
    let again = desk.err("github", "close_issue", id.clone());
    assert!(again.contains("works only where it is \"open\""), "{again}");
    let open = desk.ok("github", "reopen_issue", id);
    assert_eq!(open["state"], "open");
    assert_eq!(open.get("state_reason"), None);
}

#[test]
fn an_event_needs_a_summary_and_a_start() {
    let desk = Desk::new();
    let schema = &desk.tool("calendar", "create_event").input_schema;
    assert_eq!(schema["required"], json!(["summary", "start"]));
    let event = json!({"summary": "Planning", "start": "2026-05-09T14:00:00Z"});
    assert_eq!(desk.ok("calendar", "create_event", event)["id"], "EVT-1005");
    let problem = desk.err(
        "calendar",
        "create_event",
        json!({"start": "tomorrow", "titel": 1}),
    );
    for part in [
        "`start` must be a time such as",
        "`titel` is no parameter",
        "`summary` is missing",
    ] {
        assert!(problem.contains(part), "{problem}");
    }
    let may = json!({"start_after": "2026-05-09", "start_before": "2026-05-09"});
    assert_eq!(desk.ok("calendar", "list_events", may)["total"], 1);
}

#[test]
fn lists_filter_sort_and_page() {
    let desk = Desk::new();
    let check = |args: Value, expected: &[&str], more: bool| {
        let page = desk.ok("invoices", "list_invoices", args.clone());
        let ids: Vec<&str> = page["invoices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{args}");
        assert_eq!(page["has_more"], more, "{args}");
    };
    check(
        json!({}),
        &["INV-1001", "INV-1002", "INV-1003", "INV-1004"],
        false,
    );
    check(
        json!({"customer": "acme ltd"}),
        &["INV-1001", "INV-1003"],
        false,
    );
    check(json!({"status": "paid"}), &["INV-1004"], false);
    check(
        json!({"min_amount": 1000, "max_amount": 5000}),
        &["INV-1001", "INV-1004"],
        false,
    );
    check(json!({"limit": 2}), &["INV-1001", "INV-1002"], true);
    check(
        json!({"limit": 2, "offset": 2}),
        &["INV-1003", "INV-1004"],
        false,
    );
    check(
        json!({"sort_by": "amount", "order": "desc", "limit": 1}),
        &["INV-1002"],
        true,
    );
    check(
        json!({"due_before": "2026-01-01"}),
        &["INV-1002", "INV-1004"],
        false,
    );
}

#[test]
fn results_say_what_the_verbs_did() {
    let desk = Desk::new();
    let check = |owner: &str, name: &str, args: Value, expected: Value| {
        let value = desk.ok(owner, name, args);
        for (key, wanted) in expected.as_object().unwrap() {
            assert_eq!(&value[key], wanted, "{owner}/{name} {value}");
        }
    };
    check(
        "deployments",
        "rollback_deployment",
        json!({"deployment_id": "DEP-1001"}),
        json!({"version": "2.3.0", "previous_version": "2.3.1", "status": "rolled_back"}),
    );
    check(
        "payments",
        "refund_payment",
        json!({"payment_id": "PAY-1001", "amount": 20.1}),
        json!({"refunded_amount": 20.1, "status": "refunded"}),
    );
    let more = desk.err(
        "payments",
        "refund_payment",
        json!({"payment_id": "PAY-1001", "amount": 30}),
    );
    assert!(
        more.contains("would become 50.1; the most is 49.9"),
        "{more}"
    );
    check(
        "oncall",
        "who_is_on_call",
        json!({"schedule": "Payments"}),
        json!({"engineer": "ayla"}),
    );
    let nobody = desk.err("oncall", "who_is_on_call", json!({"schedule": "paymants"}));
    assert!(nobody.contains("near: payments"), "{nobody}");
    check(
        "github",
        "merge_pull_request",
        json!({"pull_request_id": "PR-1001", "merge_method": "squash"}),
        json!({"state": "merged", "merge_method": "squash"}),
    );
    check(
        "subscriptions",
        "count_seats",
        json!({}),
        json!({"total": 53, "count": 3, "groups": [
            {"plan": "business", "total": 40, "count": 1},
            {"plan": "starter", "total": 1, "count": 1},
            {"plan": "team", "total": 12, "count": 1},
        ]}),
    );
    check(
        "incidents",
        "incident_statistics",
        json!({"group_by": "status", "status": "open"}),
        json!({"count": 1, "groups": [{"status": "open", "count": 1}]}),
    );
    check(
        "mail",
        "mark_emails_read",
        json!({"email_ids": ["EML-1001", "EML-9"]}),
        json!({"not_found": ["EML-9"]}),
    );
    check(
        "mail",
        "create_draft",
        json!({"to": ["a@example.org"], "subject": "x", "body": "y"}),
        json!({"folder": "drafts"}),
    );
    check(
        "sensors",
        "push_reading",
        json!({"sensor_id": "SNS-1002", "value": 700}),
        json!({"last_value": 700}),
    );
}

#[test]
fn links_need_a_record_at_the_other_end() {
    let desk = Desk::new();
    let link = |task: &str, by: &str| json!({"task_id": task, "blocked_by": by});
    let linked = desk.ok("taskboard", "block_task", link("TSK-1001", "TSK-1002"));
    assert_eq!(linked["blocked_by"], json!(["TSK-1002"]));
    let twice = desk.ok("taskboard", "block_task", link("TSK-1001", "TSK-1002"));
    assert_eq!(twice["blocked_by"], json!(["TSK-1002"]));
    let missing = desk.err("taskboard", "block_task", link("TSK-1001", "TSK-2"));
    assert!(missing.contains("there is no task `TSK-2`"), "{missing}");
    assert!(
        missing.contains("TSK-1002") && missing.contains("`list_tasks`"),
        "{missing}"
    );
    let itself = desk.err("taskboard", "block_task", link("TSK-1001", "TSK-1001"));
    assert!(itself.contains("cannot point to itself"), "{itself}");
    desk.err(
        "database",
        "insert_row",
        json!({"table": "nowhere", "values": {}}),
    );
}
