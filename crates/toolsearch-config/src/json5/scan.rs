//! The words of JSON5: blanks, comments, strings, numbers, identifiers. No nesting here.

use std::ops::Range;

use super::{Node, NodeKind, Number};

/// What was wrong, and at which byte.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) message: String,
}

pub(super) type Scan<T> = Result<T, Fault>;

/// A place in the text that moves forward.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) offset: usize,
}

/// The offset of the next byte at or after `offset` that is neither blank nor comment. An
/// unfinished comment reaches to the end.
pub(crate) fn skip_trivia(text: &str, offset: usize) -> usize {
    let mut cursor = Cursor { text, offset };
    match cursor.trivia() {
        Ok(()) => cursor.offset,
        Err(_) => text.len(),
    }
}

/// Whether a key may be written without quotes.
pub(crate) fn is_identifier(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next().is_some_and(starts_identifier) && chars.all(continues_identifier)
}

impl<'a> Cursor<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.offset += wanted.len_utf8();
        }
        found
    }

    pub(super) fn fault<T>(&self, message: impl Into<String>) -> Scan<T> {
        Err(Fault {
            offset: self.offset,
            message: message.into(),
        })
    }

    /// The next character in words, for a message.
    pub(super) fn found(&self) -> String {
        match self.peek() {
            None => "the end of the file".to_owned(),
            Some(c) if c.is_control() => format!("U+{:04X}", u32::from(c)),
            Some(c) => format!("`{c}`"),
        }
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.offset += next.len_utf8();
        Some(next)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.offset += length;
        &rest[..length]
    }

    pub(super) fn trivia(&mut self) -> Scan<()> {
        loop {
            self.take_while(|c| c.is_whitespace() || c == '\u{feff}');
            if self.rest().starts_with("//") {
                self.take_while(|c| !ends_line(c));
            } else if let Some(comment) = self.rest().strip_prefix("/*") {
                let Some(length) = comment.find("*/") else {
                    return self.fault("comment is never closed; end it with `*/`");
                };
                self.offset += length + 4;
            } else {
                return Ok(());
            }
        }
    }

    /// A key: quoted, or an identifier.
    pub(super) fn key(&mut self) -> Scan<(String, Range<usize>)> {
        let start = self.offset;
        let key = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.string(quote)?,
            Some(c) if starts_identifier(c) || c == '\\' => self.identifier()?,
            _ => return self.fault(format!("expected a key or `}}`, found {}", self.found())),
        };
        if self.peek() == Some('-') {
            return self.fault("a key with `-` in it needs quotes");
        }
        Ok((key, start..self.offset))
    }

    fn identifier(&mut self) -> Scan<String> {
        let mut word = String::new();
        loop {
            match self.peek() {
                Some('\\') => {
                    let start = self.offset;
                    self.bump();
                    if !self.eat('u') {
                        return self.fault("expected `\\u` and four hex digits in a key");
                    }
                    let c = self.unicode_escape(start)?;
                    if !continues_identifier(c) {
                        return self.fault("this escape is not allowed in a key without quotes");
                    }
                    word.push(c);
                }
                Some(c) if continues_identifier(c) => {
                    word.push(c);
                    self.bump();
                }
                _ => return Ok(word),
            }
        }
    }

    /// `true`, `false`, `null`, a number, or a string.
    pub(super) fn scalar(&mut self) -> Scan<Node> {
        let start = self.offset;
        let kind = match self.peek() {
            Some(quote @ ('"' | '\'')) => NodeKind::String(self.string(quote)?),
            Some(c) if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => {
                NodeKind::Number(self.number()?)
            }
            Some(c) if starts_identifier(c) => match self.take_while(continues_identifier) {
                "true" => NodeKind::Bool(true),
                "false" => NodeKind::Bool(false),
                "null" => NodeKind::Null,
                "Infinity" => NodeKind::Number(Number::Float(f64::INFINITY)),
                "NaN" => NodeKind::Number(Number::Float(f64::NAN)),
                word => {
                    let shown: String = word.chars().take(40).collect();
                    self.offset = start;
                    return self.fault(format!("`{shown}` is no value; a string needs quotes"));
                }
            },
            _ => return self.fault(format!("expected a value, found {}", self.found())),
        };
        Ok(Node {
            span: start..self.offset,
            kind,
        })
    }

    fn string(&mut self, quote: char) -> Scan<String> {
        let start = self.offset;
        self.bump();
        let mut value = String::new();
        loop {
            value.push_str(self.take_while(|c| c != quote && c != '\\' && c != '\n' && c != '\r'));
            match self.peek() {
                Some('\\') => self.escape(&mut value)?,
                Some(c) if c == quote => {
                    self.bump();
                    return Ok(value);
                }
                _ => {
                    let message = format!("string is not closed on its line; end it with {quote}");
                    return Err(Fault {
                        offset: start,
                        message,
                    });
                }
            }
        }
    }

    fn escape(&mut self, value: &mut String) -> Scan<()> {
        let start = self.offset;
        self.bump();
        let Some(c) = self.bump() else {
            return self.fault("the file ends inside an escape");
        };
        match c {
            'b' => value.push('\u{8}'),
            'f' => value.push('\u{c}'),
            'n' => value.push('\n'),
            'r' => value.push('\r'),
            't' => value.push('\t'),
            'v' => value.push('\u{b}'),
            '0' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => value.push('\0'),
            '0'..='9' => {
                let message = "a digit cannot be escaped; double the backslash to write one";
                return Err(Fault {
                    offset: start,
                    message: message.to_owned(),
                });
            }
            'x' => {
                let code = self.hex(2, start)?;
                value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            'u' => value.push(self.unicode_escape(start)?),
            '\r' => {
                self.eat('\n');
            }
            c if ends_line(c) => {}
            c => value.push(c),
        }
        Ok(())
    }

    /// The rest of `\u1234`, with its second half where the first is a surrogate.
    fn unicode_escape(&mut self, start: usize) -> Scan<char> {
        let first = self.hex(4, start)?;
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.offset += 2;
            let second = self.hex(4, start)?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        char::from_u32(first).ok_or_else(|| Fault {
            offset: start,
            message: "half of a surrogate pair; write both halves or the character".to_owned(),
        })
    }

    fn hex(&mut self, digits: usize, start: usize) -> Scan<u32> {
        let parsed = self
            .rest()
            .get(..digits)
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|text| u32::from_str_radix(text, 16).ok());
        let Some(code) = parsed else {
            let message =
                format!("this escape needs {digits} hex digits; double the backslash to write one");
            return Err(Fault {
                offset: start,
                message,
            });
        };
        self.offset += digits;
        Ok(code)
    }

    fn number(&mut self) -> Scan<Number> {
        let start = self.offset;
        let negative = match self.peek() {
            Some('-') => self.eat('-'),
            _ => {
                self.eat('+');
                false
            }
        };
        let word = self.number_word();
        let number = read_number(word, negative);
        match number {
            Some(number) if !self.peek().is_some_and(continues_identifier) => Ok(number),
            _ => {
                let shown: String = self.text[start..].chars().take(24).collect();
                let shown = shown
                    .split([',', '\n', '}', ']'])
                    .next()
                    .unwrap_or_default()
                    .trim_end();
                let message = format!("`{shown}` is no number");
                Err(Fault {
                    offset: start,
                    message,
                })
            }
        }
    }

    /// Letters, digits and dots, and a sign that follows a decimal exponent.
    fn number_word(&mut self) -> &'a str {
        let start = self.offset;
        let hex = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
        let exponent = self.text[start..self.offset].ends_with(['e', 'E']);
        if !hex && exponent && matches!(self.peek(), Some('+' | '-')) {
            self.bump();
            self.take_while(|c| c.is_ascii_digit());
        }
        &self.text[start..self.offset]
    }
}

