module example.com/api-go

go 1.22
