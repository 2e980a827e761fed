//! The syntax of redis.conf: one setting per line, words with quotes, comments,
//! includes.

use super::{Settings, SettingsError};
use keyward_resp::split_words;
use std::path::Path;

/// Files that may include each other this deep.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Reads a file of settings into `settings`.
pub(super) fn load(settings: &mut Settings, path: &Path) -> Result<(), SettingsError> {
    load_at_depth(settings, path, 0)
}

fn load_at_depth(settings: &mut Settings, path: &Path, depth: usize) -> Result<(), SettingsError> {
    let file = path.display().to_string();
    if depth > INCLUDE_DEPTH_MAX {
        return Err(SettingsError::IncludesTooDeep { file });
    }
    let text = std::fs::read(path)
        .map_err(|problem| SettingsError::Unreadable { file: file.clone(), problem })?;
    read_at_depth(settings, &file, &text, depth)
}

/// Reads the text of a file of settings, which errors call `file`.
pub(super) fn read(settings: &mut Settings, file: &str, text: &[u8]) -> Result<(), SettingsError> {
    read_at_depth(settings, file, text, 0)
}

fn read_at_depth(
    settings: &mut Settings,
    file: &str,
    text: &[u8],
    depth: usize,
) -> Result<(), SettingsError> {
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let place = format!("{file}:{}", index + 1);
        let line = line.trim_ascii();
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let words =
            split_words(line).ok_or_else(|| SettingsError::OpenQuote { place: place.clone() })?;
        let [name, values @ ..] = words.as_slice() else { continue };
        if name.eq_ignore_ascii_case(b"include") {
            for value in values {
                let included = String::from_utf8_lossy(value).into_owned();
                let loaded = load_at_depth(settings, Path::new(&included), depth + 1);
                loaded.map_err(|error| match error {
                    SettingsError::Unreadable { file, problem } if file == included => {
                        SettingsError::Unreadable {
                            file: format!("{place}: include {file}"),
                            problem,
                        }
                    }
                    other => other,
                })?;
            }
            continue;
        }
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        settings.set_from(&place, name, &values)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&[&str]>) {
        let words = split_words(line.as_bytes());
        let words = words.map(|words| {
            words.into_iter().map(|w| String::from_utf8(w).unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(
            words.as_deref(),
            expected.map(|e| e.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).as_deref()
        );
    }

    #[test]
    fn words_may_be_quoted() {
        check("port 7000", Some(&["port", "7000"]));
        check("save \"\"", Some(&["save", ""]));
        check(r#"requirepass "a \"b\" \x41\n" "#, Some(&["requirepass", "a \"b\" A\n"]));
        check(r"dir 'it\'s here'", Some(&["dir", "it's here"]));
        check("dir \"open", None);
        check("dir \"a\"b", None);
    }
}
