// Suppressions of ThreadSanitizer, which --config=tsan links into every
// program.

// ThreadSanitizer calls this function by its name. Debian's Abseil is compiled
// without ThreadSanitizer. Therefore, ThreadSanitizer does not see that
// StrError() fills a table only in its first call, in whichever thread.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libabsl_strerror.so\n";
}
