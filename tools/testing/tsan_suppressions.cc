// Suppressions of ThreadSanitizer, which --config=tsan links into every
// program.

// ThreadSanitizer defines the name of the function. Debian's Abseil is compiled
// without it. Therefore, it does not see that the first call of StrError()
// fills a table only once, whichever thread calls it.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libabsl_strerror.so\n";
}
