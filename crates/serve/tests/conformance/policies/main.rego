package system

main := {"seen": input}

health.live if input.plugins_ready
