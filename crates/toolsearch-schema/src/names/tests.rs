//! Tests of `names`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn map<'a>(entries: &[(&'a str, &'a str, &'a str)]) -> NameMap {
    NameMap::new(entries.iter().copied())
}

#[test]
fn a_plain_pair_keeps_its_words() {
    assert_eq!(
        provider_name("calendar", "create_event"),
        "calendar__create_event"
    );
    assert_eq!(
        provider_name("backstage", "get-catalog-entity"),
        "backstage__get-catalog-entity"
    );
    assert_eq!(provider_name("", "search"), "search");
}

#[test]
fn a_lossy_name_carries_a_stable_hash() {
    let dotted = provider_name("admin", "tools.list");
    assert!(dotted.starts_with("admin__tools_list_"), "{dotted}");
    assert_eq!(dotted, provider_name("admin", "tools.list"));
    let long = provider_name("server", &"x".repeat(200));
    assert_eq!(long.len(), MAX_PROVIDER_NAME);
    assert_ne!(long, provider_name("server", &"x".repeat(201)));
    assert!(is_provider_name(&provider_name("", "")));
    assert!(is_provider_name(&provider_name("数据库", "🚀")));
}

#[test]
fn names_that_clean_to_the_same_text_stay_apart() {
    let names = ["a.b", "a_b", "a-b", "A_b", "a/b", "a:b", "a b"];
    let forwards: Vec<_> = names.iter().map(|name| (*name, "s", *name)).collect();
    let backwards: Vec<_> = forwards.iter().rev().copied().collect();
    let table = map(&forwards);
    assert_eq!(table, map(&backwards));
    assert_eq!(
        table
            .iter()
            .map(|(_, alias)| alias)
            .collect::<BTreeSet<_>>()
            .len(),
        names.len()
    );
    for name in names {
        let alias = table.alias(name).expect("every entry has an alias");
        assert_eq!(table.key(alias), Some(name));
    }
    assert_eq!(table.alias("a_b"), Some("s__a_b"));
}

#[test]
fn a_hostile_name_cannot_take_the_alias_of_another() {
    let victim = provider_name("shop", "pay.now");
    let hostile = victim.trim_start_matches("shop__");
    let table = map(&[
        ("mcp:shop:1", "shop", "pay.now"),
        ("mcp:shop:2", "shop", hostile),
    ]);
    let (one, two) = (
        table.alias("mcp:shop:1").unwrap(),
        table.alias("mcp:shop:2").unwrap(),
    );
    assert_ne!(one, two);
    assert_eq!(
        (table.key(one), table.key(two)),
        (Some("mcp:shop:1"), Some("mcp:shop:2"))
    );
    assert_ne!(provider_name("a__b", "c"), provider_name("a", "b__c"));
    assert_ne!(provider_name("a_", "b"), provider_name("a", "_b"));
}

#[test]
fn equal_pairs_of_two_sources_and_reserved_names_get_a_suffix() {
    let entries = [
        ("native:x:y", "x", "y"),
        ("mcp:x:y", "x", "y"),
        ("client:c:call", "", "call"),
    ];
    let table = NameMap::with_reserved(entries, &["call"]);
    assert_eq!(table.len(), 3);
    assert_ne!(table.alias("native:x:y"), table.alias("mcp:x:y"));
    assert!(table.key("call").is_none() && table.key("x__y").is_none());
}

#[test]
fn spellings_of_one_name_fold_to_one_text() {
    for spelling in [
        "find symbol",
        "find_symbol",
        "findSymbol",
        "find-symbol",
        "FIND.SYMBOL",
        "find\u{200b}symbol",
    ] {
        assert_eq!(fold(spelling), "findsymbol", "{spelling}");
    }
    assert_eq!(fold("İPTAL"), fold("iptal"));
    assert_eq!(fold("LISTE"), fold("lıste"));
    assert_eq!(fold("STRASSE"), fold("straße"));
    assert_eq!(fold("ｆｉｌｅ"), fold("file"));
    assert_eq!(fold("cafe\u{301}"), fold("café"));
    assert_ne!(fold("café"), fold("cafè"));
    assert_eq!(fold("获取天气"), "获取天气");
    assert_eq!(fold("🚀launch"), "🚀launch");
    assert_eq!(fold("--"), "--");
    assert_eq!(fold("  "), "");
}

#[test]
fn identifiers_split_into_words() {
    assert_eq!(words("getUserByID2"), ["get", "user", "by", "id2"]);
    assert_eq!(
        words("HTTPServer error-code"),
        ["http", "server", "error", "code"]
    );
    assert!(words("::").is_empty());
}

