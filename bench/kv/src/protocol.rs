//! Requests to each server, and how long its replies are.

use crate::keys;

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// memcached's ASCII.
    Memcached,
    /// Redis's.
    Redis,
}

impl Protocol {
    /// Appends a request for an item that is there, and gives the length of the reply.
    pub fn get(self, item: u32, value: usize, out: &mut Vec<u8>) -> usize {
        let (before, digits) = (out.len(), value.to_string().len());
        match self {
            Self::Memcached => {
                out.extend_from_slice(b"get ");
                keys::append(item, out);
                let key = out.len() - before - 4;
                out.extend_from_slice(b"\r\n");
                "VALUE  0 \r\n\r\nEND\r\n".len() + key + digits + value
            }
            Self::Redis => {
                self.command(b"GET", item, None, out);
                "$\r\n\r\n".len() + digits + value
            }
        }
    }

    /// Appends a request that stores an item, and gives the length of the reply.
    pub fn set(self, item: u32, value: &[u8], out: &mut Vec<u8>) -> usize {
        match self {
            Self::Memcached => {
                out.extend_from_slice(b"set ");
                keys::append(item, out);
                out.extend_from_slice(format!(" 0 0 {}\r\n", value.len()).as_bytes());
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
                "STORED\r\n".len()
            }
            Self::Redis => {
                self.command(b"SET", item, Some(value), out);
                "+OK\r\n".len()
            }
        }
    }

    fn command(self, name: &[u8], item: u32, value: Option<&[u8]>, out: &mut Vec<u8>) {
        let mut key = Vec::with_capacity(200);
        keys::append(item, &mut key);
        let words = [Some(name), Some(&*key), value].into_iter().flatten();
        out.extend_from_slice(format!("*{}\r\n", words.clone().count()).as_bytes());
        for word in words {
            out.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            out.extend_from_slice(word);
            out.extend_from_slice(b"\r\n");
        }
    }
}
