"""The largest resident size of a process, measured by itself."""

PRINT_PEAK = """
import pathlib, re
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) // 1024)
"""
"""Last lines of a program: megabytes. ``ru_maxrss`` would count what the parent held when it forked; the mark
in /proc begins with the program."""
