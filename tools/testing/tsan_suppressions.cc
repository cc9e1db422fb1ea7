// Linked into every program by --config=tsan.

// Its name is ThreadSanitizer's. Debian's Abseil is built without it: that the
// first call of StrError fills a table once, whatever the thread, is not seen.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libabsl_strerror.so\n";
}
