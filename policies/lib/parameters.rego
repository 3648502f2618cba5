# Parameters of the collections. `data.parameters` has the values that were set, and each rule
# declares its own parameters, with their defaults, in its METADATA.
package lib.parameters

# The value of a parameter, or the rule's default.
get(name, fallback) := object.get(data.parameters, name, fallback)
