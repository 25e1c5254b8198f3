module example/send

go 1.21

require github.com/waypost/waypost/clients/go v0.1.0

replace github.com/waypost/waypost/clients/go => ../../clients/go
