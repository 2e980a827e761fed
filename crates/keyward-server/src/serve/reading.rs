//! Schemas that are read on another thread than the one that serves: the texts that clients
//! plan, those that a primary tells of, and all files at SIGHUP, certificates and keys among them.
//!
//! Owns the three jobs that have them read and hand the outcome to the engine, and what is
//! known of the files: which text of each was in force last. A reload puts all files in
//! force or none: none if one cannot be read or is not sound, if KEYWARD SCHEMA APPLY put
//! another schema in force than its file had, or if the engine finds that rows would change.
//! Certificates are for who comes afterwards; connections go on with those they came by.
//! Signals that come while a reload is under way are one more reload.
//! Invariant: at most one text of a client, one of the primary and one reload are read at a
//! time, each on a thread of its own.
//! Not here: what a reload does to the engine (`keyward-engine`), the log file, which is
//! opened anew by itself (`process/log.rs`).

pub(crate) mod wanted;

use crate::files::schemas::{self, SchemaFile, without_repeats};
use crate::process::supervisor::Phase;
use crate::serve::agenda::on_thread;
use crate::serve::core::Core;
use crate::serve::server::Server;
use crate::serve::{commit, delivery};
use keyward_engine::{Draft, Library, Proposal};
use keyward_schema::Level;
use keyward_schema_files::SchemaFiles;
use keyward_tls::{Configuration, Options};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// All files, read anew.
#[derive(Debug, Default)]
struct Reread {
    drafts: Vec<Draft>,
    libraries: Vec<Library>,
    /// Certificates and keys, if TLS is used.
    tls: Option<Configuration>,
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
            commit::collect_log(&server, core);
            delivery::deliver(&server, core);
        }
    }
}

/// Reads what the primary tells of schemas, for ever.
pub(crate) async fn read_told(server: Rc<Server>) {
    let wanted = Rc::clone(&server.core.borrow().host.readings.told_wanted);
    let alarm = server.core.borrow().host.alarm.clone();
    loop {
        wanted.taken().await;
        loop {
            let told = server.core.borrow_mut().host.readings.told.take();
            let Some(told) = told else { break };
            let heard = on_thread(alarm.clone(), move || told.read()).await;
            let core = &mut *server.core.borrow_mut();
            core.engine.set_time(core.host.clock.now_us());
            core.engine.schemas_heard(&mut core.host, heard);
            delivery::deliver(&server, core);
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
        tracing::info!("SIGHUP: reading the schemas, their functions and the certificates anew");
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
    let options = server.core.borrow().host.settings.tls();
    let read = on_thread(alarm, move || reread(proposals, options.as_ref())).await;
    let Reread { drafts, libraries, tls, problems } = read;
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
        engine.reload(host, drafts, libraries);
        let done = Rc::clone(&host.readings.reloaded);
        // The next tick comes at once.
        delivery::deliver(server, core);
        (changed, done)
    };
    done.taken().await;
    let Core { engine, host, .. } = &mut *server.core.borrow_mut();
    let outcome = host.readings.outcome.take().expect("the engine told what came of it");
    let remarks = outcome.map_err(|refusal| vec![refusal])?;
    for file in &mut host.readings.files {
        file.text = engine.schema_text(file.db, file.keyspace).unwrap_or_default().to_owned();
    }
    schemas::tell_functions(engine);
    let mut remarks = remarks;
    // CONFIG SET may have ended TLS meanwhile.
    if let Some(tls) = tls.filter(|_| host.settings.tls().is_some()) {
        host.use_tls(Some(tls)).map_err(|error| vec![error.to_string()])?;
        remarks.push("the certificates are read".to_owned());
    }
    let told = match (changed, host.readings.files.len()) {
        (_, 0) => "there are no files of schemas".to_owned(),
        (0, _) => "the functions; the schemas are the same as before".to_owned(),
        (changed, count) => format!("{changed} of {count} schemas are new, and the functions"),
    };
    Ok(std::iter::once(told).chain(remarks).collect::<Vec<_>>().join("; "))
}

/// Reads and checks all files, those of a database together.
fn reread(proposals: Vec<(Vec<SchemaFile>, Proposal)>, tls: Option<&Options>) -> Reread {
    let mut read = Reread::default();
    match tls.map(Configuration::read).transpose() {
        Ok(tls) => read.tls = tls,
        Err(error) => read.problems.push(error.to_string()),
    }
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
