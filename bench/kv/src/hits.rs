//! How often a store that is too small for all items has what is asked for. Each item that was not there is stored, as a
//! program does that has fetched it from a database.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
};

use crate::keys::{self, Random, Spread};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// Items of 100 bytes, by Zipf's law.
    Zipf,
    /// The same, with values as long as those of Facebook's pool ETC (Atikoglu and others, SIGMETRICS 2012, section 5).
    Etc,
    /// The first, and each fifth request for an item that is asked for once.
    Scan,
}

/// Requests under way.
const BATCH: usize = 50;

/// Items beyond all others, for scans.
const SCANNED: u32 = 1 << 31;

/// The share of gets that found their item, of the later half of `requests`: by then the store is full.
pub fn ratio(server: SocketAddr, mix: Mix, items: u32, requests: usize) -> io::Result<f64> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(1 << 20, stream.try_clone()?);
    stream.write_all(b"flush_all noreply\r\n")?;
    let draws = keys::draws(Spread::Zipf, items, requests);
    let (mut hits, mut gets, mut done) = (0_u64, 0_u64, 0);
    let value = vec![b'v'; 1 << 20];
    for batch in draws.chunks(BATCH) {
        let item = |n: usize, item: u32| {
            if mix == Mix::Scan && n.is_multiple_of(5) { SCANNED + (done + n) as u32 } else { item }
        };
        let batch: Vec<u32> = batch.iter().enumerate().map(|(n, drawn)| item(n, *drawn)).collect();
        let mut out = Vec::new();
        for item in &batch {
            out.extend_from_slice(b"get ");
            keys::append(*item, &mut out);
            out.extend_from_slice(b"\r\n");
        }
        stream.write_all(&out)?;
        out.clear();
        for item in &batch {
            let hit = reply(&mut reader)?;
            // Of a scan there is nothing to find.
            if done >= requests / 2 && *item < SCANNED {
                gets += 1;
                hits += u64::from(hit);
            }
            if !hit {
                out.extend_from_slice(b"set ");
                keys::append(*item, &mut out);
                let len = length(mix, *item);
                out.extend_from_slice(format!(" 0 0 {len} noreply\r\n").as_bytes());
                out.extend_from_slice(&value[..len]);
                out.extend_from_slice(b"\r\n");
            }
        }
        stream.write_all(&out)?;
        done += batch.len();
    }
    Ok(hits as f64 / gets as f64)
}

/// Takes a reply, and tells whether it has an item.
pub fn reply(reader: &mut BufReader<TcpStream>) -> io::Result<bool> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    if line == "END\r\n" {
        return Ok(false);
    }
    let len = line.trim_end().rsplit(' ').next().and_then(|len| len.parse::<u64>().ok());
    let len = len.filter(|_| line.starts_with("VALUE ")).ok_or_else(|| io::Error::other(line.clone()))?;
    let rest = len + "\r\nEND\r\n".len() as u64;
    io::copy(&mut reader.take(rest), &mut io::sink())?;
    Ok(true)
}

/// Bytes of an item's value, the same each time.
fn length(mix: Mix, item: u32) -> usize {
    if mix != Mix::Etc {
        return 100;
    }
    let mut random = Random::new(item.into());
    random.next();
    // 40 of a hundred have 2, 3 or 11 bytes. The others are distributed by Pareto, with the paper's parameters.
    let (kind, unit) = (random.unit(), random.unit());
    match kind {
        ..0.4 => [2, 3, 11][(unit * 3.0) as usize],
        _ => {
            let (scale, shape) = (214.476, 0.348_238);
            let len = scale / shape * ((1.0 - unit).powf(-shape) - 1.0);
            len.clamp(1.0, 500_000.0) as usize
        }
    }
}
