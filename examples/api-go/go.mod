module example.com/api-go

go 1.22

require grantor/resource v0.0.0

replace grantor/resource => ../../sdks/go
