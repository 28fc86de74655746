module grantor/resource

go 1.22
