"""`cc_library`, at its load path in modern rules_cc."""

cc_library = native.cc_library
