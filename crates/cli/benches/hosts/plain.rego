# What may be deployed: a decision of a usual size, without calls.
package plain

allowed := {"registry.example.com/shop", "registry.example.com/base", "docker.io/library"}

roles := {"ada": ["deployer", "reader"], "grace": ["admin"], "mallory": ["reader"]}

permitted if {
	some role in roles[input.user]
	role in {"admin", "deployer"}
}

deny contains sprintf("%s may not deploy", [input.user]) if not permitted

deny contains sprintf("container %s: %s isn't from a known registry", [container.name, container.image]) if {
	some container in input.containers
	count([prefix | some prefix in allowed; startswith(container.image, concat("", [prefix, "/"]))]) == 0
}

deny contains sprintf("container %s has no tag of its own", [container.name]) if {
	some container in input.containers
	endswith(container.image, ":latest")
}

deny contains sprintf("container %s may use %d MiB", [container.name, container.memory]) if {
	some container in input.containers
	container.memory > 2048
}

deny contains sprintf("container %s runs as root", [container.name]) if {
	some container in input.containers
	not container.user
}
