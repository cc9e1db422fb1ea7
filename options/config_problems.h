// Collects problems of a config, each with the path of its field. A reader can
// then show the line of the config file.
//
// A problem is an error: a contradiction, a value that would end the program,
// or missing data. A field without effect, or with an unusual effect, gets a
// note.
//
//   void Validate(const DecoderConfig& config, ConfigProblems& problems) {
//     problems.CheckOwnRanges(config);
//     ConfigProblems::Scope scope(problems, "attention");
//     Validate(config.attention(), problems);
//   }
//
// Paths are dotted names as in a text config: `model.width`,
// `model.layers[1].heads`. Extensions are in brackets:
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
    std::string path;  // path from the outermost message, whose path is ""
    std::string message;
    TextRange within = {};  // part of the field's string, or empty
  };

  // Prefixes the paths of all problems added during its lifetime. Scopes nest
  // and must end in reverse order.
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

  // Adds a problem of the field at `path`, relative to the current scope. The
  // path "" is the message of the scope. `message` does not name the field:
  // "must divide width".
  void Add(absl::string_view path, std::string message);

  // Adds a problem of the part `within` of a string field.
  void AddWithin(absl::string_view path, TextRange within, std::string message);

  // Adds a note, such as "has no effect without momentum", unless the same note
  // exists.
  void Note(absl::string_view path, std::string message);

  // Adds a problem unless min <= value <= max. NaN is a problem.
  void RequireInRange(absl::string_view path, double value, double min,
                      double max);

  // Adds a problem for each field of `options`, set or default, that is outside
  // its (range). See options/config_options.proto. Also checks all messages
  // that are set in `options`, including extensions.
  void CheckRanges(const google::protobuf::Message& options,
                   absl::string_view path = "");

  // Like CheckRanges(), but does not check the messages in `options`. For
  // configs whose messages have their own validators.
  void CheckOwnRanges(const google::protobuf::Message& options,
                      absl::string_view path = "");

  // Adds a problem unless 0 < value < infinity.
  void RequirePositive(absl::string_view path, double value);

  bool ok() const { return problems_.empty(); }

  // Problems in the order in which they were added.
  absl::Span<const Problem> problems() const { return problems_; }

  // Notes such as "training.average: has no effect without evaluations", in the
  // order in which they were added.
  absl::Span<const std::string> notes() const { return notes_; }

 private:
  std::string AbsolutePath(absl::string_view path) const;

  std::string scope_;
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
};

}  // namespace regard

#endif  // OPTIONS_CONFIG_PROBLEMS_H_
