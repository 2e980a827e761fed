//! DEBUG PROTOCOL: a reply of every kind there is.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_resp::Protocol;

/// Redis's double, which is not meant to be pi.
#[expect(clippy::approx_constant, reason = "the reply is compared with Redis's")]
const DOUBLE: f64 = 3.141;

pub(super) fn protocol(ctx: &mut Ctx<'_>) -> Outcome {
    let kind = ctx.args.at(2).to_ascii_lowercase();
    let is_resp3 = ctx.session.protocol == Protocol::Resp3;
    let reply = &mut ctx.reply;
    match kind.as_slice() {
        b"string" => reply.bulk(b"Hello World"),
        b"integer" => reply.integer(12345),
        b"double" => reply.double(DOUBLE),
        b"bignum" => reply.big_number(b"1234567999999999999999999999999999999"),
        b"null" => reply.null(),
        b"array" => {
            reply.array(3);
            (0..3).for_each(|number| reply.integer(number));
        }
        b"set" => {
            reply.set(3);
            (0..3).for_each(|number| reply.integer(number));
        }
        b"map" => {
            reply.map(3);
            for number in 0..3 {
                reply.integer(number);
                reply.boolean(number == 1);
            }
        }
        b"attrib" => {
            if is_resp3 {
                reply.attribute(1);
                reply.bulk(b"key-popularity");
                reply.array(2);
                reply.bulk(b"key:123");
                reply.integer(90);
            }
            reply.bulk(b"Some real reply following the attribute");
        }
        b"push" => {
            if !is_resp3 {
                return Err(WireError::Err("RESP2 is not supported by this command"));
            }
            reply.push(2);
            reply.bulk(b"server-cpu-usage");
            reply.integer(42);
            reply.bulk(b"Some real reply following the push reply");
        }
        b"true" => reply.boolean(true),
        b"false" => reply.boolean(false),
        b"verbatim" => reply.verbatim(*b"txt", b"This is a verbatim\nstring"),
        _ => {
            return Err(WireError::Err(
                "Wrong protocol type name. Please use one of the following: string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
            ));
        }
    }
    Ok(())
}
