//! The accounts in order, a page at a time.
use super::Index;
use super::paths::account_path;
use super::trie::Trie;
use spv::IndexEntry;
use wire::AccountId;

/// The key by which entries are ordered: path, then id.
type Key = (u64, [u8; 16]);

/// A page being filled.
struct Page {
    /// The page begins after this account.
    after: Option<Key>,
    limit: usize,
    entries: Vec<IndexEntry>,
}

impl Index {
    /// The first `limit` entries after that of an account, ascending by path, then id, as of the last publication.
    ///
    /// The account need not exist. Takes time in proportion to `limit`, however many accounts there are.
    pub fn listing(&self, after: Option<&AccountId>, limit: usize) -> Vec<IndexEntry> {
        let after = after.map(|account| (account_path(account), account.0));
        let mut page = Page { after, limit, entries: Vec::new() };
        self.list_below(&self.trie, 1, 0, 0, &mut page);
        page.entries
    }

    /// Adds the entries below a node whose lowest path is `first`. Nodes without any are not searched, as in
    /// [`Index::leaf`].
    fn list_below(&self, trie: &Trie, node: usize, depth: u32, first: u64, page: &mut Page) {
        let last = first | u64::MAX.checked_shr(depth).unwrap_or(0);
        let is_before = page.after.is_some_and(|(path, _)| last < path);
        if page.entries.len() == page.limit || is_before || trie.published.counts[node] == 0 {
            return;
        }
        if depth == trie.cell_depth() {
            let mut entries = Vec::new();
            trie.published_below(&self.pages, &self.images, node, depth, &mut entries);
            page.add(entries);
        } else if depth == trie.depth()
            && let Some(crowd) = trie.crowd(node - trie.groups().len())
        {
            self.list_below(crowd, 1, depth, first, page);
        } else {
            self.list_below(trie, 2 * node, depth + 1, first, page);
            self.list_below(trie, 2 * node + 1, depth + 1, first | 1 << (63 - depth), page);
        }
    }
}

impl Page {
    /// Adds those entries of a cell that belong on the page.
    fn add(&mut self, entries: Vec<IndexEntry>) {
        let keyed = entries.into_iter().map(|entry| (key(&entry), entry));
        let mut keyed: Vec<_> = keyed.filter(|(key, _)| self.after.is_none_or(|after| *key > after)).collect();
        keyed.sort_unstable_by_key(|(key, _)| *key);
        let room = self.limit - self.entries.len();
        self.entries.extend(keyed.into_iter().take(room).map(|(_, entry)| entry));
    }
}

fn key(entry: &IndexEntry) -> Key {
    (account_path(&AccountId(entry.account)), entry.account)
}
