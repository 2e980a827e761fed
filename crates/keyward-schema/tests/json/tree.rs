//! JSON as a tree that keeps numbers as they are written and members in order.

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// The shortest way to write it.
    pub(crate) fn plain(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Tree::Null => "null".to_owned(),
            Tree::Bool(value) => value.to_string(),
            Tree::Number(text) => text.clone(),
            Tree::Text(text) => quoted(text),
            Tree::Array(items) => {
                format!("[{}]", items.iter().map(Tree::plain).collect::<Vec<_>>().join(","))
            }
            Tree::Object(members) => {
                let member =
                    |(name, value): &(String, Tree)| format!("{}:{}", quoted(name), value.plain());
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }
}
