//! Places on the earth, in sorted sets.

use super::row::*;
use crate::argument::Argument;

/// What distances are measured in.
const UNIT: Argument =
    one_of("unit", &[flag("m", "M"), flag("km", "KM"), flag("ft", "FT"), flag("mi", "MI")]);

/// The middle of a search.
const FROM: Argument = one_of(
    "from",
    &[
        string("member").token("FROMMEMBER"),
        block("longitude_latitude", &[double("longitude"), double("latitude")]).token("FROMLONLAT"),
    ],
);

/// The shape of a search.
const BY: Argument = one_of(
    "by",
    &[
        block("circle", &[double("radius").token("BYRADIUS"), UNIT]),
        block("box", &[double("width").token("BYBOX"), double("height"), UNIT]),
    ],
);

/// The order of what is found.
const ORDER: Argument = one_of("order", &[flag("asc", "ASC"), flag("desc", "DESC")]).optional();

/// What is told of each that is found.
const WITH_COORD: Argument = flag("withcoord", "WITHCOORD").optional();
const WITH_DIST: Argument = flag("withdist", "WITHDIST").optional();
const WITH_HASH: Argument = flag("withhash", "WITHHASH").optional();

/// How many are looked for.
const COUNT: Argument =
    block("count", &[integer("count").token("COUNT"), flag("any", "ANY").optional()]).optional();

/// The same where `ANY` came later than the command.
const COUNT_SINCE_6_2: Argument = block(
    "count",
    &[integer("count").token("COUNT"), flag("any", "ANY").since("6.2.0").optional()],
)
.optional();

const LONGITUDE: Argument = double("longitude");
const LATITUDE: Argument = double("latitude");
const RADIUS: Argument = double("radius");

const RADIUS_COMPLEXITY: &str = "O(N+log(M)) where N is the number of elements inside the bounding box of the circular area delimited by center and radius and M is the number of items inside the index.";
const SEARCH_COMPLEXITY: &str = "O(N+log(M)) where N is the number of elements in the grid-aligned bounding box area around the shape provided as the filter and M is the number of items inside the shape";

