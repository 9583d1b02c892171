"""The nuclei study as it is written in Python: OpenCV and scikit-image, joblib, SALib.

What cargo xtask bench peers compares `headwater study run` with. The steps are those of docs/nuclei.md, each one a
library call or a few of numpy. Three ways to run the study over the same parameter sets, all on `--jobs` processes:

  plain    a function of tile and parameters, called for every set; what the libraries have is taken as it is
  tuned    the tile is normalized once, before the loop; reconstruction by repeated dilation, the faster one here
  memory   as tuned, and every step is remembered on disk by joblib.Memory, by its parameters and what it reads

  nuclei_study.py study TILE... --sets samples.csv --way tuned --jobs 2 -o results.json
  nuclei_study.py masks TILE --sets samples.csv --way tuned --rows 0,5,9 -o FOLDER

`masks` writes the masks of some rows of the sets, and of the default parameters as default.png.
"""

import argparse
import csv
import json
import pathlib
import sys

import cv2
import numpy as np
from joblib import Memory, Parallel, delayed
from skimage.morphology import reconstruction

DEFAULTS = {
    "B": 220, "G": 220, "R": 220, "T1": 5.0, "T2": 4.0, "G1": 80, "G2": 45,
    "MinSize": 11, "MaxSize": 1000, "MinSizePl": 30, "MinSizeSeg": 21, "MaxSizeSeg": 1000,
    "FillHolesConn": 4, "ReconConn": 8, "WatershedConn": 8,
}
BOUNDS = {
    "B": [210, 240], "G": [210, 240], "R": [210, 240], "T1": [2.5, 7.5], "T2": [2.5, 7.5], "G1": [5, 80], "G2": [2, 40],
    "MinSize": [2, 40], "MaxSize": [900, 1500], "MinSizePl": [5, 80], "MinSizeSeg": [2, 40], "MaxSizeSeg": [900, 1500],
    "FillHolesConn": [4, 8], "ReconConn": [4, 8], "WatershedConn": [4, 8],
}

CROSS = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
SQUARE = cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3))
ACROSS = np.abs(np.arange(-9, 10))
OCTAGON = (ACROSS[:, None] + ACROSS[None, :] <= 14).astype(np.uint8)

# Colours as OpenCV has them: blue, green, red.
TO_CONES = np.array(
    [[0.0402, 0.5783, 0.3811], [0.0782, 0.7244, 0.1967], [0.8444, 0.1288, 0.0241]], np.float32
)
FROM_CONES = np.array(
    [[0.0585, -0.2611, 1.2057], [-1.2197, 2.3831, -0.1626], [4.4687, -3.5887, 0.1196]], np.float32
)
ROOTS = np.sqrt([3.0, 6.0, 2.0])
TO_OPPONENT = (np.array([[1, 1, 1], [1, 1, -2], [1, -1, 0]]) / ROOTS[:, None]).astype(np.float32)
FROM_OPPONENT = (np.array([[1, 1, 1], [1, 1, -1], [1, -2, 0]]) / ROOTS).astype(np.float32)
# Tissue is where the first of these is less than the second; the last column is a constant.
SIDES = np.array([[0.549, 0.035, -0.154, -45.718], [1.170, -0.817, -0.057, -49.887]], np.float32)
TARGET_MEAN = np.array([-0.632356, -0.0516004, 0.0376543])
TARGET_SPREAD = np.array([0.26235, 0.0514831, 0.0114217])


# ---- pieces ----------------------------------------------------------------------------------------------------------


def fill_holes(mask, connectivity):
    """All but the zeros that are connected to the outside."""
    padded = cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    cv2.floodFill(padded, None, (0, 0), 128, flags=connectivity)
    return np.where(padded[1:-1, 1:-1] == 128, np.uint8(0), np.uint8(255))


