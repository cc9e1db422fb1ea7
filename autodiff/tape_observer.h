// What a tape reports while its operations run.
#ifndef AUTODIFF_TAPE_OBSERVER_H_
#define AUTODIFF_TAPE_OBSERVER_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace regard {

// One level of a name such as "decoder/step[3]/attention".
struct ScopeName {
  const ScopeName* parent;
  const char* name;
  int64_t index;  // -1 if the scope is not a member of a series
  uint64_t hash;  // of the whole path

  std::string ToString() const {
    std::string text = parent == nullptr ? "" : parent->ToString() + "/";
    absl::StrAppend(&text, name);
    if (index >= 0) absl::StrAppend(&text, "[", index, "]");
    return text;
  }
};

// Receives the operations of a tape as they run, for example to profile them.
class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  // Called when the tape is reset, at the beginning of a step.
  virtual void OnReset() = 0;
  // Called after each operation; `forward` is false in the backward pass.
  // `scope` is null outside of any scope.
  virtual void OnRecord(const char* name, const ScopeName* scope,
                        bool forward) = 0;
};

}  // namespace regard

#endif  // AUTODIFF_TAPE_OBSERVER_H_
