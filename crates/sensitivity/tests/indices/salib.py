"""Indices by SALib, for the tests beside this file.

    python salib.py tables FOLDER      makes the tables that the tests carry
    python salib.py indices FILE       reads a table with samples and outputs, prints the indices

A table opens with a line that says what it is: `# sobol 3` (parameters), `# sobol2 4` (with second order) or
`# morris 6 4` (parameters, levels). Then come rows of parameter values in the unit cube and the output, with all
digits, and in a carried table lines `index,NAME,NUMBER,NUMBER,VALUE`.

The tables were made with SALib 1.6.0, numpy 2 and Python 3.
"""

import sys
import warnings

import numpy

warnings.simplefilter("ignore")

from SALib.analyze import morris as analyze_morris
from SALib.analyze import sobol as analyze_sobol
from SALib.sample import morris as sample_morris
from SALib.sample import sobol as sample_sobol


def problem(parameters):
    return {
        "num_vars": parameters,
        "names": [f"x{number}" for number in range(1, parameters + 1)],
        "bounds": [[0.0, 1.0]] * parameters,
    }


def indices(head, points, outputs):
    """Lines of name, positions and value."""
    kind, parameters = head[0], int(head[1])
    if kind == "morris":
        found = analyze_morris.analyze(
            problem(parameters), points, outputs, num_levels=int(head[2]), num_resamples=10
        )
        for name in ("mu", "mu_star", "sigma"):
            for place in range(parameters):
                yield name, place, place, found[name][place]
        return
    found = analyze_sobol.analyze(
        problem(parameters), outputs, calc_second_order=kind == "sobol2", num_resamples=10
    )
    for name in ("S1", "ST"):
        for place in range(parameters):
            yield name, place, place, found[name][place]
    if kind == "sobol2":
        for one in range(parameters):
            for other in range(one + 1, parameters):
                yield "S2", one, other, found["S2"][one, other]


def show(head, points, outputs, to):
    for name, one, other, value in indices(head, points, outputs):
        print(f"index,{name},{one},{other},{float(value)!r}", file=to)


def tables(folder):
    def write(name, head, points, function):
        outputs = numpy.array([function(point) for point in points])
        with open(f"{folder}/{name}.csv", "w") as to:
            print("#", *head, file=to)
            for point, output in zip(points, outputs):
                print(",".join(repr(float(value)) for value in [*point, output]), file=to)
            show(head, points, outputs, to)

    # Not centred, with an interaction and a parameter that does nothing.
    def waves(point):
        turned = numpy.sin(2 * numpy.pi * numpy.asarray(point))
        return 1000 + turned[0] + 7 * turned[1] ** 2 + 3 * point[2] ** 4 * turned[0]

    def product(point):
        weights = numpy.array([0.0, 1.0, 4.5, 9.0])
        return float(numpy.prod((numpy.abs(4 * point - 2) + weights) / (1 + weights)))

    def mixed(point):
        linear = numpy.dot(point, [5.0, -3.0, 2.0, 0.5, 0.0, 0.1])
        return linear + 4 * point[0] * point[1] - 6 * (point[2] - 0.4) ** 2

    base = sample_sobol.sample(problem(3), 64, calc_second_order=False, seed=1)
    write("sobol", ("sobol", 3), base, waves)
    base = sample_sobol.sample(problem(4), 32, calc_second_order=True, seed=2)
    write("sobol2", ("sobol2", 4), base, product)
    base = sample_morris.sample(problem(6), 12, num_levels=4, seed=3)
    write("morris", ("morris", 6, 4), base, mixed)


def main():
    command, place = sys.argv[1:]
    if command == "tables":
        tables(place)
        return
    with open(place) as table:
        head = next(table).lstrip("# ").split()
        rows = numpy.array([[float(value) for value in line.split(",")] for line in table])
    show(head, rows[:, :-1], rows[:, -1], sys.stdout)


main()
