// Two probes of one pass.
#ifndef NN_PROBE_PAIR_H_
#define NN_PROBE_PAIR_H_

#include <string>

#include "autodiff/tape.h"
#include "nn/probe.h"

namespace regard {

// The second one watches what the first one leaves.
template <typename T>
class ProbePair : public Probe<T> {
 public:
  ProbePair(Probe<T>* first, Probe<T>* second)
      : first_(first), second_(second) {}

  SiteWish Wish(const std::string& site) override {
    const SiteWish a = first_->Wish(site);
    const SiteWish b = second_->Wish(site);
    return {a.value || b.value, a.gradient || b.gradient,
            a.replacement || b.replacement};
  }
  void OnValue(const std::string& site, Var<T> value) override {
    for (Probe<T>* probe : {first_, second_}) {
      if (probe->Wish(site).value) probe->OnValue(site, value);
    }
  }
  void OnGradient(const std::string& site, Var<T> value) override {
    for (Probe<T>* probe : {first_, second_}) {
      if (probe->Wish(site).gradient) probe->OnGradient(site, value);
    }
  }
  Var<T> Replace(Tape<T>& tape, const std::string& site,
                 Var<T> value) override {
    for (Probe<T>* probe : {first_, second_}) {
      if (probe->Wish(site).replacement) {
        value = probe->Replace(tape, site, value);
      }
    }
    return value;
  }

 private:
  Probe<T>* const first_;
  Probe<T>* const second_;
};

}  // namespace regard

#endif  // NN_PROBE_PAIR_H_
