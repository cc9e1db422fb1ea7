// Collects what is wrong with a config, each problem under the field it is
// about, so that a reader of config files can point at the offending line.
//
// A problem is what cannot be meant: a contradiction, a value that would abort,
// data that are missing. A field that merely has no effect, or an unusual one,
// is a note.
//
//   void Validate(const DecoderConfig& config, ConfigProblems& problems) {
//     problems.CheckOwnRanges(config);
//     ConfigProblems::Scope scope(problems, "attention");
//     Validate(config.attention(), problems);
//   }
//
// Paths are dotted names as a text config writes them: `model.width`,
// `model.layers[1].heads`, and an extension in brackets,
// `outside.[lab.my_score].width`.
#ifndef OPTIONS_CONFIG_PROBLEMS_H_
#define OPTIONS_CONFIG_PROBLEMS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "options/config_text.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace regard {

class ConfigProblems {
 public:
  struct Problem {
    std::string path;  // from the outermost message; "" is that message itself
    std::string message;
    TextRange within = {};  // of the string that the field holds; else empty
  };

  // Puts `path` before the paths of all problems added during its life. Scopes
  // nest, and end in the reverse of the order they began in.
  class Scope {
   public:
    Scope(ConfigProblems& problems, absl::string_view path);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ConfigProblems& problems_;
    std::string outer_;
  };

  // `path` starts at the current scope; "" is the scope's message itself. The
  // message says what is wrong without naming the place: "must divide width".
  void Add(absl::string_view path, std::string message);

  // The same, about a part of the string that the field holds.
  void AddWithin(absl::string_view path, TextRange within, std::string message);

  // Adds a note, such as "has no effect without momentum". One that is there
  // already is not added again.
  void Note(absl::string_view path, std::string message);

  // Adds a problem unless min <= value <= max; NaN is one.
  void RequireInRange(absl::string_view path, double value, double min,
                      double max);

  // Adds a problem for each field of `options`, set or not, that is outside of
  // its (range), see options/config_options.proto. Then does the same for each
  // message that is set in `options`, extensions included.
  void CheckRanges(const google::protobuf::Message& options,
                   absl::string_view path = "");

  // As CheckRanges(), but skips the messages in `options`. It is for a config
  // whose parts are checked by validators of their own.
  void CheckOwnRanges(const google::protobuf::Message& options,
                      absl::string_view path = "");

  // Adds a problem unless 0 < value < infinity.
  void RequirePositive(absl::string_view path, double value);

  bool ok() const { return problems_.empty(); }

  // In the order in which they were added.
  absl::Span<const Problem> problems() const { return problems_; }

  // "training.average: has no effect without evaluations", in the order in
  // which they were added.
  absl::Span<const std::string> notes() const { return notes_; }

 private:
  std::string Absolute(absl::string_view path) const;

  std::string scope_;
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
};

}  // namespace regard

#endif  // OPTIONS_CONFIG_PROBLEMS_H_
