use verify::equihash::{Header, HeaderRule, Parameters, Solution, ZCASH_HEADER_LENGTH, verify_on};

use crate::items::check_count;
use crate::{Call, Error, Items, code};

impl Call<'_> {
    /// Verifies Equihash solutions. An input is a header up to and including the nonce.
    pub fn equihash(
        &mut self,
        (n, k): (usize, usize),
        personalisation: [u8; 8],
        inputs: Items<'_>,
        solutions: Items<'_>,
        codes: &mut [u8],
    ) -> Result<(), Error> {
        let backend = self.backends().equihash()?;
        let parameters = Parameters::new(n, k, personalisation).ok_or(Error::Parameters { n, k })?;
        inputs.check_count("inputs", codes.len())?;
        solutions.check_count("solutions", codes.len())?;
        // A single solution fills all lanes with leaves, and takes longer than distributing it.
        self.verify(
            codes,
            1,
            |_| 0,
            |item, codes| {
                let solution = Solution { input: inputs.get(item), indices: solutions.get(item) };
                codes[0] = code(verify_on(backend, &parameters, &solution).map_err(|rule| rule.code()));
            },
        )
    }

    /// Verifies that headers of Zcash, of 1,487 bytes each, have the proof of work that their own targets require.
    pub fn zcash_headers(&mut self, headers: Items<'_>, codes: &mut [u8]) -> Result<(), Error> {
        let backend = self.backends().equihash()?;
        headers.check_count("headers", codes.len())?;
        for item in 0..headers.len() {
            check_count("bytes of a header", headers.get(item).len(), ZCASH_HEADER_LENGTH)?;
        }
        self.verify(
            codes,
            1,
            |_| 0,
            |item, codes| {
                // If no header can be parsed, its length field claims a solution longer than the input.
                let header = Header::first_of(headers.get(item)).ok_or(HeaderRule::SolutionLength);
                codes[0] = code(header.and_then(|header| header.verify_on(backend)).map_err(|rule| rule.code()));
            },
        )
    }
}
