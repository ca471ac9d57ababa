//! What is taken out, and what is left alone.

use super::strip;

/// The text without types; runs of spaces stand for what was there.
#[track_caller]
fn check(text: &str, expected: &str) {
    let stripped = strip(text).unwrap_or_else(|| panic!("nothing taken out of {text}"));
    let tidy = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(tidy(&stripped), tidy(expected), "{text}");
    let shape = |text: &str| {
        text.lines()
            .map(|line| line.chars().count())
            .collect::<Vec<_>>()
    };
    assert_eq!(shape(&stripped), shape(text), "lines and columns of {text}");
}

#[test]
fn annotations_go() {
    check("const n: number = 4;", "const n = 4;");
    check(
        "const f = (a: number, b?: string): Promise<void> => a;",
        "const f = (a , b ) => a;",
    );
    check(
        "function f<T extends object>(this: T, x: T[] = []): x is T { return x }",
        "function f ( x = []) { return x }",
    );
    check(
        "let a!: number; for (const x of y as string[]) z(x!)",
        "let a ; for (const x of y ) z(x )",
    );
    check(
        "const { a, b }: { a: 1; b: 2 } = c satisfies D;",
        "const { a, b } = c ;",
    );
    check(
        "try { f() } catch (e: unknown) { g(<Error>e) }",
        "try { f() } catch (e ) { g( e) }",
    );
    check(
        "const m = new Map<string, number[]>(); f<string>(1); g<A>`x`",
        "const m = new Map (); f (1); g `x`",
    );
    check("return (await f()) as { é: string }", "return (await f())");
}

#[test]
fn declarations_go() {
    check(
        "interface A {\n  x: number;\n}\ntype B = A | null;\ndeclare const c: B;\nreturn 1;",
        "return 1;",
    );
    check("import type { A } from 'a';\nreturn 1", "return 1");
    check(
        "function f(a: string): void;\nfunction f(a) { return a }",
        "function f(a) { return a }",
    );
}

#[test]
fn members_of_classes_lose_their_modifiers() {
    check(
        "abstract class A<T> extends B<T> implements C, D {\n  private readonly x: number = 1;\n  static y?: string;\n  declare z: T;\n  [k: string]: any;\n  abstract f(): void;\n  public async g(a: T): Promise<T> { return a }\n}",
        "class A extends B { x = 1; static y ; async g(a ) { return a } }",
    );
}

#[test]
fn a_statement_ends_where_it_did() {
    check(
        "const a = b as any\n[1].map(f)",
        "const a = b; \n[1].map(f)",
    );
    check("const a = b as any\nreturn a", "const a = b \nreturn a");
}

#[test]
fn what_runs_stays() {
    for text in [
        "const a = b ? { x: 1 } : { y: 2 }; l: for (;;) break l",
        "enum E { A }",
        "const enum E { A }",
        "namespace N { export const a = 1 }",
        "class A { constructor(private x: number) {} }",
        "import a = require('a')",
        "return (((",
        "",
    ] {
        assert_eq!(strip(text), None, "{text}");
    }
}

#[test]
fn hostile_texts_are_refused_or_read() {
    let deep = |open: &str, close: &str| {
        format!(
            "const a: any = {}{};",
            open.repeat(20_000),
            close.repeat(20_000)
        )
    };
    for text in [
        deep("[", "]"),
        deep("(", ")"),
        deep("{a:", "}"),
        format!("const a: {}1", "x".repeat(70_000)),
        format!("const a: any = {}1;", "!".repeat(60_000)),
        format!("const a: any = {}1;", "- ".repeat(30_000)),
        format!("const a: any = {}1;", "typeof ".repeat(9_000)),
        format!("const a: any = {}1;", "a=>".repeat(20_000)),
        format!("const a: any = {}1;", "a?".repeat(20_000)),
        format!("let a: any; {}a;", "if(a)".repeat(10_000)),
    ] {
        assert_eq!(strip(&text), None);
    }
    check(
        &format!("const a: any = {}1;", "1 + ".repeat(500)),
        &format!("const a = {}1;", "1 + ".repeat(500)),
    );
}
