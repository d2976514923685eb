from typing import Any

# The library. What it has for programs stands in `copyist`.
def __getattr__(name: str) -> Any: ...
