//! The text of INFO, read as redis_exporter reads it.
//!
//! Owns how a line is taken apart. A line that is none of these is left out, never an error:
//! other versions say other things.

/// A line of INFO in its section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// The section's title.
    pub(crate) section: &'t str,
    pub(crate) field: &'t str,
    pub(crate) value: &'t str,
}

/// The lines of a text.
#[derive(Debug, Default)]
pub(crate) struct Info<'t> {
    pub(crate) lines: Vec<Line<'t>>,
}

impl<'t> Info<'t> {
    /// Reads a text.
    pub(crate) fn read(text: &'t str) -> Info<'t> {
        let mut section = "";
        let mut lines = Vec::new();
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("# ") {
                section = title;
            } else if let Some((field, value)) = line.split_once(':') {
                lines.push(Line { section, field, value });
            }
        }
        Info { lines }
    }

    /// The value of a field, empty if there is none.
    pub(crate) fn text(&self, field: &str) -> &'t str {
        self.lines.iter().find(|line| line.field == field).map_or("", |line| line.value)
    }

    /// The number of a field, if it has one.
    pub(crate) fn number(&self, field: &str) -> Option<f64> {
        self.text(field).parse().ok()
    }

    /// The lines of a section whose fields begin with this, with what follows it.
    pub(crate) fn beginning(
        &self,
        section: &str,
        start: &str,
    ) -> impl Iterator<Item = (&'t str, Parts<'t>)> {
        let lines = self.lines.iter().filter(move |line| line.section == section);
        lines.filter_map(move |line| Some((line.field.strip_prefix(start)?, Parts(line.value))))
    }
}

/// A value of the form `a=1,b=2`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'t>(pub(crate) &'t str);

impl<'t> Parts<'t> {
    /// The parts with their names.
    pub(crate) fn each(self) -> impl Iterator<Item = (&'t str, &'t str)> {
        self.0.split(',').filter_map(|part| part.split_once('='))
    }

    /// A part, empty if there is none of that name.
    pub(crate) fn text(self, name: &str) -> &'t str {
        self.each().find(|(it, _)| *it == name).map_or("", |(_, value)| value)
    }

    /// A part that is a number.
    pub(crate) fn number(self, name: &str) -> Option<f64> {
        self.text(name).parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let text = "# Replication\r\nrole:master\r\nslave0:ip=::1,port=6380,lag=1\r\n\
                    nonsense\r\n# Errorstats\r\nerrorstat_ERR:count=4\r\n";
        let info = Info::read(text);
        assert_eq!(info.text("role"), "master");
        assert_eq!(info.text("absent"), "");
        let replicas: Vec<_> = info.beginning("Replication", "slave").collect();
        assert_eq!((replicas[0].0, replicas[0].1.text("ip")), ("0", "::1"));
        assert_eq!(replicas[0].1.number("lag"), Some(1.0));
        let errors: Vec<_> = info.beginning("Errorstats", "errorstat_").collect();
        assert_eq!((errors[0].0, errors[0].1.number("count")), ("ERR", Some(4.0)));
    }
}
