//! JSON-RPC: parses requests without a tree of values, and writes replies.
use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// Maximum number of stored parameters of a request; no method has as many.
const PARAMETERS: usize = 8;
/// Maximum number of stored texts of a list.
const TEXTS: usize = 32;
/// Maximum number of requests in a batch.
pub const BATCH: usize = 1000;

/// An error reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// A code of ElectrumX or of JSON-RPC.
    pub code: i32,
    /// For people; some clients parse it, too.
    pub message: Cow<'static, str>,
}

impl RpcError {
    /// The request makes no sense, or its object does not exist.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: 1, message: message.into() }
    }

    /// The request takes a full node.
    pub fn daemon(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: 2, message: message.into() }
    }

    /// Not JSON.
    pub fn parse(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: -32700, message: message.into() }
    }

    /// JSON, but not a request.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: -32600, message: message.into() }
    }

    /// The negotiated version has no such method.
    pub fn unknown(method: &str) -> Self {
        Self { code: -32601, message: format!("unknown method \"{}\"", shortened(method)).into() }
    }

    /// The parameters do not fit the method.
    pub fn arguments(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: -32602, message: message.into() }
    }

    /// The request exceeds a limit.
    pub fn excessive(message: impl Into<Cow<'static, str>>) -> Self {
        Self { code: -101, message: message.into() }
    }

    /// The store cannot be read.
    pub fn internal() -> Self {
        Self { code: -32603, message: "internal server error: see the server's log".into() }
    }

    /// The history exceeds the limit of a reply.
    pub fn history_too_large() -> Self {
        Self { code: 10_001, message: "history too large".into() }
    }
}

/// The start of a client's text, so that error messages stay short.
pub fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(128) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

/// The id that a reply shares with its request.
#[derive(Clone, Debug, PartialEq)]
pub enum Id<'a> {
    Null,
    /// A number or a text as the client wrote it: the reply repeats it exactly, however many digits a number has.
    Written(Cow<'a, str>),
}

/// A parameter. Values that no method takes are not stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter<'a> {
    Null,
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Text(Cow<'a, str>),
    List(Vec<Cow<'a, str>>),
    Object,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Parameters<'a> {
    /// By position: the first ones, and their total number.
    Listed(Vec<Parameter<'a>>, usize),
    Named(Vec<(Cow<'a, str>, Parameter<'a>)>),
}

/// A request, or what was found in place of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<'a> {
    /// Without an id it is a notification, which gets no reply.
    Call {
        id: Option<Id<'a>>,
        method: Cow<'a, str>,
        parameters: Parameters<'a>,
    },
    Invalid {
        id: Id<'a>,
        why: &'static str,
    },
}

/// One request or several.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    One(Request<'a>),
    Batch(Vec<Request<'a>>),
}

impl<'a> Message<'a> {
    /// Parses a line.
    pub fn parse(line: &'a [u8]) -> Result<Self, RpcError> {
        let text = str::from_utf8(line).map_err(|_| RpcError::parse("messages must be encoded in UTF-8"))?;
        let invalid = |error: serde_json::Error| match error.classify() {
            serde_json::error::Category::Data => RpcError::invalid(error.to_string()),
            _ => RpcError::parse("invalid JSON"),
        };
        if text.trim_start().starts_with('[') {
            let Batch(requests) = serde_json::from_str(text).map_err(invalid)?;
            return match requests.is_empty() {
                true => Err(RpcError::invalid("batch is empty")),
                false => Ok(Self::Batch(requests)),
            };
        }
        serde_json::from_str(text).map(Self::One).map_err(invalid)
    }
}

struct Batch<'a>(Vec<Request<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Batch<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Batch<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of requests")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut requests = Vec::new();
                while let Some(request) = items.next_element()? {
                    if requests.len() == BATCH {
                        return Err(de::Error::custom(format_args!("more than {BATCH} requests in a batch")));
                    }
                    requests.push(request);
                }
                Ok(Batch(requests))
            }
        }
        deserializer.deserialize_seq(All)
    }
}

/// A visitor's methods for values of unexpected types.
macro_rules! others {
    ($value:expr; $($method:ident: $type:ty),*) => {
        $(fn $method<E: de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok($value)
        })*
    };
}

