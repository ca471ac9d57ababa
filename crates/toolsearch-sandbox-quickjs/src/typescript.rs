//! Takes types out of a program, leaving spaces, so that every line and column stays. Only what means
//! nothing at run time: a program with enums, namespaces or parameter properties stays as it is.
//!
//! Runs in the child, on a text of bounded length and nesting; a parser that is led too deep ends only that
//! child.

use oxc_allocator::Allocator;
use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType, Span};
use oxc_syntax::scope::ScopeFlags;
use toolsearch_sandbox::javascript;

/// Longest text that is read.
const MAX_BYTES: usize = 64 << 10;
/// Most brackets that may be open at once.
const MAX_NESTING: u32 = 200;
/// Most signs and words of one statement that a parser may follow by going one level deeper.
const MAX_CHAIN: usize = 600;

/// The text without types, or nothing if there are none, or some that cannot be taken out, or it is no
/// program anyway.
pub(crate) fn strip(text: &str) -> Option<String> {
    let too_deep = javascript::nesting(text) > MAX_NESTING || longest_chain(text) > MAX_CHAIN;
    if text.len() > MAX_BYTES || too_deep {
        return None;
    }
    let allocator = Allocator::default();
    let options = ParseOptions {
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(&allocator, text, SourceType::ts())
        .with_options(options)
        .parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return None;
    }
    let mut types = Types {
        text,
        blanks: Vec::new(),
        kept: false,
    };
    types.visit_program(&parsed.program);
    if types.kept || types.blanks.is_empty() {
        return None;
    }
    Some(blanked(text, types.blanks))
}

/// The most signs and words in a row, up to an end of a statement or a block, behind which a parser
/// reads the rest one level deeper: `!!!x`, `a => b => c`, `new new X`, `if (a) if (b)`. Text in quotes
/// and comments is counted too, so this is never too low.
fn longest_chain(text: &str) -> usize {
    const WORDS: [&str; 9] = [
        "new", "typeof", "void", "delete", "await", "yield", "else", "do", "keyof",
    ];
    let (mut longest, mut chain) = (0, 0);
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let sign = piece.chars().next_back().filter(|c| !c.is_alphanumeric());
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        chain += usize::from(WORDS.contains(&word));
        match sign {
            Some(';' | '{' | '}') => chain = 0,
            Some('!' | '~' | '+' | '-' | '*' | '?' | ':' | '=' | '(' | '<' | '[' | '|' | '&') => {
                chain += 1;
            }
            _ => {}
        }
        longest = longest.max(chain);
    }
    longest
}

/// What is to go.
struct Types<'t> {
    text: &'t str,
    blanks: Vec<Blank>,
    /// Something that is more than a type was found.
    kept: bool,
}

struct Blank {
    span: Span,
    /// A statement ends here, and the next line would go on with it.
    ends: bool,
}

fn blanked(text: &str, mut blanks: Vec<Blank>) -> String {
    blanks.sort_by_key(|blank| blank.span.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for blank in blanks {
        let (start, end) = (blank.span.start as usize, blank.span.end as usize);
        if end <= at {
            continue;
        }
        let start = start.max(at);
        out.push_str(&text[at..start]);
        for (place, character) in text[start..end].chars().enumerate() {
            out.push(match character {
                '\n' | '\r' | '\u{2028}' | '\u{2029}' => character,
                _ if place == 0 && blank.ends => ';',
                _ => ' ',
            });
        }
        at = end;
    }
    out.push_str(&text[at..]);
    out
}

impl Types<'_> {
    fn blank(&mut self, span: Span) {
        self.blanks.push(Blank { span, ends: false });
    }

    /// The end of an expression goes.
    fn blank_tail(&mut self, inner: Span, whole: Span) {
        let rest = &self.text[whole.end as usize..];
        let next = rest.trim_start();
        let ends = rest[..rest.len() - next.len()].contains('\n')
            && next.starts_with(['(', '[', '`', '/', '+', '-']);
        self.blanks.push(Blank {
            span: Span::new(inner.end, whole.end),
            ends,
        });
    }

    /// One character goes that stands after `from`, with nothing but spaces and closing brackets between.
    fn blank_mark(&mut self, from: u32, mark: char) {
        let rest = &self.text[from as usize..];
        let skipped = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', ']']).len();
        if rest[skipped..].starts_with(mark) {
            let at = from + u32::try_from(skipped).unwrap_or(0);
            self.blank(Span::new(at, at + 1));
        }
    }

    /// Words that only types know go from the front of a member.
    fn blank_modifiers(&mut self, from: u32, until: u32) {
        const WORDS: [&str; 7] = [
            "public",
            "private",
            "protected",
            "readonly",
            "override",
            "abstract",
            "declare",
        ];
        let mut at = from as usize;
        let front = &self.text[..until as usize];
        while at < front.len() {
            let rest = &front[at..];
            let letters = rest.find(|c: char| !c.is_ascii_lowercase());
            let word = &rest[..letters.unwrap_or(rest.len())];
            if WORDS.contains(&word) {
                let start = u32::try_from(at).unwrap_or(0);
                let length = u32::try_from(word.len()).unwrap_or(0);
                self.blank(Span::new(start, start + length));
            }
            at += word
                .len()
                .max(rest.chars().next().map_or(1, char::len_utf8));
        }
    }
}

