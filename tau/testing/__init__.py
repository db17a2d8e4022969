"""What third parties test with: the contract of session stores, as a pytest class, and the scripted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tau.testing.store_contract import MakeStore, SessionStoreContract

__all__ = ["MakeStore", "SessionStoreContract"]


def __getattr__(name: str) -> Any:
    """Load the suite, and pytest with it, when it is first asked for."""
    if name in __all__:
        from tau.testing import store_contract

        return getattr(store_contract, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
