#!/bin/sh
# effect.sh NAME INPUT OUTPUT
case $1 in
    plain) set -- "$2" "$3" ;;
    grey) set -- "$2" "$3" -colorspace Gray ;;
    edges) set -- "$2" "$3" -colorspace Gray -edge 1 ;;
    negative) set -- "$2" "$3" -negate ;;
    *) echo "unknown effect: $1" >&2; exit 64 ;;
esac
input=$1
output=$2
shift 2
exec sh "$(dirname "$0")/magick.sh" convert "$input" "$@" -strip "$output"