impl<'a> Visit<'a> for Types<'_> {
    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_type_alias_declaration(&mut self, it: &TSTypeAliasDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_interface_declaration(&mut self, it: &TSInterfaceDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_index_signature(&mut self, it: &TSIndexSignature<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank(it.span);
        self.blank_mark(it.span.end, ',');
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.blank_tail(it.expression.span(), it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.blank_tail(it.expression.span(), it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.blank_tail(it.expression.span(), it.span);
        self.visit_expression(&it.expression);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        self.blank(Span::new(it.span.start, it.expression.span().start));
        self.visit_expression(&it.expression);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        if it.declare {
            self.blank(it.span);
        } else {
            walk::walk_variable_declaration(self, it);
        }
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if it.definite {
            self.blank_mark(it.id.span().end, '!');
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        self.kept |= it.accessibility.is_some() || it.readonly || it.r#override;
        if it.optional {
            self.blank_mark(it.pattern.span().end, '?');
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        if it.declare || it.body.is_none() {
            self.blank(it.span);
        } else {
            walk::walk_function(self, it, flags);
        }
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.declare {
            self.blank(it.span);
            return;
        }
        if it.r#abstract {
            let start = it.span.start;
            self.blank_modifiers(start, start + 8);
        }
        if let (Some(first), Some(last)) = (it.implements.first(), it.implements.last()) {
            let before = &self.text[..first.span.start as usize];
            let word = before
                .rfind("implements")
                .and_then(|at| u32::try_from(at).ok());
            self.blank(Span::new(word.unwrap_or(first.span.start), last.span.end));
        }
        walk::walk_class(self, it);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        if it.value.body.is_none() {
            self.blank(it.span);
            return;
        }
        self.blank_modifiers(it.span.start, it.key.span().start);
        if it.optional {
            self.blank_mark(it.key.span().end, '?');
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        if it.declare || it.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition {
            self.blank(it.span);
            return;
        }
        self.blank_modifiers(it.span.start, it.key.span().start);
        for (there, mark) in [(it.optional, '?'), (it.definite, '!')] {
            if there {
                self.blank_mark(it.key.span().end, mark);
            }
        }
        walk::walk_property_definition(self, it);
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        if it.import_kind == ImportOrExportKind::Type {
            self.blank(it.span);
        }
    }

    fn visit_ts_enum_declaration(&mut self, it: &TSEnumDeclaration<'a>) {
        self.more_than_a_type(it.declare, it.span);
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        self.more_than_a_type(it.declare, it.span);
    }

    fn visit_ts_global_declaration(&mut self, it: &TSGlobalDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_external_module_declaration(&mut self, it: &TSExternalModuleDeclaration<'a>) {
        self.blank(it.span);
    }

    fn visit_ts_import_equals_declaration(&mut self, it: &TSImportEqualsDeclaration<'a>) {
        self.more_than_a_type(false, it.span);
    }

    fn visit_ts_export_assignment(&mut self, it: &TSExportAssignment<'a>) {
        self.more_than_a_type(false, it.span);
    }
}

impl Types<'_> {
    fn more_than_a_type(&mut self, declared_only: bool, span: Span) {
        if declared_only {
            self.blank(span);
        } else {
            self.kept = true;
        }
    }
}

#[cfg(test)]
mod tests;
