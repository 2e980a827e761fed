//! redis-rs, the usual client of Rust programs, on `keyward serve`: its blocking and its
//! asynchronous connections, RESP2 and RESP3, and the manager that connects anew.

use keyward_testkit::Server;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client, Commands, RedisResult, Script};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long a reply may take before a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(20);

fn serve() -> Server {
    Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), &[])
}

fn client(server: &Server, protocol: &str) -> Client {
    let url = format!("redis://{}/?protocol={protocol}", server.address());
    Client::open(url).expect("a URL of redis-rs")
}

fn connect(server: &Server, protocol: &str) -> redis::Connection {
    let connection = client(server, protocol).get_connection().expect("a connection");
    connection.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    connection
}

#[test]
fn every_type_in_both_protocols() -> RedisResult<()> {
    let server = serve();
    for protocol in ["resp2", "resp3"] {
        let mut redis = connect(&server, protocol);
        redis::cmd("FLUSHALL").exec(&mut redis)?;
        let () = redis.set_ex("s", "v", 100)?;
        assert_eq!(redis.get::<_, String>("s")?, "v");
        let () = redis.hset_multiple("h", &[("a", 1), ("b", 2)])?;
        let fields: BTreeMap<String, i64> = redis.hgetall("h")?;
        assert_eq!(fields, BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
        assert_eq!(redis.rpush::<_, _, i64>("l", &["x", "y"])?, 2);
        assert_eq!(redis.lrange::<_, Vec<String>>("l", 0, -1)?, ["x", "y"]);
        assert_eq!(redis.sadd::<_, _, i64>("u", &["x", "y", "x"])?, 2);
        let members: BTreeSet<String> = redis.smembers("u")?;
        assert_eq!(members, BTreeSet::from(["x".to_owned(), "y".to_owned()]));
        assert_eq!(redis.zadd::<_, _, _, i64>("z", "m", 1.5)?, 1);
        let scored: Vec<(String, f64)> = redis.zrange_withscores("z", 0, -1)?;
        assert_eq!(scored, [("m".to_owned(), 1.5)]);
        let keys: RedisResult<BTreeSet<String>> = redis.scan()?.collect();
        assert_eq!(keys?, ["h", "l", "s", "u", "z"].map(str::to_owned).into());
    }
    Ok(())
}

#[test]
fn pipelines_transactions_and_scripts() -> RedisResult<()> {
    let server = serve();
    let mut redis = connect(&server, "resp3");
    let mut pipeline = redis::pipe();
    for number in 1..=1000 {
        pipeline.incr("n", number);
    }
    let sums: Vec<i64> = pipeline.query(&mut redis)?;
    assert_eq!(sums.last(), Some(&500_500));

    let mut other = connect(&server, "resp3");
    let mut attempts = 0;
    let (doubled,): (i64,) = redis::transaction(&mut redis, &["n"], |redis, pipeline| {
        let number: i64 = redis.get("n")?;
        attempts += 1;
        if attempts == 1 {
            let () = other.set("n", 21)?;
        }
        pipeline.set("n", number * 2).ignore().get("n").query(redis)
    })?;
    assert_eq!((doubled, attempts), (42, 2));

    let script = Script::new("return {redis.call('GET', KEYS[1]), ARGV[1] * 2}");
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut redis)?;
    let answer: (String, i64) = script.key("n").arg(4).invoke(&mut redis)?;
    assert_eq!(answer, ("42".to_owned(), 8));
    Ok(())
}

#[test]
fn errors_have_their_kind() -> RedisResult<()> {
    let server = serve();
    let mut redis = connect(&server, "resp2");
    let () = redis.rpush("l", "x")?;
    let error = redis.get::<_, String>("l").expect_err("a list is no string");
    assert_eq!(error.code(), Some("WRONGTYPE"));
    let error = redis::cmd("EVALSHA").arg("0".repeat(40)).arg(0).exec(&mut redis);
    assert_eq!(error.expect_err("there is no such script").code(), Some("NOSCRIPT"));
    Ok(())
}

#[test]
fn messages_and_patterns() -> RedisResult<()> {
    let server = serve();
    let (mut subscriber, mut publisher) = (connect(&server, "resp2"), connect(&server, "resp3"));
    let mut subscription = subscriber.as_pubsub();
    subscription.subscribe("news")?;
    subscription.psubscribe("we*")?;
    assert_eq!(publisher.publish::<_, _, i64>("news", "one")?, 1);
    assert_eq!(publisher.publish::<_, _, i64>("weather", "two")?, 1);
    let message = subscription.get_message()?;
    assert_eq!(
        (message.get_channel_name(), message.get_payload::<String>()?),
        ("news", "one".into())
    );
    let message = subscription.get_message()?;
    assert_eq!(message.get_pattern::<String>()?, "we*");
    assert_eq!(message.get_payload::<String>()?, "two");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_asynchronous_connection_is_shared_by_many_tasks() -> RedisResult<()> {
    let server = serve();
    let redis = client(&server, "resp3").get_multiplexed_async_connection().await?;
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let mut redis = redis.clone();
            tokio::spawn(async move { redis.incr::<_, _, i64>("n", 1).await })
        })
        .collect();
    let mut seen = BTreeSet::new();
    for task in tasks {
        seen.insert(task.await.expect("the task ends")?);
    }
    assert_eq!(seen, (1..=200).collect());
    Ok(())
}

#[tokio::test]
async fn the_manager_connects_anew_after_its_connection_was_killed() -> RedisResult<()> {
    let server = serve();
    let config = ConnectionManagerConfig::new().set_response_timeout(Some(PATIENCE));
    let mut managed = ConnectionManager::new_with_config(client(&server, "resp3"), config).await?;
    let () = managed.set("k", "v").await?;
    let first: i64 = redis::cmd("CLIENT").arg("ID").query_async(&mut managed).await?;
    let mut killer = connect(&server, "resp2");
    let killed: i64 = redis::cmd("CLIENT").arg(&["KILL", "ID"]).arg(first).query(&mut killer)?;
    assert_eq!(killed, 1);
    // The command that meets the closed connection fails and starts the new one.
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let value: String = loop {
        match managed.get("k").await {
            Ok(value) => break value,
            Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
        }
    };
    assert_eq!(value, "v");
    let second: i64 = redis::cmd("CLIENT").arg("ID").query_async(&mut managed).await?;
    assert_ne!(first, second);
    Ok(())
}
