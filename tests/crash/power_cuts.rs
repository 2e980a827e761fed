//! The append-only file and snapshots over a disk whose power fails at every step.
//!
//! After each cut what is found must be exactly a beginning of what was logged, and have
//! everything that was synced. Commands are numbers in order here, and a base is the
//! number of commands that it stands for.
//! Not here: processes that are killed while the system goes on (`kills.rs`).

use keyward_persist::PersistError;
use keyward_persist::aof::{AofFiles, AofPart, Listing, Log, ReadError, Reader};
use keyward_persist::disk::Disk;
use keyward_persist::snapshot_file;
use keyward_resp::{Batch, push_request};
use keyward_testkit::{FakeDisk, Random, Step};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

const PARENT: &str = "data";
const ACTIONS: usize = 60;

fn open(disk: &FakeDisk) -> AofFiles {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    AofFiles::open(disk, Path::new(PARENT), "appendonlydir", "appendonly.aof")
        .expect("what is found is sound")
}

/// Commands on their way to disk.
struct Writer {
    files: AofFiles,
    log: Log,
    /// Commands that were logged, and the position after each of them.
    ends: Vec<u64>,
}

impl Writer {
    fn begin(disk: &FakeDisk) -> Result<Writer, PersistError> {
        let mut files = open(disk);
        let (file, path) = files.next_increment(Listing::WithBase)?;
        let mut base = files.new_base()?;
        base.write(b"0")?;
        base.finish()?;
        files.adopt_base()?;
        Ok(Writer { files, log: Log::new(file, &path, 0), ends: Vec::new() })
    }

    fn log(&mut self) {
        let number = self.ends.len().to_string();
        self.log.append(|buffer| push_request(buffer, [number.as_bytes()].iter()));
        self.ends.push(self.log.logged());
    }

    fn sync(&mut self) -> Result<(), PersistError> {
        if let Some(sync) = self.log.begin_sync() {
            let outcome = sync.run();
            self.log.end_sync(&sync, outcome)?;
        }
        Ok(())
    }

    fn rewrite(&mut self) -> Result<(), PersistError> {
        let (file, path) = self.files.next_increment(Listing::AtOnce)?;
        self.log.switch(file, &path)?;
        let mut base = self.files.new_base()?;
        base.write(self.ends.len().to_string().as_bytes())?;
        // What is logged meanwhile goes to the new increment.
        self.log();
        self.log.write()?;
        self.sync()?;
        self.log.write()?;
        base.finish()?;
        self.files.adopt_base()
    }

    /// Commands that are safe.
    fn synced(&self) -> usize {
        self.ends.iter().take_while(|end| **end <= self.log.synced()).count()
    }
}

/// Does random things until the power fails; returns how many commands were safe, and how
/// many there were.
fn write(disk: &FakeDisk, seed: u64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let Ok(mut writer) = Writer::begin(disk) else { return (0, 0) };
    for _ in 0..ACTIONS {
        let done = match random.below(10) {
            0..5 => {
                writer.log();
                Ok(())
            }
            5..7 => writer.log.write(),
            7..9 => writer.sync(),
            _ if writer.log.is_switching() => Ok(()),
            _ => writer.rewrite(),
        };
        if done.is_err() {
            break;
        }
    }
    (writer.synced(), writer.ends.len())
}

/// How many commands are found; they must be the first ones.
fn read(disk: &FakeDisk) -> usize {
    let files = open(disk);
    let parts = files.parts().expect("the manifest names files that are there");
    let mut count = 0;
    for (index, part) in parts.iter().enumerate() {
        let mut source = disk.open(&part.path).expect("it is there");
        if part.is_base {
            let mut text = String::new();
            source.content.read_to_string(&mut text).expect("a base is a number");
            count = text.parse().expect("a base is there whole");
            continue;
        }
        let (mut reader, mut batch) = (Reader::new(source, &part.path), Batch::new());
        loop {
            batch.clear();
            match reader.next(&mut batch) {
                Ok(false) => break,
                Ok(true) => {}
                Err(ReadError::Truncated { .. }) if AofPart::may_be_torn(&parts, index) => break,
                Err(error) => panic!("{error}"),
            }
            for command in batch.commands(reader.buffer()) {
                assert_eq!(command.at(0), count.to_string().as_bytes(), "commands are in order");
                count += 1;
            }
        }
    }
    count
}

