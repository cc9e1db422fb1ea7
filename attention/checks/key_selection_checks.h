// Checks that every key selection must pass. Generated tests run them.
#ifndef ATTENTION_CHECKS_KEY_SELECTION_CHECKS_H_
#define ATTENTION_CHECKS_KEY_SELECTION_CHECKS_H_

#include <vector>

#include "attention/checks/expectations.h"
#include "attention/key_selection.h"
#include "google/protobuf/message.h"

namespace regard {

struct KeySelectionToCheck {
  const KeySelectionRegistry& registry;
  const KeySelectionInfo& info;  // the only plug-in in `registry`
  // Registers the selection in `registry`, which a check has created.
  void (*register_selection)(KeySelectionRegistry& registry);
  const google::protobuf::Message& options;
  // Whether the selection contains all keys if there are at most 300. The layer
  // must then be bit-identical to plain attention.
  bool is_plain;
};

struct KeySelectionCheck {
  const char* name;  // "TheFutureChangesNoBit"
  void (*run)(const KeySelectionToCheck& selection, Expectations& expect);
};

// All checks. They use attention with two heads of width 4, computed by the
// blocked kernel or row by row.
std::vector<KeySelectionCheck> KeySelectionChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_KEY_SELECTION_CHECKS_H_
