//! The directory text: a summary by owner, then one line a tool, within a budget.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toolsearch_catalog::ToolDescriptor;
use toolsearch_mode::{View, is_own, owner_hint};
use toolsearch_schema::names::{clip, sanitise_label};

/// Most characters of the whole text.
pub const DIRECTORY_CHARS: usize = 18_000;

/// Fewest characters that a small context leaves.
const LEAST_CHARS: usize = 768;

/// Characters of the summary by owner, so that it survives clients that cut after 2,000.
const OWNER_CHARS: usize = 1_200;

/// Description lengths to try, longest first; the last one leaves descriptions out.
const DESCRIPTION_CHARS: [usize; 3] = [180, 64, 0];

/// How long the directory may be: 18,000 characters, or a tenth of the model's context in tokens
/// taken as characters, whichever is less, but never under 768.
#[must_use]
pub fn directory_budget(context_tokens: Option<usize>) -> usize {
    let tenth = context_tokens.map_or(DIRECTORY_CHARS, |tokens| tokens / 10);
    tenth.clamp(LEAST_CHARS, DIRECTORY_CHARS)
}

struct Row<'a> {
    name: String,
    owner: String,
    description: String,
    tool: &'a ToolDescriptor,
}

/// The directory of a view. When it does not fit, descriptions shorten before names are dropped,
/// and the number left out is said.
#[must_use]
pub fn directory(view: &View<'_>) -> String {
    let budget = directory_budget(view.context_tokens);
    let rows = rows(view);
    if rows.is_empty() {
        return "No tools are available besides the declared ones.".to_owned();
    }
    let head = head(view, budget / 4);
    for chars in DESCRIPTION_CHARS {
        let text = render(&head, &rows, rows.len(), chars, view);
        if text.chars().count() <= budget {
            return text;
        }
    }
    let fits = |count: usize| render(&head, &rows, count, 0, view).chars().count() <= budget;
    let (mut low, mut high) = (0, rows.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    render(&head, &rows, low, 0, view)
}

fn head(view: &View<'_>, budget: usize) -> String {
    let owners = owner_hint(view.owners, OWNER_CHARS.min(budget));
    let mut text = format!(
        "{} more tools are available through {} and {}",
        view.announced(),
        view.names.search,
        view.names.call
    );
    if !owners.is_empty() {
        let _ = write!(text, ", of: {owners}");
    }
    text.push_str(".\n");
    text
}

fn rows<'a>(view: &View<'a>) -> Vec<Row<'a>> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in view.catalog.entries().iter().chain(view.direct) {
        *uses.entry(tool.name.as_str()).or_insert(0) += 1;
    }
    let visible = |tool: &ToolDescriptor| view.direct.iter().any(|direct| direct.id == tool.id);
    let mut rows: Vec<Row<'_>> = view
        .catalog
        .entries()
        .iter()
        .filter(|tool| !visible(tool) && !is_own(tool))
        .map(|tool| {
            let unique = uses.get(tool.name.as_str()) == Some(&1);
            let label = sanitise_label(&tool.name, 128);
            let plain = unique && label == tool.name;
            let name = if plain {
                label
            } else {
                sanitise_label(tool.id.as_str(), 200)
            };
            let description = if tool.is_trusted() {
                sanitise_label(&tool.description, 180)
            } else {
                String::new()
            };
            Row {
                name,
                owner: sanitise_label(&tool.owner, 40),
                description,
                tool,
            }
        })
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.tool.id.cmp(&b.tool.id)));
    rows
}

fn render(head: &str, rows: &[Row<'_>], count: usize, chars: usize, view: &View<'_>) -> String {
    let mut text = head.to_owned();
    for row in &rows[..count] {
        let _ = write!(text, "- {} ({})", row.name, row.owner);
        if chars > 0 && !row.description.is_empty() {
            let _ = write!(text, ": {}", clip(&row.description, chars));
        }
        text.push('\n');
    }
    let left = rows.len() - count;
    if left > 0 {
        let _ = writeln!(
            text,
            "{left} more are not listed; find them with {}.",
            view.names.search
        );
    }
    let _ = write!(
        text,
        "A listed tool can be called by its name, or by id with {}; {} gives its schema.",
        view.names.call, view.names.describe
    );
    text
}