fn disk() -> FakeDisk {
    let disk = FakeDisk::new();
    disk.create_directory(Path::new(PARENT)).expect("the power is on");
    disk
}

#[test]
fn after_a_power_cut_at_any_step_everything_synced_is_there_and_nothing_is_out_of_order() {
    for seed in 0..12 {
        let whole = disk();
        let (_, count) = write(&whole, seed);
        let steps = whole.steps().len();
        assert!(count > 10 && steps > 30, "seed {seed}: {count} commands in {steps} steps");
        for cut in 1..=steps {
            let disk = disk();
            disk.cut_power_at(cut);
            let (synced, logged) = write(&disk, seed);
            for chance in 0..5 {
                let found = read(&disk.after_power_cut(chance));
                assert!(
                    (synced..=logged).contains(&found),
                    "seed {seed}, step {cut}, chance {chance}: {found} commands are found, \
                     {synced} were synced, {logged} logged"
                );
            }
        }
    }
}

#[test]
fn after_a_power_cut_there_is_the_old_snapshot_or_the_new_one() {
    let save = |disk: &FakeDisk, content: &[u8]| {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        snapshot_file::save(&shared, Path::new(PARENT), "dump.rdb", |sink| sink.write_all(content))
    };
    for cut in 0..10 {
        let disk = disk();
        save(&disk, b"old one").expect("the power is on");
        disk.cut_power_at(disk.steps().len() + cut);
        let is_saved = save(&disk, b"a new snapshot").is_ok();
        for chance in 0..20 {
            let after = disk.after_power_cut(chance);
            let mut found = Vec::new();
            let source = after.open(Path::new("data/dump.rdb"));
            source.expect("there is one").content.read_to_end(&mut found).expect("memory is read");
            let is_new = found == b"a new snapshot";
            assert!(is_new || (found == b"old one" && !is_saved), "step {cut}: {found:?}");
        }
    }
}

#[test]
fn a_full_disk_leaves_a_whole_log_that_goes_on_when_there_is_room() {
    let disk = disk();
    let mut writer = Writer::begin(&disk).expect("there is room");
    writer.log();
    writer.log.write().expect("there is room");
    disk.set_room(Some(5));
    writer.log();
    let error = writer.log.write().expect_err("there is no room");
    assert!(error.to_string().starts_with("cannot write data/appendonlydir/"), "{error}");
    assert_eq!(read(&disk), 1);
    disk.set_room(None);
    writer.log.write().expect("there is room");
    writer.sync().expect("the disk syncs");
    assert_eq!((read(&disk), writer.synced()), (2, 2));
}

#[test]
fn a_manifest_is_safe_before_anything_is_written_to_the_file_it_names() {
    let disk = disk();
    let mut writer = Writer::begin(&disk).expect("the power is on");
    writer.log();
    writer.rewrite().expect("the power is on");
    let steps = disk.steps();
    let place = |wanted: &dyn Fn(&Step) -> bool| steps.iter().position(wanted);
    let named = place(
        &|step| matches!(step, Step::Renamed(_, to) if to.ends_with("appendonly.aof.manifest")),
    );
    let written = place(
        &|step| matches!(step, Step::Written(path, _) if path.ends_with("appendonly.aof.2.incr.aof")),
    );
    assert!(named.expect("a manifest") < written.expect("an increment"));
}

#[test]
fn a_sync_of_a_file_that_was_given_up_counts_for_nothing() {
    let disk = disk();
    let mut writer = Writer::begin(&disk).expect("the power is on");
    writer.log();
    writer.log.write().expect("the power is on");
    let sync = writer.log.begin_sync().expect("there is something to sync");
    writer.log();
    let (file, path) = writer.files.next_increment(Listing::AtOnce).expect("the power is on");
    writer.log.replace(file, &path);
    let synced = writer.log.synced();
    writer.log.end_sync(&sync, Err(std::io::Error::other("too late"))).expect("it is ignored");
    assert_eq!(writer.log.synced(), synced);
}
