module waypost/tools/bench/clients

go 1.21

require (
	github.com/segmentio/analytics-go/v3 v3.3.0
	github.com/waypost/waypost/clients/go v0.1.0
)

require (
	github.com/google/uuid v1.3.0 // indirect
	github.com/segmentio/backo-go v1.0.0 // indirect
)

replace github.com/waypost/waypost/clients/go => ../../../clients/go
