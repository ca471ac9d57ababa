//! Search and describe over the one snapshot of a session.

use serde_json::json;
use toolsearch_catalog::Source;
use toolsearch_invoke::{Outage, OutageKind};
use toolsearch_mode::{
    Failure, FailureCode, FoundTool, Group, LeftOutNote, OutageNote, Query, Response, SearchReply,
};
use toolsearch_policy::{Policy, Subject};
use toolsearch_schema::names::sanitise_label;
use toolsearch_search::{EmptyReason, Hit, SearchRequest};
use toolsearch_telemetry::{Described, Event, Searched};

use crate::session::Core;

/// Hits that are looked through for tools that only read.
const FILTERED_DEPTH: usize = 500;

/// Most outages that an empty answer names.
const MAX_OUTAGES: usize = 8;

/// Most characters of an outage's reason.
const MAX_REASON_CHARS: usize = 120;

impl Core {
    pub(crate) async fn search(&self, queries: &[Query], explain: bool) -> Response {
        let mut reply = SearchReply::default();
        for query in queries {
            match self.group(query, explain).await {
                Ok(group) => reply.groups.push(group),
                Err(failure) => return Response::Failed(Box::new(failure)),
            }
        }
        let empty: Vec<&str> = reply
            .groups
            .iter()
            .filter(|group| group.hits.is_empty())
            .map(|group| group.query.as_str())
            .collect();
        if !empty.is_empty() {
            reply.outages.clone_from(&self.outages);
            let again = empty
                .iter()
                .map(|query| self.guard.failed(&["search", query]));
            if again.fold(false, |any, again| any | again) {
                reply.stop = Some(
                    "This search has found nothing three times and will not find anything now. \
                     Stop searching for it and tell the user that no such tool is available."
                        .to_owned(),
                );
            }
        }
        let hits = reply.groups.iter().map(|group| group.hits.len()).sum();
        self.record(Event::Searched(Searched::new(queries.len(), hits)));
        Response::Search(reply)
    }

    async fn group(&self, query: &Query, explain: bool) -> Result<Group, Failure> {
        let snapshot = &self.plan.snapshot;
        let depth = if query.read_only {
            FILTERED_DEPTH
        } else {
            query.limit
        };
        let mut request = SearchRequest::new(query.text.as_str(), depth);
        request.explain = explain;
        let found = snapshot.index.search(&request).await;
        let mut found =
            found.map_err(|error| Failure::new(FailureCode::Internal, error.to_string()))?;
        let mut unsaid = 0;
        if query.read_only {
            unsaid = self.keep_what_only_reads(&mut found.hits);
            found.hits.truncate(query.limit);
            if found.hits.is_empty() {
                found.reason = found.reason.or(Some(EmptyReason::NoMatch));
            }
        }
        let hits = found.hits.iter().map(|hit| {
            let mut tool = FoundTool::new(snapshot.card(hit.position));
            tool.explain = explain.then(|| explanation(hit));
            tool
        });
        let mut group = Group::new(query.text.as_str(), hits.collect());
        group.unsaid = unsaid;
        if let Some(reason) = found.reason {
            group.reason = Some(self.empty_reason(reason));
            group.nearest = found.nearest;
            group.foreign_script = found.foreign_script;
        }
        group.left_out = found
            .left_out
            .map(|left_out| LeftOutNote::new(left_out.reason.as_str(), left_out.detail));
        Ok(group)
    }

    /// Leaves the tools that say that they change nothing. Gives how many others say neither, unless those
    /// count as if they did.
    fn keep_what_only_reads(&self, hits: &mut Vec<Hit>) -> usize {
        let assumed = self.shared.options.search.assume_read_only;
        let entries = self.plan.snapshot.catalog.entries();
        let mut unsaid = 0;
        hits.retain(
            |hit| match entries[hit.position].annotations.read_only_hint {
                Some(reads) => reads,
                None => {
                    unsaid += usize::from(!assumed);
                    assumed
                }
            },
        );
        unsaid
    }

    fn empty_reason(&self, reason: EmptyReason) -> &'static str {
        let any = |state: &str| self.outages.iter().any(|outage| outage.state == state);
        match reason {
            EmptyReason::NoTerms => "no_terms",
            _ if any("starting") => "still_connecting",
            _ if any("failed") || any("needs-configuration") => "server_unavailable",
            _ => "no_match",
        }
    }

    pub(crate) fn describe(&self, ids: &[String]) -> Response {
        let mut tools = Vec::with_capacity(ids.len());
        for id in ids {
            match self.find(id) {
                Ok(tool) => {
                    let card = self.plan.snapshot.card_of(&tool);
                    tools.push((tool, card));
                }
                Err(failure) => return Response::Failed(Box::new(failure)),
            }
        }
        let ids = tools.iter().map(|(tool, _)| tool.id.clone()).collect();
        self.record(Event::Described(Described::new(ids)));
        Response::Describe(tools)
    }
}

fn explanation(hit: &Hit) -> serde_json::Value {
    json!({ "score": hit.score, "exact": hit.exact, "evidence": hit.evidence })
}

/// Outages that this subject may know of: an owner whose tools policy denies as a whole stays
/// unmentioned.
pub(crate) fn outage_notes(
    policy: &dyn Policy,
    subject: &Subject,
    outages: &[(Source, Outage)],
) -> Vec<OutageNote> {
    let may_know = |(source, outage): &&(Source, Outage)| {
        let probe = toolsearch_catalog::ToolDescriptor::new(
            *source,
            &outage.owner,
            "any",
            serde_json::Value::Bool(true),
        );
        probe.is_ok_and(|probe| !policy.decide(subject, &probe).is_deny())
    };
    let note = |(_, outage): &(Source, Outage)| {
        let state = match outage.kind {
            OutageKind::Starting => "starting",
            OutageKind::Disabled => "disabled",
            OutageKind::NeedsConfiguration => "needs-configuration",
            _ => "failed",
        };
        let reason = sanitise_label(&outage.reason, MAX_REASON_CHARS);
        OutageNote::new(sanitise_label(&outage.owner, 64), state, reason)
    };
    let mut notes: Vec<OutageNote> = outages
        .iter()
        .filter(may_know)
        .map(note)
        .take(MAX_OUTAGES)
        .collect();
    notes.sort_by(|a, b| a.server.cmp(&b.server));
    notes
}
