"""The tests. A package, so that no ``tests`` of an installed distribution takes its place."""
