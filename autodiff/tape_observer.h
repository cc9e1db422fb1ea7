// The interface through which a tape reports the operations that it runs, for
// example to a profiler.
#ifndef AUTODIFF_TAPE_OBSERVER_H_
#define AUTODIFF_TAPE_OBSERVER_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "autodiff/node.h"
#include "autodiff/var.h"

namespace regard {

// One level of a name such as "decoder/step[3]/attention".
struct ScopeName {
  const ScopeName* parent;
  const char* name;
  int64_t index;  // -1 if the scope is not a member of a series
  uint64_t hash;  // hash of the whole path

  // Appends the whole path to `text`, so that the caller can reuse its memory.
  void AppendTo(std::string* text) const {
    if (parent != nullptr) {
      parent->AppendTo(text);
      text->push_back('/');
    }
    text->append(name);
    if (index < 0) return;
    text->append("[").append(std::to_string(index)).append("]");
  }
  std::string ToString() const {
    std::string text;
    AppendTo(&text);
    return text;
  }
};

// Receives a report of each operation that a tape runs. `scope` is null outside
// of scopes.
template <typename T>
class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  // Called when the tape is reset, at the beginning of a step.
  virtual void OnReset() = 0;
  // Called after an operation has computed `outs`.
  virtual void OnForwardDone(const char* name, const ScopeName* scope,
                             absl::Span<const Var<T>> outs) = 0;
  // Called when a backward pass begins, after the first gradients are assigned.
  virtual void OnBeginBackwardPass(const ScopeName* /*scope*/) {}
  // Called after a backward closure or deferred work of an operation has run.
  virtual void OnBackwardDone(const char* name, const ScopeName* scope) = 0;
  // Called before the gradient of `node` is written or added to.
  virtual void OnBeginContribution(const Node<T>& /*node*/) {}
  // See Tape::NotifyBeginScores().
  virtual void OnBeginScores() {}
  virtual void OnEndScores(Var<T> /*scores*/) {}
};

}  // namespace regard

#endif  // AUTODIFF_TAPE_OBSERVER_H_
