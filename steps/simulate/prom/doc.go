// Package prom writes metrics in Prometheus's text format, as Python's prometheus_client does.
package prom
