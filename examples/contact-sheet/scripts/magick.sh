#!/bin/sh
# Runs a tool of ImageMagick under whichever name it has here: version 7 has `magick TOOL`, version 6 has
# the tools themselves.
tool=$1
shift
if command -v magick > /dev/null; then
    exec magick "$tool" "$@"
elif command -v "$tool-im6.q16" > /dev/null; then
    exec "$tool-im6.q16" "$@"
else
    exec "$tool" "$@"
fi
