__version__ = "2026.9.0"
