"""`proto_library`, at its load path in modern protobuf."""

proto_library = native.proto_library
