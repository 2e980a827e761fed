//! Users as the host declares and asks about them.
//!
//! Not here: what they may do (`acl`), when that is asked (`rights`).

use crate::engine::Engine;
use crate::host::Host;
use keyward_schema::Pattern;
use std::collections::BTreeSet;

/// Rules that are looked at in a step: some 300 µs.
const RULES_PER_STEP: usize = 1000;

/// A look at those rules of users that name keys by patterns of schemas, in steps.
#[derive(Debug)]
pub struct RulesLook {
    /// The patterns in force, by their forms.
    forms: BTreeSet<Vec<u8>>,
    /// The user that was looked at last.
    last: Option<Box<[u8]>>,
}

/// A rule that grants nothing, since no schema in force has its pattern.
#[derive(Debug)]
pub struct VoidRule {
    /// The user who has it.
    pub user: Vec<u8>,
    /// The rule.
    pub rule: Vec<u8>,
}

impl Engine {
    /// Adds a user that the settings declare; whether one can authenticate as it.
    ///
    /// # Errors
    /// Says which rule is wrong.
    pub fn declare_user(&mut self, name: &[u8], rules: &[&[u8]]) -> Result<bool, String> {
        let declared = self.shared.acl.declare(name, rules);
        declared.map_err(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// Reads the file of users, if there is one, in place of all users.
    ///
    /// # Errors
    /// Says what is wrong with the file; then nothing is changed.
    pub fn load_users(&mut self, host: &mut dyn Host) -> Result<(), String> {
        let Some(read) = host.read_users(self.shared.acl.reader()) else { return Ok(()) };
        let replaced = self.shared.acl.replace_by(read?);
        replaced.map(drop).map_err(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// Whether clients are served who have not said who they are.
    pub fn is_open(&self) -> bool {
        self.shared.acl.is_open()
    }

    /// The users whom a name alone admits.
    pub fn users_without_password(&self) -> Vec<String> {
        let users = self.shared.acl.users();
        let open = users.filter(|user| user.is_enabled && user.needs_no_password);
        open.map(|user| String::from_utf8_lossy(&user.name).into_owned()).collect()
    }

    /// Whether this is a password of the user `default`, who needs one.
    pub fn default_user_has_password(&self, password: &[u8]) -> bool {
        let user = self.shared.acl.default_user();
        !user.needs_no_password && user.admits(password)
    }

    /// Whether a newcomer is admitted whatever its password.
    pub fn needs_no_password(&self) -> bool {
        self.shared.acl.default_user().needs_no_password
    }

    /// Changes when a file of users was read, and when other schemas came into force.
    pub fn rules_version(&self) -> (u64, u64) {
        (self.shared.acl.loads(), self.schema_version())
    }

    /// Begins a look at the rules that name keys by patterns.
    pub fn look_at_rules(&self) -> RulesLook {
        let keys = self.books().flat_map(|(_, book)| &book.schema().keys);
        let forms = keys.map(|key| Pattern::form(key.pattern.text().as_bytes()).collect());
        RulesLook { forms: forms.collect(), last: None }
    }

    /// Goes on with it: rules whose pattern no schema in force has, or `None` if all users have
    /// been looked at.
    pub fn void_rules(&self, look: &mut RulesLook) -> Option<Vec<VoidRule>> {
        let (mut count, mut found) = (0, Vec::new());
        let last = look.last.take();
        let mut users = self.shared.acl.users_after(last.as_deref()).peekable();
        users.peek()?;
        for user in users {
            for (rule, pattern) in user.selectors().iter().flat_map(|it| it.exact_rules()) {
                count += 1;
                let form: Vec<u8> = Pattern::form(pattern).collect();
                if !look.forms.contains(&form) {
                    found.push(VoidRule { user: user.name.to_vec(), rule });
                }
            }
            look.last = Some(user.name.clone());
            // Who has none takes some time, too.
            count += 1;
            if count >= RULES_PER_STEP {
                break;
            }
        }
        Some(found)
    }
}
