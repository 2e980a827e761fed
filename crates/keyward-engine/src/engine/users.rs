//! Users as the host declares and asks about them.
//!
//! Not here: what they may do (`acl`), when that is asked (`rights`).

use crate::engine::Engine;
use crate::host::Host;

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
}
