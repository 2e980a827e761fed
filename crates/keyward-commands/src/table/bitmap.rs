//! Bitmaps and bit fields.

use super::row::*;

rows! { bitmap_ids, Bitmap;
    BitCount, "bitcount" {
        since: "2.6.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Count set bits in a string",
        complexity: "O(N)",
        history: [("7.0.0", "Added the `BYTE|BIT` option.")],
        args: [
            key("key", 0),
            block("index", &[
                integer("start"),
                integer("end"),
                one_of("index_unit", &[flag("byte", "BYTE"), flag("bit", "BIT")]).since("7.0.0").optional(),
            ]).optional(),
        ],
    }

    BitField, "bitfield" {
        since: "3.2.0", arity: AtLeast(2),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Rw, Access, Update, VariableFlags]).notes("This command allows both access and modification of the key"),
        ],
        summary: "Perform arbitrary bitfield integer operations on strings",
        complexity: "O(1) for each subcommand specified",
        args: [
            key("key", 0),
            one_of("operation", &[
                block("encoding_offset", &[string("encoding"), integer("offset")]).token("GET"),
                block("write", &[
                    one_of("wrap_sat_fail", &[
                        flag("wrap", "WRAP"),
                        flag("sat", "SAT"),
                        flag("fail", "FAIL"),
                    ]).token("OVERFLOW").optional(),
                    one_of("write_operation", &[
                        block("encoding_offset_value", &[
                            string("encoding"),
                            integer("offset"),
                            integer("value"),
                        ]).token("SET"),
                        block("encoding_offset_increment", &[
                            string("encoding"),
                            integer("offset"),
                            integer("increment"),
                        ]).token("INCRBY"),
                    ]),
                ]),
            ]).optional().multiple(),
        ],
    }

    BitFieldRo, "bitfield_ro" {
        since: "6.0.0", arity: AtLeast(2),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Perform arbitrary bitfield integer operations on strings. Read-only variant of BITFIELD",
        complexity: "O(1) for each subcommand specified",
        args: [
            key("key", 0),
            block("encoding_offset", &[string("encoding"), integer("offset")]).token("GET").optional().multiple().multiple_token(),
        ],
    }

    BitOp, "bitop" {
        since: "2.6.0", arity: AtLeast(4),
        flags: [Write, DenyOom],
        keys: [
            spec(One(2), [Ow, Update]),
            spec(Range { first: 3, last: -1, step: 1 }, [Ro, Access]),
        ],
        summary: "Perform bitwise operations between strings",
        complexity: "O(N)",
        args: [string("operation"), key("destkey", 0), key("key", 1).multiple()],
    }

    BitPos, "bitpos" {
        since: "2.8.7", arity: AtLeast(3),
        flags: [ReadOnly],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Find first bit set or clear in a string",
        complexity: "O(N)",
        history: [("7.0.0", "Added the `BYTE|BIT` option.")],
        args: [
            key("key", 0),
            integer("bit"),
            block("index", &[
                integer("start"),
                block("end_index", &[
                    integer("end"),
                    one_of("index_unit", &[flag("byte", "BYTE"), flag("bit", "BIT")]).since("7.0.0").optional(),
                ]).optional(),
            ]).optional(),
        ],
    }

    GetBit, "getbit" {
        since: "2.2.0", arity: Exactly(3),
        flags: [ReadOnly, Fast],
        keys: [spec(One(1), [Ro, Access])],
        summary: "Returns the bit value at offset in the string value stored at key",
        complexity: "O(1)",
        args: [key("key", 0), integer("offset")],
    }

    SetBit, "setbit" {
        since: "2.2.0", arity: Exactly(4),
        flags: [Write, DenyOom],
        keys: [spec(One(1), [Rw, Access, Update])],
        summary: "Sets or clears the bit at offset in the string value stored at key",
        complexity: "O(1)",
        args: [key("key", 0), integer("offset"), integer("value")],
    }
}
