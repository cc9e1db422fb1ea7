// A probe of a Forward for a while, beside the one that it has.
#ifndef NN_SCOPED_PROBE_H_
#define NN_SCOPED_PROBE_H_

#include <string>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/probe.h"
#include "nn/row_statistics.h"

namespace regard {

// Where both replace a value, the Forward's own probe comes first. Backward
// passes over what has been computed end within the lifetime, in which
// `forward` and `probe` live.
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
  Probe<T>* const outer_;  // null: `inner_` is the Forward's probe
  Probe<T>* const inner_;
};

extern template class ScopedProbe<float>;
extern template class ScopedProbe<double>;

}  // namespace regard

#endif  // NN_SCOPED_PROBE_H_
