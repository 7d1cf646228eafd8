"""The few spellings in which the engines differ."""

from errorfloor.engines.dialects.base import LARGEST, Dialect
from errorfloor.engines.dialects.duckdb import DuckDBDialect
from errorfloor.engines.dialects.postgresql import PostgreSQLDialect
from errorfloor.engines.dialects.spark import SparkDialect

__all__ = ["LARGEST", "Dialect", "DuckDBDialect", "PostgreSQLDialect", "SparkDialect"]
