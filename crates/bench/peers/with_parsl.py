"""Parsl: HighThroughputExecutor with two workers on this machine, or threads of this process."""

import shlex

from common import main, nothing


class Parsl:
    def __init__(self, spec):
        import parsl
        from parsl.config import Config
        from parsl.executors import HighThroughputExecutor, ThreadPoolExecutor
        from parsl.providers import LocalProvider

        if spec["mode"] == "threads":
            executor = ThreadPoolExecutor(max_threads=spec["cores"])
        else:
            executor = HighThroughputExecutor(
                address="127.0.0.1",
                loopback_address="127.0.0.1",
                max_workers_per_node=spec["cores"],
                cores_per_worker=1,
                # As its documentation has it for many short tasks.
                prefetch_capacity=100,
                encrypted=False,
                provider=LocalProvider(init_blocks=1, min_blocks=1, max_blocks=1),
            )
        config = Config(
            executors=[executor],
            strategy="none",
            run_dir=spec["folder"],
            usage_tracking=0,
            # Lines in a log for every task would be half of the time of the fan.
            initialize_logging=False,
        )
        self.kernel = parsl.load(config)
        self.parsl = parsl
        self.nothing = parsl.python_app(nothing)
        self.command = parsl.bash_app(command)

    def fan(self, count):
        return [future.result() for future in [self.nothing(number) for number in range(count)]]

    def chains(self, chains):
        ends = []
        for chain in chains:
            end = None
            for step in chain:
                line = shlex.join(step["argv"])
                # Without `stdout` the app would have none at all, which is cheaper than a file.
                more = {} if step["stdout"] is None else {"stdout": (step["stdout"], "w")}
                end = self.command(line, inputs=[] if end is None else [end], **more)
            ends.append(end)
        for end in ends:
            end.result()

    def close(self):
        self.kernel.cleanup()
        self.parsl.clear()


def command(line, inputs=(), stdout=None):
    """`inputs` are there to be waited for."""
    return line


if __name__ == "__main__":
    main(Parsl)
