"""Checks the access tokens of a Grantor authorization server in an API."""

from .approval import Approval, ApprovalReceipt
from .draw import Draw, GivenBack
from .errors import ApprovalError, ResourceError
from .feed import FeedFault
from .issuer import IntrospectionCredentials
from .resource import FeedOptions, ProtectedResource
from .token import AccessToken, LimitLeft, Needs, SignedLimit

__all__ = [
    "AccessToken",
    "Approval",
    "ApprovalError",
    "ApprovalReceipt",
    "Draw",
    "FeedFault",
    "FeedOptions",
    "GivenBack",
    "IntrospectionCredentials",
    "LimitLeft",
    "Needs",
    "ProtectedResource",
    "ResourceError",
    "SignedLimit",
]