fn read_number(word: &str, negative: bool) -> Option<Number> {
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        if digits.is_empty() || digits.len() > 16 || !digits.bytes().all(|b| b.is_ascii_hexdigit())
        {
            return None;
        }
        return Some(signed(u64::from_str_radix(digits, 16).ok()?, negative));
    }
    if word == "Infinity" || word == "NaN" {
        let value = if word == "NaN" {
            f64::NAN
        } else {
            f64::INFINITY
        };
        return Some(Number::Float(if negative { -value } else { value }));
    }
    let leading_zero = word.len() > 1 && word.starts_with('0');
    if leading_zero && word.as_bytes()[1].is_ascii_digit() {
        return None;
    }
    if word.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(value) = word.parse::<u64>()
    {
        return Some(signed(value, negative));
    }
    let allowed = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
    if !word.bytes().all(allowed) || !word.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: f64 = word.parse().ok()?;
    Some(Number::Float(if negative { -value } else { value }))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "what no i64 holds is kept as a float, as in JSON"
)]
fn signed(value: u64, negative: bool) -> Number {
    match i64::try_from(value) {
        Ok(value) => Number::Integer(if negative { -value } else { value }),
        Err(_) if negative => Number::Float(-(value as f64)),
        Err(_) => Number::Float(value as f64),
    }
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn starts_identifier(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '$' | '_')
}

fn continues_identifier(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '$' | '_' | '\u{200c}' | '\u{200d}')
}
