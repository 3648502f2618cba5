// Package regoplatform gives OPA in Go the functions of a supply-chain compliance service, such as
// platform.discover. OPA never runs a built-in function whose argument is undefined: for an input without an
// image, platform.discover(input.image, "") is never called, and a rule that denies by its result is silent. An
// input therefore passes because of what it lacks. [Client.Gate] asks `/v1/gate` for the verdict instead, which
// refuses such an input; [Client.Eval] gives OPA's result.
//
// The functions are answered by a server, `rego-platform serve`, which has the token for the service, its retries
// and its limits. [Client.Eval] evaluates in passes: calls that don't depend on each other are sent in one
// request. [Client.Functions] and [Client.Register] also serve hosts that evaluate themselves, one call at a time.
package regoplatform