/// A text, borrowed if it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(text.into()))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(text.to_owned().into()))
            }
        }
        deserializer.deserialize_str(Any)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Request<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        const NONE: Request<'static> = Request::Invalid { id: Id::Null, why: "request object must be a dictionary" };
        impl<'de> Visitor<'de> for Any {
            type Value = Request<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a request")
            }
            others!(NONE; visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(NONE)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(NONE)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let (mut id, mut method, mut parameters) = (None, None, None);
                while let Some(Text(name)) = fields.next_key()? {
                    match &*name {
                        "id" => id = Some(fields.next_value::<&RawValue>()?.get()),
                        "method" => method = Some(fields.next_value()?),
                        "params" => parameters = Some(fields.next_value()?),
                        _ => drop(fields.next_value::<IgnoredAny>()?),
                    }
                }
                let invalid = |id: Option<Id<'de>>, why| Ok(Request::Invalid { id: id.unwrap_or(Id::Null), why });
                let id = match id.map(Id::parse) {
                    Some(Err(())) => return invalid(None, "invalid \"id\""),
                    id => id.and_then(Result::ok),
                };
                let Some(Parameter::Text(method)) = method else {
                    return invalid(id, "method must be a string");
                };
                let none = || GivenParameters::These(Parameters::Listed(Vec::new(), 0));
                match parameters.unwrap_or_else(none) {
                    GivenParameters::These(parameters) => Ok(Request::Call { id, method, parameters }),
                    GivenParameters::Invalid => invalid(id, "request arguments must be a list or a dictionary"),
                }
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl<'a> Id<'a> {
    /// Parses the JSON value of an id.
    fn parse(value: &'a str) -> Result<Self, ()> {
        match value.as_bytes().first() {
            Some(b'n') => Ok(Self::Null),
            Some(b'"' | b'-' | b'0'..=b'9') => Ok(Self::Written(value.into())),
            _ => Err(()),
        }
    }

    fn into_owned(self) -> Id<'static> {
        match self {
            Self::Null => Id::Null,
            Self::Written(text) => Id::Written(text.into_owned().into()),
        }
    }
}

impl Parameter<'_> {
    fn into_owned(self) -> Parameter<'static> {
        match self {
            Self::Null => Parameter::Null,
            Self::Boolean(value) => Parameter::Boolean(value),
            Self::Integer(number) => Parameter::Integer(number),
            Self::Float(number) => Parameter::Float(number),
            Self::Text(text) => Parameter::Text(text.into_owned().into()),
            Self::List(texts) => Parameter::List(texts.into_iter().map(|text| text.into_owned().into()).collect()),
            Self::Object => Parameter::Object,
        }
    }
}

impl Parameters<'_> {
    fn into_owned(self) -> Parameters<'static> {
        match self {
            Self::Listed(listed, count) => {
                Parameters::Listed(listed.into_iter().map(Parameter::into_owned).collect(), count)
            }
            Self::Named(named) => {
                let owned = named.into_iter().map(|(name, value)| (name.into_owned().into(), value.into_owned()));
                Parameters::Named(owned.collect())
            }
        }
    }
}

