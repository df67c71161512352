//! The parameters of a list: the query of a URL.

use std::str::FromStr;

use super::Refusal;

/// The parameters of a request, decoded.
#[derive(Debug)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query, and refuses it if it has a parameter that `list` does not take, or one twice.
    pub fn parse(query: &str, list: &str, names: &[&str]) -> Result<Self, Refusal> {
        let mut parameters = Self(Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !names.contains(&&*name) {
                return Err(Refusal::BadRequest(format!("{list} takes no `{name}`, only {}", enumerate(names))));
            }
            if parameters.get(&name).is_some() {
                return Err(Refusal::BadRequest(format!("`{name}` is there twice")));
            }
            parameters.0.push((name, value));
        }
        Ok(parameters)
    }

    /// The text of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// The value of a parameter that must be `what`.
    pub fn parsed<T: FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Refusal> {
        let parse = |text: &str| {
            text.parse().map_err(|_| Refusal::BadRequest(format!("`{name}` is {text}, but must be {what}")))
        };
        self.get(name).map(parse).transpose()
    }
}

/// Decodes the percent-encoding of a query (RFC 3986). A `+` stays: no value has spaces.
fn decode(text: &str) -> Result<String, Refusal> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
                let byte = digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low);
                (byte.ok_or_else(|| bad_encoding(text))?, after)
            }
            (b'%', _) => return Err(bad_encoding(text)),
            (byte, after) => (*byte, after),
        };
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| bad_encoding(text))
}

fn bad_encoding(text: &str) -> Refusal {
    Refusal::BadRequest(format!("{text} is not valid percent-encoding of UTF-8"))
}

/// `a`, `b` and `c`.
fn enumerate(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [] => "a path".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_and_plain_queries_are_the_same() {
        for query in ["before=3:4&kind=HOLD", "before=3%3A4&kind=HOLD", "&b%65fore=%33%3a%34&&kind=%48OLD&"] {
            let parameters = Parameters::parse(query, "a list", &["kind", "before"]).unwrap();
            assert_eq!((parameters.get("before"), parameters.get("kind")), (Some("3:4"), Some("HOLD")), "{query}");
            assert_eq!(parameters.get("count"), None);
        }
        assert_eq!(decode("%E2%82%AC+%25").unwrap(), "€+%");
    }

    #[test]
    fn what_cannot_be_decoded_is_refused_with_the_reason() {
        for (query, reason) in [
            ("count=%", "is not valid percent-encoding"),
            ("count=%3", "is not valid percent-encoding"),
            ("count=%+3", "is not valid percent-encoding"),
            ("count=%zz", "is not valid percent-encoding"),
            ("count=%ff", "is not valid percent-encoding"),
            ("count=%€", "is not valid percent-encoding"),
            ("c%6funt=1&count=1", "`count` is there twice"),
            ("page=1", "a list takes no `page`, only `kind`, `before` and `count`"),
            ("=1", "takes no ``"),
        ] {
            let error = Parameters::parse(query, "a list", &["kind", "before", "count"]).unwrap_err().to_string();
            assert!(error.contains(reason), "{query}: {error}");
        }
        assert!(Parameters::parse("a=1", "this", &[]).unwrap_err().to_string().ends_with("only a path"));
    }
}
