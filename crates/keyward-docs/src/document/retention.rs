//! The chapter on lifetimes: every pattern by how long it lives.

use keyward_schema::facts::{Line, is_read_only, lifetime_short, subject_name};
use keyward_schema::{Duration, KeyId, Lifetime};

use super::anchors::Part;
use super::page::{Block, Role, Section, Table};

/// Up to this a lifetime counts as short.
const SHORT_MAX: Duration = Duration::from_ms(15 * 60 * 1000);

/// Up to this as medium.
const MEDIUM_MAX: Duration = Duration::from_ms(24 * 60 * 60 * 1000);

/// How long something lives, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Short,
    Medium,
    Long,
    ByData,
    Writer,
    Persistent,
}

impl Class {
    const ALL: [Class; 6] =
        [Class::Short, Class::Medium, Class::Long, Class::ByData, Class::Writer, Class::Persistent];

    fn of(duration: Duration) -> Class {
        match duration {
            short if short <= SHORT_MAX => Class::Short,
            medium if medium <= MEDIUM_MAX => Class::Medium,
            _ => Class::Long,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Class::Short => "Short: up to 15 minutes",
            Class::Medium => "Medium: up to a day",
            Class::Long => "Long: more than a day",
            Class::ByData => "As long as the data say",
            Class::Writer => "As long as the writer says",
            Class::Persistent => "Persistent: until deleted",
        }
    }
}

/// The chapter's content. A key whose value decides has a row for each case.
pub(super) fn sections(part: &Part<'_>, mut id_of: impl FnMut(&str) -> String) -> Vec<Section> {
    let rows: Vec<(Class, KeyId, Line)> = part.schema.ids().flat_map(|id| rows(part, id)).collect();
    let section = |class: Class| {
        let mut table = Table::of(["Key", "Lifetime"]);
        for (_, id, lifetime) in rows.iter().filter(|(of, ..)| *of == class) {
            table.push([part.links.key_link(*id), lifetime.clone()]);
        }
        let mut section = Section::new(id_of(class.title()), Line::text(class.title()), Role::Part);
        section.blocks.push(Block::Table(table));
        section
    };
    let is_used = |class: &Class| rows.iter().any(|(of, ..)| of == class);
    Class::ALL.into_iter().filter(is_used).map(section).collect()
}

fn rows(part: &Part<'_>, id: KeyId) -> Vec<(Class, KeyId, Line)> {
    let key = part.schema.key(id);
    let class = match &key.lifetime {
        _ if is_read_only(key) => Class::ByData,
        Lifetime::By { subject, cases, .. } => {
            let case = |(word, after): &(Box<str>, Duration)| {
                let line = Line::text(format!("{}, where ", after.in_words()))
                    .and_line(subject_name(key, *subject))
                    .and(" is ")
                    .and_code(&**word);
                (Class::of(*after), id, line)
            };
            return cases.iter().map(case).collect();
        }
        Lifetime::Free | Lifetime::Given { max: None, .. } => Class::Writer,
        Lifetime::Forever => Class::Persistent,
        Lifetime::Until { .. } | Lifetime::With { .. } => Class::ByData,
        Lifetime::Within { after, .. }
        | Lifetime::Window { after }
        | Lifetime::Renewed { after, .. }
        | Lifetime::Given { max: Some(after), .. } => Class::of(*after),
    };
    vec![(class, id, lifetime_short(&part.links, key))]
}
