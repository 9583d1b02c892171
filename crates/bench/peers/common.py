"""What the scripts of the engines share: the work, the clock, and how they answer.

A script is started as `python with_ENGINE.py SPEC` and prints one line of JSON as its last: {"start": seconds,
"seconds": [of each run]}. SPEC is a JSON file:

    {"mode": "...", "cores": 2, "folder": "...", "fan": 10000}
    {"mode": "...", "cores": 2, "folder": "...", "runs": [[CHAIN, ...], ...], "warm": [CHAIN, ...]}

A CHAIN is a list of steps that follow each other, and a step is {"argv": [...], "stdout": FILE or null}. Runs follow
each other; the chains of a run depend on nothing.
"""

import json
import subprocess
import sys
import time

# Tasks of the fan that runs before the clock does.
WARM = 200


def nothing(number):
    """The task of the fan."""
    return number


def execute(argv, stdout, after=None):
    """The task of a step: `after` is there to be waited for."""
    if stdout is None:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    else:
        with open(stdout, "wb") as file:
            subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=file)
    return 0


def main(session):
    """Measures. `session(spec)` starts the engine, and has `fan(count)`, `chains(list)` and `close()`.

    Where it has `end`, that is when the work was done, and not when the call came back.
    """
    with open(sys.argv[1], encoding="utf-8") as file:
        spec = json.load(file)
    began = time.perf_counter()
    engine = session(spec)
    try:
        # An engine has started when a first task is back.
        engine.fan(1) if "fan" in spec else engine.chains(spec["warm"][:1])
        start = time.perf_counter() - began
        seconds = []
        if "fan" in spec:
            engine.fan(WARM)
            seconds.append(timed(engine, lambda: check(engine.fan(spec["fan"]), spec["fan"])))
        else:
            engine.chains(spec["warm"])
            for chains in spec["runs"]:
                seconds.append(timed(engine, lambda: engine.chains(chains)))
    finally:
        engine.close()
    print()
    print(json.dumps({"start": start, "seconds": seconds}), flush=True)


def check(results, count):
    """Every task has to give what it was given; engines that keep no results give none."""
    if results is not None and list(results) != list(range(count)):
        raise SystemExit("the results of the fan are wrong")


def timed(engine, work):
    """How long it takes."""
    began = time.perf_counter()
    work()
    now = time.perf_counter()
    return min(getattr(engine, "end", None) or now, now) - began
