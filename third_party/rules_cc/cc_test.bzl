"""`cc_test`, at its load path in modern rules_cc."""

cc_test = native.cc_test
