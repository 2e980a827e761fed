//! The command line as a person meets it: the exact text, the exit code, and
//! that no input makes it panic.

mod acl;
mod check;
mod docs;
mod explain;
mod explain_code;
mod help;
mod hostile_files;
mod init;
mod library;
mod match_keys;
mod plan;
mod run;
mod serve;
mod sql;
mod sql_check;
mod sql_connection;
mod test_cases;
