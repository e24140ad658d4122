"""The largest resident size of a process, measured by itself."""

PRINT_PEAK = """
import pathlib, re
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) // 1024)
"""
"""Last lines of a program: megabytes. ``ru_maxrss`` would count what the parent held when it forked; the mark
in /proc begins with the program."""

PRINT_COUNTED = """
import pathlib, re
status = pathlib.Path("/proc/self/status").read_text()
kilobytes = {name: int(n) for name, n in re.findall(r"(VmHWM|RssFile):\\s*(\\d+) kB", status)}
print(round(1.024e-3 * kilobytes["VmHWM"] - max(0.0, 1.024e-3 * kilobytes["RssFile"] - 70.0)))
"""
"""The same in megabytes of a limit: of the pages of libraries at most 70 count, see `cluster.account`."""
