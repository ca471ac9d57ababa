//! Tells code from strings, comments, templates and regular expressions, well enough for hints and for
//! edits at the start of statements. It is no parser; the engine has the last word.

/// For each byte of a text: whether it is code, and how many brackets are open before it.
#[derive(Debug)]
pub(super) struct Mask {
    code: Vec<bool>,
    depth: Vec<u32>,
}

impl Mask {
    pub(super) fn new(text: &str) -> Self {
        let mut scan = Scan {
            bytes: text.as_bytes(),
            at: 0,
            mask: Self {
                code: vec![false; text.len()],
                depth: vec![0; text.len()],
            },
            depth: 0,
            templates: Vec::new(),
            last: b';',
            word: 0..0,
        };
        while scan.at < scan.bytes.len() {
            scan.step();
        }
        scan.mask
    }

    pub(super) fn is_code(&self, at: usize) -> bool {
        self.code.get(at).copied().unwrap_or(false)
    }

    /// Open brackets before this byte.
    pub(super) fn depth(&self, at: usize) -> u32 {
        self.depth.get(at).copied().unwrap_or(0)
    }

    /// Most brackets that are open at once.
    pub(super) fn deepest(&self) -> u32 {
        self.depth.iter().copied().max().unwrap_or(0)
    }

    /// The text with everything that is not code replaced by spaces; same length, same lines.
    pub(super) fn code_only(&self, text: &str) -> String {
        let bytes = text.bytes().enumerate().map(|(at, byte)| match byte {
            b'\n' => b'\n',
            _ if self.is_code(at) && byte.is_ascii() => byte,
            _ => b' ',
        });
        bytes.map(char::from).collect()
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    mask: Mask,
    depth: u32,
    /// Depths at which a template goes on after `}`.
    templates: Vec<u32>,
    /// The last byte of code that is no space.
    last: u8,
    /// The word that ends there.
    word: std::ops::Range<usize>,
}

impl Scan<'_> {
    fn step(&mut self) {
        let byte = self.bytes[self.at];
        let next = self.bytes.get(self.at + 1).copied().unwrap_or(0);
        match (byte, next) {
            (b'/', b'/') => self.skip_until(b"\n"),
            (b'#', b'!') if self.at == 0 => self.skip_until(b"\n"),
            (b'/', b'*') => {
                self.skip(2);
                self.skip_until(b"*/");
                self.skip(2);
            }
            (b'\'' | b'"', _) => self.string(byte),
            (b'`', _) => {
                self.skip(1);
                self.template();
            }
            (b'/', _) if self.expects_operand() => self.regex(),
            (b'}', _) if self.templates.last() == Some(&self.depth) => {
                self.templates.pop();
                self.depth = self.depth.saturating_sub(1);
                self.skip(1);
                self.template();
            }
            _ => self.code(byte),
        }
    }

    fn code(&mut self, byte: u8) {
        if matches!(byte, b')' | b']' | b'}') {
            self.depth = self.depth.saturating_sub(1);
        }
        self.mask.code[self.at] = true;
        self.mask.depth[self.at] = self.depth;
        if matches!(byte, b'(' | b'[' | b'{') {
            self.depth += 1;
        }
        if !byte.is_ascii_whitespace() {
            let word = is_word(byte);
            if word && self.word.end == self.at && is_word(self.last) {
                self.word.end += 1;
            } else {
                self.word = self.at..self.at + usize::from(word);
            }
            self.last = byte;
        }
        self.at += 1;
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            if self.at < self.bytes.len() {
                self.mask.depth[self.at] = self.depth;
                self.at += 1;
            }
        }
    }

    fn skip_until(&mut self, end: &[u8]) {
        while self.at < self.bytes.len() && !self.bytes[self.at..].starts_with(end) {
            self.skip(1);
        }
    }

    fn string(&mut self, quote: u8) {
        self.skip(1);
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'\n' {
                break;
            }
            self.skip(if byte == b'\\' { 2 } else { 1 });
            if byte == quote {
                break;
            }
        }
        self.operand();
    }

    fn template(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'$' && self.bytes.get(self.at + 1) == Some(&b'{') {
                self.skip(2);
                self.depth += 1;
                self.templates.push(self.depth);
                self.last = b'{';
                return;
            }
            self.skip(if byte == b'\\' { 2 } else { 1 });
            if byte == b'`' {
                break;
            }
        }
        self.operand();
    }

    fn regex(&mut self) {
        let mut class = false;
        self.skip(1);
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => break,
                b'[' => class = true,
                b']' => class = false,
                _ => {}
            }
            self.skip(if byte == b'\\' { 2 } else { 1 });
            if byte == b'/' && !class {
                break;
            }
        }
        self.operand();
    }

    fn operand(&mut self) {
        self.last = b')';
        self.word = self.at..self.at;
    }

    /// Whether a slash here would start a regular expression.
    fn expects_operand(&self) -> bool {
        const BEFORE_OPERANDS: [&[u8]; 12] = [
            b"return", b"typeof", b"case", b"in", b"of", b"delete", b"void", b"throw", b"new",
            b"else", b"await", b"yield",
        ];
        if is_word(self.last) {
            return BEFORE_OPERANDS.contains(&&self.bytes[self.word.clone()]);
        }
        !matches!(self.last, b')' | b']' | b'}')
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

#[cfg(test)]
mod tests;
