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
            host="127.0.0.1" if processes else None,
            dashboard_address=None,
            local_directory=spec["folder"],
        )
        self.client = Client(self.cluster)

    def fan(self, count):
        # Keys are made by counting: hashing arguments would be time for nothing.
        return self.client.gather(self.client.map(nothing, range(count), pure=False))

    def chains(self, chains):
        ends = []
        for chain in chains:
            end = None
            for step in chain:
                end = self.client.submit(execute, step["argv"], step["stdout"], end, pure=False)
            ends.append(end)
        self.client.gather(ends)

    def close(self):
        self.client.close()
        self.cluster.close()


if __name__ == "__main__":
    main(Dask)
