"""Stands for uvicorn in bundles that have none: it can start a desktop app's engine only."""
