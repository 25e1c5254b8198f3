module github.com/waypost/waypost/clients/go

go 1.21
