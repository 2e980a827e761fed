//! The commands, one file each.

mod acl;
mod alerts;
mod backup;
mod check;
mod completions;
mod dashboards;
mod demo;
mod docs;
mod explain;
mod explain_code;
mod fill;
mod flatten;
mod init;
mod login;
mod man;
mod match_keys;
mod output;
mod ping;
mod plan;
mod restore;
mod serve;
mod sides;
mod sql;
mod sync;
mod test_cases;
mod top;
mod verify;

use clap::Subcommand;

use crate::answer::Answer;
use crate::terminal::Terminal;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    Check(check::Check),
    Docs(docs::Docs),
    #[command(name = "match")]
    Match(match_keys::MatchKeys),
    Explain(explain::Explain),
    Plan(plan::Plan),
    #[command(name = "test")]
    Test(test_cases::TestCases),
    Flatten(flatten::Flatten),
    Acl(acl::Acl),
    Alerts(alerts::Alerts),
    Dashboards(dashboards::Dashboards),
    Sql(sql::Sql),
    Sync(sync::Sync),
    Verify(verify::Verify),
    Fill(fill::Fill),
    Init(init::Init),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Ping(ping::Ping),
    Top(top::Top),
    ExplainCode(explain_code::ExplainCode),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        match self {
            Command::Serve(serve) => serve.run(terminal),
            Command::Demo(demo) => demo.run(terminal),
            Command::Check(check) => check.run(terminal),
            Command::Docs(docs) => docs.run(terminal),
            Command::Match(keys) => keys.run(terminal),
            Command::Explain(explain) => explain.run(terminal),
            Command::Plan(plan) => plan.run(terminal),
            Command::Test(cases) => cases.run(terminal),
            Command::Flatten(flatten) => flatten.run(terminal),
            Command::Acl(acl) => acl.run(terminal),
            Command::Alerts(alerts) => alerts.run(terminal),
            Command::Dashboards(dashboards) => dashboards.run(terminal),
            Command::Sql(sql) => sql.run(terminal),
            Command::Sync(sync) => sync.run(terminal),
            Command::Verify(verify) => verify.run(terminal),
            Command::Fill(fill) => fill.run(terminal),
            Command::Init(init) => init.run(terminal),
            Command::Backup(backup) => backup.run(terminal),
            Command::Restore(restore) => restore.run(terminal),
            Command::Ping(ping) => ping.run(terminal),
            Command::Top(top) => top.run(terminal),
            Command::ExplainCode(code) => code.run(terminal),
            Command::Completions(completions) => completions.run(terminal),
            Command::Man(man) => man.run(terminal),
        }
    }
}
