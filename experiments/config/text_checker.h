// Checks a text config against its message: finds every problem with its exact
// place, goes on after each, and notes where each field is set. The values
// themselves are read by protobuf (text_parser.h), whose own messages stop at
// the first problem and point at the token after it.
#ifndef EXPERIMENTS_CONFIG_TEXT_CHECKER_H_
#define EXPERIMENTS_CONFIG_TEXT_CHECKER_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/config/config_text.h"
#include "google/protobuf/descriptor.h"

namespace regard {

// Messages nested deeper are refused: the recursion of the parser is not
// bounded otherwise.
inline constexpr int kDeepestNesting = 64;

// A field that a text sets.
struct Mention {
  std::string parent;  // path of the message around it; "" at the top
  std::string name;    // `rate`, `layers[1]`, `[lab.my_score]`
  const google::protobuf::FieldDescriptor* field = nullptr;
  TextRange range;  // of the name as written
  // This is the whole repeated field, mentioned before its elements: what an
  // earlier text gave it is gone.
  bool is_list = false;

  std::string Path() const;
};

struct CheckedText {
  // The part of the text from byte `begin` on with the present names of fields
  // in place of their former ones.
  std::string WithPresentNames(absl::string_view text, size_t begin = 0) const;

  std::vector<TextProblem> problems;  // by place; at most kMostProblems
  std::vector<Mention> mentions;      // in the order of the text
  // Fields that are called by their former names, in the order of the text.
  std::vector<std::pair<TextRange, std::string>> present_names;
};

// Checks a whole text.
CheckedText CheckText(absl::string_view text,
                      const google::protobuf::Descriptor& message);

// Checks the value of `field` that begins at byte `begin` of `text` and ends
// with it. `mention` says what it sets, as one element when it is `layers[1]`.
CheckedText CheckValue(absl::string_view text, size_t begin, Mention mention);

}  // namespace regard

#endif  // EXPERIMENTS_CONFIG_TEXT_CHECKER_H_
