#!/usr/bin/env bash
# Builds the wheel into a fresh virtual environment, and tests it there; with `spark` on a cluster of
# two workers, too, which needs Java 17.
set -euo pipefail
cd "$(dirname "$0")/.."
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT
python3 -m venv "$where/venv"
. "$where/venv/bin/activate"
pip install --quiet --upgrade pip
pip install --quiet . pytest pyarrow
tests=tests/test_copyist.py
if [ "${1:-}" = spark ]; then
  pip install --quiet pyspark pandas setuptools
  export PYSPARK_PYTHON="$where/venv/bin/python" PYSPARK_DRIVER_PYTHON="$where/venv/bin/python"
  tests="$tests tests/test_spark.py"
fi
# Not in this folder, where `copyist` is the package without its library.
cp -r tests "$where/tests"
ln -s "$PWD/../testdata" "$where/testdata"
mkdir -p "$where/python" && mv "$where/tests" "$where/python/tests"
cd "$where/python"
python -m pytest -q -s ${tests//tests\//tests/}
