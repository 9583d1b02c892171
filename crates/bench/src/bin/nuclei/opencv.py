"""What cargo xtask bench nuclei compares with: one timed call of OpenCV or scikit-image per request.

A request is a line of words on stdin, an answer a line on stdout. `load NAME TYPE WIDTH HEIGHT CHANNELS FILE` reads
a raw array; `run NAME` makes a call and answers its seconds, of the wall clock and of this thread; `save FILE` writes what the last call gave.
"""

import sys
import time

import cv2
import numpy
import skimage
from skimage.morphology import reconstruction

cv2.setNumThreads(1)

across = numpy.abs(numpy.arange(-9, 10))
octagon = (across[:, None] + across[None, :] <= 14).astype(numpy.uint8)
cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
square = numpy.ones((3, 3), numpy.uint8)
arrays = {}


def flooded(image, markers):
    # OpenCV takes the frame of the image for line; here the frame lies outside.
    image = cv2.copyMakeBorder(image, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(0, 0, 0))
    markers = cv2.copyMakeBorder(markers, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=-1)
    return cv2.watershed(image, markers)[1:-1, 1:-1]


def prepare(name):
    """The call without arguments that is timed."""
    a = arrays
    if name == "opening":
        return lambda: cv2.morphologyEx(a["grey"], cv2.MORPH_OPEN, octagon)
    if name == "labelling":
        return lambda: cv2.connectedComponents(a["mask"], connectivity=8, ltype=cv2.CV_32S)[1]
    if name == "distance":
        return lambda: cv2.distanceTransform(a["mask"], cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    if name == "watershed":
        markers = a["markers"].copy()
        return lambda: cv2.watershed(a["tissue"], markers)
    if name == "watershed-seeds":
        markers = a["seeds"].copy()
        return lambda: cv2.watershed(a["colour"], markers)
    if name == "flooded":
        return lambda: flooded(a["tissue"], a["markers"])
    if name == "flooded-seeds":
        return lambda: flooded(a["colour"], a["seeds"])
    if name == "reconstruction-4":
        return lambda: reconstruction(a["marker"], a["grey"], method="dilation", footprint=cross)
    if name == "reconstruction-8":
        return lambda: reconstruction(a["marker"], a["grey"], method="dilation", footprint=square)
    raise ValueError(name)


print(f"OpenCV {cv2.__version__}, scikit-image {skimage.__version__}, NumPy {numpy.__version__}", flush=True)
result = None
for line in sys.stdin:
    words = line.rstrip("\n").split(" ", 6)
    if words[0] == "load":
        _, name, kind, width, height, channels, path = words
        shape = (int(height), int(width)) + ((int(channels),) if channels != "1" else ())
        arrays[name] = numpy.fromfile(path, kind).reshape(shape)
        print("loaded", flush=True)
    elif words[0] == "run":
        result = None
        call = prepare(words[1])
        wall, thread = time.perf_counter(), time.thread_time()
        result = call()
        thread, wall = time.thread_time() - thread, time.perf_counter() - wall
        print(wall, thread, flush=True)
    elif words[0] == "save":
        path = line.rstrip("\n").split(" ", 1)[1]
        numpy.ascontiguousarray(result).tofile(path)
        print(result.dtype, flush=True)
