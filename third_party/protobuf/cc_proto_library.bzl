"""`cc_proto_library`, at its load path in modern protobuf."""

cc_proto_library = native.cc_proto_library
