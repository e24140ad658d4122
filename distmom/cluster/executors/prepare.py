"""What the first unit on a worker would otherwise wait for, loaded beforehand and in the background.

Not by a plugin: that would stay with the scheduler of other people's clusters, where a worker that joins
later and lacks this package could not start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from distributed import Client

logger = logging.getLogger("distmom")

Load = Callable[[], None]

_prepared: WeakSet[Client] = WeakSet()


def prepare_workers(client: Client, load: Load) -> Future[None] | None:
    """Call ``load`` in every worker process of a client, once; None where it was done before.

    Returns at once, and units may run meanwhile. What goes wrong shows in the units, if it matters to them.
    """
    if client in _prepared:
        return None
    _prepared.add(client)
    return asyncio.run_coroutine_threadsafe(_everywhere(client, load), client.loop.asyncio_loop)


async def _everywhere(client: Client, load: Load) -> None:
    with suppress(Exception):  # workers may leave at any time
        await client.run(_load_here, load, wait=False, on_error="ignore")


async def _load_here(load: Load) -> None:
    """Run on a worker, beside its event loop and its units."""
    try:
        await asyncio.to_thread(load)
    except Exception:
        logger.debug("kernels could not be loaded beforehand", exc_info=True)
