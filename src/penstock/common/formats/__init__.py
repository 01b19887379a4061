"""Formats of messages: JSON, CSV, Avro and Protobuf as schemas of sources and sinks."""
