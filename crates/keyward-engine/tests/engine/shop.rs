//! An engine under a schema that is about to get another one.

use crate::harness::TestEngine;
use keyward_engine::{ClientId, Delivery, Progress};
use keyward_resp::push_request;

/// A shop: one client looks after its schema, another uses it.
pub(crate) struct Shop {
    pub(crate) test: TestEngine,
    pub(crate) admin: ClientId,
    pub(crate) client: ClientId,
}

impl Shop {
    pub(crate) fn new(seed: u64, schema: &str) -> Shop {
        let mut test = TestEngine::governed(seed, schema);
        let (admin, client) = (test.engine.connect(), test.engine.connect());
        Shop { test, admin, client }
    }

    /// Sends words; returns the reply, if it came at once.
    fn send(&mut self, client: ClientId, words: &[&str]) -> Option<String> {
        let mut bytes = Vec::new();
        push_request(&mut bytes, words.iter());
        let (progress, reply) = self.test.send(client, &bytes);
        (progress != Progress::Blocked).then(|| text(&reply))
    }

    /// The reply in one line.
    pub(crate) fn words(&mut self, words: &[&str]) -> String {
        in_one_line(&self.send(self.client, words).expect("it is served at once"))
    }

    pub(crate) fn call(&mut self, command: &str) -> String {
        self.words(&command.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn check(&mut self, dialogue: &[(&str, &str)]) {
        for (command, expected) in dialogue {
            assert_eq!(self.call(command), *expected, "{command}");
        }
    }

    /// As the one who looks after the schema; returns the reply if it came at once.
    pub(crate) fn ask(&mut self, words: &[&str]) -> Option<String> {
        self.send(self.admin, words)
    }

    /// What came for a client since the last call.
    pub(crate) fn answer(&mut self, client: ClientId) -> Option<String> {
        let deliveries = self.test.deliveries();
        deliveries.into_iter().find_map(|delivery| match delivery {
            Delivery::Output(to, bytes) if to == client => Some(text(&bytes)),
            _ => None,
        })
    }

    /// As `ask`; ticks go by until there is a reply.
    pub(crate) fn await_reply(&mut self, words: &[&str]) -> String {
        match self.ask(words) {
            Some(reply) => reply,
            None => self.await_answer(),
        }
    }

    /// Ticks go by until the one who looks after the schema has a reply.
    pub(crate) fn await_answer(&mut self) -> String {
        loop {
            self.test.tick();
            if let Some(reply) = self.answer(self.admin) {
                return reply;
            }
        }
    }

    /// Plans a schema; returns the plan.
    pub(crate) fn plan(&mut self, schema: &str) -> Told {
        Told(self.await_reply(&["KEYWARD", "SCHEMA", "PLAN", schema]))
    }

    /// Applies a plan that destroys so much; returns the reply.
    pub(crate) fn apply(&mut self, plan: &Told, destroyed: u64) -> String {
        let count = destroyed.to_string();
        let words = ["KEYWARD", "SCHEMA", "APPLY", plan.id(), "DESTROY", &count];
        in_one_line(&self.await_reply(&words))
    }

    /// Applies a plan, whatever it destroys; returns the reply.
    pub(crate) fn apply_whatever(&mut self, plan: &Told) -> String {
        let said = self.apply(plan, 0);
        match said.split_once("say DESTROY ") {
            None => said,
            Some((_, count)) => self.apply(plan, count.parse().expect("a number")),
        }
    }
}

/// What a plan says.
pub(crate) struct Told(pub(crate) String);

impl Told {
    /// The plan's name.
    pub(crate) fn id(&self) -> &str {
        assert!(self.0.starts_with("*8\r\n$4\r\nplan\r\n"), "{}", self.0);
        self.0.lines().nth(4).expect("a plan has a name")
    }

    /// The rest of it, in lines.
    pub(crate) fn rest(&self) -> String {
        let lines = self.0.lines().skip(5).filter(|line| !line.starts_with(['*', '$']));
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn text(reply: &[u8]) -> String {
    String::from_utf8(reply.to_vec()).expect("tests use text")
}

fn in_one_line(reply: &str) -> String {
    reply.replace("\r\n", " ").trim_end().to_owned()
}
