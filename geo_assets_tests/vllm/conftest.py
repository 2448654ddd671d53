"""The fixtures of the small demo."""

from geo_assets_tests.small_demo import adapter, demo

__all__ = ["adapter", "demo"]