rows! { geo_ids, Geo;
    GeoAdd, "geoadd" {
        since: "3.2.0", arity: AtLeast(5),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Rw, Update]),
        ],
        summary: "Add one or more geospatial items in the geospatial index represented using a sorted set",
        complexity: "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
        history: [
            ("6.2.0", "Added the `CH`, `NX` and `XX` options."),
        ],
        args: [
            key("key", 0),
            one_of("condition", &[flag("nx", "NX"), flag("xx", "XX")]).since("6.2.0").optional(),
            flag("change", "CH").since("6.2.0").optional(),
            block("longitude_latitude_member", &[double("longitude"), double("latitude"), string("member")]).multiple(),
        ],
    }

    GeoDist, "geodist" {
        since: "3.2.0", arity: AtLeast(4),
        flags: [ReadOnly],
        keys: [
            spec(One(1), [Ro, Access]),
        ],
        summary: "Returns the distance between two members of a geospatial index",
        complexity: "O(log(N))",
        args: [
            key("key", 0),
            string("member1"),
            string("member2"),
            UNIT.optional(),
        ],
    }

    GeoHash, "geohash" {
        since: "3.2.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [
            spec(One(1), [Ro, Access]),
        ],
        summary: "Returns members of a geospatial index as standard geohash strings",
        complexity: "O(log(N)) for each member requested, where N is the number of elements in the sorted set.",
        args: [
            key("key", 0),
            string("member").multiple(),
        ],
    }

    GeoPos, "geopos" {
        since: "3.2.0", arity: AtLeast(2),
        flags: [ReadOnly],
        keys: [
            spec(One(1), [Ro, Access]),
        ],
        summary: "Returns longitude and latitude of members of a geospatial index",
        complexity: "O(N) where N is the number of members requested.",
        args: [
            key("key", 0),
            string("member").multiple(),
        ],
    }

    GeoRadius, "georadius" {
        since: "3.2.0", arity: AtLeast(6),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Ro, Access]),
            spec(Behind { word: "STORE", from: 6 }, [Ow, Update]),
            spec(Behind { word: "STOREDIST", from: 6 }, [Ow, Update]),
        ],
        summary: "Query a sorted set representing a geospatial index to fetch members matching a given maximum distance from a point",
        complexity: RADIUS_COMPLEXITY,
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
        history: [
            ("6.2.0", "Added the `ANY` option for `COUNT`."),
            ("7.0.0", "Added support for uppercase unit names."),
        ],
        args: [
            key("key", 0),
            LONGITUDE,
            LATITUDE,
            RADIUS,
            UNIT,
            WITH_COORD,
            WITH_DIST,
            WITH_HASH,
            COUNT_SINCE_6_2,
            ORDER,
            key("key", 1).token("STORE").optional(),
            key("key", 2).token("STOREDIST").optional(),
        ],
    }

    GeoRadiusRo, "georadius_ro" {
        since: "3.2.10", arity: AtLeast(6),
        flags: [ReadOnly],
        keys: [
            spec(One(1), [Ro, Access]),
        ],
        summary: "A read-only variant for GEORADIUS",
        complexity: RADIUS_COMPLEXITY,
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`GEOSEARCH` with the `BYRADIUS` argument",
        history: [
            ("6.2.0", "Added the `ANY` option for `COUNT`."),
        ],
        args: [
            key("key", 0),
            LONGITUDE,
            LATITUDE,
            RADIUS,
            UNIT,
            WITH_COORD,
            WITH_DIST,
            WITH_HASH,
            COUNT_SINCE_6_2,
            ORDER,
        ],
    }

    GeoRadiusByMember, "georadiusbymember" {
        since: "3.2.0", arity: AtLeast(5),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Ro, Access]),
            spec(Behind { word: "STORE", from: 5 }, [Ow, Update]),
            spec(Behind { word: "STOREDIST", from: 5 }, [Ow, Update]),
        ],
        summary: "Query a sorted set representing a geospatial index to fetch members matching a given maximum distance from a member",
        complexity: RADIUS_COMPLEXITY,
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
        history: [
            ("7.0.0", "Added support for uppercase unit names."),
        ],
        args: [
            key("key", 0),
            string("member"),
            RADIUS,
            UNIT,
            WITH_COORD,
            WITH_DIST,
            WITH_HASH,
            COUNT,
            ORDER,
            key("key", 1).token("STORE").optional(),
            key("key", 2).token("STOREDIST").optional(),
        ],
    }

    GeoRadiusByMemberRo, "georadiusbymember_ro" {
        since: "3.2.10", arity: AtLeast(5),
        flags: [ReadOnly],
        keys: [
            spec(One(1), [Ro, Access]),
        ],
        summary: "A read-only variant for GEORADIUSBYMEMBER",
        complexity: RADIUS_COMPLEXITY,
        doc_flags: [Deprecated],
        deprecated_since: "6.2.0",
        replaced_by: "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
        args: [
            key("key", 0),
            string("member"),
            RADIUS,
            UNIT,
            WITH_COORD,
            WITH_DIST,
            WITH_HASH,
            COUNT,
            ORDER,
        ],
    }

    GeoSearch, "geosearch" {
        since: "6.2.0", arity: AtLeast(7),
        flags: [ReadOnly],
        keys: [
            spec(One(1), [Ro, Access]),
        ],
        summary: "Query a sorted set representing a geospatial index to fetch members inside an area of a box or a circle.",
        complexity: SEARCH_COMPLEXITY,
        history: [
            ("7.0.0", "Added support for uppercase unit names."),
        ],
        args: [
            key("key", 0),
            FROM,
            BY,
            ORDER,
            COUNT,
            WITH_COORD,
            WITH_DIST,
            WITH_HASH,
        ],
    }

    GeoSearchStore, "geosearchstore" {
        since: "6.2.0", arity: AtLeast(8),
        flags: [Write, DenyOom],
        keys: [
            spec(One(1), [Ow, Update]),
            spec(One(2), [Ro, Access]),
        ],
        summary: "Query a sorted set representing a geospatial index to fetch members inside an area of a box or a circle, and store the result in another key.",
        complexity: SEARCH_COMPLEXITY,
        history: [
            ("7.0.0", "Added support for uppercase unit names."),
        ],
        args: [
            key("destination", 0),
            key("source", 1),
            FROM,
            BY,
            ORDER,
            COUNT,
            flag("storedist", "STOREDIST").optional(),
        ],
    }
}
