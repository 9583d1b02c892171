"""Dask: `distributed` on this machine, two workers of one thread each, as processes or as threads of one."""

from common import execute, main, nothing


class Dask:
    def __init__(self, spec):
        import dask
        from distributed import Client, LocalCluster

        dask.config.set({"temporary-directory": spec["folder"], "distributed.worker.daemon": True})
        processes = spec["mode"] == "processes"
        self.cluster = LocalCluster(
            n_workers=spec["cores"] if processes else 1,
            threads_per_worker=1 if processes else spec["cores"],
            processes=processes,
            # Threads need no address; the pages of both are for this machine alone.
            host="127.0.0.1" if processes else None,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            local_directory=spec["folder"],
        )
        self.client = Client(self.cluster)

    def fan(self, count):
        # Keys are made by counting: hashing arguments would be time for nothing.
        return self.client.gather(self.client.map(nothing, range(count), pure=False))

    def chains(self, chains):
        # All first steps, then all second ones, each waiting for its own first: chains are equally long.
        ends = [None] * len(chains)
        for level in zip(*chains):
            argvs, files = [step["argv"] for step in level], [step["stdout"] for step in level]
            ends = self.client.map(execute, argvs, files, ends, pure=False)
        self.client.gather(ends)

    def close(self):
        self.client.close()
        self.cluster.close()


if __name__ == "__main__":
    main(Dask)