impl Request<'_> {
    /// Converts it to an owned value, independent of its line.
    pub fn into_owned(self) -> Request<'static> {
        match self {
            Self::Call { id, method, parameters } => Request::Call {
                id: id.map(Id::into_owned),
                method: method.into_owned().into(),
                parameters: parameters.into_owned(),
            },
            Self::Invalid { id, why } => Request::Invalid { id: id.into_owned(), why },
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Parameter<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Parameter<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a parameter")
            }
            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Parameter::Null)
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Parameter::Boolean(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Parameter::Integer(value.into()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Parameter::Integer(value.into()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Parameter::Float(value))
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Parameter::Text(text.into()))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Parameter::Text(text.to_owned().into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut texts = Vec::new();
                while texts.len() < TEXTS {
                    match items.next_element()? {
                        Some(Item(Some(text))) => texts.push(text),
                        Some(Item(None)) => {}
                        None => return Ok(Parameter::List(texts)),
                    }
                }
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Parameter::List(texts))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Parameter::Object)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// An item of a list: a text, or a value that is not stored.
struct Item<'a>(Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Item<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Item<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an item")
            }
            others!(Item(None); visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Item(None))
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Item(Some(text.into())))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Item(Some(text.to_owned().into())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Item(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Item(None))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// The value of `params`.
enum GivenParameters<'a> {
    These(Parameters<'a>),
    Invalid,
}

impl<'de: 'a, 'a> Deserialize<'de> for GivenParameters<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = GivenParameters<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("parameters")
            }
            others!(
                GivenParameters::Invalid;
                visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str
            );
            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(GivenParameters::Invalid)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut listed = Vec::new();
                while listed.len() < PARAMETERS {
                    match items.next_element()? {
                        Some(parameter) => listed.push(parameter),
                        None => {
                            let count = listed.len();
                            return Ok(GivenParameters::These(Parameters::Listed(listed, count)));
                        }
                    }
                }
                let mut count = listed.len();
                while items.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(GivenParameters::These(Parameters::Listed(listed, count)))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
                let mut named = Vec::new();
                while let Some(Text(name)) = fields.next_key()? {
                    if named.len() == PARAMETERS {
                        return Ok(GivenParameters::These(Parameters::Named(drain(fields, named)?)));
                    }
                    named.push((name, fields.next_value()?));
                }
                Ok(GivenParameters::These(Parameters::Named(named)))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Skips the rest of a dictionary whose next value is due.
fn drain<'de, A: MapAccess<'de>, T>(mut fields: A, kept: T) -> Result<T, A::Error> {
    fields.next_value::<IgnoredAny>()?;
    while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(kept)
}

/// Appends a text as JSON.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    // A text always serialises, and writing to memory succeeds.
    let _ = serde_json::to_writer(out, text);
}

/// Appends formatted text, which must be JSON.
pub fn push_format(out: &mut Vec<u8>, arguments: fmt::Arguments<'_>) {
    let mut text = String::new();
    // Writing to a String succeeds.
    let _ = text.write_fmt(arguments);
    out.extend_from_slice(text.as_bytes());
}

/// Appends the start of a reply, up to its result.
pub fn begin_result(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"result\":");
}

/// Appends the end of a reply, after its result.
pub fn end_result(out: &mut Vec<u8>, id: &Id<'_>) {
    out.extend_from_slice(b",\"id\":");
    push_id(out, id);
    out.push(b'}');
}

/// Appends an error reply.
pub fn push_error(out: &mut Vec<u8>, error: &RpcError, id: &Id<'_>) {
    push_format(out, format_args!("{{\"jsonrpc\":\"2.0\",\"error\":{{\"code\":{},\"message\":", error.code));
    push_text(out, &error.message);
    out.extend_from_slice(b"},\"id\":");
    push_id(out, id);
    out.push(b'}');
}

