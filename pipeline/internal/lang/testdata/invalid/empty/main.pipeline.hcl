# Nothing but a remark.
