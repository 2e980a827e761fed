//! Schemas of known programs, which `keyward init --with` writes beside a new file.
//!
//! They are written rather than found inside the program by those who include them: a
//! schema then changes only when its owners change it, not with an upgrade of Keyward,
//! and messages name a file and a line that can be opened.

/// A schema of the library.
pub(super) struct LibrarySchema {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

impl LibrarySchema {
    /// Its path from the file that includes it.
    pub(super) fn path(&self) -> String {
        format!("{FOLDER}/{}.toml", self.name)
    }
}

/// The folder beside a new file.
const FOLDER: &str = "library";

macro_rules! library {
    ($($name:literal),+ $(,)?) => {
        /// The whole library, by name.
        pub(super) const LIBRARY: &[LibrarySchema] = &[$(LibrarySchema {
            name: $name,
            text: include_str!(concat!("../../../../../library/", $name, ".toml")),
        }),+];
    };
}

library![
    "bull",
    "bullmq",
    "celery",
    "connect-redis",
    "django",
    "flask-limiter",
    "huey",
    "rate-limiter-flexible",
    "rq",
    "sidekiq",
];

/// Programs that cannot share a database as they are, and the value that one of them is to be
/// given, with an example.
const NEED_VALUES: [(&str, &str, (&str, &str)); 6] = [
    ("bull", "bullmq", ("bullmq", "prefix = \"bullmq\"")),
    ("bull", "sidekiq", SIDEKIQ),
    ("bullmq", "sidekiq", SIDEKIQ),
    ("huey", "sidekiq", SIDEKIQ),
    ("rate-limiter-flexible", "sidekiq", SIDEKIQ),
    ("rate-limiter-flexible", "sidekiq", ("rate-limiter-flexible", "key = \"{address:ip}\"")),
];

/// Any word may be the name of a host, which its keys begin with.
const SIDEKIQ: (&str, &str) = ("sidekiq", "host = \"worker-{number:uint}\"");

/// What is to be written so that these can share a database: a line for each file that needs a
/// value, with the programs that it is for.
pub(super) fn needs(included: &[&LibrarySchema]) -> Vec<String> {
    let has = |name: &str| included.iter().any(|entry| entry.name == name);
    let mut needs: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for (one, other, cure) in NEED_VALUES.iter().filter(|(one, other, _)| has(one) && has(other)) {
        let rival = if *one == cure.0 { other } else { one };
        match needs.iter_mut().find(|(known, _)| known == cure) {
            Some((_, rivals)) => rivals.push(rival),
            None => needs.push((*cure, vec![rival])),
        }
    }
    let line = |((name, value), rivals): ((&str, &str), Vec<&str>)| {
        format!(
            "{name} and {} could claim the same keys: include {name} as {{ file = \
             \"{FOLDER}/{name}.toml\", with = {{ {value} }} }}, with what it really has",
            rivals.join(", ")
        )
    };
    needs.into_iter().map(line).collect()
}

/// The schema of that name.
pub(super) fn find(name: &str) -> Option<&'static LibrarySchema> {
    LIBRARY.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_the_folder() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../library");
        let files = std::fs::read_dir(folder).expect("the library").flatten();
        let names = files.map(|file| file.file_name().into_string().expect("a name in UTF-8"));
        let mut names: Vec<String> =
            names.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
        names.sort();
        assert_eq!(names, LIBRARY.iter().map(|entry| entry.name).collect::<Vec<_>>());
    }
}
