"""The base classes of scikit-learn; as it has no types, a stub says what checkers may know of them."""

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        RegressorMixin,
        TransformerMixin,
    )
except ImportError as error:  # pragma: no cover
    hint = "the learners need scikit-learn: pip install 'distmom[learn]'"
    raise ModuleNotFoundError(hint, name="sklearn") from error

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "RegressorMixin",
    "TransformerMixin",
]
