#!/usr/bin/env python3
"""The figures of the systems' documents, measured: Keyward beside redis-server.

    cargo build --profile dist -p keyward
    python3 systems/figures.py                # of all systems
    python3 systems/figures.py calls-bot
    python3 systems/figures.py api-billing --scale 0.1 --keyward target/debug/keyward

Each server gets the same keyspace in turn. Redis gets it by the client code that the
documents show, with every lifetime, index and LTRIM; Keyward by the plain writes alone,
since the schema does the rest. Written is a table with the document's own claim. Needs
redis-py. Social's document has no figures.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

from gauge import Server

SYSTEMS = Path(__file__).resolve().parent


def figures_of(system):
    """A system's own figures.py."""
    spec = importlib.util.spec_from_file_location("system", SYSTEMS / system / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    names = sorted(path.parent.name for path in SYSTEMS.glob("*/figures.py"))
    parser = argparse.ArgumentParser(description="The figures of the documents, measured.")
    parser.add_argument("system", choices=names, nargs="?", help="all of them if none is named")
    parser.add_argument("--scale", type=float, default=1.0, help="of the document's counts (1)")
    parser.add_argument("--keyward", default=str(SYSTEMS.parent / "target/dist/keyward"))
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--calls", type=int, default=3000, help="calls to find a latency by (3000)")
    arguments = parser.parse_args()
    for system in [arguments.system] if arguments.system else names:
        measure(system, arguments)


def measure(system, arguments):
    """Measures one system on both servers, and prints its table."""
    begun = time.monotonic()
    scale, calls = arguments.scale, arguments.calls
    figures = figures_of(system)
    schema = str(SYSTEMS / system / "keyward.toml")
    settings = figures.settings(scale)
    with Server([arguments.keyward, "serve", schema], settings) as keyward:
        ours = figures.measure(keyward, scale, calls, True)
    with Server([arguments.redis], settings) as peer:
        version = peer.client().info("server")["redis_version"]
        theirs = figures.measure(peer, scale, calls, False)
    print(f"| {system} | its document | Keyward | Redis {version} |")
    print("|---|---|---|---|")
    for (title, claim, value), (_, _, other) in zip(ours, theirs):
        print(f"| {title} | {claim} | {value} | {other} |")
    print(f"\nMeasured in {time.monotonic() - begun:.0f} s.\n", flush=True)


if __name__ == "__main__":
    main()
