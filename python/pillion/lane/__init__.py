"""Lanes: running other people's code, each run in a process of its own that is confined first.

`zygote` imports once and forks; `slot` makes of each fork a confined process that waits for one
order; `runner` carries the order out; `watch` and `outputs` are what the slot's init does
meanwhile and afterwards. The messages between them and the daemon: docs/reference/lanes.md.
"""
