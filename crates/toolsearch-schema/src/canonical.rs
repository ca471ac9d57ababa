//! One text for equal JSON values, for hashing and comparing.

use serde_json::Value;

/// `value` as compact JSON with the members of every object sorted by name.
///
/// Numbers keep the digits that they were read with, so `1` and `1.0` differ.
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(member, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
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
        assert_ne!(
            canonical_json(&value("[1,2]")),
            canonical_json(&value("[2,1]"))
        );
    }
}
