//! One text for equal JSON values, for hashing and comparing.

use serde_json::Value;

/// `value` as compact JSON with the members of every object sorted by name.
///
/// Numbers keep the digits that they were read with, so `1` and `1.0` differ.
pub fn canonical_json(value: &Value) -> String {
    text(|out| write(value, out))
}

/// What [`canonical_json`] gives for an object of these members, without the object being made. Of two
/// members with one name both are written.
pub fn canonical_object<'a, N: AsRef<str>>(
    members: impl IntoIterator<Item = (N, &'a Value)>,
) -> String {
    text(|out| object(members.into_iter().collect(), out))
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("because JSON is written as UTF-8")
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            object(members.iter().collect(), out);
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        // Writing to memory cannot fail.
        scalar => drop(serde_json::to_writer(out, scalar)),
    }
}

fn object<N: AsRef<str>>(mut members: Vec<(N, &Value)>, out: &mut Vec<u8>) {
    members.sort_unstable_by(|(a, _), (b, _)| a.as_ref().cmp(b.as_ref()));
    out.push(b'{');
    for (index, (name, member)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        drop(serde_json::to_writer(&mut *out, name.as_ref()));
        out.push(b':');
        write(member, out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_members_does_not_count_and_order_of_items_does() {
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("valid JSON");
        let a = canonical_json(&value(
            r#"{"b":[1,{"y":null,"x":"\n"}],"a":1917043659912705296}"#,
        ));
        let b = canonical_json(&value(
            r#"{ "a":1917043659912705296, "b":[1,{"x":"\n","y":null}] }"#,
        ));
        assert_eq!(a, b);
        assert_eq!(
            a,
            r#"{"a":1917043659912705296,"b":[1,{"x":"\n","y":null}]}"#
        );
        let members = value(r#"{"b":[1,{"y":null,"x":"\n"}],"a":1917043659912705296}"#);
        let members = members.as_object().expect("an object");
        assert_eq!(canonical_object(members), a);
        assert_ne!(
            canonical_json(&value("[1,2]")),
            canonical_json(&value("[2,1]"))
        );
    }
}
