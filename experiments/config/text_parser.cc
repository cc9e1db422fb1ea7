#include "experiments/config/text_parser.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/config/text_checker.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/stubs/common.h"
#include "google/protobuf/text_format.h"

namespace regard {
namespace {

// Keeps the first error. Without a collector, protobuf prints.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
#if GOOGLE_PROTOBUF_VERSION >= 4022000
  void RecordError(int line, google::protobuf::io::ColumnNumber,
                   absl::string_view message) override {
    Keep(line, message);
  }
#else
  void AddError(int line, google::protobuf::io::ColumnNumber,
                const std::string& message) override {
    Keep(line, message);
  }
#endif

  int line() const { return line_; }  // 0-based
  const std::string& message() const { return message_; }

 private:
  void Keep(int line, absl::string_view message) {
    if (!message_.empty()) return;
    line_ = line;
    message_ = std::string(message);
  }

  int line_ = 0;
  std::string message_;
};

// Its column counts tabs as up to eight, and is that of the next token: the
// line alone is told.
size_t LineStart(const std::string& text, int line) {
  size_t begin = 0;
  for (; line > 0; --line) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return begin;
}

}  // namespace

std::optional<TextProblem> ParseText(const std::string& text,
                                     google::protobuf::Message* message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kDeepestNesting);
  parser.AllowPartialMessage(true);
  if (parser.ParseFromString(text, message)) return std::nullopt;
  return TextProblem{
      {LineStart(text, error.line()), 1},
      absl::StrCat("text format: ", Printable(error.message(), 200))};
}

}  // namespace regard
