//! Schemas that are read on another thread than the one that serves: the texts that clients
//! plan, and all files at SIGHUP.
//!
//! Owns the two jobs that have them read and hand the outcome to the engine, and what is
//! known of the files: which text of each was in force last. A reload puts all files in
//! force or none: none if one cannot be read or is not sound, if KEYWARD SCHEMA APPLY put
//! another schema in force than its file had, or if the engine finds that rows would change.
//! Signals that come while a reload is under way are one more reload.
//! Invariant: at most one text of a client and one reload are read at a time, each on a
//! thread of its own.
//! Not here: what a reload does to the engine (`keyward-engine`), the log file, which is
//! opened anew by itself (`log`).

use crate::agenda::{Agenda, Notice, on_thread};
use crate::schema_files::SchemaFiles;
use crate::schemas::{Functions, without_repeats};
use crate::server::{Core, Server};
use crate::supervisor::Phase;
use keyward_engine::{Draft, Library, Proposal};
use keyward_schema::Level;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The file of a schema that is served.
#[derive(Debug, Clone)]
pub(crate) struct SchemaFile {
    pub(crate) path: PathBuf,
    /// The database it governs, and the one that its text named at first.
    pub(crate) db: usize,
    /// Its place among the keyspaces of that database.
    pub(crate) keyspace: usize,
    pub(crate) db_named: usize,
    pub(crate) functions: Functions,
    /// What came into force from it last, with all that it includes.
    pub(crate) text: String,
}

/// What is to be read, and what came of it.
#[derive(Debug)]
pub(crate) struct Readings {
    /// Files, of which there is one for each schema that came from one.
    pub(crate) files: Vec<SchemaFile>,
    /// What clients want to be read.
    proposals: VecDeque<Proposal>,
    pub(crate) proposal_wanted: Rc<Notice>,
    pub(crate) reload_wanted: Rc<Notice>,
    /// Told when all is loaded: nothing is reloaded before.
    pub(crate) is_ready: Rc<Notice>,
    /// What the engine said of the reload.
    outcome: Option<Result<Vec<String>, String>>,
    reloaded: Rc<Notice>,
}

impl Readings {
    pub(crate) fn new(agenda: &Rc<Agenda>) -> Readings {
        let notice = || Rc::new(Notice::new(agenda));
        Readings {
            files: Vec::new(),
            proposals: VecDeque::new(),
            proposal_wanted: notice(),
            reload_wanted: notice(),
            is_ready: notice(),
            outcome: None,
            reloaded: notice(),
        }
    }

    /// A client's text is to be read.
    pub(crate) fn want(&mut self, proposal: Proposal) {
        self.proposals.push_back(proposal);
        self.proposal_wanted.give();
    }

    /// The engine is done with a reload.
    pub(crate) fn end_reload(&mut self, outcome: Result<Vec<String>, String>) {
        self.outcome = Some(outcome);
        self.reloaded.give();
    }
}

/// All files, read anew.
#[derive(Debug, Default)]
struct Reread {
    drafts: Vec<Draft>,
    libraries: Vec<Library>,
    /// Why some of it cannot be used.
    problems: Vec<String>,
}

/// Reads what clients plan, for ever.
pub(crate) async fn read_proposals(server: Rc<Server>) {
    let wanted = Rc::clone(&server.core.borrow().host.readings.proposal_wanted);
    let alarm = server.core.borrow().host.alarm.clone();
    loop {
        wanted.taken().await;
        loop {
            let proposal = server.core.borrow_mut().host.readings.proposals.pop_front();
            let Some(proposal) = proposal else { break };
            let draft = on_thread(alarm.clone(), move || proposal.read()).await;
            let core = &mut *server.core.borrow_mut();
            core.engine.set_time(core.host.clock.now_us());
            core.engine.schema_read(&mut core.host, draft);
            server.collect_log(core);
            server.deliver(core);
        }
    }
}

/// Reloads whenever SIGHUP has come, for ever.
pub(crate) async fn reload_when_told(server: Rc<Server>) {
    let wanted = Rc::clone(&server.core.borrow().host.readings.reload_wanted);
    let is_ready = Rc::clone(&server.core.borrow().host.readings.is_ready);
    is_ready.taken().await;
    let supervisor = Rc::clone(&server.core.borrow().host.supervisor);
    loop {
        wanted.taken().await;
        supervisor.tell(Phase::Reloading);
        tracing::info!("SIGHUP: reading the schemas and their functions anew");
        match reload(&server).await {
            Ok(told) => tracing::info!("reloaded: {told}"),
            Err(problems) => {
                problems.iter().for_each(|problem| tracing::warn!("{problem}"));
                tracing::warn!("not reloaded: everything stays as it was");
            }
        }
        supervisor.tell(Phase::Ready);
    }
}

