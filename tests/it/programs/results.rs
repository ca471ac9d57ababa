//! What calls give back to a program, and what a program gives back.

use serde_json::json;

use super::world::World;

/// COD-13: what JSON has no word for.
#[test]
fn odd_values_are_readable() {
    let world = World::new();
    assert_eq!(
        world.value("return { id: 9007199254740993n };"),
        json!({ "id": "9007199254740993" })
    );
    let ring = world.value("const a = { n: 1 }; a.self = a; return a;");
    assert_eq!(ring, json!({ "n": 1, "self": "[Circular]" }));
    let odd = world
        .value("return { f() {}, s: Symbol('x'), u: undefined, fine: 1, m: new Map([['k', 2]]) };");
    assert_eq!((&odd["fine"], &odd["m"]["k"]), (&json!(1), &json!(2)));
    world.error_mentions(
        "await tools.call('keep', { value: { deep: [() => 1] } });",
        &["args.args.value.deep[0]", "function"],
    );
}

/// COD-17: many calls at once.
#[test]
fn calls_at_once_keep_their_order() {
    let world = World::new();
    let code = "const all = await Promise.all(Array.from({ length: 100 }, (_, i) => tools.callValue('wait', { ms: 40, label: String(i) })));
        return all.every((one, i) => Number(one.label) === i) ? all.length : 'mixed up';";
    let ran = world.run(code);
    assert_eq!(ran.answer["value"], 100, "{:#}", ran.answer);
    let most = world.most_waiting();
    assert!((2..=16).contains(&most), "{most} at once");
    let one_fails = "try { await Promise.all([tools.call('wait', { ms: 25, label: 'a' }), tools.call('break', {}), tools.call('keep', { value: 'k' })]); } catch { return 'rejected'; }";
    assert_eq!(world.value(one_fails), "rejected");
    assert_eq!(world.kept(), [json!("k")], "what was started is done");
}

/// COD-21: kinds of results.
#[test]
fn results_are_values() {
    let world = World::new();
    for (code, value) in [
        (
            "return (await tools.call('add_numbers', { a: 1, b: 2 })).sum;",
            json!(3),
        ),
        (
            "return await tools.callValue('greeting', {});",
            json!("good morning"),
        ),
        (
            "return (await tools.call('greeting', {})).text;",
            json!("good morning"),
        ),
        (
            "return (await tools.callValue('stock', {})).sizes.length;",
            json!(2),
        ),
        (
            "return JSON.parse((await tools.call('stock', {})).result.content[0].text).left;",
            json!(7),
        ),
        (
            "try { await tools.call('break', { why: 'E7' }); return 'quiet'; } catch (e) { return [e.code, e.message.includes('E7')]; }",
            json!(["tool_error", true]),
        ),
    ] {
        assert_eq!(world.value(code), value, "{code}");
    }
}

/// COD-21: pictures are attached and not written out.
#[test]
fn pictures_go_beside_the_value() {
    let world = World::new();
    for code in [
        "return await tools.call('photo', {});",
        "const blocks = await tools.callValue('photo', {}); return { shot: blocks[1] };",
        "return (await tools.call('photo', {})).result.content[1].data;",
    ] {
        let ran = world.run(code);
        assert!(ran.bytes < 2000, "{} bytes", ran.bytes);
        assert_eq!(ran.blocks.len(), 1, "{code}\n{:#}", ran.answer);
        assert_eq!(ran.blocks[0]["mimeType"], "image/png");
        assert_eq!(ran.blocks[0]["data"].as_str().map(str::len), Some(20_000));
    }
    let unasked = world.run("await tools.call('photo', {}); return 'looked';");
    assert_eq!(unasked.blocks.len(), 0, "only what is returned is attached");
    let passed_on = "const { content } = (await tools.call('photo', {})).result; return (await tools.callValue('measure', { data: content[1].data })).length;";
    assert_eq!(
        world.value(passed_on),
        20_000,
        "another tool gets the data itself"
    );
}