def area_filter(mask, low, high, connectivity):
    """The components of at least `low` and fewer than `high` pixels."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=connectivity)
    area = stats[:, cv2.CC_STAT_AREA]
    keep = np.where((area >= low) & (area < high), 255, 0).astype(np.uint8)
    keep[0] = 0
    return keep[labels]


def select(mask, seeds):
    """The components of `mask` that have a pixel of `seeds` in them."""
    count, labels = cv2.connectedComponents(mask, connectivity=8)
    keep = np.zeros(count, np.uint8)
    keep[labels[seeds > 0]] = 255
    keep[0] = 0
    return keep[labels]


def reconstruct_by_sorting(marker, mask, connectivity):
    """Grey reconstruction by dilation, as scikit-image has it."""
    element = SQUARE if connectivity == 8 else CROSS
    return reconstruction(cv2.min(marker, mask), mask, footprint=element).astype(mask.dtype)


def reconstruct_by_dilating(marker, mask, connectivity):
    """The same by dilating under the mask until nothing changes: on tissue it soon settles."""
    element = SQUARE if connectivity == 8 else CROSS
    now = cv2.min(marker, mask)
    grown = np.empty_like(now)
    while True:
        before = now.copy()
        for _ in range(16):
            cv2.min(cv2.dilate(now, element, dst=grown), mask, dst=now)
        if np.array_equal(before, now):
            return now


# ---- steps -----------------------------------------------------------------------------------------------------------


def normalize(image):
    """Transfer of colour statistics in a logarithmic opponent space."""
    pixels = image.astype(np.float32)
    sides = cv2.transform(pixels, SIDES)
    tissue = sides[:, :, 0] < sides[:, :, 1]
    with np.errstate(all="ignore"):
        # To decadic logarithms and back: OpenCV and numpy are fast with natural ones.
        logarithms = np.log(cv2.transform(pixels, TO_CONES / np.float32(255)))
        opponent = cv2.transform(logarithms, TO_OPPONENT / np.float32(np.log(10)))
        sample = opponent[tissue]
        sample = sample[sample[:, 0] * sample[:, 1] * sample[:, 2] > 0]
        scale = TARGET_SPREAD / sample.std(axis=0, dtype=np.float64)
        shift = TARGET_MEAN - sample.mean(axis=0, dtype=np.float64) * scale
        moved = cv2.transform(opponent, np.column_stack([np.diag(scale), shift]))
        np.copyto(opponent, moved, where=tissue[:, :, None])
        cones = np.exp(cv2.transform(opponent, FROM_OPPONENT * np.float32(np.log(10))))
        cones[~np.isfinite(cones)] = 0
    return cv2.transform(cones, FROM_CONES * np.float32(255)).round().clip(0, 255).astype(np.uint8)


def red_blood_cells(image, B, G, R, T1, T2):
    """The mask of red blood cells; None if the tile is background."""
    bright = cv2.inRange(image, (B + 1, G + 1, R + 1), (255, 255, 255))
    if np.float32(cv2.countNonZero(bright)) / np.float32(bright.size) >= 0.9:
        return None
    blue, green, red = cv2.split(image)
    ratio = red / (green + np.float32(2.0**-23))
    cells = select((ratio > np.float32(T2)).view(np.uint8), ratio > np.float32(T1))
    cells[red <= blue] = 0
    return cells


def reconstruct_background(image, ReconConn, reconstruct):
    """The inverted red channel, and what of it is wider than the octagon."""
    inverted = 255 - image[:, :, 2]
    opened = cv2.copyMakeBorder(inverted, 9, 9, 9, 9, cv2.BORDER_CONSTANT, value=255)
    opened = cv2.morphologyEx(opened, cv2.MORPH_OPEN, OCTAGON)[8:-8, 8:-8]
    mask = opened.copy()  # one pixel around the tile takes part
    mask[1:-1, 1:-1] = inverted
    return inverted, reconstruct(opened, mask, ReconConn)[1:-1, 1:-1]


def threshold(inverted, background, G1, FillHolesConn):
    """How far the tile stands out from its background, and the cores of what does."""
    difference = cv2.subtract(inverted, background)
    return difference, fill_holes(cv2.threshold(difference, G1, 255, cv2.THRESH_BINARY)[1], FillHolesConn)


def filter_candidates(cores, MinSize, MaxSize):
    """The cores of the right size."""
    return area_filter(cores, MinSize, MaxSize, 8)


def candidates(difference, seeds, blood, G2):
    """What stands out around the cores, without red blood cells."""
    found = select(cv2.threshold(difference, G2, 255, cv2.THRESH_BINARY)[1], seeds)
    found[blood > 0] = 0
    found = fill_holes(found, 4)
    found = cv2.erode(found, CROSS, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return cv2.dilate(found, CROSS)


def separate(image, found, MinSizePl, WatershedConn, reconstruct):
    """Touching nuclei are flooded apart from the peaks of their distance transform."""
    big = cv2.dilate(area_filter(found, MinSizePl, found.size + 1, 8), CROSS)
    inside = big > 0
    distance = cv2.distanceTransform(big, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    distance[~inside] = 1e6
    lower = distance - 1
    lower[~inside] = 1e6
    peaks = reconstruct(lower, distance, 8)
    lower = peaks - 1
    level = reconstruct(lower, peaks, WatershedConn)
    _, markers = cv2.connectedComponents((lower >= level).view(np.uint8), connectivity=WatershedConn)
    # OpenCV makes the frame of an image a line, so it gets another one; all that is not big is black.
    colours = cv2.bitwise_and(image, image, mask=big)
    colours = cv2.copyMakeBorder(colours, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(0, 0, 0))
    markers = cv2.copyMakeBorder(markers, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=-1)
    line = cv2.watershed(colours, markers) == -1
    # Where a line goes around a corner of a pixel, the pixel belongs to it.
    up, left, right = line[:-2, 1:-1], line[1:-1, :-2], line[1:-1, 2:]
    corner = up & ((left & ~line[:-2, :-2]) | (right & ~line[:-2, 2:]))
    big[line[1:-1, 1:-1] | corner] = 0
    return big


def final_filter(separated, MinSizeSeg, MaxSizeSeg, FillHolesConn):
    """Nuclei of the right size."""
    return fill_holes(area_filter(separated, MinSizeSeg, MaxSizeSeg, 4), FillHolesConn)


STEPS = [
    normalize, red_blood_cells, reconstruct_background, threshold,
    filter_candidates, candidates, separate, final_filter,
]


class Steps:
    """The steps of one of the ways; `memory` is remembered in the folder."""

    def __init__(self, way, folder):
        memory = Memory(folder if way == "memory" else None, verbose=0)
        for step in STEPS:
            setattr(self, step.__name__, memory.cache(step))
        self.objective = memory.cache(objective, ignore=["steps"])
        self.reconstruct = reconstruct_by_sorting if way == "plain" else reconstruct_by_dilating


def segment(image, p, steps):
    """The mask of the nuclei of a tile (already normalized)."""
    empty = np.zeros(image.shape[:2], np.uint8)
    blood = steps.red_blood_cells(image, p["B"], p["G"], p["R"], p["T1"], p["T2"])
    if blood is None:
        return empty
    inverted, background = steps.reconstruct_background(image, p["ReconConn"], steps.reconstruct)
    difference, cores = steps.threshold(inverted, background, p["G1"], p["FillHolesConn"])
    seeds = steps.filter_candidates(cores, p["MinSize"], p["MaxSize"])
    if not seeds.any():
        return empty
    found = steps.candidates(difference, seeds, blood, p["G2"])
    separated = steps.separate(image, found, p["MinSizePl"], p["WatershedConn"], steps.reconstruct)
    return steps.final_filter(separated, p["MinSizeSeg"], p["MaxSizeSeg"], p["FillHolesConn"])


def dice(a, b):
    """How much two masks agree."""
    total = cv2.countNonZero(a) + cv2.countNonZero(b)
    return 2 * cv2.countNonZero(cv2.bitwise_and(a, b)) / total if total else 1.0


# ---- the study -------------------------------------------------------------------------------------------------------


def objective(tile, reference, parameters, steps):
    """How much the mask at these parameters agrees with the reference."""
    return dice(segment(tile, parameters, steps), reference)


def evaluate(tile, reference, parameters, way, folder):
    """One parameter set on one tile, in one of the processes."""
    cv2.setNumThreads(1)  # the processes are the parallelism
    steps = Steps(way, folder)
    # joblib hands large arrays over as mapped files; for its memory they shall be arrays like any other.
    tile, reference = np.asarray(tile), np.asarray(reference)
    if way == "plain":
        tile = steps.normalize(tile)
    return steps.objective(tile, reference, parameters, steps)


def number(text):
    value = float(text)
    return int(value) if value.is_integer() and "." not in text else value


def read_sets(path):
    with open(path, newline="") as file:
        return [DEFAULTS | {name: number(text) for name, text in row.items()} for row in csv.DictReader(file)]


def read_tile(path):
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if image is None:
        sys.exit(f"{path} is no image that OpenCV reads")
    return image


def study(options):
    from SALib.analyze import morris

    sets = read_sets(options.sets)
    steps = Steps(options.way, options.memory)
    work = []
    for path in options.tiles:
        tile = read_tile(path)
        normalized = steps.normalize(tile)
        reference = segment(normalized, DEFAULTS, steps)
        given = tile if options.way == "plain" else normalized
        work += [delayed(evaluate)(given, reference, p, options.way, options.memory) for p in sets]
    values = Parallel(n_jobs=options.jobs)(work)
    values = np.array(values).reshape(len(options.tiles), len(sets)).mean(axis=0)
    names = list(BOUNDS)
    problem = {"num_vars": len(names), "names": names, "bounds": list(BOUNDS.values())}
    points = np.array([[p[name] for name in names] for p in sets], float)
    indices = morris.analyze(problem, points, values, num_levels=options.levels, seed=1)
    results = {
        "values": values.tolist(),
        "names": names,
        "mu_star": np.asarray(indices["mu_star"]).tolist(),
        "sigma": [None if np.isnan(one) else float(one) for one in indices["sigma"]],  # of one trajectory there is none
    }
    pathlib.Path(options.output).write_text(json.dumps(results))


def masks(options):
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    steps = Steps(options.way, options.memory)
    image = steps.normalize(read_tile(options.tiles[0]))
    sets = read_sets(options.sets)
    rows = [int(row) for row in options.rows.split(",")]
    for name, parameters in [("default", DEFAULTS)] + [(str(row), sets[row]) for row in rows]:
        cv2.imwrite(str(folder / f"{name}.png"), segment(image, parameters, steps))


def main():
    parser = argparse.ArgumentParser(description="The nuclei study in Python")
    parser.add_argument("what", choices=["study", "masks"])
    parser.add_argument("tiles", nargs="+")
    parser.add_argument("--sets", required=True, help="parameter sets, a CSV file")
    parser.add_argument("--way", choices=["plain", "tuned", "memory"], default="plain")
    parser.add_argument("--memory", default="memory", help="the folder of joblib.Memory")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--levels", type=int, default=20)
    parser.add_argument("--rows", default="0")
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    {"study": study, "masks": masks}[options.what](options)


if __name__ == "__main__":
    import nuclei_study  # by its name, so that the processes and their memory know the functions by it too

    nuclei_study.main()
