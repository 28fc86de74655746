"""Checks the access tokens of a Grantor authorization server in an API."""

from .approval import Approval, ApprovalReceipt
from .errors import ApprovalError, ResourceError
from .feed import FeedFault
from .issuer import IntrospectionCredentials
from .resource import FeedOptions, ProtectedResource
from .token import AccessToken, Needs

__all__ = [
    "AccessToken",
    "Approval",
    "ApprovalError",
    "ApprovalReceipt",
    "FeedFault",
    "FeedOptions",
    "IntrospectionCredentials",
    "Needs",
    "ProtectedResource",
    "ResourceError",
]
