// A hook for tests that keeps the Vars at hook points of a pass. The tape must
// not be rewound, and the backward pass must be Tape::Backward().
#ifndef NN_TESTING_HELD_SITES_H_
#define NN_TESTING_HELD_SITES_H_

#include <string>
#include <utility>
#include <vector>

#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"
#include "nn/hook.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
class CapturingHook : public Hook<T> {
 public:
  // If `gradients` is true, grad_data() of the kept values is complete after a
  // backward pass. A test may add gradients to grad_data() before the backward
  // pass.
  explicit CapturingHook(std::string pattern, bool gradients = false)
      : pattern_(std::move(pattern)), gradients_(gradients) {}

  // Multiplies the contexts of heads by `factors` [heads] in later passes.
  void set_head_factors(Var<T> factors) { factors_ = factors; }

  // Returns the last value whose hook point matches the pattern.
  Var<T> operator[](const std::string& pattern) const {
    for (auto site = held_.rbegin(); site != held_.rend(); ++site) {
      if (MatchesSite(pattern, site->first)) return site->second;
    }
    REGARD_CHECK(false) << "no site " << pattern;
    return {};
  }
  // Returns the names of the kept hook points, in the order of the pass.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& site : held_) names.push_back(site.first);
    return names;
  }

  HookRequest Request(const std::string& site) override {
    const bool held = MatchesSite(pattern_, site);
    return {.value = held,
            .gradient = held && gradients_,
            .replacement = factors_.has_value() &&
                           MatchesSite("*attention/context", site)};
  }
  void OnValue(const std::string& site, Var<T> value) override {
    held_.emplace_back(site, value);
  }
  Var<T> Replace(Tape<T>&, const std::string&, Var<T> context) override {
    return context * factors_.Reshape({factors_.size(), 1, 1});
  }

 private:
  const std::string pattern_;
  const bool gradients_;
  Var<T> factors_;
  std::vector<std::pair<std::string, Var<T>>> held_;
};

}  // namespace regard

#endif  // NN_TESTING_HELD_SITES_H_
