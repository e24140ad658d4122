"""What a caller asks for, as small frozen objects: blocks, pairs, matches, tests.

Every object checks itself, prints as the call that makes it, and is equal to another with the same values.
"""
