//! Parts that only the inside of the crate sees: words, edits, vocabulary, tables.

mod conformance;

use crate::lexicon::{Lexicon, LexiconError};
use crate::options::{Options, WordOptions};
use crate::repair::{is_near, one_edit_apart};
use crate::synonyms::{Meant, Synonyms};
use crate::vocabulary::Vocabulary;
use crate::words::{Kind, Words};

fn read_with(options: WordOptions, kind: Kind, text: &str) -> String {
    let words = Words::new(options);
    let mut found = Vec::new();
    words.read(text, kind, |word| {
        found.push(words.term(word.text));
        true
    });
    found.join(" ")
}

#[test]
fn names_are_cut_into_words() {
    let cases = [
        ("create_issue", "creat issu"),
        ("createIssue", "createissu creat issu"),
        ("HTTPServer", "httpserver http server"),
        ("getURLs", "geturl get url"),
        ("k8s-pods.list/s3", "k8s pod list s3"),
        ("GitHub'da", "github git hub da"),
        ("Slack’e", "slack e"),
        ("I", "i"),
        (
            "ISTANBUL İSTANBUL ıstanbul istanbul",
            "istanbul istanbul istanbul istanbul",
        ),
        ("Café cafe\u{301}", "cafe cafe"),
        ("ＣＲＥＡＴＥ", "creat"),
        ("Straße ŁÓDŹ", "strass lodz"),
        ("ΟΔΟΣ οδός", "οδοσ οδοσ"),
        ("كِتَاب كتـاب", "كتاب كتاب"),
        ("火车票", "火车 车票"),
        ("票", "票"),
        ("微信send消息", "微信 send 消息"),
        ("がか", "がか"),
        ("배송 조회", "배송 조회"),
        ("", ""),
        ("🚀 … !", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(
            read_with(WordOptions::default(), Kind::Name, text),
            expected,
            "{text}"
        );
    }
}

#[test]
fn prose_keeps_products_whole_and_leaves_common_words_out() {
    let read = |text| read_with(WordOptions::default(), Kind::Prose, text);
    assert_eq!(
        read("List the issues of a GitHub repository"),
        "list issu github repositori"
    );
    assert_eq!(read("What is it?"), "");
}

#[test]
fn every_part_can_be_switched_off() {
    let with = |set: fn(&mut WordOptions), text| {
        let mut options = WordOptions::default();
        set(&mut options);
        read_with(options, Kind::Prose, text)
    };
    assert_eq!(with(|o| o.stem = false, "issues"), "issues");
    assert_eq!(with(|o| o.stop_words = false, "the issues"), "the issu");
    assert_eq!(with(|o| o.pairs = false, "火车票"), "火车票");
    assert_eq!(
        with(|o| o.split_identifiers = false, "open_issue"),
        "open_issue"
    );
}

#[test]
fn one_edit_is_one_edit() {
    for (a, b) in [
        ("search", "serach"),
        ("issue", "isue"),
        ("isue", "issue"),
        ("mail", "mall"),
        ("ağaç", "ağac"),
    ] {
        assert!(one_edit_apart(a, b), "{a} {b}");
    }
    for (a, b) in [
        ("search", "search"),
        ("issue", "isu"),
        ("mail", "lima"),
        ("abcd", "badc"),
        ("", "ab"),
    ] {
        assert!(!one_edit_apart(a, b), "{a} {b}");
    }
}

#[test]
fn misspelled_words_are_near_the_stem_that_they_mean() {
    for (word, stem) in [
        ("serach", "search"),
        ("ccyle", "cycl"),
        ("deactiate", "deactiv"),
        ("applictaion", "applic"),
        ("repositry", "repositori"),
        ("repositries", "repositori"),
        ("invoces", "invoic"),
        ("screnshot", "screenshot"),
        ("schedulnig", "schedul"),
        ("ağac", "ağaç"),
    ] {
        assert!(is_near(word, stem, 4), "{word} {stem}");
    }
    for (word, stem) in [
        ("shipping", "skip"),
        ("search", "search"),
        ("fish", "find"),
        ("oven", "open project"),
        ("sprinklers", "sprint"),
    ] {
        assert!(!is_near(word, stem, 4), "{word} {stem}");
    }
}

#[test]
fn vocabulary_finds_terms_and_beginnings() {
    let terms = ["a", "add", "b", "ba", "天", "天气"];
    let vocabulary = Vocabulary::of_sorted(terms.into_iter());
    for (number, term) in (0..).zip(terms) {
        assert_eq!(vocabulary.find(term), Some(number));
        assert_eq!(vocabulary.term(number), term);
    }
    assert_eq!(vocabulary.find("ab"), None);
    assert_eq!(vocabulary.find("zz天"), None);
    assert_eq!(vocabulary.beginning_between('a', 'a'), 0..2);
    assert_eq!(vocabulary.beginning_between('b', 'b'), 2..4);
    assert_eq!(vocabulary.beginning_between('c', 'c'), 4..4);
    assert_eq!(vocabulary.beginning_between('天', '天'), 4..6);
    assert_eq!(vocabulary.beginning_between('b', '天'), 2..6);
}

#[test]
fn lexicon_takes_the_longest_stem() {
    let table = Lexicon::parse(
        "t",
        "# note\n\nara\tsearch\narama\tlookup\nal\tget\niş akışı\tworkflow\n",
    )
    .unwrap();
    assert_eq!(table.english("arama"), Some("lookup"));
    assert_eq!(table.english("aramalarim"), Some("lookup"));
    assert_eq!(table.english("arabul"), Some("search"));
    assert_eq!(table.english("al"), Some("get"));
    assert_eq!(table.english("alarm"), None);
    assert_eq!(table.english("is akisini"), Some("workflow"));
    assert_eq!(table.english("is"), None);
    assert_eq!(
        Lexicon::parse("t", "ara search"),
        Err(LexiconError::Line { line: 1 })
    );
    assert_eq!(Lexicon::turkish().english("guncelleyin"), Some("update"));
    assert_eq!(Lexicon::built_in().len(), 5);
}

#[test]
fn words_without_spaces_are_found_in_a_text_the_longest_first() {
    let table = Lexicon::parse("t", "天気\tweather\n天\tsky\n予報\tforecast\n").unwrap();
    let scan = |text: &str| {
        let mut found = Vec::new();
        table.scan(text, |english| {
            found.push(english.to_owned());
            true
        });
        found.join(" ")
    };
    assert_eq!(scan("明日の天気予報は"), "weather forecast");
    assert_eq!(scan("天"), "sky");
    assert_eq!(scan("weather"), "");
    let arabic = Lexicon::parse("t", "طقس\tweather\n").unwrap();
    assert_eq!(arabic.english("الطقس"), Some("weather"));
}

#[test]
fn abbreviations_stand_for_their_words_in_the_plural_too() {
    let synonyms = Synonyms::new(&Words::new(Options::default().words));
    assert_eq!(
        texts(&synonyms, synonyms.expansion("pr")),
        ["pull", "request"]
    );
    assert_eq!(
        texts(&synonyms, synonyms.expansion("prs")),
        ["pull", "request"]
    );
    assert_eq!(
        texts(&synonyms, synonyms.expansion("repos")),
        ["repositori"]
    );
    assert!(synonyms.expansion("s").is_empty());
    let delete = synonyms.meaning("delet").unwrap();
    let others = texts(&synonyms, &delete.others);
    assert!(others.contains(&"remov"));
    assert!(!others.contains(&"delet"));
}

fn texts<'a>(synonyms: &'a Synonyms, meant: &[Meant]) -> Vec<&'a str> {
    let text = |one: &Meant| synonyms.meant()[usize::from(one.0)].as_str();
    meant.iter().map(text).collect()
}

#[test]
fn phrases_are_read_the_longest_first() {
    let synonyms = Synonyms::new(&Words::new(Options::default().words));
    let read = |text: &str| {
        let terms = text.split(' ').map(|term| (term, synonyms.meaning(term)));
        let terms: Vec<_> = terms.collect();
        let mut found = Vec::new();
        synonyms.phrases(&terms, |at, length, meant| {
            found.push((at, length, texts(&synonyms, meant)[0].to_owned()));
        });
        found
    };
    assert_eq!(read("pleas turn on it"), [(1, 2, "enabl".to_owned())]);
    assert_eq!(read("speech to text"), [(0, 3, "transcrib".to_owned())]);
    assert!(read("turn it on").is_empty());
    assert!(!synonyms.meaning("tell").unwrap().hints.is_empty());
    assert!(synonyms.meaning("unheardof").is_none());
}