/// Reads all files and has the engine put them in force; says what came of it.
async fn reload(server: &Rc<Server>) -> Result<String, Vec<String>> {
    let files = server.core.borrow().host.readings.files.clone();
    let alarm = server.core.borrow().host.alarm.clone();
    let proposals: Vec<(Vec<SchemaFile>, Proposal)> = {
        let engine = &server.core.borrow().engine;
        let mut by_db: BTreeMap<usize, Vec<SchemaFile>> = BTreeMap::new();
        files.into_iter().for_each(|file| by_db.entry(file.db).or_default().push(file));
        by_db.into_iter().map(|(db, files)| (files, engine.proposal(db))).collect()
    };
    let Reread { drafts, libraries, problems } = on_thread(alarm, move || reread(proposals)).await;
    if !problems.is_empty() {
        return Err(problems);
    }
    let (changed, done) = {
        let core = &mut *server.core.borrow_mut();
        let Core { engine, host, .. } = core;
        for file in &host.readings.files {
            let is_ours = engine.schema_text(file.db, file.keyspace) == Some(file.text.as_str());
            let mut of_its_db = drafts.iter().filter(|draft| draft.db() == file.db);
            if !is_ours && !of_its_db.all(Draft::says_the_same) {
                let path = file.path.display();
                return Err(vec![format!(
                    "{path}: KEYWARD SCHEMA APPLY put another schema in force than this file \
                     had; plan and apply what it has now by KEYWARD SCHEMA PLAN and APPLY"
                )]);
            }
        }
        let drafts: Vec<Draft> = drafts.into_iter().filter(|draft| !draft.is_in_force()).collect();
        let of_changed = |file: &&SchemaFile| drafts.iter().any(|draft| draft.db() == file.db);
        let changed = host.readings.files.iter().filter(of_changed).count();
        engine.set_time(host.clock.now_us());
        engine.reload(drafts, libraries);
        let done = Rc::clone(&host.readings.reloaded);
        // The next tick comes at once.
        server.deliver(core);
        (changed, done)
    };
    done.taken().await;
    let Core { engine, host, .. } = &mut *server.core.borrow_mut();
    let outcome = host.readings.outcome.take().expect("the engine told what came of it");
    let remarks = outcome.map_err(|refusal| vec![refusal])?;
    for file in &mut host.readings.files {
        file.text = engine.schema_text(file.db, file.keyspace).unwrap_or_default().to_owned();
    }
    let told = match (changed, host.readings.files.len()) {
        (_, 0) => "there are no files of schemas".to_owned(),
        (0, _) => "the functions; the schemas are the same as before".to_owned(),
        (changed, count) => format!("{changed} of {count} schemas are new, and the functions"),
    };
    Ok(std::iter::once(told).chain(remarks).collect::<Vec<_>>().join("; "))
}

/// Reads and checks all files, those of a database together.
fn reread(proposals: Vec<(Vec<SchemaFile>, Proposal)>) -> Reread {
    let mut read = Reread::default();
    for (files, proposal) in proposals {
        let mut texts: Vec<(&Path, Vec<u8>)> = Vec::new();
        for file in &files {
            match file.functions.read() {
                Ok(libraries) => read.libraries.extend(libraries),
                Err(problem) => read.problems.push(problem),
            }
            match SchemaFiles::read_own(&file.path) {
                Ok(text) => texts.push((&file.path, text)),
                Err(error) => {
                    read.problems.push(format!("cannot read {}: {error}", file.path.display()));
                }
            }
        }
        if texts.len() < files.len() {
            continue;
        }
        let draft = proposal.read_files(&texts, &SchemaFiles);
        for checked in draft.problems() {
            let errors = checked.diagnostics.iter().filter(|it| it.rule.level == Level::Error);
            read.problems.extend(errors.map(|found| {
                let place = checked.source.place(found.primary.span);
                format!("{place}: {}: {}", found.rule.code, found.message)
            }));
        }
        for (file, db) in files.iter().zip(draft.dbs_named()) {
            if db != file.db_named {
                read.problems.push(format!(
                    "{} names database {db} now, and {} before: that takes a restart",
                    file.path.display(),
                    file.db_named
                ));
            }
        }
        read.drafts.push(draft);
    }
    read.libraries = without_repeats(read.libraries);
    read
}
