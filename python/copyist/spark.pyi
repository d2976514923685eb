from typing import Any

from . import Paths

# `spark` is a `pyspark.sql.SparkSession`, and what is returned is a `pyspark.sql.DataFrame`.
RECORDS: str
ROWS: str
REPORT: str
PORTION_BYTES: int
PORTION_SESSIONS: int
FOLDER: str

def read_sessions(spark: Any, paths: Paths, *, portion_bytes: int = ..., depth: int = 1) -> Any: ...
def read_rows(
    spark: Any, paths: Paths, style: str, *, per: str = "session", portion_bytes: int = ...
) -> Any: ...
def convert_sessions(
    spark: Any,
    paths: Paths,
    out_dir: Any,
    to: str,
    *,
    origin: bool = True,
    portion_bytes: int = ...,
    depth: int = 1,
) -> Any: ...
def migrate_sessions(
    spark: Any, paths: Paths, out_dir: Any, *, portion_bytes: int = ..., depth: int = 1
) -> Any: ...
def repair_sessions(
    spark: Any,
    paths: Paths,
    out_dir: Any,
    *,
    resumable: bool = False,
    portion_bytes: int = ...,
    depth: int = 1,
) -> Any: ...
