"""Ray: remote functions on this machine, two processors, without dashboard."""

import os

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from common import execute, main, nothing


class Ray:
    def __init__(self, spec):
        import logging

        import ray

        self.ray = ray
        ray.init(
            num_cpus=spec["cores"],
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            _temp_dir=spec["folder"],
            logging_level=logging.ERROR,
            log_to_driver=False,
        )
        self.nothing = ray.remote(nothing)
        self.execute = ray.remote(execute)

    def fan(self, count):
        return self.ray.get([self.nothing.remote(number) for number in range(count)])

    def chains(self, chains):
        ends = []
        for chain in chains:
            end = None
            for step in chain:
                end = self.execute.remote(step["argv"], step["stdout"], end)
            ends.append(end)
        self.ray.get(ends)

    def close(self):
        self.ray.shutdown()


if __name__ == "__main__":
    main(Ray)
