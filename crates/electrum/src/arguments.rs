//! Arguments of a method, by position or by name, converted as in ElectrumX.
use std::borrow::Cow;

use spv::Hash;

use crate::{
    hex,
    rpc::{Parameter, Parameters, RpcError, shortened},
};

/// Names of a method's parameters, and how many are required.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    pub names: &'static [&'static str],
    pub required: usize,
    /// Whether additional arguments are accepted, which some clients send.
    pub is_lenient: bool,
}

/// Arguments in the order of a signature.
pub struct Arguments<'a>(Vec<Option<Parameter<'a>>>);

impl<'a> Arguments<'a> {
    /// Brings arguments into the order of a signature. Error texts are aiorpcX's.
    pub fn new(method: &str, signature: Signature, parameters: Parameters<'a>) -> Result<Self, RpcError> {
        let Signature { names, required, is_lenient } = signature;
        match parameters {
            Parameters::Listed(listed, count) => {
                let plural = if count == 1 { "" } else { "s" };
                if count < required {
                    let text =
                        format!("{count} argument{plural} passed to method \"{method}\" but it requires {required}");
                    return Err(RpcError::arguments(text));
                }
                if count > names.len() && !is_lenient {
                    let most = names.len();
                    let text = format!("{count} argument{plural} passed to method {method} taking at most {most}");
                    return Err(RpcError::arguments(text));
                }
                Ok(Self(listed.into_iter().map(Some).collect()))
            }
            Parameters::Named(named) => {
                let mut ordered = vec![None; names.len()];
                for (name, parameter) in named {
                    match names.iter().position(|known| *known == name) {
                        Some(place) => ordered[place] = Some(parameter),
                        None if is_lenient => {}
                        None => {
                            let name = shortened(&name);
                            let text = format!("method \"{method}\" does not take parameter \"{name}\"");
                            return Err(RpcError::arguments(text));
                        }
                    }
                }
                match ordered[..required].iter().position(Option::is_none) {
                    Some(place) => {
                        let text = format!("method \"{method}\" requires parameter \"{}\"", names[place]);
                        Err(RpcError::arguments(text))
                    }
                    None => Ok(Self(ordered)),
                }
            }
        }
    }

    /// The argument, if present.
    pub fn get(&self, place: usize) -> Option<&Parameter<'a>> {
        self.0.get(place)?.as_ref()
    }

    /// The argument, or null.
    pub fn value(&self, place: usize) -> &Parameter<'a> {
        self.get(place).unwrap_or(&Parameter::Null)
    }

    /// A non-negative number; `default` if it is missing.
    pub fn number(&self, place: usize, default: u64) -> Result<u64, RpcError> {
        let Some(value) = self.get(place) else { return Ok(default) };
        let number = match value {
            Parameter::Integer(number) => Some(*number),
            Parameter::Boolean(value) => Some(i128::from(*value)),
            // Like Python's int: rounded towards zero.
            Parameter::Float(number) => Some(*number as i128),
            Parameter::Text(text) => text.trim().parse().ok(),
            Parameter::Null | Parameter::List(_) | Parameter::Object => None,
        };
        match number.filter(|number| *number >= 0) {
            Some(number) => Ok(u64::try_from(number).unwrap_or(u64::MAX)),
            None => Err(RpcError::bad_request(format!("{} should be a non-negative integer", shown(value)))),
        }
    }

    /// A boolean; false if it is missing.
    pub fn boolean(&self, place: usize, name: &str) -> Result<bool, RpcError> {
        match self.get(place) {
            None | Some(Parameter::Boolean(false) | Parameter::Integer(0)) => Ok(false),
            Some(Parameter::Boolean(true) | Parameter::Integer(1)) => Ok(true),
            Some(_) => Err(RpcError::bad_request(format!("\"{name}\" must be a boolean"))),
        }
    }

    /// A transaction hash, in internal byte order.
    pub fn transaction(&self, place: usize) -> Result<Hash, RpcError> {
        self.hash(place)
            .ok_or_else(|| RpcError::bad_request(format!("{} should be a transaction hash", shown(self.value(place)))))
    }

    /// A script hash, in internal byte order.
    pub fn script_hash(&self, place: usize) -> Result<Hash, RpcError> {
        self.hash(place)
            .ok_or_else(|| RpcError::bad_request(format!("{} is not a valid script hash", shown(self.value(place)))))
    }

    fn hash(&self, place: usize) -> Option<Hash> {
        match self.value(place) {
            Parameter::Text(text) => hex::parse_reversed(text),
            _ => None,
        }
    }

    /// Bytes from hexadecimal digits.
    pub fn bytes(&self, place: usize) -> Result<Vec<u8>, RpcError> {
        let bytes = match self.value(place) {
            Parameter::Text(text) => hex::parse(text),
            _ => None,
        };
        bytes.ok_or_else(|| RpcError::bad_request(format!("{} should be a hex string", shown(self.value(place)))))
    }

    /// A list of texts of hexadecimal digits.
    pub fn byte_texts(&self, place: usize) -> Result<&[Cow<'a, str>], RpcError> {
        let Parameter::List(texts) = self.value(place) else {
            return Err(RpcError::bad_request(format!("{} should be a list", shown(self.value(place)))));
        };
        match texts.iter().find(|text| hex::parse(text).is_none()) {
            Some(other) => Err(RpcError::bad_request(format!("{} should be a hex string", shortened(other)))),
            None => Ok(texts),
        }
    }
}

