# METADATA
# title: Each crate in an SBOM has a license, and a checksum unless it is of this repository
package sbom

deny contains sprintf("%s %s has no license", [component.name, component.version]) if {
	some component in input.components
	count(object.get(component, "licenses", [])) == 0
}

deny contains sprintf("%s %s has no checksum", [component.name, component.version]) if {
	some component in input.components
	not startswith(component.name, "rego-platform")
	count(object.get(component, "hashes", [])) == 0
}
