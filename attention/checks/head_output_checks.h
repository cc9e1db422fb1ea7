// Checks that every head output must pass. Generated tests run them.
#ifndef ATTENTION_CHECKS_HEAD_OUTPUT_CHECKS_H_
#define ATTENTION_CHECKS_HEAD_OUTPUT_CHECKS_H_

#include <optional>
#include <vector>

#include "attention/checks/expectations.h"
#include "attention/head_output.h"
#include "google/protobuf/message.h"

namespace regard {

struct HeadOutputToCheck {
  const HeadOutputRegistry& registry;
  const HeadOutputInfo& info;  // registered in `registry`
  const google::protobuf::Message& options;
  HeadOutputWidths widths;
  // Whether a layer with these options is plain attention.
  bool is_plain;
};

// Widths with four heads, and contexts of width 3 or 4. `nullopt` if the
// options are invalid for both widths.
std::optional<HeadOutputWidths> TestWidths(
    const HeadOutputInfo& info, const google::protobuf::Message& options);

struct HeadOutputCheck {
  const char* name;  // "ComputesEachQueryByItself"
  void (*run)(const HeadOutputToCheck& output, Expectations& expect);
};

std::vector<HeadOutputCheck> HeadOutputChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_HEAD_OUTPUT_CHECKS_H_