/// An argument as Python prints it.
pub fn shown<'a>(parameter: &'a Parameter<'_>) -> Cow<'a, str> {
    match parameter {
        Parameter::Null => "None".into(),
        Parameter::Boolean(true) => "True".into(),
        Parameter::Boolean(false) => "False".into(),
        Parameter::Integer(number) => number.to_string().into(),
        Parameter::Float(number) => number.to_string().into(),
        Parameter::Text(text) => shortened(text),
        Parameter::List(_) => "the list".into(),
        Parameter::Object => "the dictionary".into(),
    }
}

/// A number with commas between thousands, as ElectrumX prints heights.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNATURE: Signature = Signature { names: &["a", "b"], required: 1, is_lenient: false };

    fn listed(parameters: Vec<Parameter<'_>>) -> Result<Arguments<'_>, RpcError> {
        let count = parameters.len();
        Arguments::new("m", SIGNATURE, Parameters::Listed(parameters, count))
    }

    #[test]
    fn by_place_and_by_name() {
        let both = listed(vec![Parameter::Integer(5), Parameter::Boolean(true)]).unwrap();
        assert_eq!((both.number(0, 0), both.boolean(1, "b")), (Ok(5), Ok(true)));
        let one = listed(vec![Parameter::Text(" 7".into())]).unwrap();
        assert_eq!((one.number(0, 0), one.number(1, 9), one.boolean(1, "b")), (Ok(7), Ok(9), Ok(false)));
        let named = Parameters::Named(vec![("b".into(), Parameter::Null), ("a".into(), Parameter::Float(2.9))]);
        let named = Arguments::new("m", SIGNATURE, named).unwrap();
        assert_eq!(named.number(0, 0), Ok(2));
        assert_eq!(named.number(1, 0).unwrap_err().message, "None should be a non-negative integer");
        for (parameters, text) in [
            (Parameters::Listed(vec![], 0), "0 arguments passed to method \"m\" but it requires 1"),
            (Parameters::Listed(vec![], 3), "3 arguments passed to method m taking at most 2"),
            (Parameters::Named(vec![("b".into(), Parameter::Null)]), "method \"m\" requires parameter \"a\""),
            (Parameters::Named(vec![("c".into(), Parameter::Null)]), "method \"m\" does not take parameter \"c\""),
        ] {
            let error = Arguments::new("m", SIGNATURE, parameters).err().unwrap();
            assert_eq!((error.code, &*error.message), (-32602, text));
        }
        let lenient = Signature { is_lenient: true, ..SIGNATURE };
        assert!(Arguments::new("m", lenient, Parameters::Listed(vec![Parameter::Null], 5)).is_ok());
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let wrong = listed(vec![Parameter::Text("ab".into()), Parameter::Integer(-1)]).unwrap();
        assert_eq!(wrong.number(1, 0).unwrap_err().message, "-1 should be a non-negative integer");
        assert_eq!(wrong.script_hash(0).unwrap_err().message, "ab is not a valid script hash");
        assert_eq!(wrong.transaction(1).unwrap_err().message, "-1 should be a transaction hash");
        assert_eq!(wrong.boolean(1, "merkle").unwrap_err().message, "\"merkle\" must be a boolean");
        assert_eq!((wrong.bytes(0), wrong.bytes(1).unwrap_err().code), (Ok(vec![0xab]), 1));
    }

    #[test]
    fn thousands() {
        let shown = [0, 999, 1000, 14_131, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "14,131", "1,234,567"]);
    }
}
