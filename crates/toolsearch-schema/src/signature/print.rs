//! From a tree of types to text that fits.

use super::build::{ObjectType, Type};

/// Characters of required names that are kept beyond the limit of a signature.
const NAMES_CEILING: usize = 4_096;

/// How much of the types is written out.
#[derive(Debug, Clone, Copy)]
struct Style {
    /// Objects inside objects.
    depth: usize,
    /// Whether fixed values are written, for required and for optional properties.
    literals: bool,
    optional_literals: bool,
}

impl Style {
    const fn new(depth: usize, literals: bool, optional_literals: bool) -> Self {
        Self {
            depth,
            literals,
            optional_literals,
        }
    }

    /// The style of what lies in an optional property.
    fn optional(self) -> Self {
        Self {
            literals: self.literals && self.optional_literals,
            ..self
        }
    }
}

const FULL: Style = Style::new(usize::MAX, true, true);

/// From rich to plain. Values of required properties are what a caller needs most.
const STYLES: [Style; 7] = [
    Style::new(4, true, true),
    Style::new(3, true, true),
    Style::new(2, true, true),
    Style::new(1, true, true),
    Style::new(2, true, false),
    Style::new(1, true, false),
    Style::new(1, false, false),
];

/// For single properties: with the fields of an object, without them, and without fixed values.
const RICH: Style = Style::new(1, true, false);
const FLAT: Style = Style::new(0, true, false);
const PLAIN: Style = Style::new(0, false, false);

/// Everything that the tree holds.
pub(crate) fn full(shape: &Type) -> String {
    text(shape, FULL)
}

/// The richest text of at most `max_chars` characters, and whether something was left out for it.
pub(crate) fn fitted(shape: &Type, max_chars: usize) -> (String, bool) {
    let whole = full(shape);
    if fits(&whole, max_chars) {
        return (whole, false);
    }
    for style in STYLES {
        let candidate = text(shape, style);
        if fits(&candidate, max_chars) {
            return (candidate, true);
        }
    }
    match shape {
        Type::Object(object) => (squeezed(object, max_chars), true),
        Type::List(_) => ("unknown[]".to_owned(), true),
        Type::Record(_) => ("Record<string, unknown>".to_owned(), true),
        _ => ("unknown".to_owned(), true),
    }
}

/// All required names with the richest types that leave room, then optional properties while they fit.
fn squeezed(object: &ObjectType, max_chars: usize) -> String {
    let mut pieces = required_pieces(object, max_chars);
    let mut used: usize = pieces.iter().map(|piece| piece.chars().count() + 2).sum();
    // Braces, the mark and its separator.
    used += 8;
    let mut more = object.more;
    for (name, shape) in &object.optional {
        let rich = format!("{name}?: {}", text(shape, FLAT));
        let plain = format!("{name}?: {}", text(shape, PLAIN));
        let bare = format!("{name}?");
        let fitting = [rich, plain, bare]
            .into_iter()
            .find(|piece| used + piece.chars().count() + 2 <= max_chars);
        match fitting {
            Some(piece) => {
                used += piece.chars().count() + 2;
                pieces.push(piece);
            }
            None => more = true,
        }
    }
    braces(pieces, object.unnamed_required, more)
}

fn required_pieces(object: &ObjectType, max_chars: usize) -> Vec<String> {
    let typed = |style: Style| -> Vec<String> {
        object
            .required
            .iter()
            .map(|(name, t)| format!("{name}: {}", text(t, style)))
            .collect()
    };
    let size = |pieces: &[String]| pieces.iter().map(|p| p.chars().count() + 2).sum::<usize>() + 8;
    // Types of required parameters take two thirds at most, so that optional names are seen too.
    let most = if object.optional.is_empty() {
        max_chars
    } else {
        max_chars / 3 * 2
    };
    for style in [RICH, FLAT, PLAIN] {
        let pieces = typed(style);
        if size(&pieces) <= most {
            return pieces;
        }
    }
    let plain = typed(PLAIN);
    if size(&plain) <= max_chars {
        return plain;
    }
    // Names alone mean `unknown`.
    let mut used = 0;
    let mut pieces: Vec<String> = Vec::new();
    for (name, _) in &object.required {
        used += name.chars().count() + 2;
        if used > max_chars.max(NAMES_CEILING) {
            pieces.push(format!(
                "… {} more required",
                object.required.len() - pieces.len()
            ));
            break;
        }
        pieces.push(name.clone());
    }
    pieces
}

fn text(shape: &Type, style: Style) -> String {
    match shape {
        Type::Word(word) => (*word).to_owned(),
        Type::Name(name) => name.clone(),
        Type::Literals { base, .. } if !style.literals => (*base).to_owned(),
        Type::Literals { values, more, .. } => {
            let mut parts = values.join(" | ");
            if *more {
                parts.push_str(" | …");
            }
            parts
        }
        Type::List(item) => list_text(item, style),
        Type::Record(_) if style.depth == 0 => "object".to_owned(),
        Type::Record(value) => format!("Record<string, {}>", text(value, style)),
        Type::Union(parts) => {
            let mut texts: Vec<String> = Vec::new();
            for part in parts {
                let part = text(part, style);
                if !texts.contains(&part) {
                    texts.push(part);
                }
            }
            texts.join(" | ")
        }
        Type::Object(object) if style.depth == 0 && !object.is_empty() => "object".to_owned(),
        Type::Object(object) => {
            let style = Style {
                depth: style.depth.saturating_sub(1),
                ..style
            };
            let required = object.required.iter().map(|(name, t)| (name, "", t, style));
            let optional = object
                .optional
                .iter()
                .map(|(name, t)| (name, "?", t, style.optional()));
            let pieces = required
                .chain(optional)
                .map(|(name, mark, shape, style)| format!("{name}{mark}: {}", text(shape, style)))
                .collect();
            braces(pieces, object.unnamed_required, object.more)
        }
    }
}

fn list_text(item: &Type, style: Style) -> String {
    let inner = text(item, style);
    let several = match item {
        Type::Union(_) => true,
        Type::Literals { values, more, .. } => style.literals && (values.len() > 1 || *more),
        _ => false,
    };
    if several {
        format!("({inner})[]")
    } else {
        format!("{inner}[]")
    }
}

fn braces(mut pieces: Vec<String>, unnamed_required: usize, more: bool) -> String {
    if unnamed_required > 0 {
        pieces.push(format!("… {unnamed_required} required"));
    } else if more {
        pieces.push("…".to_owned());
    }
    if pieces.is_empty() {
        return "{}".to_owned();
    }
    format!("{{ {} }}", pieces.join("; "))
}

fn fits(text: &str, max_chars: usize) -> bool {
    text.len() <= max_chars || text.chars().nth(max_chars).is_none()
}
