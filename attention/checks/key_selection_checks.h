// Checks that every key selection has to pass. Generated tests run them.
#ifndef ATTENTION_CHECKS_KEY_SELECTION_CHECKS_H_
#define ATTENTION_CHECKS_KEY_SELECTION_CHECKS_H_

#include <vector>

#include "attention/checks/expectations.h"
#include "attention/key_selection.h"
#include "google/protobuf/message.h"

namespace regard {

struct CheckedKeySelection {
  const KeySelectionRegistry& registry;
  const KeySelectionInfo& info;  // the only plug-in of the registry
  // Adds it to another registry.
  void (*register_selection)(KeySelectionRegistry& registry);
  const google::protobuf::Message& options;
  // Whether all of up to 300 keys are selected, so that a layer with these
  // options is plain attention in every bit.
  bool is_plain;
};

struct KeySelectionCheck {
  const char* name;  // "TheFutureChangesNoBit"
  void (*run)(const CheckedKeySelection& selection, Expectations& expect);
};

// All checks. They attend in two heads of width 4, by scores that are computed
// by blocks of inner form and by rows.
std::vector<KeySelectionCheck> KeySelectionChecks();

}  // namespace regard

#endif  // ATTENTION_CHECKS_KEY_SELECTION_CHECKS_H_
