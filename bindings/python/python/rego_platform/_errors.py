"""The exceptions of the package."""


class RegoError(Exception):
    """Policies can't be loaded or evaluated.

    `kind` says why, `hint` what to do next, `function` which call failed, `diagnostics` where in the policies.
    """

    def __init__(self, message, *, kind="internal", hint=None, function=None, diagnostics=()):
        super().__init__(message)
        self.kind = kind
        self.hint = hint
        self.function = function
        self.diagnostics = list(diagnostics)


class PolicyError(RegoError):
    """A policy doesn't load, or its evaluation ends with an error of its own."""


class TimedOutError(RegoError, TimeoutError):
    """A call or an evaluation took longer than its timeout."""


class UndefinedError(RegoError):
    """A query has no value, which isn't a verdict."""


for _class in (RegoError, PolicyError, TimedOutError, UndefinedError):
    _class.__module__ = "rego_platform"
