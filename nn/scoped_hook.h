// Attaches a hook to a Forward for a limited time, in addition to the Forward's
// own hook.
#ifndef NN_SCOPED_HOOK_H_
#define NN_SCOPED_HOOK_H_

#include <string>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/row_statistics.h"

namespace regard {

// Attaches `hook` during the lifetime of this object. If both hooks replace a
// value, `hook` receives the replacement of the Forward's own hook. `forward`
// and `hook` must outlive this object. Backward passes must end before this
// object is destroyed.
template <typename T>
class ScopedExtraHook : private Hook<T> {
 public:
  ScopedExtraHook(Forward<T>& forward, Hook<T>* hook);
  ~ScopedExtraHook() override { forward_.set_hook(outer_); }

  ScopedExtraHook(const ScopedExtraHook&) = delete;
  ScopedExtraHook& operator=(const ScopedExtraHook&) = delete;

 private:
  HookRequest Request(const std::string& site) override;
  void OnValue(const std::string& site, Var<T> value) override;
  void OnGradient(const std::string& site, Var<T> value) override;
  void OnRowStatistics(const std::string& site,
                       const AttentionStatistics& rows) override;
  Var<T> Replace(Tape<T>& tape, const std::string& site, Var<T> value) override;

  Forward<T>& forward_;
  Hook<T>* const outer_;  // null if `inner_` is the only hook
  Hook<T>* const inner_;
};

extern template class ScopedExtraHook<float>;
extern template class ScopedExtraHook<double>;

}  // namespace regard

#endif  // NN_SCOPED_HOOK_H_
