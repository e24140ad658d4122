"""What a caller asks for, as small frozen objects: how rows form blocks, which pairs, which matches, which test.

Every object checks itself, prints as the call that makes it, and is equal to another with the same values.
"""
