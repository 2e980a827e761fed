//! Which keys are tied to which others.

use crate::schema::Key;

/// The keys that are tied to others, by their index, each with one of those.
pub(super) fn tied(keys: &[Option<Key>]) -> impl Iterator<Item = (usize, &Key, &Key)> {
    let known = keys.iter().enumerate().filter_map(|(index, key)| Some((index, key.as_ref()?)));
    known.flat_map(|(index, key)| {
        let others = key.ties().filter_map(|other| keys.get(other.index())?.as_ref());
        others.map(move |other| (index, key, other))
    })
}
