// Attaches a probe to a Forward for a limited time, in addition to the
// Forward's own probe.
#ifndef NN_SCOPED_HOOK_H_
#define NN_SCOPED_HOOK_H_

#include <string>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/row_statistics.h"

namespace regard {

// Attaches `probe` during the lifetime of this object. If both probes replace a
// value, `probe` receives the replacement of the Forward's own probe. `forward`
// and `probe` must outlive this object. Backward passes must end before this
// object is destroyed.
template <typename T>
class ScopedProbe : private Probe<T> {
 public:
  ScopedProbe(Forward<T>& forward, Probe<T>* probe);
  ~ScopedProbe() override { forward_.set_probe(outer_); }

  ScopedProbe(const ScopedProbe&) = delete;
  ScopedProbe& operator=(const ScopedProbe&) = delete;

 private:
  SiteWish Wish(const std::string& site) override;
  void OnValue(const std::string& site, Var<T> value) override;
  void OnGradient(const std::string& site, Var<T> value) override;
  void OnRows(const std::string& site, const RowStatistics& rows) override;
  Var<T> Replace(Tape<T>& tape, const std::string& site, Var<T> value) override;

  Forward<T>& forward_;
  Probe<T>* const outer_;  // null if `inner_` is the only probe
  Probe<T>* const inner_;
};

extern template class ScopedProbe<float>;
extern template class ScopedProbe<double>;

}  // namespace regard

#endif  // NN_SCOPED_HOOK_H_
