//! Requests that are written before the run, and how one is drawn.

/// Encoded requests, without the part before the method.
pub struct Requests {
    written: Vec<(&'static str, Vec<String>)>,
    /// Each method's place as often as its weight.
    wheel: Vec<usize>,
}

impl Requests {
    /// Of each method its name and its requests; and the wheel, with each method's place as often as its weight.
    pub fn new(written: Vec<(&'static str, Vec<String>)>, wheel: Vec<usize>) -> Self {
        Self { written, wheel }
    }

    /// Any of them, with its method's place, as a random number has it.
    pub fn get(&self, random: u64) -> (usize, &str) {
        let [low, high] = [random as u32, (random >> 32) as u32].map(|half| half as usize);
        let place = self.wheel[low % self.wheel.len()];
        let (_, requests) = &self.written[place];
        (place, &requests[high % requests.len()])
    }

    /// The methods by their places.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> {
        self.written.iter().map(|(name, _)| *name)
    }
}