#[test]
fn only_harmless_identifiers_are_plain() {
    for good in ["path", "_x", "$filter", "userId2", "城市", "größe"] {
        assert!(is_plain_identifier(good), "{good}");
    }
    let long = "x".repeat(65);
    for bad in [
        "",
        "2x",
        "a-b",
        "a b",
        "a\u{202e}b",
        "x;y",
        "a\n",
        long.as_str(),
        &"字".repeat(33),
    ] {
        assert!(!is_plain_identifier(bad), "{bad:?}");
    }
    assert!(is_safe_word("date-time") && is_safe_word("v1.2") && is_safe_word("10:00"));
    assert!(
        !is_safe_word("two words")
            && !is_safe_word("--")
            && !is_safe_word("é")
            && !is_safe_word("")
    );
}

#[test]
fn labels_are_one_visible_bounded_line() {
    assert_eq!(
        sanitise_label("  Run\r\n\tthe\u{0} tool \u{202e}now\u{feff} ", 80),
        "Run the tool now"
    );
    assert_eq!(sanitise_label("abcdef", 4), "abc…");
    assert_eq!(sanitise_label("abcd", 4), "abcd");
    assert_eq!(clip("größer", 3), "gr…");
    assert_eq!(clip("ab cdef", 4), "ab…");
    assert_eq!(clip("abc", 0), "");
    assert_eq!(
        sanitise_label(&"y".repeat(40_000), 180).chars().count(),
        180
    );
}

#[test]
fn distance_counts_swaps_as_one() {
    assert_eq!(edit_distance("serach", "search", 3), Some(1));
    assert_eq!(edit_distance("kitten", "sitting", 3), Some(3));
    assert_eq!(edit_distance("kitten", "sitting", 2), None);
    assert_eq!(edit_distance("", "ab", 2), Some(2));
    assert_eq!(edit_distance("same", "same", 0), Some(0));
    assert_eq!(edit_distance(&"a".repeat(500), "a", 3), None);
    assert_eq!(
        [tolerance(1), tolerance(4), tolerance(9), tolerance(40)],
        [1, 2, 3, 3]
    );
}

#[test]
fn near_names_come_best_first_and_never_the_name_itself() {
    let names = ["search_all", "search", "list_all", "read", "searchAll"];
    assert_eq!(nearest("serach_all", names, 3), ["searchAll", "search_all"]);
    assert_eq!(nearest("search_all", names, 1), ["searchAll"]);
    assert_eq!(
        nearest("file_path", ["path", "limit", "encoding"], 3),
        ["path"]
    );
    assert_eq!(
        nearest("resolve_library_id", ["resolve-library-id"], 3),
        ["resolve-library-id"]
    );
    assert!(nearest("lookup_sensor", ["lookup_sensor", "read"], 3).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn aliases_are_legal_unique_and_free_of_order(
        mut tools in prop::collection::vec(("[a-c_.]{0,3}", "\\PC{0,4}|[ab_./]{0,3}|x{60,70}"), 0..24),
    ) {
        tools.sort();
        tools.dedup();
        let keys: Vec<String> = (0..tools.len()).map(|index| format!("k{index}")).collect();
        let entries: Vec<(&str, &str, &str)> = keys.iter().zip(&tools)
            .map(|(key, (owner, name))| (key.as_str(), owner.as_str(), name.as_str())).collect();
        let table = map(&entries);
        let reversed: Vec<_> = entries.iter().rev().copied().collect();
        prop_assert_eq!(&table, &map(&reversed));
        prop_assert_eq!(table.len(), entries.len());
        for (key, alias) in table.iter() {
            prop_assert!(is_provider_name(alias), "{}", alias);
            prop_assert_eq!(table.key(alias), Some(key));
        }
    }

    #[test]
    fn any_text_can_be_folded_cut_and_compared(a in "\\PC{0,40}", b in "[\\x00-\\u{ffff}]{0,40}", max in 0usize..20) {
        prop_assert_eq!(fold(&fold(&a)), fold(&a));
        prop_assert!(sanitise_label(&b, max).chars().count() <= max);
        let unseen = ['\n', '\u{202e}', '\u{200b}', '\0'];
        prop_assert!(!sanitise_label(&b, max).contains(unseen));
        prop_assert_eq!(edit_distance(&a, &b, 5), edit_distance(&b, &a, 5));
        nearest(&a, [b.as_str()], 3);
        words(&b);
    }
}