fn push_id(out: &mut Vec<u8>, id: &Id<'_>) {
    match id {
        Id::Null => out.extend_from_slice(b"null"),
        Id::Written(text) => out.extend_from_slice(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Request<'_> {
        match Message::parse(text.as_bytes()).unwrap() {
            Message::One(request) => request,
            Message::Batch(_) => panic!("a batch"),
        }
    }

    #[test]
    fn requests_of_all_forms() {
        let request =
            one(r#" {"id":7,"jsonrpc":"2.0","more":{"a":[1]},"method":"m","params":["x",1,-2,true,null,1.5]} "#);
        let Request::Call { id: Some(Id::Written(id)), method, parameters: Parameters::Listed(listed, 6) } = request
        else {
            panic!("another form")
        };
        assert_eq!((&*id, &*method), ("7", "m"));
        let expected = [
            Parameter::Text("x".into()),
            Parameter::Integer(1),
            Parameter::Integer(-2),
            Parameter::Boolean(true),
            Parameter::Null,
            Parameter::Float(1.5),
        ];
        assert_eq!(listed, expected);
        let request = one(r#"{"method":"\u006d","id":"\n","params":{"a":["b",5,["c"],{}],"d":{}}}"#);
        let Request::Call { id: Some(Id::Written(id)), method, parameters: Parameters::Named(named) } = request else {
            panic!("another form")
        };
        assert_eq!((&*id, &*method), (r#""\n""#, "m"));
        assert_eq!(named[0], ("a".into(), Parameter::List(vec!["b".into()])));
        assert_eq!(named[1], ("d".into(), Parameter::Object));
        assert!(matches!(one(r#"{"method":"m"}"#), Request::Call { id: None, .. }));
        let padded = format!("{{\"method\":\"m\",{}\"id\":null}}", " ".repeat(1024));
        assert!(matches!(one(&padded), Request::Call { id: Some(Id::Null), .. }));
        let many = format!("{{\"method\":\"m\",\"id\":1,\"params\":[{}0]}}", "0,".repeat(99));
        assert!(matches!(one(&many), Request::Call { parameters: Parameters::Listed(_, 100), .. }));
        let many: Vec<String> = (0..99).map(|n| format!("\"{n}\":[]")).collect();
        let many = format!("{{\"method\":\"m\",\"id\":1,\"params\":{{{}}}}}", many.join(","));
        assert!(matches!(one(&many), Request::Call { parameters: Parameters::Named(named), .. } if named.len() == 8));
    }

    #[test]
    fn an_id_comes_back_as_it_was_written() {
        for id in ["18446744073709551616", "-9223372036854775809", "1.50", "1e400", "-0", r#""\u0078""#, "null"] {
            let text = format!(r#"{{"method":"m","id": {id} }}"#);
            let Request::Call { id: Some(parsed), .. } = one(&text).into_owned() else { panic!("{text}") };
            let mut out = Vec::new();
            push_id(&mut out, &parsed);
            assert_eq!(String::from_utf8(out).unwrap(), id);
        }
    }

    #[test]
    fn what_is_no_request_is_told_so() {
        for (text, code, message) in [
            ("", -32700, "invalid JSON"),
            ("{", -32700, "invalid JSON"),
            ("{} {}", -32700, "invalid JSON"),
            ("\u{feff}{}", -32700, "invalid JSON"),
            ("[]", -32600, "batch is empty"),
        ] {
            assert_eq!(Message::parse(text.as_bytes()), Err(RpcError { code, message: message.into() }), "{text}");
        }
        assert_eq!(Message::parse(b"\"\xff\"").unwrap_err().code, -32700);
        for (text, why) in [
            ("7", "request object must be a dictionary"),
            ("null", "request object must be a dictionary"),
            ("{}", "method must be a string"),
            (r#"{"method":7}"#, "method must be a string"),
            (r#"{"method":"m","id":[]}"#, "invalid \"id\""),
            (r#"{"method":"m","id":1,"params":7}"#, "request arguments must be a list or a dictionary"),
        ] {
            assert!(matches!(one(text), Request::Invalid { why: found, .. } if found == why), "{text}");
        }
        let deep = "[".repeat(1 << 20);
        assert_eq!(Message::parse(deep.as_bytes()).unwrap_err().code, -32700);
        let deep = format!("{{\"method\":\"m\",\"params\":{}", "[".repeat(1 << 20));
        assert_eq!(Message::parse(deep.as_bytes()).unwrap_err().code, -32700);
        let batch = format!("[{}1]", "1,".repeat(BATCH));
        assert_eq!(Message::parse(batch.as_bytes()).unwrap_err().code, -32600);
        let batch = format!("[{}1]", "1,".repeat(BATCH - 1));
        assert!(matches!(Message::parse(batch.as_bytes()), Ok(Message::Batch(all)) if all.len() == BATCH));
    }

    #[test]
    fn replies_are_json() {
        let mut out = Vec::new();
        begin_result(&mut out);
        push_text(&mut out, "a\"\n");
        end_result(&mut out, &Id::Written(r#""\\""#.into()));
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value, serde_json::json!({"jsonrpc": "2.0", "result": "a\"\n", "id": "\\"}));
        out.clear();
        push_error(&mut out, &RpcError::unknown(&"é".repeat(500)), &Id::Written("5".into()));
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((value["error"]["code"].as_i64(), value["id"].as_i64()), (Some(-32601), Some(5)));
        assert!(value["error"]["message"].as_str().unwrap().len() < 300);
    }
}
