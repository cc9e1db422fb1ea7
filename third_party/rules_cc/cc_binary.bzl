"""`cc_binary`, at its load path in modern rules_cc."""

cc_binary = native.cc_binary
