// Suppressions of ThreadSanitizer, which --config=tsan links into every
// program.

// ThreadSanitizer calls this function by its name. Debian's Abseil is compiled
// without ThreadSanitizer, which therefore does not see that the first call of
// StrError() fills a table only once, in any thread.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libabsl_strerror.so\n";
}
