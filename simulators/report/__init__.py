"""Reports of scenarios that were played: a page for people, JUnit XML for tools.

In: what was observed while a scenario was played. Out: files.
Must not know: how it is played.
"""
