"""HyperQueue: its Python package with server and worker in this process, two processors.

The client looks once a second whether a job is done. So that this is not measured, a last task that depends on all
others leaves a file, and the time of that file is the end. A task is a process: a program, or a Python that is started
for one function.
"""

import os
import time

from common import main, nothing


class Hyperqueue:
    def __init__(self, spec):
        from hyperqueue import Job, LocalCluster
        from hyperqueue.cluster import WorkerConfig

        self.Job = Job
        self.folder = spec["folder"]
        self.mode = spec["mode"]
        self.end = None
        self.cluster = LocalCluster(os.path.join(self.folder, "server"), WorkerConfig(cores=spec["cores"]))
        self.client = self.cluster.client()

    def run(self, job, ends):
        file = os.path.join(self.folder, "end")
        job.program(["touch", file], stdout=None, stderr=None, deps=ends)
        self.client.wait_for_jobs([self.client.submit(job)])
        # Not later than now, should the two clocks differ.
        late = time.time() - os.stat(file).st_mtime
        self.end = time.perf_counter() - max(late, 0.0)

    def fan(self, count):
        job = self.Job(default_workdir=self.folder)
        tasks = []
        for number in range(count):
            if self.mode == "functions":
                tasks.append(job.function(nothing, args=(number,), stdout=None, stderr=None))
            else:
                tasks.append(job.program(["/bin/true"], stdout=None, stderr=None))
        self.run(job, tasks)

    def chains(self, chains):
        job = self.Job(default_workdir=self.folder)
        ends = []
        for chain in chains:
            end = None
            for step in chain:
                before = [] if end is None else [end]
                end = job.program(step["argv"], stdout=step["stdout"], stderr=None, deps=before)
            ends.append(end)
        self.run(job, ends)

    def close(self):
        self.client = None
        self.cluster.stop()


if __name__ == "__main__":
    main(Hyperqueue)
