module waypost/test/clients/go-v2

go 1.21

require github.com/segmentio/analytics-go v2.0.1-0.20160426181448-2d840d861c32+incompatible
