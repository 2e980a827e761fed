//! social at work: people follow, like, view and comment, and PostgreSQL is told.

use crate::call::Call;
use crate::chance::Chance;
use crate::load::{Load, Scene};

const USERS: usize = 300;
/// Of each entity.
const ENTITIES: usize = 100;
/// Comments come again after so many: the rows are bounded.
const COMMENTS: usize = 20_000;
const LIKEABLE: [&str; 6] = ["team", "snap", "shout", "blog", "thread", "news"];
const QUEUES: [&str; 3] = ["likes", "views", "comments"];
/// What a drainer takes at a time.
const DRAINED: &str = "200";
/// For how many seconds.
const LEASE_S: &str = "30";
const REMARKS: [&str; 4] =
    ["Well caught!", "Water types only.", "Which region is this?", "Best of the week."];

pub(crate) fn load(_: &mut Chance) -> Box<dyn Load> {
    Box::new(Social { comments: 0 })
}

struct Social {
    /// How many were written so far.
    comments: usize,
}

impl Load for Social {
    fn lay_ground(&mut self, scene: &mut Scene) {
        for id in 1..=USERS {
            profile(scene, id);
            (0..5).for_each(|_| follow(scene));
        }
        for entity in LIKEABLE {
            (1..=ENTITIES).for_each(|id| publish(scene, entity, id));
        }
        (0..100).for_each(|_| self.comment(scene));
    }

    fn act(&mut self, scene: &mut Scene) {
        match scene.chance.below(1000) {
            0..400 => browse(scene),
            400..600 => view(scene),
            600..760 => like(scene),
            760..830 => follow(scene),
            830..870 => retweet(scene),
            870..920 => self.comment(scene),
            920..940 => self.reply(scene),
            _ => drain(scene),
        }
    }

    fn err(&mut self, scene: &mut Scene) {
        let id = something(scene);
        let call = match scene.chance.below(3) {
            // Longer than a view counts.
            0 => Call::new(["SET", &format!("viewed:42:team:{id}"), "1", "EX", "604800"]),
            1 => Call::new(["INCRBY", &format!("team:{id}:views"), "-1000000000"]),
            _ => Call::new(["SADD", &format!("snapp:{id}:likes"), "42"]),
        };
        scene.add(call.meant_to_fail());
    }
}

impl Social {
    fn comment(&mut self, scene: &mut Scene) {
        let entity =
            scene.chance.pick(&["user", "team", "snap", "shout", "blog", "thread", "news"]);
        let comments = format!("{entity}:{}:comments", something(scene));
        self.comments += 1;
        let comment = comment_key(self.comments);
        let keys = [comment.as_str(), &comments, "queue:sync:comments"];
        let args = remark(scene);
        scene.add(Call::function("comment_on", &keys, &args.each_ref().map(String::as_str)));
    }

    fn reply(&mut self, scene: &mut Scene) {
        let parent = comment_key(self.comments - scene.chance.popular(self.comments.min(100)));
        self.comments += 1;
        let (comment, replies) = (comment_key(self.comments), format!("{parent}:replies"));
        let keys = [comment.as_str(), &parent, &replies, "queue:sync:comments"];
        let args = remark(scene);
        scene.add(Call::function("reply_to", &keys, &args.each_ref().map(String::as_str)));
    }
}

fn comment_key(number: usize) -> String {
    format!("comment:{}", number % COMMENTS)
}

/// Who says what, and when.
fn remark(scene: &mut Scene) -> [String; 3] {
    [somebody(scene), scene.chance.pick(&REMARKS).to_owned(), scene.now()]
}

fn somebody(scene: &mut Scene) -> String {
    (1 + scene.chance.popular(USERS)).to_string()
}

fn something(scene: &mut Scene) -> String {
    (1 + scene.chance.popular(ENTITIES)).to_string()
}

fn profile(scene: &mut Scene, id: usize) {
    let (key, name) = (format!("user:{id}"), format!("trainer{id}"));
    scene.add(Call::new(["HSET", &key, "username", &name, "bio", "Gotta catch them all."]));
}

fn publish(scene: &mut Scene, entity: &str, id: usize) {
    let (key, title) = (format!("{entity}:{id}"), format!("{entity} number {id}"));
    let owner = somebody(scene);
    scene.add(Call::new(["HSET", &key, "title", &title, "owner_id", &owner]));
}

/// Somebody reads a page; one in ten is no longer cached, and comes from PostgreSQL.
fn browse(scene: &mut Scene) {
    let is_user = scene.chance.one_in(3);
    let entity = if is_user { "user" } else { scene.chance.pick(&LIKEABLE) };
    let id = 1 + scene.chance.popular(if is_user { USERS } else { ENTITIES });
    match scene.chance.below(10) {
        0 if is_user => profile(scene, id),
        0 => publish(scene, entity, id),
        1..7 => scene.add(Call::new(["HGETALL", &format!("{entity}:{id}")])),
        _ if is_user => scene.add(Call::new(["SCARD", &format!("user:{id}:followers")])),
        _ => scene.add(Call::new(["SCARD", &format!("{entity}:{id}:likes")])),
    }
}

fn view(scene: &mut Scene) {
    let (user, id) = (somebody(scene), something(scene));
    let entity = scene.chance.pick(&["team", "news", "snap", "shout"]);
    let now = scene.now();
    let (viewed, views) = (format!("viewed:{user}:{entity}:{id}"), format!("{entity}:{id}:views"));
    scene.add(if matches!(entity, "team" | "news") {
        let by_day = format!("{views}:{}", &now[..10]);
        let keys = [viewed.as_str(), &views, &by_day, "queue:sync:views"];
        Call::function("view_by_day", &keys, &[&now])
    } else {
        Call::function("view", &[&viewed, &views, "queue:sync:views"], &[&now])
    });
}

fn like(scene: &mut Scene) {
    let (user, id) = (somebody(scene), something(scene));
    let likes = format!("{}:{id}:likes", scene.chance.pick(&LIKEABLE));
    let function = if scene.chance.one_in(4) { "unlike" } else { "like" };
    scene.add(Call::function(function, &[&likes, "queue:sync:likes"], &[&user, &scene.now()]));
}

fn follow(scene: &mut Scene) {
    let (user, target) = (somebody(scene), somebody(scene));
    let keys = [format!("user:{user}:following"), format!("user:{target}:followers")];
    let function = if scene.chance.one_in(4) { "unfollow" } else { "follow" };
    scene.add(Call::function(function, &[&keys[0], &keys[1]], &[]).or(&["FOLLOW_SELF"]));
}

fn retweet(scene: &mut Scene) {
    let (user, id) = (somebody(scene), something(scene));
    let function = if scene.chance.one_in(4) { "undo_retweet" } else { "retweet" };
    scene.add(Call::function(function, &[&format!("shout:{id}:retweets")], &[&user]));
}

/// A drainer takes a batch, PostgreSQL has it, and the drainer confirms.
fn drain(scene: &mut Scene) {
    let queue = format!("queue:sync:{}", scene.chance.pick(&QUEUES));
    let leases = format!("{queue}:leases");
    let batch = format!("{queue}:batch:{}", scene.chance.hex(16));
    scene.add(Call::function("drain_queue", &[&queue, &leases, &batch], &[DRAINED, LEASE_S]));
    scene.add(Call::function("confirm_drained", &[&leases, &batch], &[]));
}
