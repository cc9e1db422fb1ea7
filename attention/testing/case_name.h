// Names of generated tests.
#ifndef ATTENTION_TESTING_CASE_NAME_H_
#define ATTENTION_TESTING_CASE_NAME_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace regard {

// Turns options, which are a text proto, into a part of a test's name:
// "width_5" for "width: 5", "defaults" for "".
inline std::string CaseName(absl::string_view options) {
  std::string name;
  for (const char c : options) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "defaults" : name;
}

}  // namespace regard

#endif  // ATTENTION_TESTING_CASE_NAME_H_
